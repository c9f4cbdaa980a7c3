//! Evidence of the gates in the swarm document's format, beside the log: `evidence/<task>/evidence.json` in the run's folder.

use protocol::error::Failure;
use protocol::evidence::{BuildRun, Bundle, Detail, Evidence, FileSyntax, SyntaxError, Verdict};
use protocol::finding::{CheckName, CheckReport, CheckVerdict, CommandKind, CommandRun};
use protocol::id::RunId;
use protocol::plan::TaskId;
use serde_json::{Map, json};

use crate::context::Inner;
use crate::error::shape;
use crate::{Config, Error, files, plan};

/// Bytes kept of the end of a command's output.
const TAIL: usize = 4000;

/// Adds what the checks reported on an attempt to the task's bundle.
pub(crate) fn keep(
    inner: &Inner,
    run: &RunId,
    id: &TaskId,
    attempt: u32,
    reports: &[CheckReport],
) -> Result<(), Error> {
    let path = plan::evidence_file(&inner.config, run, id);
    let mut bundle = read(&inner.config, run, id)?;
    for report in reports {
        let entry = entry(id, attempt, &inner.store.now().to_string(), report);
        let appended = pipeline::evidence::append(bundle.take(), entry);
        bundle = Some(appended.map_err(|error| Failure::new("internal.bug", error.to_string()).at(id.to_string()))?);
    }
    let Some(bundle) = bundle else { return Ok(()) };
    if let Some(folder) = path.parent() {
        files::private_folder(folder)?;
    }
    files::write_private(&path, pipeline::evidence::write(&bundle).as_bytes())
}

fn read(config: &Config, run: &RunId, id: &TaskId) -> Result<Option<Bundle>, Error> {
    let text = files::read_if_there(&plan::evidence_file(config, run, id))?;
    text.map(|text| serde_json::from_slice(&text).map_err(shape("evidence.json"))).transpose()
}

fn entry(id: &TaskId, attempt: u32, timestamp: &str, report: &CheckReport) -> Evidence {
    let mut metadata = Map::new();
    metadata.insert("attempt".to_owned(), json!(attempt));
    metadata.insert("check".to_owned(), json!(report.check.as_str()));
    Evidence {
        task_id: id.to_string(),
        timestamp: timestamp.to_owned(),
        agent: "switchboard".to_owned(),
        verdict: match report.verdict {
            CheckVerdict::Pass => Verdict::Pass,
            CheckVerdict::Fail | CheckVerdict::Error => Verdict::Fail,
            CheckVerdict::Skip => Verdict::Skip,
        },
        summary: report.summary.clone(),
        metadata: Some(metadata),
        detail: detail(report),
    }
}

fn detail(report: &CheckReport) -> Detail {
    let skipped = report.skipped.len() as u64 + report.skipped_left_out;
    match report.check {
        CheckName::SyntaxCheck => {
            let files = syntax(report);
            Detail::Syntax {
                files_checked: report.files_checked,
                files_failed: files.len() as u64,
                skipped_count: skipped,
                files,
            }
        }
        CheckName::Secretscan => Detail::Secretscan {
            findings_count: report.findings.iter().filter(|finding| finding.is_new).count() as u64,
            scan_directory: None,
            files_scanned: report.files_checked,
            skipped_files: skipped,
        },
        CheckName::BuildCheck | CheckName::TestRunner | CheckName::Lint => {
            let runs: Vec<_> = report.runs.iter().map(run).collect();
            Detail::Build {
                runs_count: runs.len() as u64,
                failed_count: runs.iter().filter(|run| run.exit_code != 0).count() as u64,
                runs,
                files_scanned: report.files_checked,
                skipped_reason: (report.verdict == CheckVerdict::Skip).then(|| report.summary.clone()),
            }
        }
        CheckName::PlaceholderScan | CheckName::TodoExtract | CheckName::SastScan | CheckName::QualityBudget => {
            Detail::Note
        }
    }
}

/// The files with new errors, each once.
fn syntax(report: &CheckReport) -> Vec<FileSyntax> {
    let mut files: Vec<FileSyntax> = Vec::new();
    for finding in report.findings.iter().filter(|finding| finding.is_new && finding.blocks) {
        let error = SyntaxError {
            line: u64::from(finding.span.start_line),
            column: u64::from(finding.span.start_column),
            message: finding.message.clone(),
        };
        match files.iter_mut().find(|file| file.path == finding.path) {
            Some(file) => file.errors.push(error),
            None => files.push(FileSyntax {
                path: finding.path.clone(),
                language: finding.rule.trim_end_matches("-syntax").to_owned(),
                ok: false,
                errors: vec![error],
                skipped_reason: None,
            }),
        }
    }
    files
}

fn run(run: &CommandRun) -> BuildRun {
    let kind = match run.kind {
        CommandKind::Build => "build",
        CommandKind::Test => "test",
        CommandKind::Lint => "lint",
    };
    BuildRun {
        kind: kind.to_owned(),
        command: run.argv.join(" "),
        cwd: run.cwd.clone(),
        // The format has no place for a signal; `ending` in the log says which.
        exit_code: run.exit_code.map_or(-1, i64::from),
        duration_ms: run.duration_ms,
        stdout_tail: tail(&run.stdout),
        stderr_tail: tail(&run.stderr),
    }
}

fn tail(text: &str) -> String {
    let mut from = text.len().saturating_sub(TAIL);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text[from..].to_owned()
}
