//! Asks git what changed, with the repository's hooks, monitors, filters and foreign settings off.
//!
//! Reads use plumbing commands, and `git log` in a fixed format: they compare recorded sizes and times and print the
//! same bytes in every version and language. Only `put_back` writes, by `checkout` and `reset`, into our own checkouts.
//! No call runs a content filter: the commands of filters are emptied. commands are emptied.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use switchboard_process::env::Env;
use switchboard_process::spawn::{End, Exit, Output, Spawn};

use crate::error::Error;
use crate::limits::Limits;

mod blobs;
mod history;
mod put_back;

pub(crate) use blobs::{Blob, Blobs};
pub(crate) use history::{History, Reached};

/// Maximum number of paths in one call, so that the longest names together stay below the limit for arguments of a
/// process.
const PATHS_OF_A_CALL: usize = 400;
/// Half of the maximum output of one git call, in bytes.
const HALF_OUTPUT: usize = 256 * 1024 * 1024;
/// Options before every sub-command.
const GUARDS: &[&str] = &[
    "--no-pager",
    "--no-optional-locks",
    "--literal-pathspecs",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "safe.directory=*",
    "-c",
    "core.quotePath=false",
];
const ENV: &[(&str, &str)] = &[
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("LC_ALL", "C"),
];
/// Names of branches that may be the main branch, best first.
const MAIN_BRANCHES: [&str; 5] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
];

/// Settings that run a content filter.
const FILTERS: &str = r"^filter\..*\.(clean|smudge|process|required)$";

/// A git work tree, seen from one of its folders.
pub(crate) struct Git {
    root: PathBuf,
    limits: Limits,
    /// Environment of every call.
    env: Env,
}

/// One side of a difference: the kind of entry and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) mode: Mode,
    /// Object id of the content; `None` where git has not hashed the file.
    pub(crate) blob: Option<String>,
}

/// Kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Absent,
    File,
    Symlink,
    Submodule,
}

/// A path that differs from the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// Path relative to the folder that is checked.
    pub(crate) path: PathBuf,
    pub(crate) before: Side,
    pub(crate) after: Side,
}

/// Differences between a work tree and a commit.
pub(crate) struct Differences {
    pub(crate) changes: Vec<Change>,
    pub(crate) untracked: Vec<PathBuf>,
    pub(crate) staged_apart: Vec<Change>,
}

// === impl Git ===

