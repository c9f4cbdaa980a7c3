//! What the dispatcher is told once, at boot.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::WorkerLimits;
use switchboard_protocol::id::Digest;
use switchboard_protocol::run::Limits;

/// Returns whether the user has pinned a digest (`switchboard trust`).
#[derive(Clone)]
pub struct Trust(pub Arc<dyn Fn(&Digest) -> bool + Send + Sync>);

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Trust")
    }
}

/// Reads what the user's settings say that all runs have in common.
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

/// Places, limits and the test's crash point.
#[derive(Debug, Clone)]
pub struct Config {
    /// Whether the user trusts a set of commands that came with a plan, by its digest.
    pub trusts: Trust,
    /// State folder of this repository.
    pub state: PathBuf,
    /// Folder for work trees where neither request nor settings name one.
    pub worktrees: PathBuf,
    /// The folder that the settings name. Read by each start of a run.
    pub named_worktrees: ReadWorktrees,
    /// The repository's git folder, which all its work trees share.
    pub git_dir: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Folders of which constrained workers see nothing but what is theirs: state, settings, the project's files.
    pub private: Vec<PathBuf>,
    /// The file in which the user's daemons claim TCP ports for work trees.
    pub tree_ports: PathBuf,
    /// The daemon's Unix socket.
    pub socket: PathBuf,
    /// Our own binary: shims, checks and MCP bridges are it under other names.
    pub binary: PathBuf,
    /// Environment that every worker starts from, before its agent's own variables.
    pub env: Vec<(String, String)>,
    /// Limits of workers; a plan's task may set a shorter wall time.
    pub limits: WorkerLimits,
    /// What all runs have in common. Read at boot, and again by verbs that start, show or set what a run may cost.
    pub shared: ReadLimits,
    /// Most workers alive over all runs where the settings don't say, not counting scripts.
    pub usual_workers: u32,
    /// How long a shim that was never heard of may take to show up. Default: three seconds.
    pub shim_grace: Duration,
    /// How often a shim says that it lives. One that says nothing for six times as long is asked once more, and ended when another such time goes by; an
    /// attempt is lost with it. Default: five seconds.
    pub heartbeat: Duration,
    /// How long all gates of one change may take. Default: ten minutes.
    pub gate_limit: Duration,
    /// A point of [`CRASH_POINTS`](crate::CRASH_POINTS) at which to die; tests only.
    pub crash_at: Option<String>,
}

// === impl Config ===

impl Config {
    /// A number that tells the daemons of one user apart.
    pub(crate) fn seed(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = Digest::of(self.state.as_os_str().as_encoded_bytes()).0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}
