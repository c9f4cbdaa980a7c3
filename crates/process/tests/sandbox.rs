//! Access of a sandboxed process: real children try each way out, and report the errno they got.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its fixtures too")]

#[path = "sandbox/child.rs"]
mod child;
#[path = "sandbox/files.rs"]
mod files;
#[path = "sandbox/fixture.rs"]
mod fixture;
#[path = "sandbox/outside.rs"]
mod outside;