impl Git {
    /// Opens the work tree around `root`; returns `None` where there is no work tree or no git.
    pub(crate) fn open(root: &Path, limits: &Limits) -> Result<Option<Self>, Error> {
        let mut git = Self { root: root.to_owned(), limits: limits.clone(), env: environment() };
        let (inside, filters) = at_once(
            || git.try_ask(&["rev-parse", "--is-inside-work-tree"]),
            || git.try_ask(&["config", "-z", "--name-only", "--get-regexp", FILTERS]),
        );
        match inside {
            Ok(Ok(answer)) if answer.trim_ascii() == b"true" => {
                git.switch_filters_off(filters?.ok());
                Ok(Some(git))
            }
            Ok(Ok(_) | Err(_)) => Ok(None),
            Err(Error::Command { source: switchboard_process::Error::Missing { .. }, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes git read another index than the repository's own.
    pub(crate) fn with_index(mut self, file: Option<&str>) -> Self {
        if let Some(file) = file.filter(|file| !file.contains('\0')) {
            self.env = self.env.set("GIT_INDEX_FILE", file);
        }
        self
    }

    /// Empties the commands of all content filters, given the names of their settings. Git runs a filter to compare a
    /// file whose recorded time doesn't show whether it changed.
    fn switch_filters_off(&mut self, names: Option<Vec<u8>>) {
        let Some(names) = names else { return };
        let names: Vec<String> = fields(&names).map(text).collect();
        let mut env = self.env.clone().set("GIT_CONFIG_COUNT", names.len().to_string());
        for (at, name) in names.iter().enumerate() {
            let value = if name.ends_with(".required") { "false" } else { "" };
            env = env.set(format!("GIT_CONFIG_KEY_{at}"), name.clone()).set(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        self.env = env;
    }

    /// Returns the commit that a revision names.
    pub(crate) fn commit(&self, rev: &str) -> Result<Option<String>, Error> {
        let unfit = rev.is_empty() || rev.len() > 256 || rev.starts_with('-') || rev.chars().any(char::is_control);
        if unfit {
            return Ok(None);
        }
        let peeled = format!("{rev}^{{commit}}");
        let answer = self.try_ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &peeled])?;
        Ok(answer.ok().map(|id| text(id.trim_ascii())))
    }

    /// Returns the commit where this branch left the main one, else HEAD; `None` before the first commit.
    pub(crate) fn merge_base(&self) -> Result<Option<String>, Error> {
        let Some(head) = self.commit("HEAD")? else {
            return Ok(None);
        };
        let mut call = vec!["for-each-ref", "--format=%(objectname) %(refname)"];
        call.extend(MAIN_BRANCHES);
        let known = text(&self.ask(&call)?);
        let tip = |main: &str| known.lines().filter_map(|line| line.split_once(' ')).find(|(_, name)| *name == main);
        for (tip, main) in MAIN_BRANCHES.iter().filter_map(|main| tip(main)) {
            if tip == head {
                return Ok(Some(head));
            }
            if let Ok(id) = self.try_ask(&["merge-base", "HEAD", main])? {
                return Ok(Some(text(id.trim_ascii())));
            }
        }
        Ok(Some(head))
    }

    /// Lists the tracked files that differ between a commit and the work tree, or the index where `staged`.
    pub(crate) fn changes(&self, commit: &str, staged: bool) -> Result<Vec<Change>, Error> {
        let mut call = vec!["diff-index", "--raw", "-z", "--no-renames", "--no-abbrev", "--relative", "--no-ext-diff"];
        if staged {
            call.push("--cached");
        }
        call.extend([commit, "--"]);
        parse_raw(&self.ask(&call)?)
    }

    /// Lists the differences between the work tree and a commit, the untracked files, and the differences between index
    /// and work tree. The three queries run at the same time.
    pub(crate) fn differences(&self, commit: &str) -> Result<Differences, Error> {
        let (changes, (untracked, staged_apart)) =
            at_once(|| self.changes(commit, false), || at_once(|| self.untracked(), || self.staged_apart()));
        Ok(Differences { changes: changes?, untracked: untracked?, staged_apart: staged_apart? })
    }

    /// Lists the files that differ between two commits.
    pub(crate) fn changes_between(&self, base: &str, commit: &str) -> Result<Vec<Change>, Error> {
        let call = ["diff-tree", "-r", "--raw", "-z", "--no-renames", "--no-abbrev", "--relative", "--no-ext-diff"];
        parse_raw(&self.ask(&[&call[..], &[base, commit, "--"]].concat())?)
    }

    /// Lists the files whose index content differs from the work tree; `before` is the side of the index.
    pub(crate) fn staged_apart(&self) -> Result<Vec<Change>, Error> {
        parse_raw(&self.ask(&[
            "diff-files",
            "--raw",
            "-z",
            "--no-renames",
            "--no-abbrev",
            "--relative",
            "--no-ext-diff",
        ])?)
    }

    /// Lists the entries of the index.
    pub(crate) fn index(&self) -> Result<Vec<(PathBuf, Side)>, Error> {
        let out = self.ask(&["ls-files", "-z", "--stage"])?;
        Ok(entries(&out, |head| {
            let mut words = head.split(|byte| *byte == b' ');
            Some(Side { mode: mode(words.next()?), blob: Some(text(words.next()?)) })
        }))
    }

    /// Lists the entries of a commit below the folder that is checked.
    pub(crate) fn tree(&self, commit: &str) -> Result<Vec<(PathBuf, Side)>, Error> {
        Ok(tree_entries(&self.ask(&["ls-tree", "-r", "-z", commit])?))
    }

    /// Returns the object id of one file of a commit, by its path from the folder that is checked.
    pub(crate) fn blob_at(&self, commit: &str, path: &str) -> Result<Option<String>, Error> {
        let spec = format!("{commit}:./{path}");
        let answer = self.try_ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &spec])?;
        Ok(answer.ok().map(|id| text(id.trim_ascii())))
    }

    /// Returns the object ids of some files of a commit, by their paths from the folder that is checked. Leaves out
    /// paths that are not UTF-8.
    pub(crate) fn blobs_at(&self, commit: &str, paths: &[&Path]) -> Result<HashMap<PathBuf, String>, Error> {
        let paths: Vec<&str> = paths.iter().filter_map(|path| path.to_str()).collect();
        let mut found = HashMap::new();
        for paths in paths.chunks(PATHS_OF_A_CALL) {
            let out = self.ask(&[&["ls-tree", "-z", commit, "--"], paths].concat())?;
            let files = tree_entries(&out).into_iter().filter(|(_, side)| side.mode == Mode::File);
            found.extend(files.filter_map(|(path, side)| Some((path, side.blob?))));
        }
        Ok(found)
    }

    /// Lists the files that git neither tracks nor ignores; a nested repository is one name with `/` at its end.
    pub(crate) fn untracked(&self) -> Result<Vec<PathBuf>, Error> {
        Ok(paths(&self.ask(&["ls-files", "-z", "--others", "--exclude-standard"])?))
    }

    /// Lists the files that git tracks, and those that it neither tracks nor ignores.
    pub(crate) fn all_files(&self) -> Result<Vec<PathBuf>, Error> {
        Ok(paths(&self.ask(&["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"])?))
    }

    /// Starts a reader of file contents.
    pub(crate) fn blobs(&self) -> Blobs {
        Blobs::new(&self.root, &self.limits)
    }

    /// Runs a git call; a refusal by git is an error.
    fn ask(&self, call: &[&str]) -> Result<Vec<u8>, Error> {
        self.try_ask(call)?.map_err(|why| Error::Git { verb: verb(call), why })
    }

    /// Runs a git call; a refusal by git is the inner `Err`.
    fn try_ask(&self, call: &[&str]) -> Result<Result<Vec<u8>, String>, Error> {
        let spawn = Spawn::new(guarded(call)).cwd(&self.root).env_only(self.env.clone()).ends_with_us();
        let output = spawn.wall(self.limits.git_time).keep(HALF_OUTPUT).output();
        let output = output.map_err(|source| Error::Command { program: "git".into(), source })?;
        if output.end != End::ByItself {
            return Err(Error::TimeLimit { program: "git".into(), limit: self.limits.git_time });
        }
        answer(&verb(call), &output)
    }
}

/// Runs two queries at the same time: most of the duration of a call is the start of git.
fn at_once<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    std::thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), other)
    })
}

