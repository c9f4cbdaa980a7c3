//! What clients may take of this daemon.

use std::time::Duration;

/// What clients may take of this daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest request body in bytes; by default what a line on the Unix socket may have, 4 MiB.
    pub body_bytes: usize,
    /// Connections at once, 128 by default; more wait in the kernel's queue.
    pub connections: usize,
    /// How long a client may take to send a request's head, and between requests on one connection; 15 s by default.
    pub head: Duration,
    /// How long a client may take to send a request's body; 30 s by default.
    pub body: Duration,
    /// How long answers under way may take when the daemon ends; 5 s by default.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: switchboard_protocol::wire::MAX_LINE_BYTES,
            connections: 128,
            head: Duration::from_secs(15),
            body: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}
