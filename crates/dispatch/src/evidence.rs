//! Writes the evidence of gates in the format of `.swarm/`, beside the log: `evidence/<task>/evidence.json` in the
//! run's folder.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, json};
use switchboard_protocol::answer::Answer;
use switchboard_protocol::error::Failure;
use switchboard_protocol::evidence::{
    BuildRun, Bundle, Detail, Entry, Evidence, FileSyntax, GateEvidence, GateRecord, PlaceholderFinding, SyntaxError,
    TestFailure, Verdict,
};
use switchboard_protocol::finding::{
    CheckName, CheckReport, CheckVerdict, CommandKind, CommandRun, DIFF_CONTRACT, Finding, placeholder_kind,
};
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::StepId;
use switchboard_protocol::run::{TaskView, Verdict as GateVerdict};
use switchboard_protocol::text::cut;

use crate::error::shape;
use crate::json;
use crate::world::World;
use crate::{Error, plan};

/// Maximum number of findings listed in one entry; all are counted.
const FINDINGS: usize = 200;

/// Maximum number of changed contracts listed in one entry; all are counted.
const CONTRACTS: usize = 40;

/// Field of an entry that lists changed contracts.
const CONTRACTS_FIELD: &str = "contracts";

/// Number of bytes kept from the end of a command's output.
const TAIL: usize = 4000;

/// Findings of one gate.
pub(crate) struct Found {
    pub(crate) gate: String,
    pub(crate) verdict: Verdict,
    pub(crate) summary: String,
    pub(crate) detail: Detail,
    /// Changed contracts (what others may call), if the gate looks for them; `None` for other gates.
    pub(crate) contracts: Option<Vec<String>>,
}

/// Converts the report of a check into evidence.
pub(crate) fn of_report(report: &CheckReport) -> Found {
    Found {
        gate: report.check.to_string(),
        verdict: match report.verdict {
            CheckVerdict::Pass | CheckVerdict::Warn => Verdict::Pass,
            CheckVerdict::Fail | CheckVerdict::Incomplete | CheckVerdict::Error => Verdict::Fail,
            CheckVerdict::Skip => Verdict::Skip,
        },
        summary: report.summary.clone(),
        detail: detail(report),
        contracts: (report.check == CheckName::Diff).then(|| contracts(report)),
    }
}

/// Returns the findings of changed contracts, each with its file. Those left out of the report are counted, so that
/// they are not mistaken for none.
fn contracts(report: &CheckReport) -> Vec<String> {
    let found = report.findings.iter().filter(|finding| finding.rule == DIFF_CONTRACT);
    let mut lines: Vec<_> = found.map(|finding| format!("{}: {}", finding.path, finding.message)).collect();
    let left = lines.len().saturating_sub(CONTRACTS) as u64 + report.findings_left_out;
    lines.truncate(CONTRACTS);
    match left {
        0 => {}
        1 => lines.push("and 1 finding more".to_owned()),
        more => lines.push(format!("and {more} findings more")),
    }
    lines
}

/// Returns the contracts altered by the change of a task's present attempt, as the gate `diff` found them; `None` if no
/// evidence lists them.
pub(crate) fn contracts_of(world: &World, run: &RunId, view: &TaskView) -> Result<Option<Vec<String>>, Error> {
    let Some(bundle): Option<Bundle> = read(world, run, &view.task)? else { return Ok(None) };
    let of_entry = |entry: &Entry| {
        let Entry::Known(entry) = entry else { return None };
        let metadata = entry.metadata.as_ref()?;
        let is_present = metadata.get("attempt").and_then(serde_json::Value::as_u64) == Some(u64::from(view.attempt));
        let found = metadata.get(CONTRACTS_FIELD).filter(|_| is_present)?;
        serde_json::from_value(found.clone()).ok()
    };
    Ok(bundle.entries.iter().rev().find_map(of_entry))
}

/// Adds the checks' reports on an attempt to the task's evidence bundle, and rewrites its gate record.
///
/// Both are for readers. Decisions use the log: an entry that the log does not know has no effect ([`valid_evidence`]).
pub(crate) fn keep(
    world: &World,
    run: &RunId,
    id: &TaskId,
    attempt: u32,
    found: Vec<Found>,
    judged: &[(String, GateVerdict)],
) -> Result<(), Error> {
    write_record(world, run, id, judged)?;
    let entries = found.into_iter().map(|found| entry(id, attempt, &world.store.now().to_string(), found));
    append(world, run, id, entries)
}

