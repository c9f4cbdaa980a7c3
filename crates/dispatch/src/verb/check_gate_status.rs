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
        let views = self.views(&run).await?;
        let view = views.iter().find(|view| view.task == task).ok_or_else(unknown)?;
        let times = self.times(&run, view)?;
        Ok(status(&run, view, &times))
    }

    /// Returns when each gate of the present attempt reported.
    fn times(&self, run: &RunId, view: &TaskView) -> Result<BTreeMap<String, String>, Error> {
        let mut times = BTreeMap::new();
        crate::history::events(&self.world.store, run, 0, |event| {
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
    let status = match (view.gates.is_empty(), missing_gates.is_empty()) {
        (true, _) => GateStatus::NoEvidence,
        (false, true) => GateStatus::AllPassed,
        (false, false) => GateStatus::Incomplete,
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
        GateStatus::NoEvidence => "no gate has spoken about the present attempt".to_owned(),
    }
}
