//! Runs the checks of one request: selects the files, reads each once, runs every check on it and joins the results.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use switchboard_protocol::finding::{CheckName, CheckReply, CheckReport, CheckRequest, CheckVerdict, SkippedFile};

use crate::accepted::{Baseline, allow_by_comment};
use crate::cache::Cache;
use crate::cache::FileKey;
use crate::commands;
use crate::error::Error;
use crate::file_check::{FileCheck, Look};
use crate::imports;
use crate::limits::Limits;
use crate::limits::millis;
use crate::moved::Moved;
use crate::placeholder::PlaceholderScan;
use crate::reader::{Loaded, Reader, shown};
use crate::regression_sweep;
use crate::report::{Report, ReportWithFiles};
use crate::secretscan::Secretscan;
use crate::selection::{self, BaseContent, Comparison, Entry, Selection};
use crate::syntax_check::SyntaxCheck;
use crate::test_integrity;
use crate::text_type::is_text_type;
use crate::todo::TodoExtract;
use switchboard_syntax::Parsers;
use switchboard_syntax::{Base, Source};

/// Results of all checks on one file.
struct Seen {
    path: String,
    /// Result of each check; `None` for a check that skips content that only the index holds.
    looks: Vec<Option<Look>>,
    /// True if the file is new or changed.
    is_change: bool,
    /// True if the content comes from the index and differs from the work tree.
    is_staged_apart: bool,
}

/// Runs checks within limits, and caches results if it has a cache.
#[derive(Debug, Default)]
pub struct Engine {
    pub(crate) limits: Limits,
    cache: Option<Cache>,
}

/// A reply, and the files that each check looked at.
pub(crate) struct Outcome {
    pub(crate) reply: CheckReply,
    pub(crate) looked_at: BTreeMap<CheckName, Vec<String>>,
}

/// Runs the checks that a request asks for, without a cache.
#[must_use]
pub fn run(request: &CheckRequest, limits: &Limits) -> CheckReply {
    Engine::new(limits.clone()).run(request)
}

// === impl Engine ===