/// Converts the answer of a worker that judges into evidence.
pub(crate) fn of_answer(step: &StepId, answer: &Answer, verdict: GateVerdict, reasons: &[String]) -> Found {
    let passes = has_passed(verdict);
    let (verdict, detail) = match answer {
        Answer::Review(review) => (
            if passes { Verdict::Approved } else { Verdict::Rejected },
            Detail::Review { risk: review.risk, issues: review.issues.iter().cloned().map(Into::into).collect() },
        ),
        Answer::Tests(tests) => {
            let (failed, added) = (tests.failures.len() as u64, tests.added.iter().map(|file| file.names.len() as u64));
            let detail = Detail::Test {
                tests_passed: added.sum::<u64>().saturating_sub(failed),
                tests_failed: failed,
                test_file: tests.added.first().map(|added| added.file.clone()),
                failures: tests.failures.iter().cloned().map(Into::into).collect(),
            };
            (if passes { Verdict::Pass } else { Verdict::Fail }, detail)
        }
        // An impact analysis describes and does not judge.
        Answer::Impact(_) => (Verdict::Info, Detail::Note),
        Answer::SecurityReview(_)
        | Answer::Exploration(_)
        | Answer::Reality(_)
        | Answer::Guidance(_)
        | Answer::Questions(_)
        | Answer::PlanDraft(_)
        | Answer::PlanReview(_)
        | Answer::Drift(_)
        | Answer::Hallucination(_)
        | Answer::Design(_)
        | Answer::Docs(_)
        | Answer::Retrospective(_)
        | Answer::Work(_)
        | Answer::Decision(_)
        | Answer::Spec(_) => (if passes { Verdict::Approved } else { Verdict::Rejected }, Detail::Note),
    };
    let summary = match reasons.first() {
        Some(first) => cut(first, 300),
        None => format!("{step}: nothing to say"),
    };
    Found { gate: step.to_string(), verdict, summary, detail, contracts: None }
}

/// Adds one finding to the task's bundle in an agent's name, unless it was added before the daemon died.
pub(crate) fn add(
    world: &World,
    run: &RunId,
    id: &TaskId,
    attempt: u32,
    found: Found,
    agent: &str,
) -> Result<(), Error> {
    let mut entry = entry(id, attempt, &world.store.now().to_string(), found);
    agent.clone_into(&mut entry.agent);
    let bundle: Option<Bundle> = read(world, run, id)?;
    let is_same = |known: &Entry| {
        let Entry::Known(known) = known else { return false };
        Evidence { timestamp: entry.timestamp.clone(), ..(**known).clone() } == entry
    };
    if bundle.as_ref().is_some_and(|bundle| bundle.entries.iter().any(is_same)) {
        return Ok(());
    }
    append(world, run, id, [entry])
}

fn append(world: &World, run: &RunId, id: &TaskId, entries: impl IntoIterator<Item = Evidence>) -> Result<(), Error> {
    let bundle = read(world, run, id)?;
    let appended = switchboard_pipeline::evidence::append(bundle, entries);
    let bundle = appended.map_err(|error| Failure::new("internal.bug", error.to_string()).at(id.to_string()))?;
    bundle.map_or(Ok(()), |bundle| write(world, run, id, &bundle))
}

fn write(world: &World, run: &RunId, id: &TaskId, bundle: &Bundle<Box<RawValue>>) -> Result<(), Error> {
    let path = plan::evidence_file(&world.config, run, id);
    if let Some(folder) = path.parent() {
        world.ports.files.make_folder(folder)?;
    }
    world.ports.files.write(&path, switchboard_pipeline::evidence::write(bundle).as_bytes())
}

/// Writes the gate record of the `.swarm/` format: the gates that the attempt needs, and those it has passed.
fn write_record(world: &World, run: &RunId, id: &TaskId, judged: &[(String, GateVerdict)]) -> Result<(), Error> {
    let mut required: Vec<String> =
        judged.iter().filter(|(_, verdict)| is_held_to(*verdict)).map(|(gate, _)| gate.clone()).collect();
    required.sort();
    let passed = judged.iter().filter(|(_, verdict)| has_passed(*verdict));
    let timestamp = world.store.now().to_string();
    let gates = passed.map(|(gate, _)| (gate.clone(), passed_at(run, timestamp.clone()))).collect();
    let marks = judged.iter().find(|(gate, _)| gate == CheckName::PlaceholderScan.as_str());
    let record = GateRecord {
        task_id: id.to_string(),
        required_gates: required,
        gates,
        todo_scan: marks.map(|(_, verdict)| json!({ "verdict": verdict })),
        ..GateRecord::default()
    };
    let path = plan::gate_record_file(&world.config, run, id);
    if let Some(folder) = path.parent() {
        world.ports.files.make_folder(folder)?;
    }
    let text = serde_json::to_vec(&record).map_err(shape("a gate record"))?;
    world.ports.files.write(&path, &text)
}

