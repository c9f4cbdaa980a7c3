//! Settles units, applies the consequences for units that wait for them, and reopens them for a retry.
//!
//! A unit waits until all that it depends on is done, and fails if one of these fails. A unit with quorums waits until
//! all that it depends on is settled, and fails only if a quorum is not complete then.

use std::collections::BTreeSet;

use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, TaskPauseCause, Verdict};

use super::RunState;
use super::consequences::Consequences;
use super::record::{Counted, Ending};
use crate::way::Judgement;

const PASSED: Judgement = Judgement { input: None, verdict: Verdict::Pass, output: None };

impl RunState {
    // === settling ===

    pub(super) fn end(&mut self, at: usize, ending: Ending) {
        self.reopen(at);
        self.queue.settled(at, &self.records);
        let counted = self.counted(at, &ending);
        let record = &mut self.records[at];
        record.unit.drop_work();
        record.lease = None;
        record.waiting = None;
        if record.task().is_some() {
            self.unsettled -= 1;
            self.turns.push(at);
        }
        if let Some(counted) = counted {
            self.ended.add(counted);
        }
        let is_done = matches!(ending, Ending::Done { .. }) && counted.is_some();
        if let cost @ 1.. = if is_done { self.cost_of_task(at) } else { 0 } {
            self.account.task_done(cost);
        }
        let record = &mut self.records[at];
        record.counted = counted;
        record.ending = Some(ending);
    }

    /// Returns the outcome that an end counts as: none for a group and for a subtask, whose task decides. For a task
    /// that fails with its subtask, it is the subtask's outcome.
    fn counted(&self, at: usize, ending: &Ending) -> Option<Counted> {
        let record = &self.records[at];
        record.task().filter(|_| record.parent.is_none())?;
        let of_subtask = match ending {
            Ending::DepFailed { root } => {
                let root = self.tasks.get(root).map(|at| &self.records[*at]);
                root.filter(|root| root.parent == Some(at)).and_then(|root| root.ending.as_ref())
            }
            Ending::Done { .. } | Ending::Blocked { .. } | Ending::Stopped => None,
        };
        Some(of_subtask.unwrap_or(ending).counted())
    }

    /// Clears the end of a unit.
    fn reopen(&mut self, at: usize) {
        let record = &mut self.records[at];
        if record.ending.take().is_some() && record.task().is_some() {
            self.unsettled += 1;
            self.turns.push(at);
        }
        if let Some(counted) = record.counted.take() {
            self.ended.remove(counted);
        }
    }

    /// Ends a task that is not merged on its own, after all its steps have passed.
    pub(super) fn finish_task(&mut self, at: usize) -> Consequences {
        let commit = self.inherited(at).map_or_else(String::new, |change| change.commit);
        self.end(at, Ending::Done { commit });
        let record = &self.records[at];
        let Some(task) = record.task().cloned() else { return Vec::new() };
        let of = record.parent.and_then(|parent| self.records[parent].task().cloned());
        let mut consequences = vec![RunEvent::TaskDone { task, attempt: record.attempt(), of }];
        consequences.extend(self.release_dependents(at));
        consequences
    }

    /// Releases the units that waited only for this one, and finishes groups of which it was the last.
    pub(super) fn release_dependents(&mut self, at: usize) -> Consequences {
        let mut consequences = Vec::new();
        let mut done = vec![at];
        while let Some(at) = done.pop() {
            for dependent in self.records[at].dependents.clone() {
                if self.records[dependent].is_tolerant() {
                    consequences.extend(self.update_quorums(dependent));
                    continue;
                }
                let record = &mut self.records[dependent];
                record.unmet -= 1;
                if record.unmet > 0 || record.is_settled() {
                    continue;
                }
                if record.task().is_some() {
                    self.reindex(dependent);
                } else {
                    self.finish_group(dependent);
                    done.push(dependent);
                }
            }
        }
        consequences
    }

    /// Finishes a group whose units are all done.
    fn finish_group(&mut self, at: usize) {
        let children = self.records[at].unit.open();
        for step in children {
            // The step is open, so this can't be refused.
            let _moved = self.records[at].unit.judge(step, PASSED);
        }
        self.end(at, Ending::Done { commit: String::new() });
    }

    // === quorums ===

    /// Updates a unit with quorums after something that it waits for was settled or reopened.
    fn update_quorums(&mut self, at: usize) -> Consequences {
        let record = &self.records[at];
        if record.is_settled() || record.quorums().next().is_none() {
            return Vec::new();
        }
        let is_open = |on: &&usize| !self.records[**on].is_settled();
        let unmet = record.depends.iter().filter(is_open).count();
        self.records[at].unmet = unmet;
        if unmet > 0 {
            return Vec::new();
        }
        if let Some(root) = self.missing(at) {
            let mut consequences: Vec<_> = self.fail_dependent(at, &root).into_iter().collect();
            consequences.extend(self.fail_dependents(at));
            return consequences;
        }
        let quorums: Vec<_> = self.records[at].quorums().map(|(step, ..)| step).collect();
        for step in quorums {
            // A quorum waits for no other step, so this can't be refused.
            let _moved = self.records[at].unit.judge(step, PASSED);
        }
        self.reindex(at);
        Vec::new()
    }

