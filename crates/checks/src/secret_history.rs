//! Finds secrets in the history of a repository: a secret that was committed once stays readable.

use std::collections::HashMap;
use std::path::Path;
use std::thread;
use std::time::Instant;

use switchboard_protocol::finding::{CheckName, CheckReply, CheckReport, CheckVerdict, Finding, SkippedFile};

use crate::accepted::{Baseline, allow_by_comment};
use crate::decoded::decoded;
use crate::engine::Engine;
use crate::error::Error;
use crate::file_check::Look;
use crate::git::{Blob, Blobs, Git, History, Reached};
use crate::limits::Limits;
use crate::limits::millis;
use crate::reader::shown;
use crate::secretscan::Secretscan;
use crate::text_type::is_text_type;
use switchboard_syntax::{Base, Source};

/// Maximum number of versions that are checked together; `BATCH_BYTES` is the maximum of their total size.
const BATCH: usize = 512;
const BATCH_BYTES: usize = 64_000_000;

/// Request for the secrets in a repository's history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryRequest {
    /// Absolute path of a folder of the repository's work tree.
    pub root: String,
    /// Revision to start after; without it the whole history is checked.
    pub since: Option<String>,
    /// Path of a file with the fingerprints of accepted findings, relative to the root.
    pub baseline: Option<String>,
}

/// A version of a file with its text, or the reason that it can't be checked.
struct Version {
    commit: String,
    path: String,
    text: Result<Vec<u8>, String>,
}

/// Result of the check on one version.
struct Seen {
    commit: String,
    path: String,
    look: Look,
}

/// Results so far.
#[derive(Default)]
struct Tally {
    /// Findings by age, oldest first.
    found: Vec<Finding>,
    /// Index in `found` of each fingerprint.
    places: HashMap<String, usize>,
    left_out: u64,
    checked: u64,
    skipped: Vec<SkippedFile>,
    skipped_left_out: u64,
}

impl Engine {
    /// Searches every version of every file that a branch, a tag, the stash or HEAD reaches for secrets.
    ///
    /// The reply has one report of `secretscan`. A secret is reported once for each path that had it, with the oldest
    /// commit. Ignore comments count in their own version and for the same secret in earlier ones; `.secretscanignore`
    /// counts as the current commit has it. Versions are read one after another, so memory does not grow with their
    /// number. If the time (`Limits::files_time`) or the number of versions (`Limits::files`) ends the search early,
    /// the reply says so and keeps what was found.
    #[must_use]
    pub fn secret_history(&self, request: &HistoryRequest) -> CheckReply {
        let started = Instant::now();
        let mut failures = Vec::new();
        let base = request.since.clone().map_or_else(|| "nothing".into(), |rev| rev.chars().take(256).collect());
        let mut reports = Vec::new();
        match past(request, &self.limits, started, &mut failures) {
            Ok((tally, commits)) => reports.push(tally.finish(commits, started)),
            Err(error) => failures.push(error),
        }
        let verdict = match reports.first() {
            Some(report) if failures.is_empty() => report.verdict,
            Some(_) | None => CheckVerdict::Error,
        };
        let failures = failures.iter().map(Error::to_failure).collect();
        CheckReply { id: None, verdict, base, reports, failures, duration_ms: millis(started) }
    }
}

fn past(
    request: &HistoryRequest,
    limits: &Limits,
    started: Instant,
    failures: &mut Vec<Error>,
) -> Result<(Tally, u64), Error> {
    let root = Path::new(&request.root);
    let missing = || Error::NotARepository { root: request.root.clone() };
    let git = Git::open(root, limits)?.ok_or_else(missing)?;
    let unreadable = |source| Error::Root { root: request.root.clone(), source };
    let baseline = Baseline::read(&root.canonicalize().map_err(unreadable)?, request.baseline.as_deref())?;
    let since = request.since.as_deref().map(|rev| {
        let unknown = || Error::UnknownBase { rev: rev.chars().take(256).collect() };
        git.commit(rev)?.ok_or_else(unknown)
    });
    let since = since.transpose()?;
    let scan = Secretscan::new(&ignore_file(&git)?);
    let (blobs, mut history) = (git.blobs(), git.history(since.as_deref())?);
    let mut tally = Tally::default();
    if let Err(error) = look_at_all(&mut history, &blobs, &scan, &mut tally, limits, started) {
        failures.push(error);
    }
    tally.found = baseline.accept(std::mem::take(&mut tally.found));
    Ok((tally, history.commits))
}

/// Reads one batch after another; returns the error that ended the search early.
fn look_at_all(
    history: &mut History<'_>,
    blobs: &Blobs,
    scan: &Secretscan,
    tally: &mut Tally,
    limits: &Limits,
    started: Instant,
) -> Result<(), Error> {
    let mut versions = 0;
    loop {
        let (mut batch, mut bytes, mut is_last) = (Vec::new(), 0, false);
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some(reached) = history.next()? else {
                is_last = true;
                break;
            };
            let version = version(reached, blobs, scan, limits)?;
            bytes += version.text.as_ref().map_or(0, Vec::len);
            batch.push(version);
        }
        versions += batch.len();
        for seen in scan_all(batch, limits.threads) {
            tally.take(seen, limits);
        }
        if is_last {
            return Ok(());
        }
        if versions >= limits.files {
            return Err(Error::TooManyFiles { limit: limits.files });
        }
        if started.elapsed() > limits.files_time {
            return Err(Error::TimeLimit { program: "the checks".into(), limit: limits.files_time });
        }
    }
}