/// Returns the record that a task passed a gate: the run, the time, and `switchboard` as the agent.
pub(crate) fn passed_at(run: &RunId, timestamp: String) -> GateEvidence {
    GateEvidence { session_id: run.to_string(), timestamp, agent: "switchboard".to_owned(), extra: Map::new() }
}

/// Returns true if a gate examined the change and passed it.
pub(crate) const fn has_passed(verdict: GateVerdict) -> bool {
    match verdict {
        GateVerdict::Pass | GateVerdict::Warn => true,
        GateVerdict::Fail
        | GateVerdict::Error
        | GateVerdict::Skipped
        | GateVerdict::NotConfigured
        | GateVerdict::NoReply => false,
    }
}

/// Returns true if the change had to pass the gate, that is, unless the gate was skipped or not configured.
pub(crate) const fn is_held_to(verdict: GateVerdict) -> bool {
    match verdict {
        GateVerdict::Skipped | GateVerdict::NotConfigured => false,
        GateVerdict::Pass | GateVerdict::Warn | GateVerdict::Fail | GateVerdict::Error | GateVerdict::NoReply => true,
    }
}

/// Lists the evidence of a task, by gate and type, that agrees with the log about its present attempt.
pub(crate) fn valid_evidence(
    world: &World,
    run: &RunId,
    view: &TaskView,
) -> Result<Vec<(String, &'static str)>, Error> {
    let Some(bundle) = read(world, run, &view.task)? else { return Ok(Vec::new()) };
    let said = |gate: &str| view.gates.iter().find(|report| report.gate == gate).map(|report| report.verdict);
    let known = bundle.entries.iter().filter_map(|entry| match entry {
        Entry::Known(entry) => Some(entry),
        Entry::Other(_) => None,
    });
    let mut found = Vec::new();
    for entry in known {
        let Some(metadata) = &entry.metadata else { continue };
        let gate = metadata.get("check").and_then(serde_json::Value::as_str).unwrap_or_default();
        let attempt = metadata.get("attempt").and_then(serde_json::Value::as_u64);
        if attempt == Some(u64::from(view.attempt)) && is_confirmed(entry.verdict, said(gate)) {
            found.push((gate.to_owned(), kind(&entry.detail)));
        }
    }
    Ok(found)
}

/// Returns true if evidence is good and the log has its gate as passed.
pub(crate) fn is_confirmed(evidence: Verdict, logged: Option<GateVerdict>) -> bool {
    is_good(evidence) && logged.is_some_and(has_passed)
}

/// Returns the gates that a task had to pass and for which no evidence agrees with the log.
pub(crate) fn lacking(world: &World, run: &RunId, view: &TaskView) -> Result<Vec<String>, Error> {
    let found = valid_evidence(world, run, view)?;
    let required = view.gates.iter().filter(|report| report.required && is_held_to(report.verdict));
    let missing = required.map(|report| &report.gate).filter(|gate| found.iter().all(|(known, _)| known != *gate));
    Ok(missing.cloned().collect())
}

const fn is_good(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Pass | Verdict::Skip | Verdict::Warn | Verdict::Approved | Verdict::Info => true,
        Verdict::Fail | Verdict::Rejected => false,
    }
}

/// Returns the name of a type of evidence, as used in files.
const fn kind(detail: &Detail) -> &'static str {
    match detail {
        Detail::Review { .. } => "review",
        Detail::Test { .. } => "test",
        Detail::Diff { .. } => "diff",
        Detail::Approval => "approval",
        Detail::Note => "note",
        Detail::Retrospective(_) => "retrospective",
        Detail::Syntax { .. } => "syntax",
        Detail::Placeholder { .. } => "placeholder",
        Detail::Sast { .. } => "sast",
        Detail::Sbom { .. } => "sbom",
        Detail::Build { .. } => "build",
        Detail::QualityBudget { .. } => "quality_budget",
        Detail::Secretscan { .. } => "secretscan",
        Detail::MutationGate { .. } => "mutation-gate",
        Detail::DriftVerification { .. } => "drift-verification",
        Detail::HallucinationVerification { .. } => "hallucination-verification",
    }
}

fn read<E: DeserializeOwned>(world: &World, run: &RunId, id: &TaskId) -> Result<Option<Bundle<E>>, Error> {
    let text = world.ports.files.read(&plan::evidence_file(&world.config, run, id))?;
    text.map(|text| json::from_slice(&text).map_err(shape("evidence.json"))).transpose()
}

