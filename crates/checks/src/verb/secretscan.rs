//! `secretscan`

use std::path::Path;

use switchboard_protocol::error::Failure;
use switchboard_protocol::finding::{Base, CheckName, CheckReport, CheckVerdict, Finding, Severity};
use switchboard_protocol::verb::check::{SecretFinding, SecretscanReply, SecretscanRequest};

use super::arguments::{base, folder, globs, is_named, report, request};
use super::excerpt::Excerpts;
use crate::engine::Engine;

pub(super) fn run(engine: &Engine, root: &Path, args: &SecretscanRequest) -> Result<SecretscanReply, Failure> {
    let folder = folder(root, args.directory.as_deref().or(args.working_directory.as_deref()))?;
    let base = if args.base.is_some() { base(args.base.as_ref()) } else { Base::None };
    let reply = engine.run(&request(&folder, CheckName::Secretscan, base, args.changed_files.paths()));
    let (report, failures) = report(reply)?;
    let reply = reply_of(engine, &folder, report, &args.exclude.list())?;
    Ok(SecretscanReply { failures, ..reply })
}

/// Converts a report to the keys of the verb.
pub(super) fn reply_of(
    engine: &Engine,
    folder: &Path,
    report: CheckReport,
    exclude: &[String],
) -> Result<SecretscanReply, Failure> {
    let excluded = globs(exclude)?;
    let mut excerpts = Excerpts::new(folder, engine.limits.file_bytes);
    let wanted: Vec<&Finding> = report.findings.iter().filter(|finding| !is_named(&excluded, &finding.path)).collect();
    let is_all_left_out = report.verdict == CheckVerdict::Fail && !wanted.iter().any(|finding| finding.blocks);
    let verdict = if is_all_left_out { CheckVerdict::Pass } else { report.verdict };
    let findings: Vec<SecretFinding> = wanted.iter().map(|found| finding(found, &mut excerpts)).collect();
    Ok(SecretscanReply {
        scan_dir: folder.to_string_lossy().into_owned(),
        count: findings.len() as u64 + report.findings_left_out,
        findings,
        files_scanned: report.files_checked,
        skipped_files: report.skipped.len() as u64 + report.skipped_left_out,
        skipped: report.skipped,
        verdict,
        message: Some(report.summary),
        failures: Vec::new(),
    })
}

fn finding(finding: &Finding, excerpts: &mut Excerpts<'_>) -> SecretFinding {
    let context = excerpts.words_before(&finding.path, finding.span.start_line, finding.span.start_column);
    let confidence = match (finding.severity, &finding.masked) {
        (Severity::Low | Severity::Info, _) => "low",
        (Severity::Medium | Severity::High | Severity::Critical, Some(_)) => "high",
        (Severity::Medium | Severity::High | Severity::Critical, None) => "medium",
    };
    SecretFinding {
        path: finding.path.clone(),
        line: finding.span.start_line,
        kind: finding.rule.replace('-', "_"),
        confidence: confidence.to_owned(),
        severity: finding.severity.to_string(),
        redacted: finding.masked.clone().unwrap_or_else(|| "[redacted]".to_owned()),
        context: format!("{context} [redacted]").trim_start().to_owned(),
        is_new: finding.is_new,
        allowed: finding.allowed.clone(),
    }
}
