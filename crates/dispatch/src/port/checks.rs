//! Runs the checks in a child process of our own binary, warm and limited: untrusted code is parsed there, not here.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_process::env::Env;
use switchboard_process::lines::{Line, Lines};
use switchboard_process::spawn::{Child, Limits, Spawn};
use switchboard_protocol::error::Failure;
use switchboard_protocol::finding::{CheckName, CheckReply, CheckReport, CheckRequest};
use switchboard_protocol::verb::check::{CheckAnswer, CheckCall};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use crate::Error;
use crate::future::BoxFuture;

/// Maximum address space of the child, in bytes: a parser that allocates without end fails there.
const MEMORY: u64 = 4 << 30;

/// Maximum length of an answer, in bytes.
const MAX_ANSWER: usize = 16 << 20;

/// Judges changes, and answers the checks' verbs.
pub(crate) trait Checks: Send + Sync {
    /// Judges a change within a time limit.
    ///
    /// # Errors
    /// When the checks could not run.
    fn check<'a>(
        &'a self,
        request: &'a CheckRequest,
        limit: Duration,
    ) -> BoxFuture<'a, Result<Vec<CheckReport>, Error>>;

    /// Calls one of the checks' verbs within a time limit.
    ///
    /// # Errors
    /// The refusal of the check, or that it could not run.
    fn call<'a>(
        &'a self,
        call: &'a CheckCall,
        runs_commands: bool,
        limit: Duration,
    ) -> BoxFuture<'a, Result<Value, Failure>>;
}

/// Child processes of our own binary, started at the first request and again after a failure.
pub(crate) struct Children {
    binary: PathBuf,
    /// Child that judges changes.
    gates: Slot,
    /// Child that runs checks for callers, so that no caller delays a gate.
    verbs: Slot,
}

/// Child that is started once and kept.
type Slot = Mutex<Option<Serving>>;

struct Serving {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

// === impl Children ===

impl Checks for Children {
    fn check<'a>(
        &'a self,
        request: &'a CheckRequest,
        limit: Duration,
    ) -> BoxFuture<'a, Result<Vec<CheckReport>, Error>> {
        Box::pin(self.judge(request, limit))
    }

    fn call<'a>(
        &'a self,
        call: &'a CheckCall,
        runs_commands: bool,
        limit: Duration,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(self.answer(call, runs_commands, limit))
    }
}

impl Children {
    pub(crate) fn new(binary: PathBuf) -> Self {
        Self { binary, gates: Slot::default(), verbs: Slot::default() }
    }

    /// Judges a change: its files by the warm child, commands of the request by another child, in parallel.
    /// A child that breaks or stalls is ended and named in the error.
    async fn judge(&self, request: &CheckRequest, limit: Duration) -> Result<Vec<CheckReport>, Error> {
        let (files, commands) = parted(request);
        let ask_files = async {
            match &files {
                Some(files) => answered(self.ask_warm::<_, CheckReply>(&self.gates, files, limit).await?),
                None => Ok(Vec::new()),
            }
        };
        let ask_commands = async {
            match &commands {
                Some(commands) => answered(self.ask_fresh::<_, CheckReply>(commands, limit).await?),
                None => Ok(Vec::new()),
            }
        };
        let (mut reports, more) = tokio::try_join!(ask_files, ask_commands)?;
        reports.extend(more);
        Ok(reports)
    }

    /// Calls one of the checks' verbs.
    async fn answer(&self, call: &CheckCall, runs_commands: bool, limit: Duration) -> Result<Value, Failure> {
        let answer: CheckAnswer = if runs_commands {
            self.ask_fresh(call, limit).await?
        } else {
            self.ask_warm(&self.verbs, call, limit).await?
        };
        match (answer.result, answer.failure) {
            (Some(result), None) => Ok(result),
            (_, Some(failure)) => Err(failure),
            (None, None) => Err(Failure::new("check.channel", "the checking child gave an empty answer")),
        }
    }

    /// Asks the warm child, one question at a time.
    async fn ask_warm<Q: Serialize, A: DeserializeOwned>(
        &self,
        slot: &Slot,
        question: &Q,
        limit: Duration,
    ) -> Result<A, Error> {
        let mut slot = slot.lock().await;
        let serving = match slot.take() {
            Some(serving) => serving,
            None => self.start(Some(MEMORY))?,
        };
        let (answer, serving) = serving.ask_within(question, limit).await?;
        *slot = Some(serving);
        Ok(answer)
    }

