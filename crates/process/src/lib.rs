//! Spawning of all processes: argv, environment, process group, limits, reaping, and git.
//!
//! Start with [`spawn::Spawn`], which starts every process of ours: blocking and captured ([`spawn::Output`]), as a piped child
//! ([`spawn::Child`]), or detached ([`spawn::Detached`]). [`git::Git`] is based on it. Other modules: [`env`](mod@env) (settings and what
//! children inherit), [`clock`], [`fingerprint`] (tells a process from a later one with its pid), [`lineage`] (the processes behind a
//! call), [`orphans`] (subreaper and sweep), [`sandbox`] (what a process may access), [`lock`] (one owner per file), [`journal`]
//! (append-only lines that survive a kill), [`mod@file`] (atomic replacement of files), [`lines`] (lines of bounded length), [`slots`]
//! (numbers that one process has at a time), [`signal_files`] (requests of a person to a run while no daemon answers), [`sockets`] (free
//! ports), [`task`] (tasks of the async runtime) and [`memory`] (returns memory after a burst).

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
pub mod task;

pub use die::die;
pub use error::Error;

/// Result of this crate's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;