fn entry(id: &TaskId, attempt: u32, timestamp: &str, found: Found) -> Evidence {
    let mut metadata = Map::new();
    metadata.insert("attempt".to_owned(), json!(attempt));
    metadata.insert("check".to_owned(), json!(found.gate));
    if let Some(contracts) = &found.contracts {
        metadata.insert(CONTRACTS_FIELD.to_owned(), json!(contracts));
    }
    Evidence {
        task_id: id.to_string(),
        timestamp: timestamp.to_owned(),
        agent: "switchboard".to_owned(),
        verdict: found.verdict,
        summary: found.summary,
        metadata: Some(metadata),
        detail: found.detail,
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
        CheckName::TestRunner if report.runs.iter().any(|run| run.tests.is_some()) => tests(report),
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
        CheckName::PlaceholderScan => placeholders(report),
        CheckName::TestIntegrity
        | CheckName::NewTests
        | CheckName::Diff
        | CheckName::Imports
        | CheckName::RegressionSweep
        | CheckName::TodoExtract
        | CheckName::SastScan
        | CheckName::QualityBudget => Detail::Note,
    }
}

fn tests(report: &CheckReport) -> Detail {
    let counted = || report.runs.iter().filter_map(|run| run.tests);
    let failures = report.runs.iter().filter(|run| run.exit_code != Some(0));
    Detail::Test {
        tests_passed: counted().map(|totals| totals.passed).sum(),
        tests_failed: counted().map(|totals| totals.failed).sum(),
        test_file: None,
        failures: failures
            .map(|run| TestFailure {
                name: run.argv.join(" "),
                message: format!("{}\n{}", run.ending, tail(&run.stdout)),
            })
            .collect(),
    }
}

fn placeholders(report: &CheckReport) -> Detail {
    let new: Vec<_> = report.findings.iter().filter(|finding| finding.is_new && finding.allowed.is_none()).collect();
    let mut files: Vec<&str> = new.iter().map(|finding| finding.path.as_str()).collect();
    files.dedup();
    let finding = |finding: &&Finding| PlaceholderFinding {
        path: finding.path.clone(),
        line: u64::from(finding.span.start_line),
        kind: placeholder_kind(&finding.rule).to_owned(),
        excerpt: finding.excerpt.clone().unwrap_or_else(|| cut(&finding.message, 100)),
        rule_id: finding.rule.clone(),
    };
    Detail::Placeholder {
        files_scanned: report.files_checked,
        files_with_findings: files.len() as u64,
        findings_count: new.len() as u64 + report.findings_left_out,
        findings: new.iter().take(FINDINGS).map(finding).collect(),
    }
}

/// Returns the files with new errors, each once.
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
        // The format has no field for a signal; `ending` in the log names it.
        exit_code: run.exit_code.map_or(-1, i64::from),
        duration_ms: run.duration_ms,
        stdout_tail: tail(&run.stdout),
        stderr_tail: tail(&run.stderr),
    }
}

fn tail(text: &str) -> String {
    text[text.ceil_char_boundary(text.len().saturating_sub(TAIL))..].to_owned()
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::answer::Review;

    use super::*;

    #[test]
    fn an_answer_is_evidence_for_a_change_only_if_its_step_has_passed() {
        let review: Review = serde_json::from_value(json!({ "verdict": "REJECTED", "risk": "low", "issues": [],
            "checked": { "correctness": true, "edge_cases": true, "performance": true } }))
        .unwrap();
        let step = StepId::new("review").unwrap();
        let verdict = |answer: &Answer, said| of_answer(&step, answer, said, &["thin".to_owned(), "late".to_owned()]);
        let review = Answer::Review(review);

        for (said, expected) in [
            (GateVerdict::Pass, Verdict::Approved),
            (GateVerdict::Warn, Verdict::Approved),
            (GateVerdict::Fail, Verdict::Rejected),
            (GateVerdict::Error, Verdict::Rejected),
            (GateVerdict::Skipped, Verdict::Rejected),
            (GateVerdict::NotConfigured, Verdict::Rejected),
            (GateVerdict::NoReply, Verdict::Rejected),
        ] {
            assert_eq!(verdict(&review, said).verdict, expected, "{said:?}");
        }
        let found = verdict(&review, GateVerdict::Fail);
        assert_eq!((found.gate.as_str(), found.summary.as_str(), kind(&found.detail)), ("review", "thin", "review"));
        assert_eq!(of_answer(&step, &review, GateVerdict::Pass, &[]).summary, "review: nothing to say");
    }
}
