//! Limits on what clients may use of this daemon.

use std::time::Duration;

/// Limits on what clients may use of this daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a request body in bytes; by default that of a line on the Unix socket, 4 MiB.
    pub body_bytes: usize,
    /// Maximum number of open connections: half of the process's open files, at most 1,024. Beyond that the one that has been idle the longest is
    /// closed; if none is idle, new ones wait in the kernel's queue.
    pub connections: usize,
    /// Maximum number of requests that are answered concurrently, 128 by default; others wait, except for `/health`.
    pub requests: usize,
    /// How long a client may take to send a request's head, from its first byte on; 15 s by default.
    pub head: Duration,
    /// How long a connection may be idle; 2 minutes by default.
    pub idle: Duration,
    /// How long a client may take to send a request's body; 30 s by default.
    pub body: Duration,
    /// How long answers in progress may take when the daemon ends; 5 s by default.
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

/// Returns how many files the process may have open.
fn open_files() -> usize {
    let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}
