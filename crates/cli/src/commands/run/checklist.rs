//! Collects the verdicts on a change that is about to be merged: the swarm's checklists before a commit and at a task's completion.
//!
//! Nothing is decided here. A merge begins only once every step of the task's way has passed; this lists those steps.

use std::collections::BTreeMap;

use switchboard_protocol::run::{RunEvent, Verdict};
use switchboard_protocol::verb::run::{GateReport, GetRunReply};

/// Verdicts on the current change of each task.
#[derive(Debug, Default)]
pub(super) struct Checklists(BTreeMap<String, Checklist>);

/// Verdicts by gate and by step.
#[derive(Debug, Default)]
struct Checklist {
    gates: BTreeMap<String, Verdict>,
    steps: Vec<(String, Verdict)>,
}

// === impl Checklists ===

impl Checklists {
    /// Collects the verdicts from before the first printed event.
    pub(super) fn of(before: &GetRunReply) -> Self {
        let of_task = |gates: &[GateReport], judged: &[GateReport]| {
            let said = |report: &GateReport| {
                let verdict = serde_json::from_value(report.verdict.clone().into()).ok()?;
                Some((report.gate.clone(), verdict))
            };
            Checklist {
                gates: gates.iter().filter_map(said).collect(),
                steps: judged.iter().filter_map(said).collect(),
            }
        };
        Self(before.list.iter().map(|task| (task.id.clone(), of_task(&task.gates, &task.judged))).collect())
    }

    /// Records an event's verdict on a change.
    pub(super) fn see(&mut self, fact: &RunEvent) {
        let Some(task) = fact.task().map(ToString::to_string) else { return };
        if let RunEvent::ChangeCaptured { .. } = fact {
            self.0.remove(&task);
        } else if let RunEvent::GateReported { gate, verdict, .. } = fact {
            self.0.entry(task).or_default().gates.insert(gate.clone(), *verdict);
        } else if let RunEvent::StepAnswered { step, verdict, .. } = fact {
            self.stepped(task, step.as_str(), *verdict);
        } else if let RunEvent::StepSkipped { step, .. } = fact {
            self.stepped(task, step.as_str(), Verdict::Skipped);
        }
    }

    fn stepped(&mut self, task: String, step: &str, verdict: Verdict) {
        let steps = &mut self.0.entry(task).or_default().steps;
        steps.retain(|(known, _)| known != step);
        steps.push((step.to_owned(), verdict));
    }

    /// Formats the list of a task whose change other agents have judged; `None` for a task without a team.
    pub(super) fn of_task(&self, task: &str) -> Option<String> {
        let Checklist { gates, steps } = self.0.get(task).filter(|list| !list.steps.is_empty())?;
        let with = |verdict: Verdict| {
            let names: Vec<_> =
                gates.iter().filter(|(_, said)| **said == verdict).map(|(gate, _)| gate.as_str()).collect();
            let (_, word) = crate::verdict::shown(verdict);
            (!names.is_empty()).then(|| format!("{word}: {}", names.join(", ")))
        };
        let gates =
            [Verdict::Pass, Verdict::Warn, Verdict::Skipped, Verdict::NotConfigured].into_iter().filter_map(with);
        let steps = steps.iter().map(|(step, verdict)| format!("{step} {}", crate::verdict::shown(*verdict).1));
        Some(steps.chain(gates).collect::<Vec<_>>().join("; "))
    }
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::id::{Digest, WorkerId};
    use switchboard_protocol::plan::TaskId;
    use switchboard_protocol::run::way::StepId;

    use super::*;

    fn task() -> TaskId {
        TaskId::new("1.1").unwrap()
    }

    fn gate(gate: &str, verdict: Verdict) -> RunEvent {
        let (asks, halts, reasons) = (false, false, Vec::new());
        RunEvent::GateReported {
            task: task(),
            attempt: 1,
            gate: gate.to_owned(),
            input: None,
            verdict,
            asks,
            halts,
            reasons,
        }
    }

    fn captured() -> RunEvent {
        let text = String::new;
        let (commit, tree, base) = (text(), text(), text());
        RunEvent::ChangeCaptured {
            task: task(),
            attempt: 1,
            commit,
            tree,
            base,
            files: Vec::new(),
            files_total: 0,
            lines: 0,
            left_out: Vec::new(),
        }
    }

    fn answered(step: &str, verdict: Verdict) -> RunEvent {
        let (worker, input) = (WorkerId::from_bits(1), Digest::ZERO);
        let step = StepId::new(step).unwrap();
        RunEvent::StepAnswered {
            task: task(),
            step,
            attempt: 1,
            worker,
            input,
            verdict,
            reasons: Vec::new(),
            change: None,
        }
    }

    #[test]
    fn it_says_what_the_present_change_has_passed_and_nothing_of_an_earlier_one() {
        let mut lists = Checklists::default();
        for fact in [
            gate("secretscan", Verdict::Fail),
            answered("review", Verdict::Fail),
            captured(),
            gate("secretscan", Verdict::Pass),
            gate("test_runner", Verdict::NotConfigured),
            gate("syntax_check", Verdict::Pass),
        ] {
            lists.see(&fact);
        }
        assert_eq!(lists.of_task("1.1"), None, "nobody else has judged it");

        lists.see(&answered("tests", Verdict::Pass));
        lists.see(&answered("review", Verdict::Pass));

        let list = "tests passed; review passed; passed: secretscan, syntax_check; not configured: test_runner";
        assert_eq!(lists.of_task("1.1").as_deref(), Some(list));
    }
}
