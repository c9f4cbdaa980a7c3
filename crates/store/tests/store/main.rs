//! Tests of the store's public interface: one contract for every backend, failures of disks, and random histories.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod board;
mod contract;
mod disk;
mod model;