    /// Asks a new child. It runs foreign commands, which reserve far more address space than they use:
    /// their limits are those of the check.
    async fn ask_fresh<Q: Serialize, A: DeserializeOwned>(&self, question: &Q, limit: Duration) -> Result<A, Error> {
        let (answer, mut serving) = self.start(None)?.ask_within(question, limit).await?;
        serving.child.terminate(Duration::from_secs(1)).await;
        Ok(answer)
    }

    fn start(&self, memory_bytes: Option<u64>) -> Result<Serving, Error> {
        let argv = [crate::plan::text(&self.binary), "check".to_owned(), "--serve".to_owned()];
        let limits = Limits { memory_bytes, ..Limits::default() };
        let mut child = Spawn::new(argv).env_only(Env::plain()).limits(limits).ends_with_us().piped()?;
        let streams = child.stdin.take().zip(child.stdout.take());
        drop(child.stderr.take());
        let (stdin, stdout) = streams.ok_or_else(|| child_failed("the checking child has no streams"))?;
        Ok(Serving { child, stdin, stdout: BufReader::new(stdout) })
    }
}

impl Serving {
    /// Asks the child and returns it with the answer; a child that breaks or stalls is ended.
    async fn ask_within<Q: Serialize, A: DeserializeOwned>(
        mut self,
        question: &Q,
        limit: Duration,
    ) -> Result<(A, Self), Error> {
        let asked = tokio::time::timeout(limit, self.ask(question)).await;
        let why = match asked {
            Ok(Ok(answer)) => return Ok((answer, self)),
            Ok(Err(error)) => format!("the checking child broke: {error}"),
            Err(_) => format!("the checks took longer than {} s", limit.as_secs()),
        };
        self.child.terminate(Duration::from_secs(1)).await;
        Err(child_failed(why))
    }

    async fn ask<Q: Serialize, A: DeserializeOwned>(&mut self, question: &Q) -> std::io::Result<A> {
        let mut line = serde_json::to_vec(question)?;
        line.push(b'\n');
        self.stdin.write_all(&line).await?;
        self.stdin.flush().await?;
        match Lines::new(MAX_ANSWER).read_async(&mut self.stdout).await? {
            Line::Whole(answer) => Ok(serde_json::from_slice(&answer)?),
            Line::TooLong => Err(std::io::Error::other("its answer is too long")),
            Line::End(_) => Err(std::io::Error::other("it ended")),
        }
    }
}

/// Returns a failure that names the checking child.
fn child_failed(what: impl Into<String>) -> Error {
    Failure::new("gate.refused", what).hint("run `switchboard doctor`").into()
}

/// Splits a request into checks of files and checks that run commands. `test_integrity`, `new_tests` and
/// `regression_sweep` run tests if there is a command for it.
fn parted(request: &CheckRequest) -> (Option<CheckRequest>, Option<CheckRequest>) {
    let runs = |check: &CheckName| {
        let is_named = request.commands.iter().any(|command| command.kind.check() == *check);
        let changes_tree = [CheckName::TestIntegrity, CheckName::NewTests, CheckName::RegressionSweep].contains(check);
        is_named || (changes_tree && !request.commands.is_empty())
    };
    let (commands, files): (Vec<_>, Vec<_>) = request.only.iter().copied().partition(runs);
    let of_files = CheckRequest { only: files, commands: Vec::new(), ..request.clone() };
    let of_commands = CheckRequest { only: commands, ..request.clone() };
    ((!of_files.only.is_empty()).then_some(of_files), (!of_commands.only.is_empty()).then_some(of_commands))
}

fn answered(reply: CheckReply) -> Result<Vec<CheckReport>, Error> {
    match reply.failures.into_iter().next() {
        // With reports, the failure concerns only a part: its gate has no report and can't pass.
        Some(failure) if reply.reports.is_empty() => Err(child_failed(format!("{} [{}]", failure.what, failure.code))),
        Some(_) | None => Ok(reply.reports),
    }
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::finding::{CheckCommand, CommandKind};

    use super::*;

    #[test]
    fn what_runs_commands_is_asked_apart_from_what_looks_at_files() {
        let command = CheckCommand {
            kind: CommandKind::Test,
            argv: vec!["true".to_owned()],
            cwd: None,
            time_limit_s: None,
            env: Vec::new(),
        };
        let only = vec![CheckName::Secretscan, CheckName::TestRunner];
        let request = CheckRequest { only, commands: vec![command], ..CheckRequest::default() };

        let (files, commands) = parted(&request);

        let files = files.unwrap();
        assert_eq!((files.only, files.commands.len()), (vec![CheckName::Secretscan], 0));
        assert_eq!(commands.unwrap().only, [CheckName::TestRunner]);
        assert!(parted(&CheckRequest { only: vec![CheckName::Lint], ..CheckRequest::default() }).1.is_none());
    }
}
