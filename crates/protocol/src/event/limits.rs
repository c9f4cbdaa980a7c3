//! Size limits of events.

/// Maximum size of one event's facts, in bytes of compact JSON: a scan of the log reads all facts.
pub const MAX_FACTS_BYTES: usize = 1024;

/// Maximum size of one event's body, in bytes of UTF-8; larger text belongs in a spool or a file.
pub const MAX_BODY_BYTES: usize = 1 << 20;
