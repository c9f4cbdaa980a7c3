//! `placeholder_scan`

use std::path::Path;

use regex::bytes::{Regex, RegexBuilder};
use switchboard_protocol::error::Failure;
use switchboard_protocol::evidence::PlaceholderFinding;
use switchboard_protocol::finding::{CheckName, CheckVerdict, Finding, placeholder_kind};
use switchboard_protocol::verb::check::{PlaceholderScanReply, PlaceholderScanRequest};

use super::arguments::{base, folder, globs, is_named, report, request};
use crate::engine::Engine;
use crate::placeholder::PlaceholderScan;
use crate::report::asks;

/// The largest program that a pattern may become.
const PATTERN_BYTES: usize = 1 << 20;

pub(super) fn run(
    engine: &Engine,
    root: &Path,
    args: &PlaceholderScanRequest,
) -> Result<PlaceholderScanReply, Failure> {
    let folder = folder(root, args.working_directory.as_deref())?;
    let allowed = globs(&args.allow_globs.list())?;
    let deny = args.deny_patterns.list().into_iter().map(pattern).collect::<Result<_, _>>()?;
    let paths = args.changed_files.paths();
    let check = PlaceholderScan { all_is_change: !paths.is_empty(), deny };
    let request = request(&folder, CheckName::PlaceholderScan, base(args.base.as_ref()), paths);
    let (report, failures) = report(engine.look(&request, check).reply)?;
    let wanted = || report.findings.iter().filter(|finding| !is_named(&allowed, &finding.path));
    let findings: Vec<_> = wanted().filter(|found| found.blocks).map(finding).collect();
    let asks: Vec<_> = wanted().filter(|found| asks(found)).map(finding).collect();
    let pre_existing = wanted().filter(|finding| !finding.is_new).count() as u64;
    // Files with allowed placeholders don't count.
    let verdict = match matches!(report.verdict, CheckVerdict::Fail | CheckVerdict::Warn) && findings.is_empty() {
        true if asks.is_empty() => CheckVerdict::Pass,
        true => CheckVerdict::Warn,
        false => report.verdict,
    };
    Ok(PlaceholderScanReply { verdict, findings, asks, summary: report.summary, pre_existing, failures })
}

fn pattern(text: String) -> Result<(String, Regex), Failure> {
    let built = RegexBuilder::new(&text).case_insensitive(true).size_limit(PATTERN_BYTES).build();
    let pattern = built.map_err(|_| {
        let shown: String = text.chars().take(100).collect();
        Failure::new("request.bad-args", format!("the pattern `{shown}` can't be used"))
    })?;
    Ok((text, pattern))
}

fn finding(finding: &Finding) -> PlaceholderFinding {
    PlaceholderFinding {
        path: finding.path.clone(),
        line: u64::from(finding.span.start_line),
        kind: placeholder_kind(&finding.rule).to_owned(),
        excerpt: finding.excerpt.clone().unwrap_or_default(),
        rule_id: finding.rule.clone(),
    }
}
