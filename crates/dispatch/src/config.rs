//! Settings of the dispatcher, fixed at boot.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::WorkerLimits;
use switchboard_protocol::id::Digest;
use switchboard_protocol::run::Limits;

/// Callback that returns true if the user has pinned a digest (`switchboard trust`).
#[derive(Clone)]
pub struct Trust(pub Arc<dyn Fn(&Digest) -> bool + Send + Sync>);

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Trust")
    }
}

/// Reads the user's settings that apply to all runs together.
#[derive(Clone)]
pub struct ReadLimits(pub Arc<dyn Fn() -> Result<Limits, Failure> + Send + Sync>);

impl std::fmt::Debug for ReadLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReadLimits")
    }
}

/// A folder for work trees that a settings file names, and the path of that file.
pub type NamedFolder = (PathBuf, PathBuf);

/// Reads the folder for work trees that the settings name; `None` where none does.
#[derive(Clone)]
pub struct ReadWorktrees(pub Arc<dyn Fn() -> Result<Option<NamedFolder>, Failure> + Send + Sync>);

impl std::fmt::Debug for ReadWorktrees {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReadWorktrees")
    }
}

/// Paths, limits and the crash point for tests.
#[derive(Debug, Clone)]
pub struct Config {
    /// Checks whether the user trusts a set of commands that came with a plan, by its digest.
    pub trusts: Trust,
    /// State folder of this repository.
    pub state: PathBuf,
    /// Folder for work trees where neither request nor settings name one.
    pub worktrees: PathBuf,
    /// Folder for work trees that the settings name. Read at each start of a run.
    pub named_worktrees: ReadWorktrees,
    /// The repository's git folder, which all its work trees share.
    pub git_dir: PathBuf,
    /// Home folder of the user.
    pub home: Option<PathBuf>,
    /// Folders in which a constrained worker sees only its own files: state, settings, the project's files.
    pub private: Vec<PathBuf>,
    /// File in which the user's daemons claim TCP ports for work trees.
    pub tree_ports: PathBuf,
    /// The daemon's Unix socket.
    pub socket: PathBuf,
    /// Path of our own binary. Shims, checks and MCP bridges are the same binary under other names.
    pub binary: PathBuf,
    /// Environment of every worker, to which the variables of its agent are added.
    pub env: Vec<(String, String)>,
    /// Limits of workers; a plan's task may set a shorter wall time.
    pub limits: WorkerLimits,
    /// Limits over all runs. Read at boot, and again by verbs that start or show runs or set a cost limit.
    pub shared: ReadLimits,
    /// Default maximum of workers alive over all runs, not counting scripts.
    pub usual_workers: u32,
    /// How long to wait for a shim that has never connected. Default: three seconds.
    pub shim_grace: Duration,
    /// Interval of a shim's heartbeat. A shim silent for six intervals is asked once more, and ended after another six;
    /// its attempt is then lost. Default: five seconds.
    pub heartbeat: Duration,
    /// Time limit for all gates of one change together. Default: ten minutes.
    pub gate_limit: Duration,
    /// Point of [`CRASH_POINTS`](crate::CRASH_POINTS) at which the process ends; tests only.
    pub crash_at: Option<String>,
}

// === impl Config ===

impl Config {
    /// Returns a seed that differs between the daemons of one user.
    pub(crate) fn seed(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = Digest::of(self.state.as_os_str().as_encoded_bytes()).0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}
