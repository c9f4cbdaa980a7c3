//! Injects faults into tasks. A task is hit once: a second fault of a kind could block it, which is correct behaviour.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Context as _;
use fastrand::Rng;
use serde_json::json;
use switchboard_process::spawn::Signal;

use super::stage::Stage;
use crate::processes::WorkerProcesses;

/// Time for which an agent is stopped.
const STILL: Duration = Duration::from_secs(4);

#[derive(Debug, Clone, Copy)]
enum Fault {
    DaemonKilled,
    ShimKilled,
    AgentKilled,
    AgentStopped,
    ShimStopped,
    TaskStopped,
}

const FAULTS: [Fault; 6] = [
    Fault::DaemonKilled,
    Fault::ShimKilled,
    Fault::AgentKilled,
    Fault::AgentStopped,
    Fault::ShimStopped,
    Fault::TaskStopped,
];

/// Injected faults and the tasks they hit.
pub(super) struct Faults {
    rng: Rng,
    /// Faults left in this round; each round has all of them once, in any order.
    round: Vec<Fault>,
    /// Number of faults of each kind.
    pub(super) made: BTreeMap<String, u64>,
    /// Tasks that were hit.
    hit: BTreeSet<String>,
    /// Workers whose shim or agent was killed: the costs they wrote down and those they reported may differ.
    pub(super) cut_short: BTreeSet<String>,
    /// Stopped tasks, to be retried.
    stopped: Vec<String>,
}

// === impl Faults ===

impl Faults {
    pub(super) fn new(rng: Rng) -> Self {
        let (made, hit, cut_short, stopped) = Default::default();
        Self { rng, round: Vec::new(), made, hit, cut_short, stopped }
    }

    /// Injects the next fault.
    pub(super) fn make(&mut self, stage: &mut Stage) -> anyhow::Result<()> {
        self.retry(stage)?;
        if self.round.is_empty() {
            self.round.extend(FAULTS);
            self.rng.shuffle(&mut self.round);
        }
        let fault = self.round.pop().context("no fault")?;
        if matches!(fault, Fault::DaemonKilled) {
            stage.restart()?;
        } else {
            let Some(victim) = self.victim(stage) else { return Ok(()) };
            self.hit.insert(victim.task.clone());
            self.strike(stage, fault, &victim)?;
        }
        *self.made.entry(format!("{fault:?}")).or_default() += 1;
        Ok(())
    }

    /// Retries stopped tasks as soon as they have stopped.
    fn retry(&mut self, stage: &mut Stage) -> anyhow::Result<()> {
        let mut left = Vec::new();
        for task in std::mem::take(&mut self.stopped) {
            match stage.client.call("retry_task", json!({ "what": task }), None)? {
                Ok(_) => {}
                Err(failure) if failure.code.ends_with("conflict") => left.push(task),
                Err(failure) => anyhow::bail!("retry_task {task}: {} [{}]", failure.what, failure.code),
            }
        }
        self.stopped = left;
        Ok(())
    }

    /// Retries tasks that are still stopped; returns whether none is left.
    pub(super) fn has_retried(&mut self, stage: &mut Stage) -> anyhow::Result<bool> {
        self.retry(stage)?;
        Ok(self.stopped.is_empty())
    }

    fn victim(&mut self, stage: &Stage) -> Option<WorkerProcesses> {
        let mut workers = stage.workers();
        workers.retain(|worker| worker.agent.is_some() && !self.hit.contains(&worker.task));
        let at = (!workers.is_empty()).then(|| self.rng.usize(..workers.len()))?;
        Some(workers.swap_remove(at))
    }

    fn strike(&mut self, stage: &mut Stage, fault: Fault, victim: &WorkerProcesses) -> anyhow::Result<()> {
        let agent = victim.agent.as_ref().context("no agent")?;
        match fault {
            Fault::DaemonKilled => {}
            Fault::ShimKilled => {
                self.cut_short.insert(victim.worker.clone());
                victim.shim.signal(Signal::KILL);
            }
            Fault::AgentKilled => {
                self.cut_short.insert(victim.worker.clone());
                agent.signal(Signal::KILL);
            }
            Fault::AgentStopped => {
                agent.signal(Signal::STOP);
                std::thread::sleep(STILL);
                agent.signal(Signal::CONT);
            }
            Fault::ShimStopped => {
                self.cut_short.insert(victim.worker.clone());
                victim.shim.signal(Signal::STOP);
            }
            Fault::TaskStopped => {
                self.cut_short.insert(victim.worker.clone());
                let task = format!("{}/{}", stage.run, victim.task);
                stage.ask("stop_run", json!({ "what": task }))?;
                self.stopped.push(task);
            }
        }
        Ok(())
    }
}
