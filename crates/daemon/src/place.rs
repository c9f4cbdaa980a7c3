//! Paths of a repository's files.

mod identity;

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use switchboard_process::env::{Env, var};
use switchboard_process::git::{Git, Repo};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::Digest;

use crate::Error;
use crate::error::io;
use crate::project::FOLDER;
pub use identity::{Adoption, belongs};

/// Maximum length of a Unix socket's path in bytes, without the final zero (`sun_path` has 108).
const MAX_SOCKET: usize = 107;

/// A repository and the folders that belong to it.
#[derive(Debug, Clone)]
pub struct RootPaths {
    /// Git's view of the user's work tree.
    pub repo: Repo,
    /// Top of the user's work tree.
    pub root: PathBuf,
    /// `.switchboard` in the work tree: the protocol's files.
    pub project: PathBuf,
    /// The user's state folder for this repository: store, spools, keys, runs.
    pub state: PathBuf,
    /// The user's settings folder.
    pub settings: PathBuf,
    /// Unix socket of the daemon.
    pub socket: PathBuf,
}

// === impl RootPaths ===

impl RootPaths {
    /// Finds the repository of a folder, and creates its state folder if it is new.
    ///
    /// # Errors
    /// `git.not-a-repository`, `git.bare`, `git.missing`, or a folder that can't be made.
    /// `io.foreign-owner` under `sudo`; `config.moved-repository` if a person has to say whether the repository was moved.
    pub fn discover(folder: &Path) -> Result<Self, Error> {
        Self::find(folder, None)
    }

    /// Like [`RootPaths::discover`], with a person's answer for a repository whose former folder is gone.
    ///
    /// # Errors
    /// As [`RootPaths::discover`].
    pub fn adopt(folder: &Path, adoption: Adoption) -> Result<Self, Error> {
        Self::find(folder, Some(adoption))
    }

    fn find(folder: &Path, said: Option<Adoption>) -> Result<Self, Error> {
        refuse_sudo(folder)?;
        let repo = Git::find(Env::plain())?.discover(folder)?;
        let root = repo.root().to_owned();
        let states = base("XDG_STATE_HOME", ".local/state")?;
        let state = identity::state_of(repo.common_dir(), &states, said)
            .and_then(|state| private_folder(&state).map(|()| state))
            .map_err(|error| name_another_folder(error, &states))?;
        let socket = socket(&state)?;
        let settings = base("XDG_CONFIG_HOME", ".config")?;
        Ok(Self { project: root.join(FOLDER), repo, root, state, settings, socket })
    }

    /// Path of the store.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.state.join("store.db")
    }

    /// The folder of the signing key.
    #[must_use]
    pub fn keys(&self) -> PathBuf {
        self.state.join("keys")
    }

    /// The lock of the daemon that owns the store.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.state.join("daemon.lock")
    }

    /// Lock of the command that starts a daemon, held until the daemon is ready.
    #[must_use]
    pub fn start_lock(&self) -> PathBuf {
        self.state.join("start.lock")
    }

    /// File with the reason why the last daemon did not start; removed once one has.
    #[must_use]
    pub fn boot_failure(&self) -> PathBuf {
        self.state.join("boot-failure.json")
    }

    /// Marker file: exists after a daemon has ended cleanly without a live run, until the next one is ready.
    fn at_rest(&self) -> PathBuf {
        self.state.join("at-rest")
    }

    /// Returns true if the last daemon ended cleanly without a live run, so that the next one takes none up.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.at_rest().exists()
    }

    /// Records whether the last daemon ended cleanly without a live run.
    pub(crate) fn set_at_rest(&self, is_at_rest: bool) {
        let done = match is_at_rest {
            true => crate::project::write_private(&self.at_rest(), b""),
            false => fs::remove_file(self.at_rest()).map_err(io(&self.at_rest())),
        };
        if let Err(error) = done {
            tracing::debug!(%error, is_at_rest, "what a follower would see of the daemon's end is as it was");
        }
    }

    /// The daemon's log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.state.join("daemon.log")
    }
}

/// Adds the remedy to a failure that is about the folder of all states.
fn name_another_folder(error: Error, states: &Path) -> Error {
    if let Error::Io { path, .. } = &error
        && Path::new(path).starts_with(states)
    {
        let hint = "make it writable, or name another folder: XDG_STATE_HOME=/absolute/path";
        return error.to_failure().hint(hint).into();
    }
    error
}

/// Returns a base folder of the XDG specification with `switchboard` appended; relative values are ignored.
fn base(variable: &str, below_home: &str) -> Result<PathBuf, Error> {
    let named = var(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || var("HOME").map(PathBuf::from).filter(|path| path.is_absolute()).map(|home| home.join(below_home));
    let found = named.or_else(home).map(|base| base.join("switchboard"));
    found.ok_or_else(|| {
        Failure::new("config.bad-value", format!("neither {variable} nor HOME names a folder"))
            .hint("set HOME to your home folder")
            .into()
    })
}

/// Rejects a command under `sudo` in another user's repository.
fn refuse_sudo(folder: &Path) -> Result<(), Error> {
    // Checked before git is asked, which also refuses, but with its own message.
    let Some(root) = folder.ancestors().find(|folder| folder.join(".git").exists()) else { return Ok(()) };
    refuse_foreign_owner(root, "this repository").map_err(Error::from)
}

/// Rejects writing below a folder of another user under `sudo`: that user could not change the files it would leave.
///
/// # Errors
/// `io.foreign-owner` if `sudo` or `doas` runs the command and the nearest folder that exists belongs to another user.
pub fn refuse_foreign_owner(path: &Path, called: &str) -> Result<(), Failure> {
    let own = rustix::process::geteuid().as_raw();
    let found = path.ancestors().find_map(|path| Some((path, path.metadata().ok()?.uid())));
    let is_sudo = || var("SUDO_UID").is_some() || var("DOAS_USER").is_some();
    match found.filter(|(_, owner)| *owner != own && is_sudo()) {
        None => Ok(()),
        Some((path, owner)) => {
            let what = format!("{called} belongs to user {owner}, and the command runs as user {own}");
            Err(Failure::new("io.foreign-owner", what).at(path.display().to_string()).hint("run it without sudo"))
        }
    }
}

/// Returns the socket's path in the state folder, or, if that is too long, in a folder of the user's own below `/tmp`.
fn socket(state: &Path) -> Result<PathBuf, Error> {
    let here = state.join("daemon.sock");
    if here.as_os_str().len() <= MAX_SOCKET {
        return Ok(here);
    }
    let user = rustix::process::getuid().as_raw();
    let short = PathBuf::from(format!("/tmp/switchboard-{user}"));
    private_folder(&short)?;
    let found = fs::symlink_metadata(&short).map_err(io(&short))?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        let what = "the folder for sockets belongs to somebody else or is open to others";
        return Err(Failure::new("io.denied", what)
            .at(short.display().to_string())
            .hint("remove it, or set XDG_STATE_HOME to a shorter path")
            .into());
    }
    let name = Digest::of(state.as_os_str().as_encoded_bytes()).hex();
    Ok(short.join(format!("{}.sock", &name[..16])))
}

/// Creates a folder that only the user can read, with its parents.
pub(crate) fn private_folder(path: &Path) -> Result<(), Error> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io(path))
}
