//! Collects what one check reports about many files, within limits, and decides the verdict.

use std::collections::HashSet;

use switchboard_protocol::finding::{CheckName, CheckReport, CheckVerdict, Finding, Severity, SkippedFile};

use crate::limits::Limits;

/// A report under construction.
pub(crate) struct Report {
    check: CheckName,
    findings: Vec<Finding>,
    skipped: Vec<SkippedFile>,
    most_skipped: usize,
    most_findings: usize,
    skipped_left_out: u64,
    /// Number of files that the project or the caller excludes; they are among the skipped ones.
    excluded: u64,
    /// Number of files of the change that could not be read and are of a code or text type.
    missing: usize,
    looked_at: Vec<String>,
}

/// A report, and the files that were checked for it.
pub(crate) type ReportWithFiles = (CheckReport, Vec<String>);

/// Counts for the summary, made before any finding is left out.
struct Counts {
    blocking: usize,
    /// Number of new findings of medium severity that a person should see: those about secrets and tests.
    asking: usize,
    new: usize,
    old: usize,
    allowed: usize,
}

// === impl Report ===

impl Report {
    pub(crate) fn new(check: CheckName, limits: &Limits) -> Self {
        Self {
            check,
            findings: Vec::new(),
            skipped: Vec::new(),
            most_skipped: limits.skipped,
            most_findings: limits.findings,
            skipped_left_out: 0,
            excluded: 0,
            missing: 0,
            looked_at: Vec::new(),
        }
    }

    pub(crate) fn add_file(&mut self, path: &str, findings: Vec<Finding>) {
        self.looked_at.push(path.to_owned());
        self.findings.extend(findings);
    }

    /// Adds findings about files without counting the files as checked.
    pub(crate) fn add(&mut self, findings: Vec<Finding>) {
        self.findings.extend(findings);
    }

    /// Adds the findings in the index version of a file, except those that the work tree version has as well.
    pub(crate) fn looked_at_index(&mut self, path: &str, findings: Vec<Finding>) {
        let told: HashSet<String> = self
            .findings
            .iter()
            .rev()
            .take_while(|finding| finding.path == path)
            .map(|finding| finding.fingerprint.clone())
            .collect();
        if self.looked_at.last().is_none_or(|last| last != path) {
            self.looked_at.push(path.to_owned());
        }
        self.findings.extend(findings.into_iter().filter(|finding| !told.contains(&finding.fingerprint)).map(
            |mut finding| {
                finding.message.push_str(", in the index and not in the work tree");
                finding
            },
        ));
    }

    pub(crate) fn skip(&mut self, file: SkippedFile) {
        self.missing += usize::from(file.is_missing);
        if self.skipped.len() < self.most_skipped {
            self.skipped.push(file);
        } else {
            self.skipped_left_out += 1;
        }
    }

    pub(crate) fn exclude(&mut self, file: SkippedFile) {
        self.excluded += 1;
        self.skip(file);
    }

    /// Returns the report with its verdict: blocking findings fail it, an unreadable file of the change leaves it
    /// incomplete, and a report on no file is not a pass.
    pub(crate) fn finish(mut self, duration_ms: u64) -> ReportWithFiles {
        let files_checked = self.looked_at.len() as u64;
        let counts = Counts::of(&self.findings);
        let verdict = match (counts.blocking, self.missing, counts.asking, files_checked) {
            (1.., _, _, _) => CheckVerdict::Fail,
            (0, 1.., _, _) => CheckVerdict::Incomplete,
            (0, 0, 1.., _) => CheckVerdict::Warn,
            (0, 0, 0, 0) => CheckVerdict::Skip,
            (0, 0, 0, _) => CheckVerdict::Pass,
        };
        let skipped = self.skipped.len() as u64 + self.skipped_left_out;
        let summary = counts.summary(files_checked, skipped, self.missing as u64, self.excluded);
        // If some findings must be left out, blocking ones stay before others.
        self.findings.sort_by(|a, b| b.blocks.cmp(&a.blocks).then_with(|| place(a).cmp(&place(b))));
        let left_out = self.findings.len().saturating_sub(self.most_findings);
        self.findings.truncate(self.most_findings);
        self.findings.sort_by(|a, b| place(a).cmp(&place(b)));
        let report = CheckReport {
            check: self.check,
            verdict,
            summary,
            findings: self.findings,
            findings_left_out: left_out as u64,
            files_checked,
            skipped: self.skipped,
            skipped_left_out: self.skipped_left_out,
            excluded: self.excluded,
            runs: Vec::new(),
            tests_expected: None,
            duration_ms,
        };
        (report, self.looked_at)
    }
}

fn place(finding: &Finding) -> (&str, switchboard_protocol::finding::Span, &str) {
    (&finding.path, finding.span, &finding.rule)
}

/// Returns true if a person should look at a finding, which does not block.
pub(crate) fn asks(finding: &Finding) -> bool {
    let of_check =
        matches!(finding.check, CheckName::Secretscan | CheckName::TestIntegrity | CheckName::PlaceholderScan);
    of_check && finding.severity == Severity::Medium && finding.is_new && finding.allowed.is_none()
}

// === impl Counts ===

impl Counts {
    fn of(findings: &[Finding]) -> Self {
        let count = |want: fn(&Finding) -> bool| findings.iter().filter(|finding| want(finding)).count();
        Self {
            blocking: count(|finding| finding.blocks),
            asking: count(asks),
            new: count(|finding| finding.is_new && finding.allowed.is_none()),
            old: count(|finding| !finding.is_new && finding.allowed.is_none()),
            allowed: count(|finding| finding.allowed.is_some()),
        }
    }

    fn summary(&self, files: u64, skipped: u64, missing: u64, excluded: u64) -> String {
        let mut words = vec![count(files, "file checked", "files checked")];
        words.push(match (self.blocking, self.new) {
            (0, 0) => "nothing new".into(),
            (0, new) => format!("{new} new, none of them blocks"),
            (blocking, new) => format!("{new} new, {blocking} of them blocking"),
        });
        if self.asking > 0 {
            words.push(format!("{} for a person to see", self.asking));
        }
        if self.old > 0 {
            words.push(format!("{} known from the base", self.old));
        }
        if self.allowed > 0 {
            words.push(format!("{} allowed", self.allowed));
        }
        if skipped > excluded {
            words.push(count(skipped - excluded, "file skipped", "files skipped"));
        }
        if excluded > 0 {
            words.push(format!("excluded: {excluded}"));
        }
        if missing > 0 {
            words.push(format!("{missing} of the change could not be read"));
        }
        if files == 0 && skipped == 0 {
            return "nothing to check".into();
        }
        words.join(", ")
    }
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
