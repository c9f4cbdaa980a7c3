//! How attempts end, and what follows for the task and for those that wait for it.

use std::collections::BTreeSet;

use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{Refusal, RefusalCause, RunEvent, TurnOutcome, Verdict};

use super::RunState;
use super::consequences::Consequences;
use super::record::{Ending, OpenFor};
use crate::way::{Hold, Judgement, Moved};

impl RunState {
    /// Puts a unit into the lists that fit to what it is open for now.
    pub(super) fn reindex(&mut self, at: usize) {
        let record = &self.records[at];
        let Some(id) = record.task().cloned() else { return };
        let open = record.open_for();
        let deadline = record.deadline();
        let must_stop = record.stopping && record.live_worker().is_some();
        let is_capturing = record.capturing_step().is_some() && !record.is_settled();
        // A paused task ends what is under way and is open for nothing.
        let open = if record.is_paused { OpenFor::Nothing } else { open };
        let is_asked = record.waiting.is_some();
        let is_due = must_stop || is_capturing || is_asked || matches!(open, OpenFor::Checks { .. } | OpenFor::Lease);
        match open {
            OpenFor::Worker { .. } => self.queue.make_ready(at, &self.records),
            OpenFor::Nothing | OpenFor::Checks { .. } | OpenFor::Lease | OpenFor::Turn { .. } => {
                self.queue.unready(at, &self.records);
            }
        }
        self.queue.set_due(&id, at, is_due);
        self.queue.set_in_line(&id, at, matches!(open, OpenFor::Turn { .. }));
        self.queue.limit(at, deadline);
    }

    pub(super) fn end_turn(&mut self, at: usize, step: usize, outcome: TurnOutcome, reason: &str) -> Consequences {
        if self.records[at].stopping {
            return self.stop_now(at);
        }
        let reasons = || vec![reason.to_owned()];
        match outcome {
            TurnOutcome::Finished => self.finish_work(at, step),
            TurnOutcome::Stopped => self.lose(at, step, reason),
            TurnOutcome::Failed => self.refuse(at, step, RefusalCause::AgentFailed, reasons()),
            TurnOutcome::Refused => self.refuse(at, step, RefusalCause::AgentRefused, reasons()),
            TurnOutcome::TimedOut => self.refuse(at, step, RefusalCause::TimedOut, reasons()),
            TurnOutcome::Paused => self.put_off(at, step),
        }
    }

    /// The worker was interrupted: the attempt goes on in its tree with another.
    fn put_off(&mut self, at: usize, step: usize) -> Consequences {
        self.queue.set_live(at, false);
        let record = &mut self.records[at];
        record.resume = true;
        let moved = record.unit.put_off(step).unwrap_or(Moved::On);
        self.after(at, moved, String::new())
    }

    /// The worker says it is done: what it may write is captured next; one that only answers has passed.
    fn finish_work(&mut self, at: usize, step: usize) -> Consequences {
        self.queue.set_live(at, false);
        let unit = &mut self.records[at].unit;
        let writes = !unit.way().steps()[step].does.writes().is_empty();
        let passed = Judgement { input: None, verdict: Verdict::Pass, output: None };
        let moved = if writes { unit.end(step) } else { unit.judge(step, passed) };
        self.after(at, moved.unwrap_or(Moved::On), String::new())
    }

    /// The worker is gone; the attempt goes on with another, unless too many were lost.
    pub(super) fn lose(&mut self, at: usize, step: usize, reason: &str) -> Consequences {
        self.queue.set_live(at, false);
        if self.records[at].stopping {
            return self.stop_now(at);
        }
        let record = &mut self.records[at];
        record.resume = true;
        let moved = record.unit.lose(step).unwrap_or(Moved::On);
        self.after(at, moved, format!("{reason} [worker.lost]"))
    }

    /// The worker was not started, since its tree could not be set up: the same set-up would fail for the next one, so a person decides.
    pub(super) fn give_up_start(&mut self, at: usize, step: usize, reason: &str) -> Consequences {
        self.queue.set_live(at, false);
        if self.records[at].stopping {
            return self.stop_now(at);
        }
        let record = &mut self.records[at];
        // Its slot is intended, which the caller has looked at.
        let _moved = record.unit.take_back(step);
        record.unit.hold(Hold::Asked);
        self.block(at, reason.to_owned())
    }

