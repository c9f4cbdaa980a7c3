//! The state machine of a run in this process: what one event costs with 1,000 units.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{bail, ensure};
use serde_json::json;
use switchboard_pipeline::run::RunState;
use switchboard_pipeline::{plan_json, prepare, subtasks, way};
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::run::{Effect, RunEvent, TeamLimits, TurnOutcome, Verdict};
use switchboard_protocol::time::Millis;

use crate::bench::stats::median;

/// Tasks of the run.
const TASKS: usize = 1_000;
/// Tasks that are walked to their merge.
const WALKED: usize = 300;

/// Median of one event of a run of 1,000 tasks: the state takes it over and decides what follows.
///
/// # Errors
/// When the run refuses an event.
pub(super) fn step_us() -> anyhow::Result<f64> {
    let mut walk =
        Walk { state: RunState::new(), now: Millis(0), head: "base".to_owned(), workers: 0, times: Vec::new() };
    walk.begin()?;
    walk.times.clear();
    let mut merged = 0;
    while merged < WALKED {
        let effects = walk.state.decide(walk.now);
        ensure!(!effects.is_empty(), "the run stands still after {merged} tasks");
        for effect in effects {
            merged += usize::from(matches!(effect, Effect::Merge { .. }));
            walk.carry_out(effect)?;
        }
    }
    Ok(median(walk.times))
}

struct Walk {
    state: RunState,
    now: Millis,
    /// The commit that the run's branch ends with.
    head: String,
    workers: u64,
    /// Microseconds of every event.
    times: Vec<f64>,
}

// === impl Walk ===

impl Walk {
    fn begin(&mut self) -> anyhow::Result<()> {
        let task = |number: usize| {
            json!({ "id": format!("1.{number}"), "phase": 1, "description": "d",
                    "files_touched": [format!("src/file_{number}.txt")] })
        };
        let tasks: Vec<_> = (1..=TASKS).map(task).collect();
        let plan = json!({ "schema_version": "1.0.0", "title": "Many", "swarm": "bench",
                           "phases": [{ "id": 1, "name": "P", "tasks": tasks }] });
        let plan = plan_json::parse(&plan.to_string()).map_err(|error| anyhow::anyhow!("{error:?}"))?;
        // One at a time: every change stands on the head that it is merged onto.
        let expanded = subtasks::expand(&plan)?;
        let prepared = prepare::prepare(&plan, &BTreeSet::new(), Some(1));
        let compiled = way::compile(&expanded, &prepared, &TeamLimits::default(), way::usual_attempts)
            .map_err(|refusals| anyhow::anyhow!("{refusals:?}"))?;
        let mut ways = Vec::new();
        for graph in &compiled.ways {
            let (way, text) = (graph.way(), serde_json::to_string(&graph.way())?);
            let digest = way.digest()?;
            let parts = way::parts(&text);
            let of = way::part_count(&text);
            for (part, text) in (1..).zip(parts) {
                ways.push(RunEvent::WayRecorded { way: digest, part, of, text: text.to_owned() });
            }
        }
        let units = compiled.units.into_iter().map(|unit| RunEvent::UnitAdded {
            unit: unit.unit,
            within: unit.within,
            way: unit.way,
            after: unit.after,
            writes: unit.writes,
            reads: unit.reads,
            timeout_ms: unit.timeout_ms,
        });
        let events: Vec<_> = ways.into_iter().chain(units).collect();
        let parts = u32::try_from(events.len())?;
        let (title, plan_hash, base) = ("Many".to_owned(), "h".to_owned(), self.head.clone());
        self.tell(RunEvent::RunStarted { title, plan_hash, base, parts, max_workers: 1 })?;
        events.into_iter().try_for_each(|event| self.tell(event))
    }

    /// Takes an event over and decides, on the clock.
    fn tell(&mut self, event: RunEvent) -> anyhow::Result<()> {
        let began = Instant::now();
        let stepped = self.state.step(&event, self.now);
        let decided = self.state.decide(self.now);
        self.times.push(began.elapsed().as_secs_f64() * 1e6);
        drop(decided);
        stepped.map(drop).map_err(|refused| anyhow::anyhow!("{event:?}: {refused}"))
    }

    /// What a faultless world answers.
    fn carry_out(&mut self, effect: Effect) -> anyhow::Result<()> {
        match effect {
            Effect::StartWorker { task, step, attempt, .. } => {
                self.workers += 1;
                let worker = WorkerId::from_bits(self.workers);
                self.tell(RunEvent::WorkerIntended { task: task.clone(), step, attempt, worker: worker.clone() })?;
                self.tell(RunEvent::WorkerStarted { task: task.clone(), worker: worker.clone() })?;
                let (outcome, reason) = (TurnOutcome::Finished, String::new());
                self.tell(RunEvent::TurnEnded { task, worker, outcome, reason })
            }
            Effect::Capture { task, attempt, .. } => {
                let (commit, tree, base) = (format!("c-{task}"), format!("t-{task}"), self.head.clone());
                let files = vec!["a".to_owned()];
                self.tell(RunEvent::ChangeCaptured {
                    task,
                    attempt,
                    commit,
                    tree,
                    base,
                    files,
                    files_total: 1,
                    lines: 1,
                })
            }
            Effect::RunChecks { task, attempt, checks, .. } => checks.into_iter().try_for_each(|check| {
                let (verdict, reasons) = (Verdict::Pass, Vec::new());
                let (gate, input) = (check.gate, Some(check.input));
                self.tell(RunEvent::GateReported {
                    task: task.clone(),
                    attempt,
                    gate,
                    input,
                    verdict,
                    asks: false,
                    halts: false,
                    reasons,
                })
            }),
            Effect::Merge { task, attempt, commit, .. } => {
                let onto = self.head.clone();
                self.tell(RunEvent::MergeIntended { task: task.clone(), attempt, commit, onto })?;
                self.head = format!("m-{task}");
                self.tell(RunEvent::TaskMerged { task, attempt, commit: self.head.clone() })
            }
            effect @ (Effect::RebaseTree { .. }
            | Effect::RunCommand { .. }
            | Effect::TakeAnswer { .. }
            | Effect::AwaitLease { .. }
            | Effect::AskPerson { .. }
            | Effect::AwaitAnswer { .. }
            | Effect::WithdrawQuestion { .. }
            | Effect::StopWorker { .. }
            | Effect::Finish { .. }) => {
                bail!("not expected: {effect:?}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_many_tasks_is_walked_to_its_merges() {
        assert!(step_us().unwrap().is_finite());
    }
}
