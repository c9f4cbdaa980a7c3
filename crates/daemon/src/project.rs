//! `.switchboard/` in the work tree, where agents and commands find the daemon. Its own ignore file hides it from git.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use switchboard_process::file::{self, Mode, Sync};
use switchboard_protocol::error::Failure;
use switchboard_protocol::time::Millis;

use crate::error::io;
use crate::{Error, RootPaths};

/// Name of the folder.
pub const FOLDER: &str = ".switchboard";

/// Content of `server_info.json`, as the file protocol defines it, with our additions at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// Port of the loopback HTTP server.
    pub port: u16,
    /// Always `127.0.0.1`.
    pub host: String,
    /// `sse`: the protocol's transport, at the two endpoints that follow.
    pub transport: String,
    /// Path at which a session is opened.
    #[serde(default)]
    pub sse_endpoint: String,
    /// Path to which a session's messages are posted.
    #[serde(default)]
    pub messages_endpoint: String,
    /// Path of MCP over Streamable HTTP, which newer clients prefer.
    pub mcp_endpoint: String,
    /// Path of the health report.
    pub health_endpoint: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// Time at which the daemon became ready, RFC 3339.
    pub started_at: String,
    /// Path of the daemon's Unix socket.
    pub socket: PathBuf,
    /// Version of the daemon.
    pub version: String,
}

// === impl ServerInfo ===

impl ServerInfo {
    /// Describes a daemon that is ready.
    #[must_use]
    pub fn new(place: &RootPaths, port: u16, started_at: Millis) -> Self {
        Self {
            port,
            host: "127.0.0.1".to_owned(),
            transport: "sse".to_owned(),
            sse_endpoint: "/sse".to_owned(),
            messages_endpoint: "/messages".to_owned(),
            mcp_endpoint: "/mcp".to_owned(),
            health_endpoint: "/health".to_owned(),
            pid: std::process::id(),
            started_at: started_at.to_string(),
            socket: place.socket.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Reads the file of a work tree; `None` if there is none that can be read.
    #[must_use]
    pub fn read(project: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path(project)).ok()?).ok()
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write(&self, project: &Path) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| io(&path(project))(error.into()))?;
        write_private(&path(project), &text)
    }

    /// Removes the file, if this daemon wrote it.
    pub fn retract(&self, project: &Path) {
        if Self::read(project).is_some_and(|found| found.pid == self.pid)
            && let Err(error) = fs::remove_file(path(project))
        {
            tracing::warn!(%error, "server_info.json could not be removed");
        }
    }
}

fn path(project: &Path) -> PathBuf {
    project.join("server_info.json")
}

/// Returns why nothing may be written to a folder: a repository brought it as a symlink, or another user owns it. `None` for a usable or
/// missing one.
#[must_use]
pub fn unsafe_folder(project: &Path) -> Option<Failure> {
    let found = fs::symlink_metadata(project).ok()?;
    let what = if !found.is_dir() {
        ".switchboard is a link or a file: what is written there would land elsewhere"
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        ".switchboard belongs to another user"
    } else {
        return None;
    };
    let failure = Failure::new("io.unsafe-folder", what).at(project.display().to_string());
    Some(failure.hint("remove it; it is made anew"))
}

/// Rejects an unsafe folder; closes one that others may write to.
fn check(project: &Path) -> Result<(), Error> {
    if let Some(failure) = unsafe_folder(project) {
        return Err(failure.into());
    }
    let found = fs::symlink_metadata(project).map_err(io(project))?;
    if found.mode() & 0o022 != 0 {
        fs::set_permissions(project, fs::Permissions::from_mode(0o700)).map_err(io(project))?;
    }
    Ok(())
}

/// Creates the folder with the file that hides it from git.
///
/// # Errors
/// When it can't be created, or its work tree is gone.
pub(crate) fn prepare(project: &Path) -> Result<(), Error> {
    // Without its parents: a work tree that was moved away must not be created again.
    match fs::DirBuilder::new().mode(0o700).create(project) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(io(project)(error)),
        Ok(()) | Err(_) => check(project)?,
    }
    let ignore = project.join(".gitignore");
    match fs::OpenOptions::new().write(true).create_new(true).open(&ignore) {
        Ok(mut file) => file.write_all(b"*\n").map_err(io(&ignore)),
        // A symlink counts as existing, wherever it leads: nothing is written through it.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(io(&ignore)(error)),
    }
}

/// Replaces a file that only the user can read.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    file::replace(path, bytes, Mode::Private, Sync::No).map_err(io(path))
}
