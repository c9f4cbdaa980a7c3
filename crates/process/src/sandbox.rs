//! Sandboxes: a list of folders, files and devices to which the kernel limits a process and all its children, even root.
//!
//! On Linux, Landlock restricts the file system, signals and abstract sockets; separate name spaces restrict the network, other programs'
//! sockets, and what Landlock leaves open: modes and times of files. Both are applied in the child between fork and exec, so that its
//! parent keeps its own rights, and no step lies between the sandbox and the program. Elsewhere nothing can be enforced, and [`supported`]
//! reports so.

#[cfg(target_os = "linux")]
mod handover;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
mod paths;
#[cfg(not(target_os = "linux"))]
mod unsupported;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

#[cfg(target_os = "linux")]
use landlock as platform;
#[cfg(not(target_os = "linux"))]
use unsupported as platform;

#[cfg(target_os = "linux")]
pub use handover::{HandoverReceiver, PORT};
#[cfg(target_os = "linux")]
pub(crate) use handover::{HandoverSender, pair};
pub(crate) use platform::Ruleset;
#[cfg(not(target_os = "linux"))]
pub use unsupported::{HandoverReceiver, PORT};
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::{HandoverSender, pair};

use crate::{Error, Result};

/// What a process and everything it starts may access. What is not listed is refused, except for names and sizes of files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sandbox {
    /// Files and folders that may be read, and from which programs may be started.
    pub read: Vec<PathBuf>,
    /// Files and folders that may also be changed.
    pub write: Vec<PathBuf>,
    /// Devices that may be read, written and controlled (`ioctl`).
    pub devices: Vec<PathBuf>,
    /// Unix sockets that may be connected to although they are in a hidden folder: `/run`, `/tmp`, `/var/tmp`, `/dev/shm`.
    pub sockets: Vec<PathBuf>,
    /// Folders that no list may open as a whole: a list with one of them, or with a folder above one, is refused.
    pub closed: Vec<PathBuf>,
    /// Network access.
    pub network: Network,
    /// True to start the process even if the platform can't enforce all of this, with what it can enforce.
    pub allow_unenforced: bool,
}

/// Network access of a sandboxed process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// A separate network with only its loopback; it implies separate mounts, in which everything that may not be written is read-only.
    #[default]
    Own,
    /// The network of the machine.
    Host,
}

/// What this machine can enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// Version of Landlock; 0 if there is none.
    pub landlock: u32,
    /// Reason why no name spaces can be made; `None` if they can.
    pub no_namespaces: Option<String>,
}

// === impl Support ===

impl Support {
    /// Returns the parts of a sandbox that this machine can't enforce, one sentence each.
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

/// Returns what this machine can enforce; determined once.
#[must_use]
pub fn supported() -> &'static Support {
    static SUPPORT: OnceLock<Support> = OnceLock::new();
    SUPPORT.get_or_init(platform::support)
}

// === impl Sandbox ===

impl Sandbox {
    /// Returns what programs need of the system: its libraries and programs, the settings that name users, hosts, certificates and times,
    /// `/proc`, and devices without content. Parts that this machine doesn't have are left out.
    #[must_use]
    pub fn system() -> Self {
        let present = |paths: &[&str]| paths.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
        Self { read: present(paths::SYSTEM), devices: present(paths::DEVICES), ..Self::default() }
    }

    /// Returns the parts of the sandbox that this machine can't enforce.
    ///
    /// # Errors
    /// [`Error::Unenforceable`] if there is one and [`Sandbox::allow_unenforced`] is not set.
    pub fn gaps(&self) -> Result<Vec<String>> {
        let gaps = supported().gaps(self.network);
        if gaps.is_empty() || self.allow_unenforced { Ok(gaps) } else { Err(Error::Unenforceable { gaps }) }
    }

    /// Returns true if listing a path would open a folder of [`Sandbox::closed`] as a whole.
    #[must_use]
    pub fn opens_closed(&self, path: &Path) -> bool {
        paths::closed_in(self, path).is_some()
    }

    /// Returns the rules for the kernel, for a process that starts in a folder.
    pub(crate) fn ruleset(&self, cwd: Option<&Path>) -> Result<Ruleset> {
        self.gaps()?;
        paths::keep_closed(self)?;
        Ruleset::new(self, cwd)
    }
}
