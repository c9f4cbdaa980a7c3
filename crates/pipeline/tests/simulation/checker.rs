//! What must hold in every history, told from events alone.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_pipeline::paths::Pattern;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{Effect, GateVerdict, MAX_ATTEMPTS, RunEvent};

#[derive(Default)]
pub(crate) struct Checker {
    max_workers: usize,
    depends: BTreeMap<TaskId, Vec<TaskId>>,
    writes: BTreeMap<TaskId, Vec<Pattern>>,
    gates: BTreeMap<TaskId, Vec<String>>,
    merged: BTreeSet<TaskId>,
    live: BTreeSet<TaskId>,
    /// Tasks that hold their files.
    begun: BTreeSet<TaskId>,
    verdicts: BTreeMap<(TaskId, u32, String), GateVerdict>,
    captured: BTreeMap<(TaskId, u32), String>,
    attempts: BTreeMap<TaskId, BTreeSet<u32>>,
    merging: Option<TaskId>,
}

impl Checker {
    /// Takes note of an accepted event; panics when it breaks a rule.
    pub(crate) fn see(&mut self, event: &RunEvent) {
        match event {
            RunEvent::RunStarted { max_workers, .. } => self.max_workers = *max_workers as usize,
            RunEvent::TaskAdded { task, depends, writes, gates, .. }
            | RunEvent::TaskExtended { task, depends, writes, gates, .. } => {
                let writes = writes.iter().map(|path| Pattern::parse(path).expect("a safe path"));
                self.depends.entry(task.clone()).or_default().extend(depends.iter().cloned());
                self.writes.entry(task.clone()).or_default().extend(writes);
                self.gates.entry(task.clone()).or_default().extend(gates.iter().cloned());
            }
            RunEvent::WorkerIntended { task, attempt, .. } => self.intended(task, *attempt),
            RunEvent::WorkerLost { task, .. } | RunEvent::TurnEnded { task, .. } => {
                self.live.remove(task);
            }
            RunEvent::ChangeCaptured { task, attempt, commit, .. } => {
                self.captured.insert((task.clone(), *attempt), commit.clone());
            }
            RunEvent::GateReported { task, attempt, gate, verdict, .. } => {
                let before = self.verdicts.insert((task.clone(), *attempt, gate.clone()), *verdict);
                assert_eq!(before, None, "gate {gate} judges attempt {attempt} of {task} once");
            }
            RunEvent::MergeIntended { task, attempt, commit, .. } => self.merge_intended(task, *attempt, commit),
            RunEvent::TaskMerged { task, .. } => {
                assert_eq!(self.merging.take().as_ref(), Some(task));
                assert!(self.merged.insert(task.clone()), "{task} is merged once");
            }
            RunEvent::MergeConflicted { .. } => self.merging = None,
            RunEvent::TaskRetryRequested { task } => {
                self.attempts.remove(task);
            }
            RunEvent::WorkerStarted { .. }
            | RunEvent::NothingChanged { .. }
            | RunEvent::TaskBlocked { .. }
            | RunEvent::TaskDepFailed { .. }
            | RunEvent::TaskStopRequested { .. }
            | RunEvent::RunStopRequested
            | RunEvent::RunFinished { .. } => {}
        }
    }

    /// Tasks that are settled let go of their files.
    pub(crate) fn settled(&mut self, task: &TaskId) {
        self.begun.remove(task);
        assert!(!self.live.contains(task), "{task} is settled with a worker at work");
        assert_ne!(self.merging.as_ref(), Some(task), "{task} is settled in the middle of a merge");
    }

    fn intended(&mut self, task: &TaskId, attempt: u32) {
        for on in &self.depends[task] {
            assert!(self.merged.contains(on), "{task} starts before {on} is merged");
        }
        for other in self.begun.iter().filter(|other| *other != task) {
            assert!(!self.clash(task, other), "{task} starts while {other} holds the same files");
            assert!(self.max_workers > 1, "{task} starts before {other} is settled, with one worker");
        }
        self.begun.insert(task.clone());
        assert!(self.live.insert(task.clone()), "{task} has one worker at a time");
        assert!(self.live.len() <= self.max_workers, "no more workers than allowed");
        let attempts = self.attempts.entry(task.clone()).or_default();
        attempts.insert(attempt);
        assert!(attempts.len() <= MAX_ATTEMPTS as usize, "{task} has no sixth attempt");
    }

    fn merge_intended(&mut self, task: &TaskId, attempt: u32, commit: &str) {
        assert_eq!(self.merging, None, "one merge at a time");
        assert_eq!(self.captured[&(task.clone(), attempt)], commit, "what is merged is what was captured");
        for gate in &self.gates[task] {
            let verdict = self.verdicts.get(&(task.clone(), attempt, gate.clone()));
            assert!(verdict.is_some_and(|verdict| !verdict.refuses()), "{task} is merged past {gate}: {verdict:?}");
        }
        self.merging = Some(task.clone());
    }

    fn clash(&self, a: &TaskId, b: &TaskId) -> bool {
        self.writes[a].iter().any(|x| self.writes[b].iter().any(|y| x.overlaps(y)))
    }

    /// No worker stays free while a task is ready and nobody holds its files.
    pub(crate) fn keeps_workers_busy(&self, ready: &[TaskId], effects: &[Effect]) {
        let starts: Vec<_> = effects.iter().filter_map(starting).collect();
        if self.live.len() + starts.len() >= self.max_workers {
            assert!(
                self.live.len() + starts.len() == self.max_workers.max(self.live.len()),
                "no more starts than workers"
            );
            return;
        }
        let holders: Vec<_> = self.begun.iter().chain(starts.iter().copied()).collect();
        for task in ready.iter().filter(|task| !starts.contains(task)) {
            let others = || holders.iter().filter(|holder| **holder != task);
            let held = others().any(|holder| self.clash(task, holder));
            let alone = self.max_workers == 1 && others().next().is_some();
            assert!(held || alone, "{task} is ready, unhindered and not started; holders {holders:?}");
        }
    }
}

pub(crate) fn starting(effect: &Effect) -> Option<&TaskId> {
    match effect {
        Effect::StartWorker { task, .. } => Some(task),
        Effect::Capture { .. }
        | Effect::RunGates { .. }
        | Effect::Merge { .. }
        | Effect::StopWorker { .. }
        | Effect::Finish { .. } => None,
    }
}
