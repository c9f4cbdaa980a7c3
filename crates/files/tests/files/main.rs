//! Tests of the file protocol from outside: one binary, so that it is linked once.
#![expect(clippy::unwrap_used, reason = "a failed step of a test is the failure")]

mod record;
