//! The store from outside: one contract for every backend, what only a disk can do wrong, and random histories.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod board;
mod contract;
mod disk;
mod model;
