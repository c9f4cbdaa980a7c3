//! The binary under measure: one-off runs without a cache, and a warm child.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;
use tempfile::TempDir;

use crate::command::command;

/// Gives a command its own home, so that it reads nothing of the user's and remembers nothing between runs.
pub(crate) fn at_home<'a>(command: &'a mut Command, home: &Path) -> &'a mut Command {
    command
        .env("HOME", home)
        .env("XDG_STATE_HOME", home.join("state"))
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("SWITCHBOARD_WORKER")
}

/// A running `switchboard check --serve`; it ends when its input does.
#[derive(Debug)]
pub(crate) struct Session {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    _home: TempDir,
}

// === impl Session ===

impl Session {
    pub(crate) fn start(binary: &Path, folder: &Path) -> anyhow::Result<Self> {
        let home = TempDir::new()?;
        let mut serve = command(binary, folder);
        at_home(&mut serve, home.path()).args(["check", "--serve"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = serve.spawn().context("check --serve does not start")?;
        let questions = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().context("no output of check --serve")?);
        Ok(Self { child, questions, answers, _home: home })
    }

    /// Sends one request and waits for its reply.
    pub(crate) fn ask(&mut self, question: &Value) -> anyhow::Result<Value> {
        let questions = self.questions.as_mut().context("the session is over")?;
        questions.write_all(format!("{question}\n").as_bytes())?;
        questions.flush()?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        serde_json::from_str(&line).context("check --serve gave no JSON")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.questions = None;
        // It may have ended already; then only the status is collected.
        let _ = self.child.wait();
    }
}

/// Lists the findings of a reply.
pub(crate) fn findings(reply: &Value) -> impl Iterator<Item = &Value> {
    let reports = reply["reports"].as_array().into_iter().flatten();
    reports.flat_map(|report| report["findings"].as_array().into_iter().flatten())
}
