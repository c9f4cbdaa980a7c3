//! Where everything of a repository lies.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use switchboard_process::env::{Env, var};
use switchboard_process::git::{Git, Repo};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::Digest;

use crate::Error;
use crate::error::io;
use crate::project::FOLDER;

/// File in the git common dir that names the state folder; all work trees of a repository share it.
const ID_FILE: &str = "switchboard-root-id";

/// Longest path of a Unix socket in bytes, the final zero not counted (`sun_path` has 108).
const MAX_SOCKET: usize = 107;

/// A repository and the folders that belong to it.
#[derive(Debug, Clone)]
pub struct RootPaths {
    /// Git's view of the user's work tree.
    pub repo: Repo,
    /// Top of the user's work tree.
    pub root: PathBuf,
    /// `.switchboard` in it: the protocol's files.
    pub project: PathBuf,
    /// The user's state folder for this repository: store, spools, keys, runs.
    pub state: PathBuf,
    /// The user's settings.
    pub settings: PathBuf,
    /// The daemon's Unix socket.
    pub socket: PathBuf,
}

// === impl RootPaths ===

impl RootPaths {
    /// Finds the repository of a folder, makes the state folder if it is new.
    ///
    /// # Errors
    /// `git.not-a-repository`, `git.bare`, `git.missing`, or a folder that can't be made.
    pub fn discover(folder: &Path) -> Result<Self, Error> {
        let repo = Git::find(Env::plain())?.discover(folder)?;
        let root = repo.root().to_owned();
        let state = base("XDG_STATE_HOME", ".local/state")?.join(id(repo.common_dir())?);
        private_folder(&state)?;
        let socket = socket(&state)?;
        let settings = base("XDG_CONFIG_HOME", ".config")?;
        Ok(Self { project: root.join(FOLDER), repo, root, state, settings, socket })
    }

    /// The store's file.
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

    /// Why the last daemon did not start; gone once one has.
    #[must_use]
    pub fn boot_failure(&self) -> PathBuf {
        self.state.join("boot-failure.json")
    }

    /// The daemon's log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.state.join("daemon.log")
    }
}

/// A base folder of the XDG specification, with `switchboard` at its end; relative values don't count.
fn base(variable: &str, below_home: &str) -> Result<PathBuf, Error> {
    let named = var(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || var("HOME").map(PathBuf::from).filter(|path| path.is_absolute()).map(|home| home.join(below_home));
    let found = named.or_else(home).map(|base| base.join("switchboard"));
    found.ok_or_else(|| Failure::new("config.bad-value", format!("neither {variable} nor HOME names a folder")).into())
}

/// The id of a repository: made once, kept in its git folder, so that moving the work tree keeps the state.
fn id(common: &Path) -> Result<String, Error> {
    let path = common.join(ID_FILE);
    if let Some(id) = read_id(&path)? {
        return Ok(id);
    }
    let random =
        getrandom::u64().map_err(|error| Failure::new("internal.bug", format!("no random numbers: {error}")))?;
    let fresh = format!("{random:016x}");
    let beside = common.join(format!("{ID_FILE}.{fresh}"));
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create(&beside)?;
        writeln!(file, "{fresh}")?;
        file.sync_data()?;
        // A hard link fails where another process was faster; then its id is the one.
        match fs::hard_link(&beside, &path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => fs::remove_file(&beside),
        }
    };
    write().map_err(io(&path))?;
    Ok(read_id(&path)?.unwrap_or(fresh))
}

fn read_id(path: &Path) -> Result<Option<String>, Error> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(path)(error)),
    };
    let id = text.trim();
    let is_id = id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id {
        return Ok(Some(id.to_owned()));
    }
    let what = "the file that names this repository's state folder holds something else";
    Err(Failure::new("config.bad-value", what)
        .at(path.display().to_string())
        .hint("delete it to begin with an empty state")
        .into())
}

/// The socket in the state folder, or, where that path is too long for one, in a folder of the user's own below `/tmp`.
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

/// Makes a folder that only the user can read, with its parents.
pub(crate) fn private_folder(path: &Path) -> Result<(), Error> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io(path))
}
