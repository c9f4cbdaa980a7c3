//! Drivers for coding agents, and the shim that runs a worker's process and keeps its output.
//!
//! Start with [`driver::Driver`], the contract of every driver; [`shim::run`] is the process that the daemon starts for a worker and
//! that outlives it. [`script`] is an agent without a model, for demonstrations and tests; [`catalog`] lists the real ones.

pub mod catalog;
mod confine;
pub mod driver;
mod error;
pub mod handshake;
pub mod script;
pub mod shim;
pub mod version;

pub use error::Error;

/// Result of this crate's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Returns at most the last `bytes` bytes of a text, beginning at a whole character.
fn ending(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

/// Returns at most the first `bytes` bytes of a text, ending at a whole character.
fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
