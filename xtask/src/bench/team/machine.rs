//! What one step of a run's state machine costs, with a team's way and 1,000 tasks.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use switchboard_pipeline::run::RunState;
use switchboard_pipeline::{plan_json, prepare, subtasks, way};
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::run::way::When;
use switchboard_protocol::run::{Effect, RunEvent, TeamLimits, TurnOutcome, Verdict};
use switchboard_protocol::time::Millis;

const TASKS: usize = 1_000;
const AT_ONCE: u32 = 8;

/// Microseconds of a step, and how many there were: everything is accepted at once.
///
/// # Errors
/// When the plan is refused, or the run does not end.
pub(super) fn step_us() -> anyhow::Result<(f64, usize)> {
    let mut machine =
        Machine { state: RunState::new(), took: Duration::ZERO, steps: 0, head: "b".to_owned(), workers: 0 };
    machine.begin()?;
    while let Some(effect) = machine.next() {
        if matches!(effect, Effect::Finish { .. }) {
            ensure!(machine.steps > TASKS * 10, "only {} steps", machine.steps);
            return Ok((machine.took.as_secs_f64() * 1e6 / crate::bench::stats::count(machine.steps), machine.steps));
        }
        machine.carry_out(effect)?;
    }
    bail!("the run stands still after {} steps", machine.steps)
}

/// A plan that a team carries out.
fn plan() -> Value {
    let task = |number: usize| {
        json!({ "id": format!("1.{number}"), "phase": 1, "description": "Return the sum", "acceptance": "1 and 1 is 2",
                "files_touched": [format!("src/file-{number}.rs")] })
    };
    let tasks: Vec<_> = (1..=TASKS).map(task).collect();
    json!({ "schema_version": "1.0.0", "title": "Large", "swarm": "bench", "x-switchboard": { "team": true },
            "phases": [{ "id": 1, "name": "P", "tasks": tasks }] })
}

/// A run whose effects succeed.
struct Machine {
    state: RunState,
    took: Duration,
    steps: usize,
    head: String,
    workers: u64,
}

// === impl Machine ===

impl Machine {
    fn begin(&mut self) -> anyhow::Result<()> {
        let plan = plan_json::parse(&plan().to_string()).map_err(|errors| anyhow::anyhow!("{errors:?}"))?;
        let expanded = subtasks::expand(&plan).map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let prepared = prepare::prepare(&plan, &BTreeSet::new(), None);
        let compiled = way::compile(&expanded, &prepared, &TeamLimits::default(), way::usual_attempts)
            .map_err(|refusals| anyhow::anyhow!("{}", way::failure(&refusals).what))?;
        let parts = u32::try_from(compiled.ways.len() + compiled.units.len())?;
        let (title, plan_hash, base) = ("t".to_owned(), "h".to_owned(), self.head.clone());
        self.tell(RunEvent::RunStarted { title, plan_hash, base, parts, max_workers: AT_ONCE })?;
        for graph in &compiled.ways {
            let text = serde_json::to_string(&graph.way())?;
            self.tell(RunEvent::WayRecorded { way: graph.digest(), part: 1, of: 1, text })?;
        }
        for unit in compiled.units {
            let way::UnitPlan { unit, within, way, after, writes, reads, timeout_ms } = unit;
            self.tell(RunEvent::UnitAdded { unit, within, way, after, writes, reads, timeout_ms })?;
        }
        (self.took, self.steps) = (Duration::ZERO, 0);
        Ok(())
    }

    fn tell(&mut self, event: RunEvent) -> anyhow::Result<()> {
        let began = Instant::now();
        let done = self.state.step(&event, Millis(0));
        self.took += began.elapsed();
        self.steps += 1;
        done.map(drop).map_err(|refused| anyhow::anyhow!("{}", refused.why)).with_context(|| format!("{event:?}"))
    }

    /// The first thing to do; what decides it is a part of the step.
    fn next(&mut self) -> Option<Effect> {
        let began = Instant::now();
        let next = self.state.decide(Millis(0)).into_iter().next();
        self.took += began.elapsed();
        next
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a run in which everything succeeds has no others")]
    fn carry_out(&mut self, effect: Effect) -> anyhow::Result<()> {
        match effect {
            Effect::StartWorker { task, step, attempt, .. } => {
                self.workers += 1;
                let worker = WorkerId::from_bits(self.workers);
                self.tell(RunEvent::WorkerIntended { task: task.clone(), step, attempt, worker: worker.clone() })?;
                self.tell(RunEvent::WorkerStarted { task: task.clone(), worker: worker.clone() })?;
                self.tell(RunEvent::TurnEnded { task, worker, outcome: TurnOutcome::Finished, reason: String::new() })
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
            Effect::TakeAnswer { task, step, work, attempt, worker, input } => {
                let (verdict, reasons, change) = (Verdict::Pass, Vec::new(), None);
                let unchanged = RunEvent::NothingChanged {
                    task: task.clone(),
                    attempt,
                    step: Some(step.clone()),
                    why: String::new(),
                };
                self.tell(RunEvent::StepAnswered { task, step, attempt, worker, input, verdict, reasons, change })?;
                match work.writes.is_empty() {
                    true => Ok(()),
                    false => self.tell(unchanged),
                }
            }
            Effect::RunChecks { task, attempt, checks, .. } => {
                for check in checks {
                    let verdict = match check.when {
                        When::Always => Verdict::Pass,
                        When::Never { .. } => Verdict::Skipped,
                        When::NotConfigured { .. } => Verdict::NotConfigured,
                    };
                    let (task, gate, input) = (task.clone(), check.gate, Some(check.input));
                    let (asks, halts, reasons) = (false, false, Vec::new());
                    self.tell(RunEvent::GateReported { task, attempt, gate, input, verdict, asks, halts, reasons })?;
                }
                Ok(())
            }
            Effect::RunCommand { task, attempt, .. } => {
                let (commit, tree, onto) = (format!("r-{task}"), format!("rt-{task}"), self.head.clone());
                self.tell(RunEvent::ChangeRebased { task, attempt, commit, tree, onto })
            }
            Effect::Merge { task, attempt, commit, .. } => {
                let onto = self.head.clone();
                self.tell(RunEvent::MergeIntended { task: task.clone(), attempt, commit, onto })?;
                self.head = format!("m-{task}");
                self.tell(RunEvent::TaskMerged { task, attempt, commit: self.head.clone() })
            }
            other => bail!("nothing was to lead to {other:?}"),
        }
    }
}
