//! Finds the daemon of the repository that the command is about, and starts one where none runs.

use std::path::{Path, PathBuf};

use protocol::error::Failure;
use serde::Deserialize;

use crate::client::{Caller, Client};
use crate::context::Context;
use crate::surroundings::Surroundings;

/// Folder in the work tree that holds the protocol's files.
pub(crate) const FOLDER: &str = ".switchboard";

/// A running daemon as `.switchboard/server_info.json` names it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ServerInfo {
    /// Its process id.
    pub(crate) pid: u32,
    /// Port of the loopback HTTP server.
    pub(crate) port: u16,
    /// Its Unix socket.
    pub(crate) socket: PathBuf,
    /// Its version.
    #[serde(default)]
    pub(crate) version: String,
}

impl ServerInfo {
    /// Reads the file of a work tree, if there is one that can be read.
    pub(crate) fn read(root: &Path) -> Option<Self> {
        let text = std::fs::read(root.join(FOLDER).join("server_info.json")).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

/// The work tree that holds a folder: the nearest one upwards with a `.git`.
pub(crate) fn work_tree(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}

/// The caller as the environment names it: a worker by its token, else whoever may read the root's token.
pub(crate) fn caller(surroundings: &Surroundings, root: Option<&Path>) -> Caller {
    let own = surroundings.variable("SWITCHBOARD_TOKEN").map(str::to_owned);
    let of_root = || std::fs::read_to_string(root?.join(FOLDER).join("auth_token")).ok();
    let token = own.or_else(of_root).map(|token| token.trim().to_owned());
    let name = ["SWITCHBOARD_AGENT", "USER"].into_iter().find_map(|name| surroundings.variable(name));
    Caller { token, name: name.map(str::to_owned) }
}

/// Where a daemon listens, and who calls.
#[derive(Debug, Clone)]
pub(crate) struct At {
    /// Its Unix socket.
    pub(crate) socket: PathBuf,
    /// The caller.
    pub(crate) caller: Caller,
}

impl Context {
    /// Connects to the daemon, starting one where none runs.
    ///
    /// # Errors
    /// What finding, starting or reaching it fails with; `agent.unmanaged` inside a worker where none runs.
    pub(crate) fn daemon(&self) -> Result<Client, Failure> {
        let at = self.find_or_start_daemon()?;
        Client::connect(&at.socket, &at.caller)
    }

    /// Connects to the daemon if one runs.
    ///
    /// # Errors
    /// `daemon.not-running` where none does.
    pub(crate) fn running_daemon(&self) -> Result<Client, Failure> {
        let at = self.find_daemon()?;
        Client::connect(&at.socket, &at.caller)
    }

    /// Finds the daemon, starting one where none runs.
    ///
    /// # Errors
    /// As [`Context::daemon`].
    pub(crate) fn find_or_start_daemon(&self) -> Result<At, Failure> {
        self.find_daemon()
    }

    fn find_daemon(&self) -> Result<At, Failure> {
        let root = work_tree(self.folder());
        let caller = caller(&self.surroundings, root.as_deref());
        let named = self.surroundings.variable("SWITCHBOARD_SOCKET").map(PathBuf::from);
        let socket = named.or_else(|| Some(ServerInfo::read(root.as_deref()?)?.socket));
        let socket = socket.ok_or_else(|| {
            Failure::new("daemon.not-running", "no daemon runs for this repository")
                .at(self.folder().display().to_string())
                .hint("start one: switchboard up --detach")
        })?;
        Ok(At { socket, caller })
    }
}
