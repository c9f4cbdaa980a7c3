//! Runs work: schedules tasks, makes work trees, starts workers, holds them to gates, merges.
//!
//! The rules are in `switchboard_pipeline::run`; this crate carries out what they decide. Each run has one [engine](engine): it folds the
//! run's events, asks what is to be done, and starts one task per effect. An effect that touches the world records its
//! intent first and its outcome after; what a crash leaves between the two is settled by looking at the world, never by
//! doing it again blindly.
//!
//! ```text
//!   start_run ─▶ engine ── decide ──▶ effect ── world (work tree, shim, checks, merge)
//!                  ▲                     │
//!                  └── events ◀──────────┤
//!   shim ── frames ──▶ link ── events ───┘
//! ```
//!
//! A worker's shim is reached over the daemon's socket ([`Dispatch::attach`]); while it is not, its journal and its lock
//! tell what became of it ([`watch`]).

mod checker;
mod config;
mod context;
mod crash;
mod crew;
mod effect;
mod engine;
mod error;
mod event;
mod evidence;
mod files;
mod link;
mod needs;
mod plan;
mod ports;
mod prompt;
mod report;
mod shim;
mod verb;
mod watch;
mod work;

pub use config::{Config, Trust};
pub use context::Dispatch;
pub use crash::POINTS as CRASH_POINTS;
pub use crew::Crew;
pub use error::Error;
pub use event::{DispatchEvent, Report};
pub use link::WorkerIdentity;
pub use needs::Settle;
pub use plan::{commands, commands_digest, read as read_plan};
pub use ports::Mailroom;
pub use work::Work;