fn answer(verb: &str, output: &Output) -> Result<Result<Vec<u8>, String>, Error> {
    let broken = |why: String| Error::Git { verb: verb.to_owned(), why };
    match output.exit {
        Exit::Exited(0) => {
            output.stdout.whole().map(Ok).ok_or_else(|| broken("it printed more than 512 MB".to_owned()))
        }
        Exit::Exited(code) => Ok(Err(first_line(&output.stderr.text(), code))),
        Exit::Signalled(signal) => Err(broken(format!("killed by signal {signal}"))),
    }
}

/// Returns the environment variables that git gets, and those that keep it quiet.
fn environment() -> Env {
    let seen = Env::empty().inherit(["PATH", "HOME", "LANG"]);
    ENV.iter().fold(seen, |env, (name, value)| env.set(*name, *value))
}

/// Returns the command line: program, guards and the call.
fn guarded(call: &[&str]) -> Vec<String> {
    std::iter::once(&"git").chain(GUARDS).chain(call).map(|word| (*word).to_owned()).collect()
}

fn verb(call: &[&str]) -> String {
    call.first().copied().unwrap_or_default().to_owned()
}

fn first_line(stderr: &str, code: i32) -> String {
    match stderr.lines().next() {
        Some(line) => line.chars().take(300).collect(),
        None => format!("exit code {code}"),
    }
}

// === reading git's answers ===

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn path(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_vec()).into()
}

fn fields(out: &[u8]) -> impl Iterator<Item = &[u8]> {
    out.split(|byte| *byte == 0).filter(|field| !field.is_empty())
}

fn paths(out: &[u8]) -> Vec<PathBuf> {
    fields(out).map(path).collect()
}

fn mode(octal: &[u8]) -> Mode {
    match octal {
        b"000000" => Mode::Absent,
        b"120000" => Mode::Symlink,
        b"160000" => Mode::Submodule,
        _ => Mode::File,
    }
}

/// Parses `HEAD TAB PATH` fields.
fn entries(out: &[u8], read: impl Fn(&[u8]) -> Option<Side>) -> Vec<(PathBuf, Side)> {
    fields(out)
        .filter_map(|field| {
            let tab = field.iter().position(|byte| *byte == b'\t')?;
            Some((path(&field[tab + 1..]), read(&field[..tab])?))
        })
        .collect()
}

/// Parses the output of `ls-tree -z`: `MODE KIND ID TAB PATH` fields.
fn tree_entries(out: &[u8]) -> Vec<(PathBuf, Side)> {
    entries(out, |head| {
        let mut words = head.split(|byte| *byte == b' ');
        let mode = mode(words.next()?);
        Some(Side { mode, blob: Some(text(words.nth(1)?)) })
    })
}

/// Parses pairs of `:MODE MODE ID ID STATUS` and a path.
fn parse_raw(out: &[u8]) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    let mut fields = fields(out);
    while let (Some(head), Some(name)) = (fields.next(), fields.next()) {
        let words: Vec<&[u8]> = head.split(|byte| *byte == b' ').collect();
        let [before_mode, after_mode, before, after, _status] = words[..] else {
            return Err(Error::Git { verb: "diff-index".into(), why: "its answer has an unknown form".into() });
        };
        changes.push(Change {
            path: path(name),
            before: Side {
                mode: mode(before_mode.trim_ascii_start().strip_prefix(b":").unwrap_or(before_mode)),
                blob: blob(before),
            },
            after: Side { mode: mode(after_mode), blob: blob(after) },
        });
    }
    Ok(changes)
}

fn blob(id: &[u8]) -> Option<String> {
    id.iter().any(|byte| *byte != b'0').then(|| text(id))
}
