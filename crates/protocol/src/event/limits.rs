//! How large an event may be.

/// Largest facts of one event, in bytes of compact JSON: a scan of the log reads all of them.
pub const MAX_FACTS_BYTES: usize = 1024;

/// Largest body of one event, in bytes of UTF-8; larger text belongs in a spool or a file.
pub const MAX_BODY_BYTES: usize = 1 << 20;
