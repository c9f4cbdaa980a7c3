//! Renders a reply as text for a person.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use switchboard_protocol::finding::{CheckReply, CheckReport, CheckVerdict, CommandRun, Finding};
use switchboard_protocol::text::listed;

/// Maximum number of lines shown of a failed command's output.
const OUTPUT_LINES: usize = 30;
/// Maximum number of skipped files named for each reason.
const NAMED_SKIPS: usize = 3;

/// Returns a reply as plain text: what blocks first, then what is new, what was skipped and why.
///
/// Findings that the base has already are counted, not shown. There are no colours; control characters are made
/// visible.
#[must_use]
pub fn text(reply: &CheckReply) -> String {
    let mut out = String::new();
    for failure in &reply.failures {
        line(&mut out, &format!("error[{}]: {}", failure.code, plain(&failure.what)));
        line(&mut out, &format!("  hint: {}", plain(&failure.hint)));
    }
    for report in &reply.reports {
        write_report(&mut out, report);
    }
    line(
        &mut out,
        &format!("{} against {} in {} ms", verdict(reply.verdict), plain(&short(&reply.base)), reply.duration_ms),
    );
    out
}

fn write_report(out: &mut String, report: &CheckReport) {
    line(out, &format!("{} {}: {}", report.check, verdict(report.verdict), plain(&report.summary)));
    let mut shown: Vec<&Finding> =
        report.findings.iter().filter(|finding| finding.is_new && finding.allowed.is_none()).collect();
    shown.sort_by_key(|finding| !finding.blocks);
    for finding in shown {
        write_finding(out, finding);
    }
    if report.findings_left_out > 0 {
        line(out, &format!("  … and {} more findings", report.findings_left_out));
    }
    for run in &report.runs {
        write_run(out, run);
    }
    write_skipped(out, report);
}

fn write_finding(out: &mut String, finding: &Finding) {
    let place = format!("{}:{}:{}", finding.path, finding.span.start_line, finding.span.start_column);
    let masked = finding.masked.as_ref().map_or(String::new(), |masked| format!(" {masked}"));
    let commit = finding.commit.as_ref().map_or(String::new(), |commit| format!(" since {}", plain(&short(commit))));
    line(out, &format!("  {} {} [{}]{commit}", plain(&place), finding.severity, finding.rule));
    line(out, &format!("    {}{masked}", plain(&finding.message)));
    line(out, &format!("    help: {}", plain(&finding.remedy)));
}

fn write_run(out: &mut String, run: &CommandRun) {
    line(
        out,
        &format!(
            "  `{}`: {} after {} ms, memory {}",
            plain(&run.argv.join(" ")),
            run.ending,
            run.duration_ms,
            run.memory
        ),
    );
    if run.exit_code == Some(0) {
        return;
    }
    for stream in [&run.stdout, &run.stderr] {
        let lines: Vec<&str> = stream.lines().collect();
        for text in &lines[lines.len().saturating_sub(OUTPUT_LINES)..] {
            line(out, &format!("    | {}", plain(text)));
        }
    }
}

fn write_skipped(out: &mut String, report: &CheckReport) {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in report.skipped.iter().filter(|file| file.is_missing) {
        line(out, &format!("  not read, {}: {}", plain(&file.why), plain(&file.path)));
    }
    for file in report.skipped.iter().filter(|file| !file.is_missing) {
        reasons.entry(&file.why).or_default().push(&file.path);
    }
    for (why, paths) in reasons {
        let named = listed(paths.iter().map(|path| plain(path)), NAMED_SKIPS);
        line(out, &format!("  skipped, {}: {named}", plain(why)));
    }
    if report.skipped_left_out > 0 {
        line(out, &format!("  skipped: {} more files that are not listed", report.skipped_left_out));
    }
}

const fn verdict(verdict: CheckVerdict) -> &'static str {
    match verdict {
        CheckVerdict::Pass => "passed",
        CheckVerdict::Warn => "passed with a warning",
        CheckVerdict::Incomplete => "incomplete",
        CheckVerdict::Fail => "failed",
        CheckVerdict::Skip => "skipped",
        CheckVerdict::Error => "failed: it could not judge",
    }
}

/// Shortens a commit id.
fn short(base: &str) -> String {
    let id: String = base.chars().take_while(char::is_ascii_hexdigit).collect();
    if id.len() >= 40 { base.replacen(&id, &id[..10], 1) } else { base.to_owned() }
}

/// Makes control characters visible: a file name must not move the cursor.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

fn line(out: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _written = writeln!(out, "{text}");
}
