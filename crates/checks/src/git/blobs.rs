//! Reads file contents out of a repository by one warm `git cat-file --batch`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Mutex, PoisonError};

use super::{ENV, guarded};
use crate::command::{self, Job, PLAIN_ENV};
use crate::{Error, Limits};

/// Shared by all threads of a run; started by the first question, ended when it is dropped.
pub(crate) struct Blobs {
    root: PathBuf,
    limits: Limits,
    batch: Mutex<Option<Batch>>,
}

/// The content of a blob.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Blob {
    Content(Vec<u8>),
    TooLarge,
    Missing,
}

struct Batch {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

// === impl Blobs ===

impl Blobs {
    pub(crate) fn new(root: &Path, limits: &Limits) -> Self {
        Self { root: root.to_owned(), limits: limits.clone(), batch: Mutex::new(None) }
    }

    /// Reads one blob. A batch that broke is started again by the next question.
    pub(crate) fn read(&self, id: &str) -> Result<Blob, Error> {
        let mut slot = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match &mut *slot {
            Some(batch) => batch.read(id, self.limits.file_bytes),
            None => Batch::start(&self.root, &self.limits)
                .and_then(|batch| slot.insert(batch).read(id, self.limits.file_bytes)),
        };
        result.map_err(|error| {
            *slot = None;
            Error::Git { verb: "cat-file".into(), why: error.to_string() }
        })
    }
}

// === impl Batch ===

impl Batch {
    fn start(root: &Path, limits: &Limits) -> io::Result<Self> {
        let args = guarded(&["cat-file", "--batch"]);
        let env: Vec<_> = ENV.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut child = command::start(
            &Job {
                program: "git",
                args: &args,
                cwd: root,
                pass_env: PLAIN_ENV,
                set_env: &env,
                time_limit: limits.git_time,
                keep: 0,
            },
            Stdio::piped(),
        )?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(questions), Some(answers)) => {
                drop(child.stderr.take());
                Ok(Self { child, questions, answers: BufReader::new(answers) })
            }
            (_, _) => Err(io::Error::other("git gave no pipes")),
        }
    }

    fn read(&mut self, id: &str, most: u64) -> io::Result<Blob> {
        writeln!(self.questions, "{id}")?;
        self.questions.flush()?;
        let mut head = String::new();
        self.answers.by_ref().take(1_000).read_line(&mut head)?;
        let words: Vec<&str> = head.split_whitespace().collect();
        let size = match words[..] {
            [_, "missing"] => return Ok(Blob::Missing),
            [_, _, size] => size.parse::<u64>().map_err(io::Error::other)?,
            _ => return Err(io::Error::other("its answer has an unknown form")),
        };
        if size > most {
            io::copy(&mut self.answers.by_ref().take(size + 1), &mut io::sink())?;
            return Ok(Blob::TooLarge);
        }
        let mut content = Vec::new();
        self.answers.by_ref().take(size + 1).read_to_end(&mut content)?;
        if content.pop() != Some(b'\n') || content.len() as u64 != size {
            return Err(io::Error::other("it ended early"));
        }
        Ok(Blob::Content(content))
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // Nothing can be done about a process that cannot be reaped.
        let _ended = command::end(&mut self.child);
    }
}
