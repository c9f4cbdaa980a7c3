//! Checks files and returns findings: the gates that an agent's change must pass.
//!
//! [`run`] answers one request: it selects files, reads and parses each once, runs every check on it, and separates new
//! findings from those of the base. [`serve`] does the same for one request a line and keeps its tables and patterns.
//! [`render`] shows a reply to a person or a machine. The crate has no store and no network, and runs no command but
//! those in the request.

mod accepted;
mod cache;
mod chunks;
mod commands;
mod decoded;
mod engine;
mod error;
mod file_check;
mod fingerprint;
mod git;
mod imports;
mod limits;
mod listing;
mod look_at;
mod moved;
mod output;
mod placeholder;
mod project;
mod reader;
mod regression_sweep;
pub mod render;
mod report;
mod secret_history;
mod secretscan;
mod selection;
mod serve;
mod syntax_check;
mod test_integrity;
mod text_type;
mod todo;
mod verb;

pub use cache::Cache;
pub use engine::{Engine, run};
pub use error::Error;
pub use limits::Limits;
pub use listing::{CheckAbout, build_commands, checks};
pub use look_at::look_at;
pub use output::read_output;
pub use secret_history::HistoryRequest;
pub use serve::serve;
pub use switchboard_secrets::rules as secret_rules;
