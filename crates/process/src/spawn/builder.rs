//! Description of a process to be started.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::limits::{self, BeforeExec, Limits};
use super::output::StopFlag;
use super::which;
use crate::env::Env;
use crate::orphans::{self, Hold};
use crate::sandbox::{self, HandoverReceiver, HandoverSender, Ruleset, Sandbox};
use crate::{Error, Result};

/// Default time limit of [`Spawn::output`].
pub const DEFAULT_WALL: Duration = Duration::from_secs(60);

/// Default number of bytes of each output stream that [`Spawn::output`] keeps: so many of the beginning, as many of the end.
pub const DEFAULT_KEEP: usize = 1 << 20;

/// Number of repetitions of a spawn while another thread's fork still holds the program's file open for writing.
const BUSY_RETRIES: u32 = 5;

/// A process to be started: `Spawn::new(["git", "version"]).cwd(root).env_only(Env::plain()).output()`.
///
/// Standard input is empty unless it is set. The child leads its own process group, so that everything it starts can
/// be ended with it; it inherits only the standard streams and the given environment.
#[derive(Debug, Clone)]
pub struct Spawn {
    pub(super) argv: Vec<String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) env: Env,
    pub(super) limits: Limits,
    pub(super) own_session: bool,
    pub(super) ends_with_us: bool,
    pub(super) wall: Duration,
    pub(super) grace: Duration,
    pub(super) keep: usize,
    pub(super) input: Vec<u8>,
    pub(super) stop: Option<StopFlag>,
    sandbox: Option<Sandbox>,
    rules: Option<Arc<Ruleset>>,
    giver: Option<Arc<HandoverSender>>,
}

// === impl Spawn ===

impl Spawn {
    /// Sets program and arguments. A program without a slash is looked up on the `PATH` that the child will have.
    #[must_use]
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        Self {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: None,
            env: Env::empty(),
            limits: Limits::default(),
            own_session: false,
            ends_with_us: false,
            wall: DEFAULT_WALL,
            grace: Duration::from_secs(2),
            keep: DEFAULT_KEEP,
            input: Vec::new(),
            stop: None,
            sandbox: None,
            rules: None,
            giver: None,
        }
    }

    /// Sets the folder to start in; by default ours.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Sets the whole environment; empty by default.
    #[must_use]
    pub fn env_only(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// Sets resource limits, which the kernel enforces.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what the child and everything it starts may access; by default whatever we may.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// Has the child make a listener on port [`sandbox::PORT`] of its loopback, in its separate network, and pass it to us.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn listener_inside(mut self) -> Result<(Self, HandoverReceiver)> {
        let (giver, taker) = sandbox::pair().map_err(Error::io("make a pair of sockets"))?;
        self.giver = Some(Arc::new(giver));
        Ok((self, taker))
    }

    /// Sets prepared sandbox rules.
    #[must_use]
    pub(crate) fn held_to(mut self, rules: Ruleset) -> Self {
        self.rules = Some(Arc::new(rules));
        self
    }

    /// Makes the child also the leader of a session, so that no terminal reaches it. [`Spawn::detached`] always does.
    #[must_use]
    pub fn own_session(mut self) -> Self {
        self.own_session = true;
        self
    }

    /// Has the kernel kill the child (not its children) when the thread that spawns it ends, even by `kill -9`.
    #[must_use]
    pub fn ends_with_us(mut self) -> Self {
        self.ends_with_us = true;
        self
    }

    /// Sets the time limit of [`Spawn::output`]; [`DEFAULT_WALL`] by default.
    #[must_use]
    pub fn wall(mut self, wall: Duration) -> Self {
        self.wall = wall;
        self
    }

    /// Sets the time that [`Spawn::output`] leaves between SIGTERM and SIGKILL; 2 s by default.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets the number of bytes of the beginning, and as many of the end, that [`Spawn::output`] keeps of each stream.
    #[must_use]
    pub fn keep(mut self, bytes: usize) -> Self {
        self.keep = bytes;
        self
    }

    /// Sets the standard input of [`Spawn::output`], which is closed after these bytes.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Ends [`Spawn::output`] early when another thread raises the flag.
    #[must_use]
    pub fn stopped_by(mut self, flag: StopFlag) -> Self {
        self.stop = Some(flag);
        self
    }

    /// Returns program and arguments, as they were given.
    #[must_use]
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    fn program(&self) -> Result<PathBuf> {
        let program = self.argv.first().filter(|p| !p.is_empty()).ok_or(Error::EmptyCommand)?;
        if let Some(cwd) = &self.cwd
            && !cwd.is_dir()
        {
            return Err(Error::Folder { path: cwd.clone() });
        }
        which::find(program, self.env.get("PATH"), self.cwd.as_deref())
            .ok_or_else(|| Error::Missing { program: program.clone() })
    }

    /// Returns the command, complete except for its streams.
    #[expect(clippy::disallowed_methods, reason = "this is the one home of spawning")]
    pub(super) fn command(&self) -> Result<Command> {
        let mut command = Command::new(self.program()?);
        command.args(&self.argv[1..]).env_clear().envs(self.env.iter()).stdin(Stdio::null());
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        let rules = match &self.sandbox {
            Some(sandbox) => Some(Arc::new(sandbox.ruleset(self.cwd.as_deref())?)),
            None => self.rules.clone(),
        };
        let (limits, own_session, ends_with_us) = (self.limits, self.own_session, self.ends_with_us);
        let giver = self.giver.clone();
        limits::before_exec(&mut command, BeforeExec { limits, own_session, ends_with_us, rules, giver });
        Ok(command)
    }

    /// Starts the command, and registers it for the search for orphans.
    pub(super) fn start(&self, command: &mut Command, hold: Hold) -> Result<std::process::Child> {
        orphans::register(hold, || {
            let mut tries = 0;
            loop {
                match command.spawn() {
                    Ok(child) => return Ok((child.id(), child)),
                    Err(e) if e.kind() == std::io::ErrorKind::ExecutableFileBusy && tries < BUSY_RETRIES => {
                        tries += 1;
                        std::thread::sleep(Duration::from_millis(10));
                    }
                    Err(source) => return Err(Error::Spawn { program: self.argv[0].clone(), source }),
                }
            }
        })
    }
}