impl Engine {
    /// Makes an engine.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, cache: None }
    }

    /// Adds a cache.
    #[must_use]
    pub fn with_cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Writes the cache to its file.
    ///
    /// # Errors
    /// When the cache's file can't be written; nothing else depends on it.
    pub fn save(&self) -> std::io::Result<()> {
        self.cache.as_ref().map_or(Ok(()), Cache::save)
    }

    /// Runs the checks that a request asks for. Errors are in the reply, beside the results of the other checks.
    #[must_use]
    pub fn run(&self, request: &CheckRequest) -> CheckReply {
        self.look(request, PlaceholderScan::default()).reply
    }

    pub(crate) fn look(&self, request: &CheckRequest, placeholders: PlaceholderScan) -> Outcome {
        self.look_within(&self.limits, request, placeholders)
    }

    /// Runs a request with limits other than the engine's own.
    pub(crate) fn within(&self, limits: &Limits, request: &CheckRequest) -> Outcome {
        self.look_within(limits, request, PlaceholderScan::default())
    }

    fn look_within(&self, limits: &Limits, request: &CheckRequest, placeholders: PlaceholderScan) -> Outcome {
        let started = Instant::now();
        let mut failures = Vec::new();
        let outcome = self.run_all(limits, request, placeholders, &mut failures);
        let (base, reports) = outcome.unwrap_or_else(|error| {
            failures.push(error);
            (String::from("unknown"), Vec::new())
        });
        let verdict = if failures.is_empty() {
            CheckVerdict::all(reports.iter().map(|(report, _)| report.verdict))
        } else {
            CheckVerdict::Error
        };
        let (reports, looked_at): (Vec<CheckReport>, Vec<Vec<String>>) = reports.into_iter().unzip();
        let looked_at = reports.iter().map(|report| report.check).zip(looked_at).collect();
        let failures = failures.iter().map(Error::to_failure).collect();
        let (id, duration_ms) = (request.id.clone(), millis(started));
        Outcome { reply: CheckReply { id, verdict, base, reports, failures, duration_ms }, looked_at }
    }

    fn run_all(
        &self,
        limits: &Limits,
        request: &CheckRequest,
        placeholders: PlaceholderScan,
        failures: &mut Vec<Error>,
    ) -> Result<(String, Vec<ReportWithFiles>), Error> {
        let unreadable = |source| Error::Root { root: request.root.clone(), source };
        let root = Path::new(&request.root).canonicalize().map_err(unreadable)?;
        std::fs::read_dir(&root).map_err(unreadable)?;
        let baseline = Baseline::read(&root, request.baseline.as_deref()).unwrap_or_else(|error| {
            failures.push(error);
            Baseline::default()
        });
        let is_about_files = FILE_CHECKS.iter().any(|check| is_wanted(*check, &request.only));
        let is_about_tests = OF_CHANGE.iter().any(|check| request.only.contains(check));
        let (git, against) = match is_about_files || is_about_tests {
            true => selection::open(&root, request, limits)?,
            false => (None, Comparison::Nothing),
        };
        let mut reports = Vec::new();
        if is_about_files {
            let mut selection = selection::select(&root, request, (git.as_ref(), &against), limits)?;
            failures.append(&mut selection.problems);
            let checks = file_checks(&request.only, &selection, placeholders);
            let (looked, late) = self.look_at_files(limits, &root, &checks, selection, &baseline)?;
            reports.extend(looked);
            failures.extend(late);
        }
        if request.only.contains(&CheckName::TestIntegrity) {
            reports.push(test_integrity::report(&root, request, (git.as_ref(), &against), limits)?);
        }
        if request.only.contains(&CheckName::NewTests) {
            let report = test_integrity::new_tests::report(&root, request, (git.as_ref(), &against), limits)?;
            reports.push((report, Vec::new()));
        }
        if request.only.contains(&CheckName::Diff) {
            reports.push(test_integrity::diff::report(&root, request, (git.as_ref(), &against), limits)?);
        }
        if request.only.contains(&CheckName::Imports) {
            reports.push(imports::report(&root, request, (git.as_ref(), &against), limits)?);
        }
        if request.only.contains(&CheckName::RegressionSweep) {
            let report = regression_sweep::report(&root, request, (git.as_ref(), &against), limits)?;
            reports.push((report, Vec::new()));
        }
        reports.extend(commands::reports(&root, request, limits).into_iter().map(|report| (report, Vec::new())));
        reports.extend(commands::not_available(request).map(|report| (report, Vec::new())));
        reports.sort_by_key(|(report, _)| report.check);
        Ok((against.label(), reports))
    }

    /// Distributes the files to threads and joins the results by path. Also returns an error if the time ran out before
    /// all files were checked.
    fn look_at_files(
        &self,
        limits: &Limits,
        root: &Path,
        checks: &[RequestedCheck],
        selection: Selection,
        baseline: &Baseline,
    ) -> Result<(Vec<ReportWithFiles>, Option<Error>), Error> {
        let started = Instant::now();
        let Selection { entries, gone, skipped, excluded, blobs, has_base, .. } = selection;
        let pass = Pass {
            entries: &entries,
            checks,
            reader: Reader::new(root, blobs.as_ref(), limits.file_bytes),
            moved: Moved::new(gone),
            has_base,
            cache: self.cache.as_ref(),
            limits,
            started,
            next: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            late: AtomicBool::new(false),
        };
        let mut seen = pass.run()?;
        seen.sort_by(|a, b| (&a.path, a.is_staged_apart).cmp(&(&b.path, b.is_staged_apart)));

        let new_report = |asked: &RequestedCheck| Report::new(asked.check.name(), limits);
        let mut reports: Vec<Report> = checks.iter().map(new_report).collect();
        for report in &mut reports {
            skipped.iter().for_each(|file| report.skip(file.clone()));
            excluded.iter().for_each(|file| report.exclude(file.clone()));
        }
        for Seen { path, looks, is_change, is_staged_apart } in seen {
            for (report, look) in reports.iter_mut().zip(looks) {
                match look {
                    None => {}
                    Some(Look::Looked(findings)) if is_staged_apart => {
                        report.looked_at_index(&path, baseline.accept(findings));
                    }
                    Some(Look::Looked(findings)) => report.add_file(&path, baseline.accept(findings)),
                    Some(Look::Skipped(why)) => report.skip(SkippedFile { path: path.clone(), why, is_missing: false }),
                    Some(Look::Unread(why)) => {
                        report.skip(SkippedFile { path: path.clone(), why, is_missing: is_change });
                    }
                }
            }
        }
        let limit = limits.files_time;
        let late = pass.late.into_inner().then(|| Error::TimeLimit { program: "the checks".into(), limit });
        let mut reports: Vec<ReportWithFiles> =
            reports.into_iter().map(|report| report.finish(millis(started))).collect();
        if late.is_some() {
            // A check that did not see every file has not passed.
            let could_not = |verdict: &CheckVerdict| *verdict != CheckVerdict::Fail;
            reports.iter_mut().filter(|(report, _)| could_not(&report.verdict)).for_each(|(report, _)| {
                report.verdict = CheckVerdict::Error;
            });
        }
        Ok((reports, late))
    }
}

