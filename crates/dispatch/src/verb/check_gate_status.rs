//! `check_gate_status`: state of a task's gates according to the log.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_protocol::error::Failure;
use switchboard_protocol::finding::CheckName;
use switchboard_protocol::id::RunId;
use switchboard_protocol::run::{RunEvent, TaskView, Verdict};
use switchboard_protocol::verb::check::{CheckGateStatusReply, CheckGateStatusRequest, GateStatus, SecretscanVerdict};

use super::find_target;
use crate::evidence::{has_passed, passed_at};
use crate::work::run_id;
use crate::{Dispatch, Error};

impl Dispatch {
    /// Returns the gates that a task has passed.
    ///
    /// # Errors
    /// An unknown run or task, or a failure of the store.
    pub async fn check_gate_status(&self, request: &CheckGateStatusRequest) -> Result<CheckGateStatusReply, Error> {
        let (row, task) = find_target(&self.world, &request.task_id)?;
        let run = run_id(&row)?;
        let unknown = || Failure::new("dispatch.unknown-task", format!("{run} has no task {}", request.task_id));
        let task = task.ok_or_else(unknown)?;
        let view = self.view(&run, &task).await?;
        let times = self.times(&run, &view)?;
        Ok(status(&run, &view, &times))
    }

    /// Returns when each gate of the present attempt reported.
    fn times(&self, run: &RunId, view: &TaskView) -> Result<BTreeMap<String, String>, Error> {
        let mut times = BTreeMap::new();
        crate::history::events(&self.world.store, run, |event| {
            if let Some(RunEvent::GateReported { task, attempt, gate, .. }) = event.fact()
                && task == view.task
                && attempt == view.attempt
            {
                times.insert(gate, event.ts.to_string());
            }
            true
        })?;
        Ok(times)
    }
}

fn status(run: &RunId, view: &TaskView, times: &BTreeMap<String, String>) -> CheckGateStatusReply {
    let mut required = view.pending_gates.clone();
    required.extend(view.gates.iter().filter(|report| report.required).map(|report| report.gate.clone()));
    required.sort();
    required.dedup();
    let verdict = |gate: &str| view.gates.iter().find(|report| report.gate == gate).map(|report| report.verdict);
    let (not_configured, required): (Vec<String>, Vec<String>) =
        required.into_iter().partition(|gate| verdict(gate) == Some(Verdict::NotConfigured));
    let (skipped, required): (Vec<String>, Vec<String>) =
        required.into_iter().partition(|gate| verdict(gate) == Some(Verdict::Skipped));
    let (passed_gates, missing_gates): (Vec<String>, Vec<String>) =
        required.iter().cloned().partition(|gate| verdict(gate).is_some_and(has_passed));
    // Gates that were skipped or are not configured have judged nothing.
    let status = match (missing_gates.is_empty(), passed_gates.is_empty()) {
        _ if view.gates.is_empty() => GateStatus::NoEvidence,
        (false, _) => GateStatus::Incomplete,
        (true, false) => GateStatus::AllPassed,
        (true, true) => GateStatus::NoEvidence,
    };
    let at = |gate: &String| (gate.clone(), passed_at(run, times.get(gate).cloned().unwrap_or_default()));
    CheckGateStatusReply {
        task_id: view.task.to_string(),
        status,
        gates: passed_gates.iter().map(at).collect(),
        message: message(status, &missing_gates, &[("not configured", &not_configured), ("skipped", &skipped)]),
        required_gates: required,
        passed_gates,
        missing_gates,
        not_configured,
        skipped,
        todo_scan: todo_scan(view),
        secretscan_verdict: match verdict("secretscan").or_else(|| verdict("pre_check_batch")) {
            Some(Verdict::Pass | Verdict::Warn) => SecretscanVerdict::Pass,
            Some(Verdict::Fail) => SecretscanVerdict::Fail,
            Some(Verdict::Error | Verdict::Skipped | Verdict::NotConfigured | Verdict::NoReply) | None => {
                SecretscanVerdict::NotRun
            }
        },
    }
}

/// Returns what the log has about TODO marks: `placeholder_scan` finds them.
fn todo_scan(view: &TaskView) -> Option<Value> {
    let report = view.gates.iter().find(|report| report.gate == CheckName::PlaceholderScan.as_str())?;
    Some(json!({ "verdict": report.verdict, "reasons": report.reasons }))
}

