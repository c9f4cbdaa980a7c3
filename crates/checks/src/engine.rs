//! Runs the checks of one request: choose, read once, look with every check, join.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use protocol::finding::{CheckName, CheckReply, CheckReport, CheckRequest, CheckVerdict, Finding};

use crate::accepted::{Baseline, allow_by_comment};
use crate::commands;
use crate::moved::Moved;
use crate::placeholder::PlaceholderScan;
use crate::report::Report;
use crate::secrets::Secretscan;
use crate::selection::{self, Entry, Selection};
use crate::source::{self, Base, Loaded, Reader, Source};
use crate::syntax::{Parsers, SyntaxCheck};
use crate::todo::TodoExtract;
use crate::{Error, Limits};

/// A check that looks at one file at a time.
pub(crate) trait FileCheck: Sync {
    fn name(&self) -> CheckName;

    /// Looks at a file. Findings say themselves whether they are new and block.
    fn look(&self, source: &Source, parsers: &mut Parsers) -> Look;
}

/// What a check says about a file.
pub(crate) enum Look {
    Looked(Vec<Finding>),
    Skipped(String),
}

/// What all checks say about a file.
struct Seen {
    path: String,
    looks: Vec<Look>,
}

/// Runs the checks that a request asks for. Whatever goes wrong is in the reply, beside what could be done.
#[must_use]
pub fn run(request: &CheckRequest, limits: &Limits) -> CheckReply {
    let started = Instant::now();
    let mut failures = Vec::new();
    let outcome = run_all(request, limits, &mut failures);
    let (base, reports) = outcome.unwrap_or_else(|error| {
        failures.push(error);
        (String::from("unknown"), Vec::new())
    });
    let verdict = if failures.is_empty() {
        CheckVerdict::all(reports.iter().map(|report| report.verdict))
    } else {
        CheckVerdict::Error
    };
    CheckReply {
        id: request.id.clone(),
        verdict,
        base,
        reports,
        failures: failures.iter().map(Error::to_failure).collect(),
        duration_ms: millis(started),
    }
}

fn run_all(
    request: &CheckRequest,
    limits: &Limits,
    failures: &mut Vec<Error>,
) -> Result<(String, Vec<CheckReport>), Error> {
    let unreadable = |source| Error::Root { root: request.root.clone(), source };
    let root = Path::new(&request.root).canonicalize().map_err(unreadable)?;
    std::fs::read_dir(&root).map_err(unreadable)?;
    let baseline = Baseline::read(&root, request.baseline.as_deref()).unwrap_or_else(|error| {
        failures.push(error);
        Baseline::default()
    });
    let (base, mut reports) = if !FILE_CHECKS.iter().any(|check| is_wanted(*check, &request.only)) {
        (String::from("nothing"), Vec::new())
    } else {
        let mut selection = selection::select(&root, request, limits)?;
        failures.append(&mut selection.problems);
        let base = selection.base.clone();
        let checks = file_checks(&request.only, &selection);
        (base, look_at_files(&root, &checks, selection, &baseline, limits)?)
    };
    reports.extend(commands::reports(&root, request, limits));
    reports.sort_by_key(|report| report.check);
    Ok((base, reports))
}

/// The checks that look at files.
const FILE_CHECKS: [CheckName; 4] =
    [CheckName::SyntaxCheck, CheckName::Secretscan, CheckName::PlaceholderScan, CheckName::TodoExtract];

/// Tells whether a check was asked for. A list of notes is no gate: it is made only when it is named.
fn is_wanted(check: CheckName, only: &[CheckName]) -> bool {
    if only.is_empty() { check != CheckName::TodoExtract } else { only.contains(&check) }
}

/// Makes the checks that look at files, among those asked for.
fn file_checks(only: &[CheckName], selection: &Selection) -> Vec<Box<dyn FileCheck>> {
    let all: [Box<dyn FileCheck>; 4] = [
        Box::new(SyntaxCheck),
        Box::new(Secretscan::new(&selection.secretscan_ignore)),
        Box::new(PlaceholderScan),
        Box::new(TodoExtract),
    ];
    all.into_iter().filter(|check| is_wanted(check.name(), only)).collect()
}

