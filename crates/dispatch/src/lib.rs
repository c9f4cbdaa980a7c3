//! Runs tasks: schedules them, makes work trees, starts workers, runs their gates, merges their changes.
//!
//! The rules are in `switchboard_pipeline::run`; this crate carries out what they decide. Each run has one
//! [engine](engine): it folds the run's events, asks what to do next, and starts one task per effect. An effect outside
//! the log records its intent first and its outcome after. What a crash leaves between the two is resolved by examining
//! the actual state, never by blindly repeating the effect.
//!
//! ```text
//!   start_run ─▶ engine ── decide ──▶ effect ── world (work tree, shim, checks, merge)
//!                  ▲                     │
//!                  └── events ◀──────────┤
//!   shim ── frames ──▶ link ── events ───┘
//! ```
//!
//! A worker's shim connects over the daemon's socket ([`Dispatch::attach`]). While it is not connected, its journal and
//! its lock show its state ([`watch`]).

mod answer;
mod assignees;
mod attach;
mod authorship;
mod backoff;
mod config;
mod confirm_merge;
mod crash;
mod deadline;
mod delegations;
mod dispatch;
mod drive;
mod effect;
mod engine;
mod error;
mod event;
mod evidence;
mod fact_migration;
mod flag;
mod future;
mod gate_trees;
mod handle;
mod history;
mod identity;
mod ineffective_settings;
mod isolation;
mod json;
mod link;
mod live_plans;
mod lock;
mod needs;
mod notes;
mod parts;
mod plan;
mod plan_state;
mod port;
mod progress;
mod prompt;
mod removal;
mod report;
mod setup;
mod shared;
#[cfg(any(test, feature = "sim"))]
pub mod simulate;
mod spool;
#[cfg(test)]
mod tests;
mod tools;
mod tree_ports;
mod troubles;
mod unit_claims;
mod user_branch;
mod user_tree;
mod verb;
mod watch;
mod work;
mod worker_messages;
mod worker_names;
mod world;

pub use assignees::Assignees;
pub use config::{Config, NamedFolder, ReadLimits, ReadWorktrees, Trust};
pub use crash::POINTS as CRASH_POINTS;
pub use dispatch::Dispatch;
pub use drive::{SeatAsk, SeatCaller};
pub use error::Error;
pub use future::BoxFuture;
pub use identity::WorkerIdentity;
pub use plan::{commands, commands_digest, read as read_plan};
pub use port::{FileLeases, Others, WorkerMail, WorkerRules};
pub use setup::{commands_of_locks, lock_files_of};
pub use verb::Continuation;
pub use verb::tell_worker::Telling;
pub use work::Work;
