//! Stub.
pub mod tier;
pub mod verdict;