    /// A step is refused: the attempt ends, and another begins or the task is blocked.
    pub(super) fn refuse(&mut self, at: usize, step: usize, cause: RefusalCause, reasons: Vec<String>) -> Consequences {
        let attempt = self.records[at].attempt();
        let last = describe(&cause, &reasons);
        let hold = self.worker_failed(at, step, &cause, &reasons);
        let record = &mut self.records[at];
        record.refusals.push(Refusal { attempt, cause, reasons });
        if let Some(hold) = hold {
            let moved = record.unit.hold(hold);
            return self.after(at, moved, last);
        }
        let failed = Judgement { input: None, verdict: Verdict::Fail, output: None };
        let moved = record.unit.judge(step, failed).unwrap_or(Moved::On);
        self.after(at, moved, last)
    }

    /// What follows from where an event has left the unit. `last` says what happened last, for the reason of a block.
    pub(super) fn after(&mut self, at: usize, moved: Moved, last: String) -> Consequences {
        match moved {
            Moved::On | Moved::Done => self.reindex(at),
            Moved::Back { .. } => {
                self.queue.set_live(at, false);
                self.queue.leave_turn(at);
                let record = &mut self.records[at];
                record.resume = false;
                record.reports.clear();
                self.reindex(at);
            }
            Moved::Held => return self.block(at, last),
        }
        Vec::new()
    }

    pub(super) fn block(&mut self, at: usize, last: String) -> Consequences {
        let record = &self.records[at];
        let name = |step: &usize| record.unit.way().steps()[*step].id.clone();
        let reason = match record.unit.held() {
            Some(Hold::Attempts { limit: 1, .. }) => last,
            Some(Hold::Attempts { limit, .. }) => {
                format!("{limit} attempts were refused; {}the last: {last}", self.first_refusal(at, &last))
            }
            Some(Hold::Repeated { limit, .. }) => {
                let often = if *limit == 2 { "twice".to_owned() } else { format!("{limit} times") };
                match self.first_refusal(at, &last) {
                    first if first.is_empty() => format!("the same refusal {often}: {last}"),
                    first => format!("the same refusal {often}; {first}the last: {last}"),
                }
            }
            Some(Hold::Losses { limit, .. }) => format!("{limit} workers were lost; the last: {last}"),
            Some(Hold::Runs { step, limit }) => {
                format!("step {} was done {limit} times, and what it stands on kept changing", name(step))
            }
            Some(Hold::Refused { step }) => format!("step {} was refused: {last}", name(step)),
            Some(Hold::Asked) | None => last,
        };
        let Some(task) = record.task().cloned() else { return Vec::new() };
        let event = RunEvent::TaskBlocked { task, attempt: record.attempt(), reason: reason.clone() };
        let mut consequences = vec![event.fitted()];
        consequences.extend(self.mark_blocked(at, reason));
        consequences
    }

    /// Why the first attempt was refused, where that is another reason than the last one's.
    fn first_refusal(&self, at: usize, last: &str) -> String {
        let record = &self.records[at];
        let first = record.refusals.get(record.old_refusals).map(|first| describe(&first.cause, &first.reasons));
        first.filter(|first| first != last).map(|first| format!("the first: {first}; ")).unwrap_or_default()
    }

    pub(super) fn mark_blocked(&mut self, at: usize, reason: String) -> Consequences {
        self.end(at, Ending::Blocked { reason });
        self.fail_dependents(at)
    }

    // === stopping ===

    /// Stops the task at once where no process, question or merge is under way, else as soon as that has ended.
    pub(super) fn request_stop(&mut self, at: usize) -> Consequences {
        let record = &mut self.records[at];
        record.stopping = true;
        if record.must_end_first() {
            self.reindex(at);
            return Vec::new();
        }
        self.stop_now(at)
    }

    pub(super) fn stop_now(&mut self, at: usize) -> Consequences {
        self.end(at, Ending::Stopped);
        self.fail_dependents(at)
    }

    /// Stops all tasks; none of them counts as failed because of another.
    pub(super) fn stop_all(&mut self) {
        for at in 0..self.records.len() {
            let record = &mut self.records[at];
            if record.is_settled() || record.task().is_none() {
                continue;
            }
            record.stopping = true;
            if record.must_end_first() {
                self.reindex(at);
            } else {
                self.end(at, Ending::Stopped);
            }
        }
    }

    // === settling ===

    pub(super) fn end(&mut self, at: usize, ending: Ending) {
        self.reopen(at);
        self.queue.settled(at, &self.records);
        let record = &mut self.records[at];
        record.unit.drop_work();
        record.lease = None;
        record.waiting = None;
        if record.task().is_some() {
            self.unsettled -= 1;
            self.ended.add(&ending);
        }
        record.ending = Some(ending);
    }

