//! Gathers what one check says about many files, within limits, and gives the verdict.

use switchboard_protocol::finding::{CheckName, CheckReport, CheckVerdict, Finding, SkippedFile};

use crate::limits::Limits;

/// A report in the making.
pub(crate) struct Report {
    check: CheckName,
    findings: Vec<Finding>,
    skipped: Vec<SkippedFile>,
    most_skipped: usize,
    most_findings: usize,
    skipped_left_out: u64,
    looked_at: Vec<String>,
}

/// A report, and the files that it is about.
pub(crate) type Looked = (CheckReport, Vec<String>);

/// What is counted for the summary, before any finding is left out.
struct Counts {
    blocking: usize,
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
            looked_at: Vec::new(),
        }
    }

    pub(crate) fn looked(&mut self, path: &str, findings: Vec<Finding>) {
        self.looked_at.push(path.to_owned());
        self.findings.extend(findings);
    }

    pub(crate) fn skip(&mut self, path: String, why: String) {
        if self.skipped.len() < self.most_skipped {
            self.skipped.push(SkippedFile { path, why });
        } else {
            self.skipped_left_out += 1;
        }
    }

    /// Gives the verdict: findings that block fail it, and no file looked at is no pass.
    pub(crate) fn finish(mut self, duration_ms: u64) -> Looked {
        let files_checked = self.looked_at.len() as u64;
        let counts = Counts::of(&self.findings);
        let verdict = match (counts.blocking, files_checked) {
            (1.., _) => CheckVerdict::Fail,
            (0, 0) => CheckVerdict::Skip,
            (0, _) => CheckVerdict::Pass,
        };
        let summary = counts.summary(files_checked, self.skipped.len() as u64 + self.skipped_left_out);
        // Where some must be left out, it is never one that blocks before one that does not.
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
            runs: Vec::new(),
            duration_ms,
        };
        (report, self.looked_at)
    }
}

fn place(finding: &Finding) -> (&str, switchboard_protocol::finding::Span, &str) {
    (&finding.path, finding.span, &finding.rule)
}

// === impl Counts ===

impl Counts {
    fn of(findings: &[Finding]) -> Self {
        let count = |want: fn(&Finding) -> bool| findings.iter().filter(|finding| want(finding)).count();
        Self {
            blocking: count(|finding| finding.blocks),
            new: count(|finding| finding.is_new && finding.allowed.is_none()),
            old: count(|finding| !finding.is_new && finding.allowed.is_none()),
            allowed: count(|finding| finding.allowed.is_some()),
        }
    }

    fn summary(&self, files: u64, skipped: u64) -> String {
        let mut words = vec![count(files, "file checked", "files checked")];
        words.push(match (self.blocking, self.new) {
            (0, 0) => "nothing new".into(),
            (0, new) => format!("{new} new, none of them blocks"),
            (blocking, new) => format!("{new} new, {blocking} of them blocking"),
        });
        if self.old > 0 {
            words.push(format!("{} known from the base", self.old));
        }
        if self.allowed > 0 {
            words.push(format!("{} allowed", self.allowed));
        }
        if skipped > 0 {
            words.push(count(skipped, "file skipped", "files skipped"));
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
