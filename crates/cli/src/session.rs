//! Finds the daemon of the repository that the command is about, and starts one where none runs.
//!
//! A command that only asks must be done in milliseconds, so the daemon's own sign in the work tree is tried first;
//! only where that does not lead to a daemon is git asked where everything lies.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use switchboard_daemon::{FOLDER, Launch, RootPaths, ServerInfo, launch};
use switchboard_protocol::error::Failure;

use crate::client::{Client, Credentials, DYING};
use crate::commands::adopt;
use crate::context::Context;
use crate::environment::Environment;

/// Where a daemon listens, and who calls.
#[derive(Debug, Clone)]
pub(crate) struct At {
    /// Its Unix socket.
    pub(crate) socket: PathBuf,
    /// The credentials.
    pub(crate) credentials: Credentials,
}

/// The work tree that holds a folder: the nearest one upwards with a `.git`.
pub(crate) fn work_tree(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned)
}

// === impl Context ===

impl Context {
    /// Connects to the daemon, starting one where none runs.
    ///
    /// # Errors
    /// What finding, starting or reaching it fails with; `agent.unmanaged` inside a worker where none runs.
    pub(crate) fn daemon(&self) -> Result<Client, Failure> {
        self.daemon_for(Launch::default()).map(|(client, _)| client)
    }

    /// Like [`Context::daemon`]. Also returns whether it had to be started.
    ///
    /// # Errors
    /// As there.
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
    /// `daemon.not-running` where none does.
    pub(crate) fn running_daemon(&self) -> Result<Client, Failure> {
        self.reach(|at| Client::connect(&at.socket, &at.credentials))
    }

    /// Runs `open` with the place of the daemon that runs.
    ///
    /// # Errors
    /// `daemon.not-running` where none does, and what `open` says.
    pub(crate) fn reach<T>(&self, open: impl Fn(&At) -> Result<T, Failure>) -> Result<T, Failure> {
        self.asking(|| self.environment.reach(&open))
    }

    /// Does something that needs the repository's record; where it is not known whose that is, a person at the terminal is asked first.
    fn asking<T>(&self, find: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
        match find() {
            Err(failure) if failure.code == adopt::MOVED => {
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

    /// Where everything of the repository lies.
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
        // The socket of a worker's environment is the only one that counts there.
        if self.variable("SWITCHBOARD_SOCKET").is_some() {
            return Err(self.none_runs());
        }
        let place = self.place()?;
        if switchboard_daemon::Owner::of(&place)?.is_none() {
            return Err(self.none_runs());
        }
        open(&At { credentials: self.credentials(), socket: place.socket })
    }

    /// A daemon that was killed a moment ago still holds its lock, and nobody listens any more: it is waited out.
    fn start_daemon(&self, how: Launch) -> Result<At, Failure> {
        let place = self.place()?;
        let deadline = Instant::now() + DYING;
        loop {
            launch(&place, how)?;
            let socket = place.socket.clone();
            if UnixStream::connect(&socket).is_ok() || Instant::now() >= deadline {
                return Ok(At { socket, credentials: self.credentials() });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The daemon that the environment or the sign in the work tree names. Anybody may have put that sign there, so it counts only
    /// where the state folder that it leads to belongs to this very repository.
    fn named_by_sign(&self) -> Option<At> {
        if let Some(socket) = self.variable("SWITCHBOARD_SOCKET") {
            return Some(At { socket: socket.into(), credentials: self.credentials() });
        }
        let root = work_tree(&self.folder)?;
        let info = ServerInfo::read(&root.join(FOLDER))?;
        let is_ours = info.socket.parent().is_some_and(|state| switchboard_daemon::belongs(state, &root.join(".git")));
        is_ours.then(|| At { socket: info.socket, credentials: self.credentials() })
    }

    /// The credentials as the environment names them. Without a worker's token the process tree says who calls.
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
