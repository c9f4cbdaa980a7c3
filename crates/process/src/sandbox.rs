//! What a process may touch: a list of folders, files and devices that the kernel holds it and all its children to, root included.
//!
//! On Linux, Landlock keeps the file system, signals and abstract sockets, and name spaces of its own keep the network, other programs' sockets, and what Landlock leaves open: modes and times of files. Both are put on in the child
//! between fork and exec, so that whoever starts it keeps its own rights, and no step lies between the sandbox and the program. Elsewhere nothing can
//! be enforced, and [`supported`] says so.

#[cfg(target_os = "linux")]
mod handover;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(not(target_os = "linux"))]
mod nothing;
mod paths;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

#[cfg(target_os = "linux")]
use landlock as platform;
#[cfg(not(target_os = "linux"))]
use nothing as platform;

#[cfg(target_os = "linux")]
pub use handover::{HandoverReceiver, PORT};
#[cfg(target_os = "linux")]
pub(crate) use handover::{HandoverSender, pair};
#[cfg(not(target_os = "linux"))]
pub use nothing::{HandoverReceiver, PORT};
#[cfg(not(target_os = "linux"))]
pub(crate) use nothing::{HandoverSender, pair};
pub(crate) use platform::Ruleset;

use crate::{Error, Result};

/// The oldest Landlock whose rules keep everything that a sandbox promises: scopes of signals and abstract sockets came with it, in Linux 6.12.
pub const LANDLOCK_NEEDED: u32 = 6;

/// What a process and everything it starts may touch. What is not listed is refused, but for looking at names and sizes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sandbox {
    /// Files and folders that may be read, and whose programs may be started.
    pub read: Vec<PathBuf>,
    /// Files and folders that may be changed too.
    pub write: Vec<PathBuf>,
    /// Devices that may be read, written and asked (`ioctl`).
    pub devices: Vec<PathBuf>,
    /// Unix sockets that may be reached, where they lie in a folder that is hidden otherwise: `/run`, `/tmp`, `/var/tmp`, `/dev/shm`.
    pub sockets: Vec<PathBuf>,
    /// Folders that none of the lists may open as a whole: a list with one of them, or with a folder above one, is refused.
    pub closed: Vec<PathBuf>,
    /// What may be reached over the network.
    pub network: Network,
    /// Start it also where the platform can't enforce all of this, with what it can enforce.
    pub allow_unenforced: bool,
}

/// What a sandboxed process may reach over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// A network of its own with nothing but its loopback; with it come mounts of its own, in which what it may not write is read-only.
    #[default]
    Own,
    /// That of the machine.
    Host,
}

/// What this machine can enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// Version of Landlock; 0 where there is none.
    pub landlock: u32,
    /// Why no name spaces can be made; `None` where they can.
    pub no_namespaces: Option<String>,
}

// === impl Support ===

impl Support {
    /// What of a sandbox this machine can't enforce, a sentence each.
    #[must_use]
    pub fn gaps(&self, network: Network) -> Vec<String> {
        let mut gaps = Vec::new();
        let rows = [
            (1, "no file is out of reach: the kernel has no Landlock (Linux 5.13), or it is not switched on"),
            (2, "files can't be moved between folders (Landlock 2, Linux 5.19)"),
            (3, "files out of reach can be cut to length 0 (Landlock 3, Linux 6.2)"),
            (5, "devices can be controlled (Landlock 5, Linux 6.10)"),
            (6, "other processes of yours can be signalled (Landlock 6, Linux 6.12)"),
        ];
        gaps.extend(rows.iter().filter(|(needed, _)| self.landlock < *needed).map(|(_, gap)| (*gap).to_owned()));
        if let (Network::Own, Some(why)) = (network, &self.no_namespaces) {
            gaps.push(format!(
                "the network, other programs' sockets and modes of files are open: no name spaces can be made ({why})"
            ));
        }
        gaps
    }
}

/// What this machine can enforce; looked at once.
#[must_use]
pub fn supported() -> &'static Support {
    static SUPPORT: OnceLock<Support> = OnceLock::new();
    SUPPORT.get_or_init(platform::support)
}

// === impl Sandbox ===

impl Sandbox {
    /// What programs need of the system: its libraries and programs, the settings that name users, hosts, certificates and times, `/proc`, and devices without
    /// content. What of it this machine doesn't have is left out.
    #[must_use]
    pub fn system() -> Self {
        let present = |paths: &[&str]| paths.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
        Self { read: present(paths::SYSTEM), devices: present(paths::DEVICES), ..Self::default() }
    }

    /// What this machine can't enforce of it.
    ///
    /// # Errors
    /// [`Error::Unenforceable`] if there is something and [`Sandbox::allow_unenforced`] is not set.
    pub fn gaps(&self) -> Result<Vec<String>> {
        let gaps = supported().gaps(self.network);
        if gaps.is_empty() || self.allow_unenforced { Ok(gaps) } else { Err(Error::Unenforceable { gaps }) }
    }

    /// Whether a path, if it were listed, would open a folder of [`Sandbox::closed`] as a whole.
    #[must_use]
    pub fn opens_closed(&self, path: &Path) -> bool {
        paths::closed_in(self, path).is_some()
    }

    /// The rules as the kernel takes them, for a process that starts in a folder.
    pub(crate) fn ruleset(&self, cwd: Option<&Path>) -> Result<Ruleset> {
        self.gaps()?;
        paths::keep_closed(self)?;
        Ruleset::new(self, cwd)
    }
}
