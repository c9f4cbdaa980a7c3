//! The choice among the changes of several workers, and the start point of a tree that builds on another task's change.

use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::StepAction;
use switchboard_protocol::run::{Answered, Change, RunEvent, StartFrom, Verdict};

use super::consequences::Consequences;
use super::record::{Ending, Record};
use super::{Refused, RunState};
use crate::way::Hold;

impl RunState {
    pub(super) fn choose(&mut self, at: usize, step: usize) -> Consequences {
        let StepAction::Choose { among } = self.records[at].unit.way().steps()[step].does.clone() else {
            return Vec::new();
        };
        let candidates = among.iter().filter_map(|id| self.candidate(at, id));
        let Some(best) = candidates.min_by_key(|candidate| candidate.rank) else {
            let moved = self.records[at].unit.hold(Hold::Asked);
            let tried = self.records[at].chosen.len();
            let why = format!("none of the {tried} changes that passed their gates could be merged");
            return self.after(at, moved, why);
        };
        let (candidate, change) = (best.task.clone(), best.change.clone());
        let record = &mut self.records[at];
        record.chosen.push(candidate.clone());
        let (commit, attempt) = (change.commit.clone(), record.attempt());
        // The step is open and writes, so this can't be refused.
        let Ok(moved) = record.unit.capture(step, change) else { return Vec::new() };
        let Some(task) = record.task().cloned() else { return Vec::new() };
        let among = u32::try_from(among.len()).unwrap_or(u32::MAX);
        let mut consequences = vec![RunEvent::CandidateChosen { task, attempt, candidate, commit, among }];
        consequences.extend(self.after(at, moved, String::new()));
        consequences
    }

    /// Returns a change that the task may choose: from a completed candidate that was not chosen before.
    fn candidate(&self, at: usize, id: &TaskId) -> Option<Candidate<'_>> {
        let (number, record) = self.tasks.get(id).map(|at| (*at, &self.records[*at]))?;
        let is_new = matches!(record.ending, Some(Ending::Done { .. })) && !self.records[at].chosen.contains(id);
        let change = record.unit.change().filter(|_| is_new)?;
        let warnings = record.reports.iter().filter(|reported| reported.report.verdict == Verdict::Warn).count();
        let costs = || record.workers.iter().map(|worker| self.account.cost(worker));
        // An agent that reports no cost is not for free.
        let is_cost_unknown = costs().any(|cost| cost.is_none());
        let cost = costs().flatten().fold(0, u64::saturating_add);
        Some(Candidate { task: record.task()?, change, rank: (warnings, change.lines, is_cost_unknown, cost, number) })
    }

    /// Folds the event of a choice, which was already made when its cause was folded.
    pub(super) fn candidate_chosen(&self, id: &TaskId, candidate: &TaskId) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if self.records[at].chosen.contains(candidate) {
            return Ok(Vec::new());
        }
        Err(Refused::stale(format!("task {id} has not chosen the change of {candidate}")))
    }

    /// Folds the event of an end, which was already reached when its cause was folded.
    pub(super) fn task_done(&self, id: &TaskId) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        match &self.records[at].ending {
            Some(Ending::Done { .. }) => Ok(Vec::new()),
            Some(_) | None => Err(Refused::stale(format!("task {id} is not done"))),
        }
    }

    /// Returns the change of a task; if it left the change that it began with as it was, that change.
    pub(super) fn inherited(&self, at: usize) -> Option<Change> {
        let record = &self.records[at];
        record.unit.change().cloned().or_else(|| self.carried(record))
    }

    /// Returns the change that a task's tree begins with.
    pub(super) fn carried(&self, record: &Record) -> Option<Change> {
        self.inherited(*self.tasks.get(record.begins_on()?)?)
    }

    /// Returns the start point of the next worker's tree.
    pub(super) fn start_from(&self, record: &Record) -> StartFrom {
        match (&record.from, self.carried(record)) {
            (StartFrom::RunHead, Some(Change { commit, base, .. })) => StartFrom::Change { commit, base },
            (from, _) => from.clone(),
        }
    }

    /// Returns which tasks' answers a worker gets: earlier subtasks of the same task, subtasks of this task, and the
    /// reports that it depends on.
    pub(super) fn answers(&self, at: usize) -> Vec<Answered> {
        let record = &self.records[at];
        let parent = record.parent.unwrap_or(at);
        let others = self.records[parent].subtasks.iter().filter(|other| **other < at || at == parent);
        let is_report = |on: &&usize| self.records[**on].parent.is_none() && !self.records[**on].merges();
        let others = others.chain(self.records[parent].depends.iter().filter(is_report));
        let answered = |other: &usize| {
            let record = &self.records[*other];
            let is_done = matches!(record.ending, Some(Ending::Done { .. }));
            let worker = record.workers.last().filter(|_| is_done).cloned();
            Some(Answered { task: record.task()?.clone(), worker })
        };
        others.filter_map(answered).collect()
    }
}

struct Candidate<'a> {
    task: &'a TaskId,
    change: &'a Change,
    /// Number of warnings from gates, changed lines, whether the cost is unknown, cost, and the order of the plan.
    rank: (usize, u32, bool, u64, usize),
}
