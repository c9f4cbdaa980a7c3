//! The one home of spawning: argv, environment, process group, limits, reaping, and git.
//!
//! Start with [`spawn::Spawn`], which every process of ours is started by: blocking and captured ([`spawn::Output`]), as
//! a piped child ([`spawn::Child`]), or detached ([`spawn::Detached`]). [`git::Git`] stands on it. Around them:
//! [`env`](mod@env) (settings and what children inherit), [`clock`], [`fingerprint`] (is that pid still the same process?),
//! [`lineage`] (who stands behind a call), [`orphans`] (subreaper and sweep), [`sandbox`] (what a process may touch), [`lock`] (one owner per file), [`journal`] (append-only lines that survive a kill),
//! [`mod@file`] (files replaced in one step), [`lines`] (lines of bounded length), [`slots`] (numbers that one process has at a time),
//! [`signal_files`] (what a person asks of a run while no daemon answers), [`sockets`] (is that port free?) and [`memory`] (given back after a burst).

pub mod clock;
mod die;
pub mod env;
mod error;
pub mod file;
pub mod fingerprint;
pub mod git;
pub mod journal;
pub mod lineage;
pub mod lines;
pub mod lock;
pub mod memory;
pub mod orphans;
pub mod sandbox;
pub mod signal_files;
pub mod slots;
pub mod sockets;
pub mod spawn;

pub use die::die;
pub use error::Error;

/// What this crate's calls return.
pub type Result<T, E = Error> = std::result::Result<T, E>;