/// A requested check and the settings that its results depend on.
struct RequestedCheck {
    check: Box<dyn FileCheck>,
    settings: String,
}

/// Checks that examine the change as a whole.
const OF_CHANGE: [CheckName; 5] =
    [CheckName::TestIntegrity, CheckName::NewTests, CheckName::Diff, CheckName::Imports, CheckName::RegressionSweep];

/// Checks that examine single files.
const FILE_CHECKS: [CheckName; 4] =
    [CheckName::SyntaxCheck, CheckName::Secretscan, CheckName::PlaceholderScan, CheckName::TodoExtract];

/// Returns whether a check was requested. `todo_extract` is not a gate: it runs only if it is named.
fn is_wanted(check: CheckName, only: &[CheckName]) -> bool {
    if only.is_empty() { check != CheckName::TodoExtract } else { only.contains(&check) }
}

/// Creates the requested checks of single files.
fn file_checks(only: &[CheckName], selection: &Selection, placeholders: PlaceholderScan) -> Vec<RequestedCheck> {
    let ignored = &selection.secretscan_ignore;
    let patterns = placeholders.settings();
    let all: [(Box<dyn FileCheck>, String); 4] = [
        (Box::new(SyntaxCheck), String::new()),
        (Box::new(Secretscan::new(ignored)), ignored.clone()),
        (Box::new(placeholders), patterns),
        (Box::new(TodoExtract), String::new()),
    ];
    let asked = all.into_iter().filter(|(check, _)| is_wanted(check.name(), only));
    asked.map(|(check, settings)| RequestedCheck { check, settings }).collect()
}

/// One pass of all threads over all files.
struct Pass<'a> {
    entries: &'a [Entry],
    checks: &'a [RequestedCheck],
    reader: Reader<'a>,
    moved: Moved,
    has_base: bool,
    cache: Option<&'a Cache>,
    limits: &'a Limits,
    started: Instant,
    next: AtomicUsize,
    broken: AtomicBool,
    late: AtomicBool,
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

    /// Takes files until none is left, or until git fails for any thread.
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
        let path = shown(&entry.path);
        let is_change = entry.before != BaseContent::Same;
        let is_staged_apart = entry.is_staged_apart;
        let each = |path, mut look: Box<dyn FnMut(&RequestedCheck) -> Look + '_>| {
            let asked =
                |asked: &RequestedCheck| (!is_staged_apart || asked.check.looks_at_index()).then(|| look(asked));
            Ok(Seen { path, looks: self.checks.iter().map(asked).collect(), is_change, is_staged_apart })
        };
        if self.started.elapsed() > self.limits.files_time {
            self.late.store(true, Ordering::Relaxed);
            return each(path, Box::new(|_| Look::Skipped("the time was over".into())));
        }
        let mut source = match self.reader.load(entry)? {
            Loaded::Source(source) => source,
            Loaded::Large(mut large) => {
                return each(path, Box::new(move |asked| asked.check.look_at_large(&mut large)));
            }
            Loaded::Skipped(why) => return each(path, Box::new(move |_| Look::Skipped(why.clone()))),
            Loaded::Unread(why) if is_text_type(&path) => {
                return each(path, Box::new(move |_| Look::Unread(why.clone())));
            }
            Loaded::Unread(why) => return each(path, Box::new(move |_| Look::Skipped(why.clone()))),
        };
        if source.base == Base::Nothing
            && let Some(before) = self.moved.base_of(&source.text, &self.reader)
        {
            source.base = Base::Other(before);
        }
        source.has_base = self.has_base;
        parsers.next_file();
        let key = self.cache.map(|cache| (cache, FileKey::new(&source)));
        each(path, Box::new(|asked| remembered(asked, &source, parsers, key.as_ref())))
    }
}

/// Returns the cached result, or runs the check. Does not cache a skip: the limit may differ next time.
fn remembered(asked: &RequestedCheck, source: &Source, parsers: &mut Parsers, key: Option<&(&Cache, FileKey)>) -> Look {
    let name = asked.check.name();
    let key = key.map(|(cache, file)| (cache, file.of(name, &asked.settings)));
    if let Some(findings) = key.as_ref().and_then(|(cache, key)| cache.get(*key)) {
        return Look::Looked(findings);
    }
    if !asked.check.reads_nul() && memchr::memchr(0, &source.text).is_some() {
        let why = "it holds NUL bytes".to_owned();
        return if source.language.is_some() { Look::Unread(why) } else { Look::Skipped(why) };
    }
    let look = allow_by_comment(asked.check.look(source, parsers), source);
    if let (Look::Looked(findings), Some((cache, key))) = (&look, key) {
        cache.put(key, findings);
    }
    look
}