fn message(status: GateStatus, missing: &[String], gaps: &[(&str, &Vec<String>)]) -> String {
    let gaps = gaps.iter().filter(|(_, names)| !names.is_empty());
    let gaps: String = gaps.map(|(why, names)| format!("; {why}: {}", names.join(", "))).collect();
    match status {
        GateStatus::AllPassed => format!("every gate has passed{gaps}"),
        GateStatus::Incomplete => format!("missing or refused: {}{gaps}", missing.join(", ")),
        GateStatus::NoEvidence => format!("no gate has judged the present attempt{gaps}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the status of a task with these reports of required gates and these pending gates.
    fn of(reports: &[(&str, Verdict)], pending: &[&str]) -> CheckGateStatusReply {
        let report = |(gate, verdict): &(&str, Verdict)| {
            json!({ "gate": gate, "required": true, "verdict": verdict,
            "reasons": [format!("{gate} says so")] })
        };
        let gates: Vec<_> = reports.iter().map(report).collect();
        let view = json!({ "task": "1.1", "state": "ready", "attempt": 1, "losses": 0, "stopping": false,
            "gates": gates, "pending_gates": pending, "refusals": [] });
        let times = reports.iter().map(|(gate, _)| ((*gate).to_owned(), format!("at {gate}"))).collect();
        status(&RunId::from_bits(1), &serde_json::from_value(view).unwrap(), &times)
    }

    #[test]
    fn only_gates_that_judged_and_let_pass_count_and_each_other_is_named() {
        let reports = [
            ("lint", Verdict::Warn),
            ("sast", Verdict::Pass),
            ("build_check", Verdict::NotConfigured),
            ("sbom", Verdict::Skipped),
        ];

        let all = of(&reports, &[]);
        let pending = of(&reports, &["test_runner"]);
        let failed = of(&[("lint", Verdict::Pass), ("sast", Verdict::Fail)], &[]);

        assert_eq!(
            (all.status, all.message.as_str()),
            (GateStatus::AllPassed, "every gate has passed; not configured: build_check; skipped: sbom",)
        );
        assert_eq!(
            (all.passed_gates, all.required_gates),
            (vec!["lint".into(), "sast".into()], vec!["lint".into(), "sast".into()])
        );
        assert_eq!((all.not_configured, all.skipped), (vec!["build_check".to_owned()], vec!["sbom".to_owned()]));
        assert_eq!(all.gates.keys().collect::<Vec<_>>(), ["lint", "sast"]);
        assert!(json!(all.gates["lint"]).to_string().contains("at lint"), "{:?}", all.gates);
        assert_eq!((pending.status, pending.missing_gates), (GateStatus::Incomplete, vec!["test_runner".to_owned()]));
        assert_eq!((failed.status, failed.message.as_str()), (GateStatus::Incomplete, "missing or refused: sast"));
    }

    #[test]
    fn without_a_gate_that_judged_there_is_no_evidence() {
        let none = of(&[], &["sast"]);
        let skipped = of(&[("lint", Verdict::NotConfigured), ("sast", Verdict::Skipped)], &[]);

        assert_eq!(
            (none.status, none.message.as_str()),
            (GateStatus::NoEvidence, "no gate has judged the present attempt")
        );
        assert_eq!(skipped.status, GateStatus::NoEvidence);
        assert_eq!(skipped.message, "no gate has judged the present attempt; not configured: lint; skipped: sast");
    }

    #[test]
    fn what_was_found_of_marks_and_secrets_is_said_if_somebody_looked() {
        let scanned = |verdict| of(&[("secretscan", verdict)], &[]).secretscan_verdict;
        let marks = of(&[("placeholder_scan", Verdict::Fail)], &[]).todo_scan;

        assert_eq!(marks, Some(json!({ "verdict": "fail", "reasons": ["placeholder_scan says so"] })));
        assert_eq!(of(&[("lint", Verdict::Pass)], &[]).todo_scan, None);
        assert_eq!([Verdict::Pass, Verdict::Warn].map(scanned), [SecretscanVerdict::Pass; 2]);
        assert_eq!(scanned(Verdict::Fail), SecretscanVerdict::Fail);
        assert_eq!(
            [Verdict::Error, Verdict::Skipped, Verdict::NotConfigured, Verdict::NoReply].map(scanned),
            [SecretscanVerdict::NotRun; 4]
        );
        assert_eq!(of(&[("pre_check_batch", Verdict::Fail)], &[]).secretscan_verdict, SecretscanVerdict::Fail);
        let both = of(&[("secretscan", Verdict::Pass), ("pre_check_batch", Verdict::Fail)], &[]);
        assert_eq!(both.secretscan_verdict, SecretscanVerdict::Pass);
    }
}