fn version(reached: Reached, blobs: &Blobs, scan: &Secretscan, limits: &Limits) -> Result<Version, Error> {
    let path = shown(&reached.path);
    let text = if scan.leaves_out(&path) {
        Err("named in .secretscanignore".to_owned())
    } else {
        match blobs.read(&reached.blob)? {
            Blob::TooLarge => Err(format!("larger than {} MB", limits.file_bytes as f64 / 1e6)),
            Blob::Missing => Err("its content is not in the repository".into()),
            Blob::Content(bytes) => decoded(bytes, is_text_type(&path)).ok_or_else(|| "binary".into()),
        }
    };
    Ok(Version { commit: reached.commit, path, text })
}

/// Distributes a batch to threads and keeps its order.
fn scan_all(batch: Vec<Version>, threads: usize) -> Vec<Seen> {
    let share = batch.len().div_ceil(threads.max(1)).max(1);
    let mut rest = batch.into_iter();
    let mut shares =
        std::iter::from_fn(|| Some(rest.by_ref().take(share).collect())).take_while(|s: &Vec<_>| !s.is_empty());
    let mine = shares.next().unwrap_or_default();
    let others: Vec<Vec<Version>> = shares.collect();
    thread::scope(|scope| {
        let others: Vec<_> = others.into_iter().map(|share| scope.spawn(|| scan(share))).collect();
        let mut seen = scan(mine);
        for other in others {
            seen.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        seen
    })
}

fn scan(versions: Vec<Version>) -> Vec<Seen> {
    let seen = versions.into_iter().map(|Version { commit, path, text }| {
        let look = match text {
            Ok(text) => look(&Source::new(path.clone(), text, Base::Nothing)),
            Err(why) => Look::Skipped(why),
        };
        Seen { commit, path, look }
    });
    seen.collect()
}

fn look(source: &Source) -> Look {
    allow_by_comment(Look::Looked(Secretscan::findings(source)), source)
}

/// Reads `.secretscanignore` of the current commit; empty if the file or the commit is missing.
fn ignore_file(git: &Git) -> Result<String, Error> {
    let Some(head) = git.commit("HEAD")? else {
        return Ok(String::new());
    };
    let Some(blob) = git.blob_at(&head, ".secretscanignore")? else {
        return Ok(String::new());
    };
    Ok(match git.blobs().read(&blob)? {
        Blob::Content(text) => String::from_utf8_lossy(&text).into_owned(),
        Blob::TooLarge | Blob::Missing => String::new(),
    })
}

// === impl Tally ===

impl Tally {
    fn take(&mut self, Seen { commit, path, look }: Seen, limits: &Limits) {
        let findings = match look {
            Look::Looked(findings) => findings,
            Look::Skipped(why) => {
                return self.skip(SkippedFile { path: format!("{path}@{commit}"), why, is_missing: false }, limits);
            }
            Look::Unread(why) => {
                return self.skip(SkippedFile { path: format!("{path}@{commit}"), why, is_missing: true }, limits);
            }
        };
        self.checked += 1;
        for finding in findings {
            self.tell(Finding { commit: Some(commit.clone()), ..finding }, limits);
        }
    }

    /// Adds a finding, or keeps the oldest of equal ones. If a later version accepts the finding, it is accepted.
    fn tell(&mut self, finding: Finding, limits: &Limits) {
        if let Some(known) = self.places.get(&finding.fingerprint).and_then(|at| self.found.get_mut(*at)) {
            if known.allowed.is_none() && finding.allowed.is_some() {
                (known.allowed, known.blocks) = (finding.allowed, false);
            }
        } else if self.found.len() < limits.findings {
            self.places.insert(finding.fingerprint.clone(), self.found.len());
            self.found.push(finding);
        } else {
            self.left_out += 1;
        }
    }

    fn skip(&mut self, file: SkippedFile, limits: &Limits) {
        if self.skipped.len() < limits.skipped {
            self.skipped.push(file);
        } else {
            self.skipped_left_out += 1;
        }
    }

    fn finish(self, commits: u64, started: Instant) -> CheckReport {
        let allowed = self.found.iter().filter(|finding| finding.allowed.is_some()).count();
        let blocking = self.found.iter().filter(|finding| finding.blocks).count();
        let skipped = self.skipped.len() as u64 + self.skipped_left_out;
        let verdict = match (blocking, self.left_out, self.checked) {
            (0, 0, 0) => CheckVerdict::Skip,
            (0, 0, _) => CheckVerdict::Pass,
            _ => CheckVerdict::Fail,
        };
        let secrets = self.found.len() as u64 + self.left_out;
        let mut summary = format!("{} versions of files in {commits} commits checked, {secrets} secrets", self.checked);
        for (count, what) in [(allowed as u64, "allowed"), (skipped, "versions skipped")] {
            if count > 0 {
                summary.push_str(&format!(", {count} {what}"));
            }
        }
        CheckReport {
            check: CheckName::Secretscan,
            verdict,
            summary,
            findings: self.found,
            findings_left_out: self.left_out,
            files_checked: self.checked,
            skipped: self.skipped,
            skipped_left_out: self.skipped_left_out,
            excluded: 0,
            runs: Vec::new(),
            tests_expected: None,
            duration_ms: millis(started),
        }
    }
}