/// Shares the files out to threads and joins what the checks say, by path.
fn look_at_files(
    root: &Path,
    checks: &[Box<dyn FileCheck>],
    selection: Selection,
    baseline: &Baseline,
    limits: &Limits,
) -> Result<Vec<CheckReport>, Error> {
    let started = Instant::now();
    let Selection { entries, gone, skipped, blobs, has_base, .. } = selection;
    let moved = Moved::new(gone);
    let reader = Reader { root, blobs: blobs.as_ref(), most: limits.file_bytes };
    let pass = Pass {
        entries: &entries,
        checks,
        reader,
        moved,
        has_base,
        limits,
        next: AtomicUsize::new(0),
        broken: AtomicBool::new(false),
    };
    let mut seen = pass.run()?;
    seen.sort_by(|a, b| a.path.cmp(&b.path));

    let mut reports: Vec<Report> = checks.iter().map(|check| Report::new(check.name(), limits)).collect();
    for report in &mut reports {
        skipped.iter().for_each(|file| report.skip(file.path.clone(), file.why.clone()));
    }
    for Seen { path, looks } in seen {
        for (report, look) in reports.iter_mut().zip(looks) {
            match look {
                Look::Looked(findings) => report.looked(baseline.accept(findings)),
                Look::Skipped(why) => report.skip(path.clone(), why),
            }
        }
    }
    Ok(reports.into_iter().map(|report| report.finish(millis(started))).collect())
}

/// One pass of all threads over all files.
struct Pass<'a> {
    entries: &'a [Entry],
    checks: &'a [Box<dyn FileCheck>],
    reader: Reader<'a>,
    moved: Moved,
    has_base: bool,
    limits: &'a Limits,
    next: AtomicUsize,
    broken: AtomicBool,
}

// === impl Pass ===

impl Pass<'_> {
    fn run(&self) -> Result<Vec<Seen>, Error> {
        let threads = self.limits.threads.min(self.entries.len().div_ceil(4)).max(1);
        let parts: Vec<Result<Vec<Seen>, Error>> = thread::scope(|scope| {
            let workers: Vec<_> = (1..threads).map(|_| scope.spawn(|| self.work())).collect();
            let mine = self.work();
            let theirs = workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            std::iter::once(mine).chain(theirs).collect()
        });
        let mut seen = Vec::with_capacity(self.entries.len());
        for part in parts {
            seen.extend(part?);
        }
        Ok(seen)
    }

    /// Takes files until none is left, or git broke for someone.
    fn work(&self) -> Result<Vec<Seen>, Error> {
        let mut parsers = Parsers::new(self.limits.parse_time);
        let mut seen = Vec::new();
        while let Some(entry) = self.entries.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if self.broken.load(Ordering::Relaxed) {
                break;
            }
            let looked = self.look(entry, &mut parsers).inspect_err(|_| self.broken.store(true, Ordering::Relaxed))?;
            seen.push(looked);
        }
        Ok(seen)
    }

    fn look(&self, entry: &Entry, parsers: &mut Parsers) -> Result<Seen, Error> {
        let path = source::shown(&entry.path);
        let mut source = match self.reader.load(entry)? {
            Loaded::Source(source) => source,
            Loaded::Skipped(why) => {
                let looks = self.checks.iter().map(|_| Look::Skipped(why.clone())).collect();
                return Ok(Seen { path, looks });
            }
        };
        if source.base == Base::Nothing
            && let Some(before) = self.moved.base_of(&source.text, &self.reader)
        {
            source.base = Base::Other(before);
        }
        source.has_base = self.has_base;
        parsers.next_file();
        let looks = self.checks.iter().map(|check| allow_by_comment(check.look(&source, parsers), &source)).collect();
        Ok(Seen { path, looks })
    }
}

pub(crate) fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
