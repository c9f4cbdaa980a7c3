//! What clients may take of this daemon.

use std::time::Duration;

/// What clients may take of this daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest request body in bytes; by default what a line on the Unix socket may have, 4 MiB.
    pub body_bytes: usize,
    /// Connections at once: half of the process's open files, at most 1,024. Beyond that the one that has been idle the longest is closed; where
    /// none is idle, new ones wait in the kernel's queue.
    pub connections: usize,
    /// Requests that are answered at once, 128 by default; others wait, but for `/health`.
    pub requests: usize,
    /// How long a client may take to send a request's head, from its first byte on; 15 s by default.
    pub head: Duration,
    /// How long a connection may be idle; 2 minutes by default.
    pub idle: Duration,
    /// How long a client may take to send a request's body; 30 s by default.
    pub body: Duration,
    /// How long answers under way may take when the daemon ends; 5 s by default.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: switchboard_protocol::wire::MAX_LINE_BYTES,
            connections: (open_files() / 2).clamp(16, 1024),
            requests: 128,
            head: Duration::from_secs(15),
            idle: Duration::from_secs(120),
            body: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}

/// How many files the process may have open.
fn open_files() -> usize {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}
