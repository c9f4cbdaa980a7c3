//! Files in, findings out: the gates an agent's change is held to.
//!
//! [`run`] answers one request: it chooses files, reads and parses each once, hands it to every check, and tells new
//! findings from those that the base had. [`serve`] does the same for one request a line and stays warm.
//! [`render`] shows a reply to a person or a machine. There is no store, no network, and no command but those that
//! the request brings.

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