    /// Forgets how a unit ended.
    fn reopen(&mut self, at: usize) {
        let record = &mut self.records[at];
        let ending = record.ending.take();
        if let Some(ending) = ending
            && record.task().is_some()
        {
            self.unsettled += 1;
            self.ended.remove(&ending);
        }
    }

    /// The unit is done: those that waited for nothing else are ready, and groups of which it was the last are done, too.
    pub(super) fn release_dependents(&mut self, at: usize) {
        let mut done = vec![at];
        while let Some(at) = done.pop() {
            for dependent in self.records[at].dependents.clone() {
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
    }

    /// All units below are done.
    fn finish_group(&mut self, at: usize) {
        let passed = Judgement { input: None, verdict: Verdict::Pass, output: None };
        let children = self.records[at].unit.open();
        for step in children {
            // The step is open, so its verdict is taken.
            let _moved = self.records[at].unit.judge(step, passed);
        }
        self.end(at, Ending::Done { commit: String::new() });
    }

    /// Marks everything that needs the unit, directly or through others.
    fn fail_dependents(&mut self, at: usize) -> Consequences {
        let Some(root) = self.culprit(at) else { return Vec::new() };
        let mut consequences = Vec::new();
        let mut next = self.records[at].dependents.clone();
        while let Some(dependent) = next.pop() {
            if self.records[dependent].is_settled() {
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

    // === trying again ===

    /// Gives a blocked or stopped task all its attempts anew, and a chance to those that failed because of it.
    pub(super) fn retry(&mut self, at: usize) -> Consequences {
        self.finished = None;
        self.stopping = false;
        let Some(root) = self.records[at].task().cloned() else { return Vec::new() };
        let again = self.held_up_by(at, &root);
        let record = &mut self.records[at];
        let has_begun = !record.workers.is_empty() || record.is_blocked();
        let work = record.unit.way().first_work().filter(|_| has_begun);
        record.unit.release(work);
        record.resume = false;
        record.stopping = false;
        record.is_paused = false;
        record.reports.clear();
        record.old_refusals = record.refusals.len();
        record.alike = None;
        again.iter().for_each(|unit| self.reopen(*unit));
        let mut consequences = Vec::new();
        consequences.extend(self.end_requested_pause());
        for unit in &again {
            consequences.extend(self.fail_again(*unit, &again));
        }
        for unit in again {
            if !self.records[unit].is_settled() {
                self.reindex(unit);
            }
        }
        consequences
    }

    /// The unit and all that failed because of it.
    fn held_up_by(&self, at: usize, root: &TaskId) -> BTreeSet<usize> {
        let failed = Some(Ending::DepFailed { root: root.clone() });
        let mut found = BTreeSet::from([at]);
        let mut next = vec![at];
        while let Some(at) = next.pop() {
            for dependent in &self.records[at].dependents {
                let record = &self.records[*dependent];
                // A group of which tasks were stopped one by one has not ended itself.
                let is_open_group = record.task().is_none() && !record.is_settled();
                if (record.ending == failed || is_open_group) && found.insert(*dependent) {
                    next.push(*dependent);
                }
            }
        }
        found
    }

    /// Marks a unit again if something else that it needs has failed.
    fn fail_again(&mut self, at: usize, reopened: &BTreeSet<usize>) -> Consequences {
        if self.records[at].is_settled() || self.is_group(at) {
            return Vec::new();
        }
        let others = self.records[at].depends.iter().filter(|on| !reopened.contains(on) || self.is_group(**on));
        let Some(root) = others.into_iter().find_map(|on| self.culprit(*on)) else { return Vec::new() };
        let mut consequences: Vec<_> = self.fail_dependent(at, &root).into_iter().collect();
        consequences.extend(self.fail_dependents(at));
        consequences
    }

    /// The task at the root of why a unit will not be done.
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

pub(super) fn describe(cause: &RefusalCause, reasons: &[String]) -> String {
    let what = match cause {
        RefusalCause::AgentFailed => "the agent failed".to_owned(),
        RefusalCause::AgentRefused => "the agent refused".to_owned(),
        RefusalCause::TimedOut => "the time limit passed".to_owned(),
        RefusalCause::NothingChanged => "nothing changed".to_owned(),
        RefusalCause::Gate { gate } => format!("gate {gate}"),
        RefusalCause::MergeConflict => "merge conflict".to_owned(),
    };
    match reasons.first() {
        Some(first) if !first.is_empty() => format!("{what}: {first}"),
        Some(_) | None => what,
    }
}
