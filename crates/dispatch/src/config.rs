//! What the dispatcher is told once, at boot.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::frame::WorkerLimits;
use switchboard_protocol::id::Digest;

/// Returns whether the user has pinned a digest (`switchboard trust`).
#[derive(Clone)]
pub struct Trust(pub Arc<dyn Fn(&Digest) -> bool + Send + Sync>);

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Trust")
    }
}

/// Places, limits and the test's crash point.
#[derive(Debug, Clone)]
pub struct Config {
    /// Whether the user trusts a set of commands that came with a plan, by its digest.
    pub trusts: Trust,
    /// State folder of this repository.
    pub state: PathBuf,
    /// Default folder for work trees.
    pub worktrees: PathBuf,
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
    /// How long a shim that was never heard of may take to show up. Default: three seconds.
    pub shim_grace: Duration,
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
