//! Finds the daemon of the command's repository, and starts one if none runs.
//!
//! A read-only command must finish in milliseconds, so the sign that the daemon leaves in the work tree is tried first;
//! git is asked for the repository's paths only if that leads to no daemon.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use switchboard_daemon::{FOLDER, Launch, RootPaths, ServerInfo, launch};
use switchboard_protocol::error::Failure;

use crate::client::{Client, Credentials, DAEMON_EXIT_LIMIT};
use crate::commands::adopt;
use crate::context::Context;
use crate::environment::Environment;

/// Socket of a daemon, and the caller's credentials.
#[derive(Debug, Clone)]
pub(crate) struct At {
    /// Unix socket of the daemon.
    pub(crate) socket: PathBuf,
    /// Credentials of the caller.
    pub(crate) credentials: Credentials,
}

/// Returns the work tree that holds a folder: the nearest ancestor with a `.git`.
pub(crate) fn work_tree(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}

// === impl Context ===

impl Context {
    /// Connects to the daemon, starting one if none runs.
    ///
    /// # Errors
    /// The failure of finding, starting or reaching the daemon; `agent.unmanaged` inside a worker where none runs.
    pub(crate) fn daemon(&self) -> Result<Client, Failure> {
        self.daemon_for(Launch::default()).map(|(client, _)| client)
    }

    /// Like [`Context::daemon`]. Also returns true if the daemon had to be started.
    ///
    /// # Errors
    /// As [`Context::daemon`].
    pub(crate) fn daemon_for(&self, how: Launch) -> Result<(Client, bool), Failure> {
        match self.running_daemon() {
            Err(failure) if failure.code == "daemon.not-running" => {
                let at = self.start_daemon(how)?;
                Ok((Client::connect(&at.socket, &at.credentials)?, true))
            }
            client => {
                let environment = self.environment.clone();
                let revive = Box::new(move || environment.start_daemon(how).map(|at| at.socket));
                Ok((client?.or_else(revive), false))
            }
        }
    }

    /// Connects to the daemon if one runs.
    ///
    /// # Errors
    /// `daemon.not-running` if none does.
    pub(crate) fn running_daemon(&self) -> Result<Client, Failure> {
        self.reach(|at| Client::connect(&at.socket, &at.credentials))
    }

    /// Runs `open` with the address of the running daemon.
    ///
    /// # Errors
    /// `daemon.not-running` if none runs, and the failures of `open`.
    pub(crate) fn reach<T>(&self, open: impl Fn(&At) -> Result<T, Failure>) -> Result<T, Failure> {
        self.asking(|| self.environment.reach(&open))
    }

    /// Runs `find`, which needs the repository's record; asks a person at the terminal first if it is unclear which record that is.
    fn asking<T>(&self, find: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
        match find() {
            Err(failure) if failure.code == adopt::MOVED_REPOSITORY_CODE => {
                adopt::ask(self, failure)?;
                find()
            }
            found => found,
        }
    }

    /// Starts a daemon and waits until it is ready.
    ///
    /// # Errors
    /// As [`Context::daemon`].
    pub(crate) fn start_daemon(&self, how: Launch) -> Result<At, Failure> {
        self.asking(|| self.environment.start_daemon(how))
    }

    /// Returns the paths of the repository's files.
    ///
    /// # Errors
    /// `git.not-a-repository` and the like.
    pub(crate) fn place(&self) -> Result<RootPaths, Failure> {
        self.asking(|| self.environment.place())
    }
}

// === impl Environment ===

impl Environment {
    fn place(&self) -> Result<RootPaths, Failure> {
        if let Some(place) = self.place.get() {
            return Ok(place.clone());
        }
        let found = RootPaths::discover(&self.folder)?;
        Ok(self.place.get_or_init(|| found).clone())
    }

    pub(crate) fn reach<T>(&self, open: impl Fn(&At) -> Result<T, Failure>) -> Result<T, Failure> {
        if let Some(at) = self.named_by_sign() {
            match open(&at) {
                Err(failure) if failure.code == "daemon.not-running" => {}
                other => return other,
            }
        }
        // Inside a worker, the socket named by its environment is the only one that counts.
        if self.variable("SWITCHBOARD_SOCKET").is_some() {
            return Err(self.none_runs());
        }
        let place = self.place()?;
        if switchboard_daemon::Owner::of(&place)?.is_none() {
            return Err(self.none_runs());
        }
        open(&At { credentials: self.credentials(), socket: place.socket })
    }

    /// Starts a daemon. One that was killed a moment ago still holds its lock without listening: this waits for its end.
    fn start_daemon(&self, how: Launch) -> Result<At, Failure> {
        let place = self.place()?;
        let deadline = Instant::now() + DAEMON_EXIT_LIMIT;
        loop {
            launch(&place, how)?;
            let socket = place.socket.clone();
            if UnixStream::connect(&socket).is_ok() || Instant::now() >= deadline {
                return Ok(At { socket, credentials: self.credentials() });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the daemon that the environment or the sign in the work tree names. Anybody may have put that sign there, so it counts only
    /// if the state folder that it leads to belongs to this very repository.
    fn named_by_sign(&self) -> Option<At> {
        if let Some(socket) = self.variable("SWITCHBOARD_SOCKET") {
            return Some(At { socket: socket.into(), credentials: self.credentials() });
        }
        let root = work_tree(&self.folder)?;
        let info = ServerInfo::read(&root.join(FOLDER))?;
        let is_ours = info.socket.parent().is_some_and(|state| switchboard_daemon::belongs(state, &root.join(".git")));
        is_ours.then(|| At { socket: info.socket, credentials: self.credentials() })
    }

    /// Reads the credentials from the environment. Without a worker's token the process tree identifies the caller.
    fn credentials(&self) -> Credentials {
        let token = self.variable("SWITCHBOARD_TOKEN").map(str::to_owned);
        let name = ["SWITCHBOARD_AGENT", "USER"].into_iter().find_map(|name| self.variable(name));
        let folder = self.folder.is_absolute().then(|| self.folder.clone());
        Credentials { token, name: name.map(str::to_owned), ci: self.is_ci(), yes: self.says_yes, folder }
    }

    fn none_runs(&self) -> Failure {
        Failure::new("daemon.not-running", "no daemon runs for this repository")
            .at(self.folder.display().to_string())
            .hint("start one: switchboard up --detach")
    }
}
