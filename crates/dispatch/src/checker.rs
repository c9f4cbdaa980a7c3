//! The checks run in a child of our own binary, warm and limited: untrusted code is parsed there, not here.

use std::path::PathBuf;
use std::time::Duration;

use process::env::Env;
use process::spawn::{Child, Limits, Spawn};
use protocol::finding::{CheckReply, CheckReport, CheckRequest};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use crate::Error;
use crate::effect::child_failed;

/// Address space of the child in bytes; a parser that runs away ends there.
const MEMORY: u64 = 4 << 30;

/// Longest answer in bytes.
const MAX_ANSWER: usize = 16 << 20;

/// The checking child: started at the first request, again after it failed.
pub(crate) struct Checker {
    binary: PathBuf,
    child: Mutex<Option<Serving>>,
}

struct Serving {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

// === impl Checker ===

impl Checker {
    pub(crate) fn new(binary: PathBuf) -> Self {
        Self { binary, child: Mutex::new(None) }
    }

    /// Has files judged. One request at a time; a child that breaks or stalls is ended and named in the error.
    pub(crate) async fn check(&self, request: &CheckRequest, limit: Duration) -> Result<Vec<CheckReport>, Error> {
        let mut slot = self.child.lock().await;
        let mut serving = match slot.take() {
            Some(serving) => serving,
            None => self.start()?,
        };
        let asked = tokio::time::timeout(limit, serving.ask(request)).await;
        match asked {
            Ok(Ok(reply)) => {
                *slot = Some(serving);
                answered(reply)
            }
            Ok(Err(error)) => {
                serving.child.terminate(Duration::from_secs(1)).await;
                Err(child_failed(format!("the checking child broke: {error}")))
            }
            Err(_) => {
                serving.child.terminate(Duration::from_secs(1)).await;
                Err(child_failed(format!("the gates took longer than {} s", limit.as_secs())))
            }
        }
    }

    fn start(&self) -> Result<Serving, Error> {
        let argv = [crate::plan::text(&self.binary), "check".to_owned(), "--serve".to_owned()];
        let limits = Limits { memory_bytes: Some(MEMORY), ..Limits::default() };
        let mut child = Spawn::new(argv).env_only(Env::plain()).limits(limits).ends_with_us().piped()?;
        let streams = child.stdin.take().zip(child.stdout.take());
        drop(child.stderr.take());
        let (stdin, stdout) = streams.ok_or_else(|| child_failed("the checking child has no streams"))?;
        Ok(Serving { child, stdin, stdout: BufReader::new(stdout) })
    }
}

impl Serving {
    async fn ask(&mut self, request: &CheckRequest) -> std::io::Result<CheckReply> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.stdin.write_all(&line).await?;
        self.stdin.flush().await?;
        let mut answer = Vec::new();
        let mut limited = tokio::io::AsyncReadExt::take(&mut self.stdout, MAX_ANSWER as u64);
        limited.read_until(b'\n', &mut answer).await?;
        if answer.last() != Some(&b'\n') {
            return Err(std::io::Error::other("it ended, or its answer is too long"));
        }
        Ok(serde_json::from_slice(&answer)?)
    }
}

fn answered(reply: CheckReply) -> Result<Vec<CheckReport>, Error> {
    match reply.failure {
        Some(failure) => Err(child_failed(format!("{} [{}]", failure.what, failure.code))),
        None => Ok(reply.reports),
    }
}
