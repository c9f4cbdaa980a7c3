//! Reads file contents of a repository through one long-lived `git cat-file --batch`.

use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use switchboard_process::spawn::{Duplex, Spawn};

use super::{environment, guarded};
use crate::error::Error;
use crate::limits::Limits;

/// Reader of blobs, shared by all threads of a run. The first query starts git, dropping the reader ends it.
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

struct Batch(Duplex);

// === impl Blobs ===

impl Blobs {
    pub(crate) fn new(root: &Path, limits: &Limits) -> Self {
        Self { root: root.to_owned(), limits: limits.clone(), batch: Mutex::new(None) }
    }

    /// Reads one blob up to the size limit for a file; it is named by its id, or by a commit and a path.
    pub(crate) fn read(&self, id: &str) -> Result<Blob, Error> {
        self.read_up_to(id, self.limits.file_bytes)
    }

    /// Reads one blob, within the time of one git call. The next query restarts a batch that failed.
    pub(crate) fn read_up_to(&self, id: &str, most: u64) -> Result<Blob, Error> {
        let mut slot = self.batch.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = match &mut *slot {
            Some(batch) => batch,
            None => slot.insert(Batch::start(&self.root)?),
        };
        batch.read(id, most, &self.limits).map_err(|error| {
            *slot = None;
            if error.kind() == io::ErrorKind::TimedOut {
                return Error::TimeLimit { program: "git cat-file".into(), limit: self.limits.git_time };
            }
            Error::Git { verb: "cat-file".into(), why: error.to_string() }
        })
    }
}

// === impl Batch ===

impl Batch {
    fn start(root: &Path) -> Result<Self, Error> {
        let spawn = Spawn::new(guarded(&["cat-file", "--batch"])).cwd(root).env_only(environment());
        spawn.duplex().map(Self).map_err(|source| Error::Command { program: "git".into(), source })
    }

    fn read(&mut self, id: &str, most: u64, limits: &Limits) -> io::Result<Blob> {
        self.0.exchange(limits.git_time, |questions, answers| {
            writeln!(questions, "{id}")?;
            questions.flush()?;
            answer(answers, most)
        })
    }
}

fn answer(answers: &mut impl BufRead, most: u64) -> io::Result<Blob> {
    let mut head = String::new();
    answers.by_ref().take(1_000).read_line(&mut head)?;
    let words: Vec<&str> = head.split_whitespace().collect();
    let size = match words[..] {
        [_, "missing"] => return Ok(Blob::Missing),
        [_, _, size] => size.parse::<u64>().map_err(io::Error::other)?,
        _ => return Err(io::Error::other("its answer has an unknown form")),
    };
    if size > most {
        io::copy(&mut answers.by_ref().take(size + 1), &mut io::sink())?;
        return Ok(Blob::TooLarge);
    }
    let mut content = Vec::new();
    answers.by_ref().take(size + 1).read_to_end(&mut content)?;
    if content.pop() != Some(b'\n') || content.len() as u64 != size {
        return Err(io::Error::other("it ended early"));
    }
    Ok(Blob::Content(content))
}
