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
use crate::json;

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
            Line::Whole(answer) => Ok(json::from_slice(&answer)?),
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
    use serde_json::json;
    use switchboard_process::file::{Mode, Sync, replace};
    use switchboard_protocol::finding::{CheckCommand, CommandKind};

    use super::*;

    /// Program in the place of our binary: counts its starts, and answers each line with the text of a file.
    const PROGRAM: &str = r#"#!/bin/sh
trap '' PIPE
echo "$*" >> "$0.starts"
head -c 200000 /dev/zero >&2
while read -r line; do
    case "$line" in *test_runner*) cat "$0.commands" ;; *) cat "$0.files" ;; esac
done
"#;

    /// Longer than any answer takes.
    const LONG: Duration = Duration::from_secs(120);

    /// Children of a program that answers as a test says.
    struct Asked {
        folder: tempfile::TempDir,
        children: Children,
    }

    impl Asked {
        fn new(program: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let binary = folder.path().join("switchboard");
            replace(&binary, program.as_bytes(), Mode::Program, Sync::No).unwrap();
            Self { folder, children: Children::new(binary) }
        }

        /// Sets the answer about files or about commands.
        fn answer(&self, about: &str, answer: &Value) {
            let file = self.folder.path().join(format!("switchboard.{about}"));
            replace(&file, format!("{answer}\n").as_bytes(), Mode::Private, Sync::No).unwrap();
        }

        /// Returns the arguments of each start.
        fn starts(&self) -> Vec<String> {
            let starts = std::fs::read_to_string(self.folder.path().join("switchboard.starts")).unwrap_or_default();
            starts.lines().map(str::to_owned).collect()
        }

        async fn check(&self, only: &[CheckName]) -> Result<Vec<CheckName>, Failure> {
            let request = CheckRequest { only: only.to_vec(), commands: vec![command()], ..CheckRequest::default() };
            let reports = self.children.check(&request, LONG).await.map_err(|error| error.to_failure())?;
            Ok(reports.into_iter().map(|report| report.check).collect())
        }

        async fn call(&self, runs_commands: bool) -> Result<Value, Failure> {
            let call = CheckCall { id: None, verb: "lint".to_owned(), root: "/".to_owned(), args: json!({}) };
            self.children.call(&call, runs_commands, LONG).await
        }
    }

    fn command() -> CheckCommand {
        CheckCommand {
            kind: CommandKind::Test,
            argv: vec!["true".to_owned()],
            cwd: None,
            time_limit_s: None,
            env: Vec::new(),
        }
    }

    fn reply(checks: &[CheckName], failures: &[&str]) -> Value {
        let report = |check: &CheckName| {
            json!({ "check": check, "verdict": "pass", "summary": "", "findings": [], "files_checked": 1,
                "skipped": [], "duration_ms": 1 })
        };
        let failure = |what: &&str| json!({ "code": "check.command", "what": what, "hint": "" });
        json!({ "verdict": "pass", "base": "HEAD", "duration_ms": 1,
            "reports": checks.iter().map(report).collect::<Vec<_>>(),
            "failures": failures.iter().map(failure).collect::<Vec<_>>() })
    }

    #[tokio::test]
    async fn files_are_judged_by_one_child_that_stays_and_commands_by_a_new_one_each_time() {
        let asked = Asked::new(PROGRAM);
        asked.answer("files", &reply(&[CheckName::Secretscan], &[]));
        asked.answer("commands", &reply(&[CheckName::TestRunner], &[]));

        for _ in 0..2 {
            let judged = asked.check(&[CheckName::TestRunner, CheckName::Secretscan]).await.unwrap();
            assert_eq!(judged, [CheckName::Secretscan, CheckName::TestRunner]);
        }

        assert_eq!(asked.starts(), ["check --serve"; 3], "one for the files, and one each for the commands");
    }

    #[tokio::test]
    async fn callers_share_one_child_unless_their_check_runs_commands() {
        let asked = Asked::new(PROGRAM);
        asked.answer("files", &json!({ "result": { "passed": true } }));

        for (runs_commands, starts) in [(false, 1), (false, 1), (true, 2), (true, 3), (false, 3)] {
            assert_eq!(asked.call(runs_commands).await.unwrap(), json!({ "passed": true }));
            assert_eq!(asked.starts().len(), starts);
        }
        asked.answer("files", &json!({ "failure": Failure::new("check.command", "no linter") }));
        assert_eq!(asked.call(false).await.unwrap_err().code, "check.command");
        asked.answer("files", &json!({}));
        assert_eq!(asked.call(false).await.unwrap_err().code, "check.channel");
    }

    #[tokio::test]
    async fn a_failure_counts_for_the_whole_request_only_if_nothing_was_reported() {
        let asked = Asked::new(PROGRAM);
        asked.answer("files", &reply(&[], &["no such folder"]));
        let failure = asked.check(&[CheckName::Lint]).await.unwrap_err();
        assert_eq!((failure.code.as_str(), failure.what.as_str()), ("gate.refused", "no such folder [check.command]"));

        asked.answer("files", &reply(&[CheckName::Lint], &["no linter"]));
        assert_eq!(asked.check(&[CheckName::Lint, CheckName::Diff]).await.unwrap(), [CheckName::Lint]);
    }

    #[tokio::test]
    async fn a_child_that_breaks_or_stalls_is_ended_named_and_replaced() {
        let asked = Asked::new("#!/bin/sh\necho x >> \"$0.starts\"\nread -r line\ncat \"$0.files\"\n");
        asked.answer("files", &json!("no answer"));
        let failure = asked.call(false).await.unwrap_err();
        assert!(failure.what.contains("the checking child broke"), "{failure:?}");
        asked.answer("files", &json!({ "result": 1 }));
        assert_eq!(asked.call(false).await.unwrap(), json!(1), "by another child");
        assert_eq!(asked.starts().len(), 2);

        let stalled = Asked::new("#!/bin/sh\nread -r line\nexec sleep 1000\n");
        let request = CheckRequest { only: vec![CheckName::Lint], ..CheckRequest::default() };
        let failure = stalled.children.check(&request, Duration::from_secs(1)).await.unwrap_err().to_failure();
        assert_eq!(failure.what, "the checks took longer than 1 s");
    }

    #[test]
    fn what_runs_commands_is_asked_apart_from_what_looks_at_files() {
        let only = vec![CheckName::Secretscan, CheckName::TestRunner];
        let request = CheckRequest { only, commands: vec![command()], ..CheckRequest::default() };

        let (files, commands) = parted(&request);

        let files = files.unwrap();
        assert_eq!((files.only, files.commands.len()), (vec![CheckName::Secretscan], 0));
        assert_eq!(commands.unwrap().only, [CheckName::TestRunner]);
        assert!(parted(&CheckRequest { only: vec![CheckName::Lint], ..CheckRequest::default() }).1.is_none());
        let runs_tests = vec![CheckName::TestIntegrity, CheckName::NewTests, CheckName::RegressionSweep];
        let request = CheckRequest { only: runs_tests.clone(), commands: vec![command()], ..CheckRequest::default() };
        let (files, commands) = parted(&request);
        assert_eq!((files, commands.unwrap().only), (None, runs_tests));
        assert!(parted(&CheckRequest { commands: Vec::new(), ..request }).1.is_none(), "without a command");
    }
}