    /// Returns the root cause of an incomplete quorum; `None` if all are complete.
    fn missing(&self, at: usize) -> Option<TaskId> {
        let record_of = |id: &TaskId| self.tasks.get(id).map(|at| &self.records[*at]);
        let is_done =
            |id: &TaskId| record_of(id).is_some_and(|record| matches!(record.ending, Some(Ending::Done { .. })));
        let lacks = |of: &[TaskId], least: u32| of.iter().filter(|id| is_done(id)).count() < least as usize;
        let (_, of, _) = self.records[at].quorums().find(|(_, of, least)| lacks(of, *least))?;
        let failed = of.iter().find(|id| !is_done(id))?;
        let root = self.tasks.get(failed).and_then(|at| self.culprit(*at));
        Some(root.unwrap_or_else(|| failed.clone()))
    }

    // === failing because of others ===

    /// Fails every unit that depends on this one, directly or through others.
    pub(super) fn fail_dependents(&mut self, at: usize) -> Consequences {
        let Some(root) = self.culprit(at) else { return Vec::new() };
        let mut consequences = Vec::new();
        let mut next = self.records[at].dependents.clone();
        while let Some(dependent) = next.pop() {
            if self.records[dependent].is_settled() {
                continue;
            }
            if self.records[dependent].is_tolerant() {
                consequences.extend(self.update_quorums(dependent));
                continue;
            }
            consequences.extend(self.fail_dependent(dependent, &root));
            next.extend(&self.records[dependent].dependents);
        }
        consequences
    }

    fn fail_dependent(&mut self, at: usize, root: &TaskId) -> Option<RunEvent> {
        self.end(at, Ending::DepFailed { root: root.clone() });
        Some(RunEvent::TaskDepFailed { task: self.records[at].task()?.clone(), root: root.clone() })
    }

    // === retrying ===

    /// Reopens a blocked or stopped task with all of its attempts, and every task that failed because of it.
    pub(super) fn retry(&mut self, at: usize) -> Consequences {
        self.finished = None;
        (self.stopping, self.is_violated) = (false, false);
        let Some(root) = self.records[at].task().cloned() else { return Vec::new() };
        let again = self.held_up_by(at, &root);
        let of_parent = self.records[at].parent.and_then(|parent| self.records[parent].paused);
        let record = &mut self.records[at];
        let has_begun = !record.workers.is_empty() || record.is_blocked();
        // If a reviewer failed, the change stays, and only the review is repeated.
        let is_judged = |step: usize| !record.answers_in(step);
        let maker = record.unit.way().maker().filter(|_| has_begun && record.held_at().is_none_or(is_judged));
        record.unit.release(maker);
        record.chosen.clear();
        record.resume = false;
        record.rate_waits = 0;
        record.transients = 0;
        record.stopping = false;
        record.is_high_cost_allowed |= record.paused == Some(TaskPauseCause::Dear);
        // A subtask of a paused task is paused with it.
        record.paused = of_parent;
        record.again = None;
        record.drop_past_reports();
        record.old_refusals = record.refusals.len();
        record.retries += 1;
        record.alike = None;
        again.iter().for_each(|unit| self.reopen(*unit));
        let mut consequences = Vec::new();
        consequences.extend(self.end_requested_pause());
        for unit in &again {
            consequences.extend(self.fail_again(*unit, &again));
        }
        for unit in &again {
            if !self.records[*unit].is_settled() {
                self.reindex(*unit);
            }
        }
        // A unit that failed because of this one may have reached its cost limit before it failed.
        for unit in again {
            consequences.extend(self.pause_at_limit(unit));
        }
        consequences
    }

    /// Returns the unit, all that failed because of it, and those with quorums that would count it.
    fn held_up_by(&self, at: usize, root: &TaskId) -> BTreeSet<usize> {
        let mut roots = BTreeSet::from([root]);
        let mut found = BTreeSet::from([at]);
        let mut next = vec![at];
        while let Some(at) = next.pop() {
            for dependent in &self.records[at].dependents {
                let record = &self.records[*dependent];
                // A group whose tasks were stopped one by one has not ended itself.
                let is_open_group = record.task().is_none() && !record.is_settled();
                let root = match &record.ending {
                    Some(Ending::DepFailed { root }) => Some(root),
                    Some(Ending::Done { .. } | Ending::Blocked { .. } | Ending::Stopped) | None => None,
                };
                let counts_it = record.quorums().next().is_some() && (root.is_some() || record.ending.is_none());
                let has_failed = root.is_some_and(|root| roots.contains(root));
                if (has_failed || is_open_group || counts_it) && found.insert(*dependent) {
                    roots.extend(root);
                    next.push(*dependent);
                }
            }
        }
        found
    }

    /// Fails a unit again if something else that it depends on has failed.
    fn fail_again(&mut self, at: usize, reopened: &BTreeSet<usize>) -> Consequences {
        if self.records[at].is_settled() || self.is_group(at) {
            return Vec::new();
        }
        if self.records[at].is_tolerant() {
            return self.update_quorums(at);
        }
        let others = self.records[at].depends.iter().filter(|on| !reopened.contains(on) || self.is_group(**on));
        let Some(root) = others.into_iter().find_map(|on| self.culprit(*on)) else { return Vec::new() };
        let mut consequences: Vec<_> = self.fail_dependent(at, &root).into_iter().collect();
        consequences.extend(self.fail_dependents(at));
        consequences
    }

    /// Returns the task that is the root cause why a unit will not be done.
    fn culprit(&self, at: usize) -> Option<TaskId> {
        let record = &self.records[at];
        match &record.ending {
            Some(Ending::Blocked { .. } | Ending::Stopped) => record.task().cloned(),
            Some(Ending::DepFailed { root }) => Some(root.clone()),
            None if record.task().is_none() => record.depends.iter().find_map(|on| self.culprit(*on)),
            Some(Ending::Done { .. }) | None => None,
        }
    }

    fn is_group(&self, at: usize) -> bool {
        self.records[at].task().is_none()
    }
}
