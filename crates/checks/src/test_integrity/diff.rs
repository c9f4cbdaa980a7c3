//! `diff`: lists the change itself rather than its description: its files, those that decide how it is judged, and its
//! public names.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use switchboard_protocol::finding::{CheckName, CheckRequest, DIFF_CONTRACT, Finding, Severity, SkippedFile, Span};

use super::change::Change;
use super::changed_file::ChangedFile;
use super::language::TestLanguage;
use super::runner_file::RunnerFile;
use super::{gate_files, paths, recipes};
use crate::error::Error;
use crate::fingerprint::fingerprint;
use crate::git::Git;
use crate::limits::{Limits, millis};
use crate::report::{Report, ReportWithFiles};
use crate::selection::Comparison;

/// Rules of the check.
pub(crate) const RULES: [&str; 3] = ["diff/protected", DIFF_CONTRACT, "diff/file"];
/// Maximum number of lines of one file that are named as a contract.
const LINES: usize = 3;

/// Lists the change. It never refuses: the reader judges.
///
/// # Errors
/// When git refuses or breaks.
pub(crate) fn report(
    root: &Path,
    request: &CheckRequest,
    (git, against): (Option<&Git>, &Comparison),
    limits: &Limits,
) -> Result<ReportWithFiles, Error> {
    let started = Instant::now();
    let mut report = Report::new(CheckName::Diff, limits);
    let (Some(git), Some(base)) = (git, against.commit()) else { return Ok(report.finish(millis(started))) };
    let blobs = git.blobs();
    let change = Change::read(root, git, &blobs, (base, request), limits)?;
    let mut protected = Vec::new();
    for file in &change.files {
        let kind = kind(&file.path, request);
        protected.extend(kind.map(|kind| format!("{} ({kind})", file.path)));
        let rule = if kind.is_some() { RULES[0] } else { RULES[2] };
        let of = kind.map(|kind| format!(", {kind}")).unwrap_or_default();
        let mut findings = vec![finding(file, rule, format!("{}{of}", done_to(file)))];
        if kind.is_none() {
            findings.extend(contract(file).map(|message| finding(file, RULES[1], message)));
        }
        report.add_file(&file.path, findings);
    }
    // `diff` only lists: `test_integrity` refuses files that can't be read.
    for (path, why) in &change.unread {
        report.skip(SkippedFile { path: path.clone(), why: why.clone(), is_missing: false });
    }
    let (mut report, looked) = report.finish(millis(started));
    // Findings that a person should see first.
    report.findings.sort_by_key(|finding| RULES.iter().position(|rule| *rule == finding.rule));
    report.summary = summary(&change, &protected);
    Ok((report, looked))
}

fn summary(change: &Change, protected: &[String]) -> String {
    let count = |of: fn(&&ChangedFile) -> bool| change.files.iter().filter(of).count();
    let (added, deleted) = (count(|file| file.is_new()), count(|file| file.is_deleted()));
    let changed = change.files.len() - added - deleted;
    let mut words = format!("{added} files added, {changed} changed, {deleted} deleted");
    if !protected.is_empty() {
        words.push_str("; protected: ");
        words.push_str(&protected.join(", "));
    }
    words
}

const fn done_to(file: &ChangedFile) -> &'static str {
    match (file.is_new(), file.is_deleted()) {
        (true, _) => "added",
        (false, true) => "deleted",
        (false, false) => "changed",
    }
}

/// Returns the role of a file in the gates, if it decides how a change is judged.
fn kind(path: &str, request: &CheckRequest) -> Option<&'static str> {
    if paths::is_test(path) {
        return Some("a test");
    }
    if RunnerFile::of(path).is_some() {
        return Some("loaded by a test runner");
    }
    if gate_files::is_gate_file(path) {
        return Some("configuration of a gate");
    }
    if recipes::is_run(path, &request.commands) {
        return Some("run by a gate");
    }
    if paths::is_installed(path) {
        return Some("where tools are looked for");
    }
    paths::is_test_data(path).then_some("data of tests")
}

/// Names the added and removed lines that declare something other files may use.
fn contract(file: &ChangedFile) -> Option<String> {
    TestLanguage::of(&file.path)?;
    let (before, after) = file.texts();
    let lines = |text: &str| -> BTreeSet<String> {
        text.lines().filter(|line| is_contract(line)).map(|line| line.trim_end().to_owned()).collect()
    };
    let (old, new) = (lines(&before), lines(&after));
    let named = |lines: Vec<&String>, mark: &str| -> Vec<String> {
        let short = |line: &&String| format!("{mark}`{}`", line.trim().chars().take(80).collect::<String>());
        lines.iter().take(LINES).map(short).collect()
    };
    let mut words = named(old.difference(&new).collect(), "-");
    words.extend(named(new.difference(&old).collect(), "+"));
    (!words.is_empty()).then(|| format!("what others may call: {}", words.join(", ")))
}

/// Returns whether a line declares a name that other files may use.
fn is_contract(line: &str) -> bool {
    let starts =
        ["export ", "pub fn ", "pub async fn ", "pub struct ", "pub enum ", "pub trait ", "pub const ", "pub type "];
    let is_python = ["def ", "async def ", "class "]
        .iter()
        .any(|start| line.strip_prefix(start).is_some_and(|rest| !rest.starts_with('_')));
    is_python || starts.iter().any(|start| line.trim_start().starts_with(start)) || line.starts_with("module.exports")
}

fn finding(file: &ChangedFile, rule: &str, message: String) -> Finding {
    Finding {
        check: CheckName::Diff,
        rule: rule.to_owned(),
        severity: Severity::Info,
        remedy: String::new(),
        cwe: None,
        path: file.path.clone(),
        span: Span { start_line: 1, start_column: 1, end_line: 1, end_column: 1 },
        fingerprint: fingerprint(rule, &file.path, message.as_bytes(), 0),
        is_new: true,
        blocks: false,
        allowed: None,
        masked: None,
        excerpt: None,
        commit: None,
        message: switchboard_secrets::redact(&message),
    }
}
