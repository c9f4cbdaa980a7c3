//! The event log and its projections: commit, read, tail, verify, on SQLite and in memory.
