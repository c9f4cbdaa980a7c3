//! One git process: the settings that make it quiet and safe, its limits, and its output.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::repo::Git;
use crate::env::Env;
use crate::spawn::{End, Exit, Output, Spawn};
use crate::{Error, Result};

/// Time limit of a git call; a checkout of a very large tree takes minutes.
const WALL: Duration = Duration::from_secs(600);

/// Maximum number of repetitions of a call that met a work tree which another git process is just making. With the pause before each: git
/// makes the files within some milliseconds, and one killed half-way is reported after half a second.
const REPEATS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(25);

/// Half of the maximum output, in bytes.
const KEEP: usize = 32 << 20;

/// Free space, in bytes, below which a disk counts as full after a failed write: git removes a partial work tree before it exits.
const NEARLY_FULL: u64 = 16 << 20;

/// Settings that override every file: nothing may run a program, prompt, sign, clean up in the background, or vary the output.
const SETTINGS: &[&str] = &[
    "advice.addEmbeddedRepo=false",
    "color.ui=false",
    "commit.gpgSign=false",
    "core.askPass=",
    "core.editor=:",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.logAllRefUpdates=true",
    "core.pager=cat",
    "core.quotePath=false",
    "core.safecrlf=false",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "credential.helper=",
    "diff.external=",
    "diff.ignoreSubmodules=none",
    "gc.auto=0",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "submodule.recurse=false",
    "worktree.useRelativePaths=false",
];

/// A git call that is being prepared.
#[derive(Debug, Clone)]
pub(super) struct Call {
    env: Env,
    settings: Vec<String>,
    args: Vec<String>,
    cwd: Option<std::path::PathBuf>,
    input: Vec<u8>,
    keep: usize,
    /// Paths that the call may write: its folder, the repository's, and those in its arguments.
    places: Vec<PathBuf>,
}

// === impl Call ===

impl Call {
    pub(super) fn new<S: Into<String>>(git: &Git, args: impl IntoIterator<Item = S>) -> Self {
        let env = git
            .env()
            .clone()
            .set("GIT_ADVICE", "0")
            .set("GIT_ASKPASS", "")
            .set("GIT_CONFIG_NOSYSTEM", "1")
            .set("GIT_EDITOR", ":")
            .set("GIT_OPTIONAL_LOCKS", "0")
            .set("GIT_PAGER", "cat")
            .set("GIT_TERMINAL_PROMPT", "0")
            .set("LC_ALL", "C");
        let args: Vec<String> = args.into_iter().map(Into::into).collect();
        let settings = SETTINGS.iter().map(|s| (*s).to_owned()).collect();
        let places = args.iter().map(PathBuf::from).filter(|place| place.is_absolute()).collect();
        Self { env, settings, args, cwd: None, input: Vec::new(), keep: KEEP, places }
    }

    pub(super) fn cwd(mut self, cwd: &Path) -> Self {
        self.cwd = Some(cwd.to_owned());
        self.places.push(cwd.to_owned());
        self
    }

    pub(super) fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(super) fn setting(mut self, setting: &str) -> Self {
        self.settings.push(setting.to_owned());
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        let value = value.into();
        if name == "GIT_DIR" {
            self.places.push(PathBuf::from(&value));
        }
        self.env = self.env.set(name, value);
        self
    }

    pub(super) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Limits what is kept of the output to so many bytes at the beginning and at the end.
    pub(super) fn keep(mut self, bytes: usize) -> Self {
        self.keep = bytes;
        self
    }

    /// Runs the call; any exit code is accepted, a signal or a time-out is not.
    pub(super) fn run(self) -> Result<(i32, Output)> {
        let call = self.args.first().cloned().unwrap_or_default();
        let mut argv = vec!["git".to_owned()];
        for setting in self.settings {
            argv.extend(["-c".to_owned(), setting]);
        }
        argv.extend(self.args);
        // A git process that outlived us would still write files while a later one already repairs what we left.
        let mut spawn = Spawn::new(argv).env_only(self.env).wall(WALL).keep(self.keep).input(self.input).ends_with_us();
        if let Some(cwd) = self.cwd {
            spawn = spawn.cwd(cwd);
        }
        let output =
            spawn.output().map_err(|e| if matches!(e, Error::Missing { .. }) { Error::GitMissing } else { e })?;
        match (output.end, output.exit) {
            (End::ByItself, Exit::Exited(code)) => Ok((code, output)),
            (End::TimedOut | End::Stopped, _) => Err(Error::GitTimeout { call, limit: WALL }),
            (End::ByItself, Exit::Signalled(signal)) => {
                Err(Error::Git { call, said: format!("it was ended by signal {signal}") })
            }
        }
    }

    /// Runs the call and returns its exit code, which must be one of `codes`, and its whole output.
    pub(super) fn answer(self, codes: &[i32]) -> Result<(i32, Vec<u8>)> {
        let call = self.args.first().cloned().unwrap_or_default();
        let mut repeats = 0;
        let (code, output) = loop {
            let (code, output) = self.clone().run()?;
            if codes.contains(&code) {
                break (code, output);
            }
            let said = failure_text(&output, code);
            if repeats == REPEATS || !is_half_made(&said) {
                let why = if self.lacks_room(&said) { ": No space left on device" } else { "" };
                return Err(Error::Git { call, said: format!("{said}{why}") });
            }
            repeats += 1;
            std::thread::sleep(PAUSE);
        };
        let whole = output.stdout.whole();
        whole.map(|bytes| (code, bytes)).ok_or_else(|| Error::GitAnswer { call, why: "it is too long".to_owned() })
    }

    /// Returns true if the call failed because the disk is full but git doesn't report that: for some writes it only reports that they
    /// failed.
    fn lacks_room(&self, said: &str) -> bool {
        let failed_to_write = ["unable to write", "could not write", "write error", "failed to write"];
        let is_full = |place: &PathBuf| crate::file::room(place).is_some_and(|room| room < NEARLY_FULL);
        failed_to_write.iter().any(|words| said.contains(words)) && self.places.iter().any(is_full)
    }

    /// Runs the call, expects exit code 0, and returns its whole output.
    pub(super) fn bytes(self) -> Result<Vec<u8>> {
        self.answer(&[0]).map(|(_, bytes)| bytes)
    }

    /// As [`Call::bytes`], for output that is text.
    pub(super) fn text(self) -> Result<String> {
        let call = self.args.first().cloned().unwrap_or_default();
        String::from_utf8(self.bytes()?).map_err(|_| Error::GitAnswer { call, why: "it is not UTF-8".to_owned() })
    }

    /// As [`Call::bytes`], for calls whose output is not needed.
    pub(super) fn done(self) -> Result<()> {
        self.bytes().map(drop)
    }
}

/// Returns true if git met an incomplete work tree. It reads the files of every work tree before it does anything, so the call has
/// changed nothing.
fn is_half_made(said: &str) -> bool {
    said.contains("failed to read") && said.contains("/worktrees/") && said.contains("/commondir")
}

/// Returns git's error message: standard error, or how it ended if that is empty.
pub(super) fn failure_text(output: &Output, code: i32) -> String {
    let said = output.stderr.ending(2048);
    let said = said.trim();
    if said.is_empty() { format!("exit code {code}") } else { said.to_owned() }
}
