//! A process that outlives us: the daemon, a shim.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Stdio;

use super::builder::Spawn;
use crate::fingerprint::Fingerprint;
use crate::orphans::Hold;
use crate::{Error, Result};

/// A process that was started to run independently. [`crate::orphans::exit_of`] returns its exit, if we still run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detached {
    /// Process id, which is also the id of its group and session.
    pub pid: u32,
    /// Fingerprint by which it is recognised later; `None` if it ended before it could be read.
    pub fingerprint: Option<Fingerprint>,
}

pub(super) fn start(spawn: Spawn, log: Option<&Path>) -> Result<Detached> {
    let mut command = spawn.command()?;
    match log {
        None => command.stdout(Stdio::null()).stderr(Stdio::null()),
        Some(path) => {
            let file = open(path).map_err(Error::io(format!("open {}", path.display())))?;
            let second = file.try_clone().map_err(Error::io(format!("open {}", path.display())))?;
            command.stdout(file).stderr(second)
        }
    };
    let pid = spawn.start(&mut command, Hold::Detached)?.id();
    Ok(Detached { pid, fingerprint: Fingerprint::of(pid) })
}

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}
