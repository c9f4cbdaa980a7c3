//! A run in which everything succeeds, as events, to time its state machine in this process.

use std::collections::BTreeSet;

use anyhow::bail;
use serde_json::Value;
use switchboard_pipeline::{plan_json, prepare, subtasks, way};
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::run::way::When;
use switchboard_protocol::run::{Effect, RunEvent, TeamLimits, TurnOutcome, Verdict};

/// Simulated outside world that carries out effects.
pub(super) struct World {
    /// Commit at the head of the run's branch.
    head: String,
    workers: u64,
}

// === impl World ===

impl World {
    pub(super) fn new() -> Self {
        Self { head: "base".to_owned(), workers: 0 }
    }

    /// Returns the events that begin a run of a plan, with this many workers at once.
    ///
    /// # Errors
    /// When the plan is refused.
    pub(super) fn begin(&self, plan: &Value, max_workers: u32) -> anyhow::Result<Vec<RunEvent>> {
        let plan = plan_json::parse(&plan.to_string()).map_err(|errors| anyhow::anyhow!("{errors:?}"))?;
        let expanded = subtasks::expand(&plan)?;
        let prepared = prepare::prepare(&plan, &BTreeSet::new(), Some(max_workers));
        let compiled = way::compile(&expanded, &prepared, &TeamLimits::default(), way::usual_attempts)
            .map_err(|refusals| anyhow::anyhow!("{}", way::failure(&refusals).what))?;
        let mut events = Vec::new();
        for graph in &compiled.ways {
            let (text, digest) = (serde_json::to_string(&graph.way())?, graph.digest());
            let parts = way::parts(&text);
            let of = u32::try_from(parts.len())?;
            let part =
                |(part, text): (u32, &str)| RunEvent::WayRecorded { way: digest, part, of, text: text.to_owned() };
            events.extend((1..).zip(parts).map(part));
        }
        events.extend(compiled.units.into_iter().map(|unit| {
            let way::UnitPlan { unit, within, way, after, writes, reads, timeout_ms } = unit;
            RunEvent::UnitAdded { unit, within, way, after, writes, reads, timeout_ms }
        }));
        let parts = u32::try_from(events.len())?;
        let (title, plan_hash, base) = ("Many".to_owned(), "h".to_owned(), self.head.clone());
        events.insert(0, RunEvent::RunStarted { title, plan_hash, base, parts, max_workers });
        Ok(events)
    }

    /// Carries out an effect; returns the resulting events in order.
    ///
    /// # Errors
    /// When only a failure leads to the effect.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a run in which everything succeeds has no others")]
    pub(super) fn carry_out(&mut self, effect: Effect) -> anyhow::Result<Vec<RunEvent>> {
        Ok(match effect {
            Effect::StartWorker { task, step, attempt, .. } => {
                self.workers += 1;
                let worker = WorkerId::from_bits(self.workers);
                let (outcome, reason) = (TurnOutcome::Finished, String::new());
                vec![
                    RunEvent::WorkerIntended { task: task.clone(), step, attempt, worker: worker.clone() },
                    RunEvent::WorkerStarted { task: task.clone(), worker: worker.clone() },
                    RunEvent::TurnEnded { task, worker, outcome, reason },
                ]
            }
            Effect::Capture { task, attempt, .. } => {
                let (commit, tree, base) = (format!("c-{task}"), format!("t-{task}"), self.head.clone());
                let (files, files_total, lines) = (vec!["a".to_owned()], 1, 1);
                vec![RunEvent::ChangeCaptured {
                    task,
                    attempt,
                    commit,
                    tree,
                    base,
                    files,
                    files_total,
                    lines,
                    left_out: Vec::new(),
                }]
            }
            Effect::TakeAnswer { task, step, work, attempt, worker, input } => {
                let (verdict, reasons, change) = (Verdict::Pass, Vec::new(), None);
                let (of, at, why) = (task.clone(), Some(step.clone()), String::new());
                let answered = RunEvent::StepAnswered { task, step, attempt, worker, input, verdict, reasons, change };
                let unchanged = RunEvent::NothingChanged { task: of, attempt, step: at, why };
                if work.writes.is_empty() { vec![answered] } else { vec![answered, unchanged] }
            }
            Effect::RunChecks { task, attempt, checks, .. } => {
                let report = |check: switchboard_protocol::run::CheckAsked| {
                    let verdict = match check.when {
                        When::Always => Verdict::Pass,
                        When::Never { .. } => Verdict::Skipped,
                        When::NotConfigured { .. } => Verdict::NotConfigured,
                    };
                    let (task, gate, input) = (task.clone(), check.gate, Some(check.input));
                    let (asks, halts, reasons) = (false, false, Vec::new());
                    RunEvent::GateReported { task, attempt, gate, input, verdict, asks, halts, reasons }
                };
                checks.into_iter().map(report).collect()
            }
            Effect::RunCommand { task, attempt, .. } => {
                let (commit, tree, onto) = (format!("r-{task}"), format!("rt-{task}"), self.head.clone());
                vec![RunEvent::ChangeRebased { task, attempt, commit, tree, onto }]
            }
            Effect::Merge { task, attempt, commit, .. } => {
                let onto = std::mem::replace(&mut self.head, format!("m-{task}"));
                vec![
                    RunEvent::MergeIntended { task: task.clone(), attempt, commit, onto },
                    RunEvent::TaskMerged { task, attempt, commit: self.head.clone() },
                ]
            }
            other => bail!("nothing was to lead to {other:?}"),
        })
    }
}
