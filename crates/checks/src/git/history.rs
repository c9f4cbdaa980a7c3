//! Lists every content that a repository has ever held, once each, as git prints it.

use std::collections::HashSet;
use std::io::{self, BufRead, Read};
use std::path::PathBuf;

use switchboard_process::spawn::{Duplex, Spawn};

use super::{Git, Mode, guarded, mode, path, text};
use crate::error::Error;

/// Maximum length of a path or line in git's list, in bytes.
const MAX_FIELD_BYTES: u64 = 1_000_000;

/// Content of a file, with the oldest commit that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) commit: String,
    pub(crate) path: PathBuf,
    pub(crate) blob: String,
}

/// A list being read. Contents already seen are kept by the first half of their ids, so that a million versions take 32
/// MB.
pub(crate) struct History<'a> {
    git: &'a Git,
    log: Duplex,
    seen: HashSet<u128>,
    commit: String,
    /// Number of commits that git announced.
    expected: u64,
    pub(crate) commits: u64,
}

/// A field of the list.
enum Field {
    Commit(String),
    Blob(Reached),
    /// An entry that is no file, or a content that was listed before.
    Known,
    End,
}

impl Git {
    /// Starts to list every blob that a branch, a tag, the stash or HEAD reaches, once, oldest first. With `since`, a
    /// commit's id, lists only what came after that commit.
    pub(crate) fn history(&self, since: Option<&str>) -> Result<History<'_>, Error> {
        let mut range = vec!["--all"];
        range.extend(since.iter().flat_map(|id| ["--not", id]));
        let count = self.ask(&[&["rev-list", "--count"][..], &range].concat())?;
        let expected = text(count.trim_ascii()).parse().unwrap_or(0);
        let form = ["--raw", "-c", "-z", "--no-abbrev", "--no-renames", "--root", "--format=commit:%H"];
        let call = [&["log", "--reverse", "--topo-order"][..], &form, &range].concat();
        let spawn = Spawn::new(guarded(&call)).cwd(&self.root).env_only(self.env.clone());
        let log = spawn.duplex().map_err(|source| Error::Command { program: "git".into(), source })?;
        Ok(History { git: self, log, seen: HashSet::new(), commit: String::new(), expected, commits: 0 })
    }
}

// === impl History ===

impl History<'_> {
    /// Returns the next version of a file; `None` at the end of git's list.
    pub(crate) fn next(&mut self) -> Result<Option<Reached>, Error> {
        loop {
            match self.field()? {
                Field::Commit(id) => {
                    self.commit = id;
                    self.commits += 1;
                }
                Field::Blob(reached) => return Ok(Some(reached)),
                Field::Known => {}
                Field::End if self.commits < self.expected => return Err(broken("its list ended early")),
                Field::End => return Ok(None),
            }
        }
    }

    fn field(&mut self) -> Result<Field, Error> {
        let limit = self.git.limits.git_time;
        let (seen, commit) = (&mut self.seen, &self.commit);
        self.log.exchange(limit, |_, list| read(list, seen, commit)).map_err(|error| {
            if error.kind() == io::ErrorKind::TimedOut {
                return Error::TimeLimit { program: "git log".into(), limit };
            }
            broken(&error.to_string())
        })
    }
}

fn broken(why: &str) -> Error {
    Error::Git { verb: "log".into(), why: why.to_owned() }
}

/// Parses `commit:ID`, or `:MODES IDS STATUS` and a path; a merge has a mode and an id for each of its parents.
fn read(list: &mut impl BufRead, seen: &mut HashSet<u128>, commit: &str) -> io::Result<Field> {
    let head = field(list)?;
    let head = head.trim_ascii_start();
    if head.is_empty() {
        return Ok(if list.fill_buf()?.is_empty() { Field::End } else { Field::Known });
    }
    if let Some(id) = head.strip_prefix(b"commit:") {
        return Ok(Field::Commit(text(id.get(..id.len().min(64)).unwrap_or(id))));
    }
    let parents = head.iter().take_while(|byte| **byte == b':').count();
    let words: Vec<&[u8]> = head[parents..].split(|byte| *byte == b' ').collect();
    if parents == 0 || words.len() != 2 * parents + 3 {
        return Err(io::Error::other("its list has an unknown form"));
    }
    let name = field(list)?;
    let (mode, blob) = (mode(words[parents]), text(words[2 * parents + 1]));
    let id = blob.get(..32).and_then(|id| u128::from_str_radix(id, 16).ok());
    let is_new = mode == Mode::File && id.is_some_and(|id| id != 0 && seen.insert(id));
    Ok(if is_new { Field::Blob(Reached { commit: commit.to_owned(), path: path(&name), blob }) } else { Field::Known })
}

/// Reads up to the next NUL; returns nothing at the end of the list.
fn field(list: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut field = Vec::new();
    list.take(MAX_FIELD_BYTES).read_until(0, &mut field)?;
    match field.pop() {
        Some(0) | None => Ok(field),
        // No NUL follows the last commit's line.
        Some(last) if (field.len() as u64) < MAX_FIELD_BYTES - 1 => {
            field.push(last);
            Ok(field)
        }
        Some(_) => Err(io::Error::other("its list has a field of a megabyte")),
    }
}
