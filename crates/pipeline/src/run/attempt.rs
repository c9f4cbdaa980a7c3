//! The ends of attempts, and what follows for the task and for those that wait for it.

use switchboard_protocol::run::{MAX_RATE_WAITS, PauseCause, Refusal, RefusalCause, RunEvent, TurnOutcome, Verdict};

use super::RunState;
use super::consequences::Consequences;
use super::record::{Ending, OpenFor};
use crate::way::{Hold, Judgement, Moved};

impl RunState {
    /// Updates the lists that a unit is in to what it is open for.
    pub(super) fn reindex(&mut self, at: usize) {
        let record = &self.records[at];
        let Some(id) = record.task().cloned() else { return };
        let open = record.open_for();
        let deadline = record.deadline();
        let must_stop = record.stopping && record.live_worker().is_some();
        let is_capturing = record.capturing_step().is_some() && !record.is_settled();
        // A paused task only finishes work in progress.
        let open = if record.paused.is_some() { OpenFor::Nothing } else { open };
        let is_asked = record.waiting.is_some();
        let is_due = must_stop
            || record.rebases_now()
            || is_capturing
            || is_asked
            || matches!(
                open,
                OpenFor::Gather { .. }
                    | OpenFor::LintFix { .. }
                    | OpenFor::Checks { .. }
                    | OpenFor::Person { .. }
                    | OpenFor::Lease
            );
        match open {
            OpenFor::Worker { step } if self.may_begin(&self.records[at], step) => {
                self.queue.make_ready(at, &self.records);
            }
            OpenFor::Worker { .. }
            | OpenFor::Nothing
            | OpenFor::LeftOut { .. }
            | OpenFor::Choice { .. }
            | OpenFor::Gather { .. }
            | OpenFor::LintFix { .. }
            | OpenFor::Checks { .. }
            | OpenFor::Person { .. }
            | OpenFor::Lease
            | OpenFor::Turn { .. } => {
                self.queue.unready(at, &self.records);
            }
        }
        self.queue.set_deciding(
            at,
            matches!(open, OpenFor::Choice { .. } | OpenFor::Person { .. } | OpenFor::LeftOut { .. }),
        );
        self.queue.set_due(&id, at, is_due);
        self.queue.set_in_line(&id, at, matches!(open, OpenFor::Turn { .. }));
        self.queue.limit(at, deadline);
    }

    pub(super) fn end_turn(&mut self, at: usize, step: usize, outcome: TurnOutcome, reason: &str) -> Consequences {
        if self.records[at].stopping {
            return self.stop_now(at);
        }
        let reasons = || vec![reason.to_owned()];
        let answers = self.records[at].answers_in(step);
        if outcome != TurnOutcome::RateLimited {
            self.records[at].rate_waits = 0;
        }
        if outcome == TurnOutcome::Finished {
            self.records[at].transients = 0;
        }
        match outcome {
            TurnOutcome::Finished => self.finish_work(at, step),
            TurnOutcome::Stopped => self.lose(at, step, reason),
            TurnOutcome::Failed if answers => self.answerer_failed(at, step, format!("the agent failed: {reason}")),
            TurnOutcome::Refused if answers => self.answerer_failed(at, step, format!("the agent refused: {reason}")),
            TurnOutcome::TimedOut if answers => self.answerer_failed(at, step, "the time limit passed".to_owned()),
            TurnOutcome::Failed => self.refuse(at, step, RefusalCause::AgentFailed, reasons()),
            TurnOutcome::Refused => self.refuse(at, step, RefusalCause::AgentRefused, reasons()),
            TurnOutcome::TimedOut => self.refuse(at, step, RefusalCause::TimedOut, reasons()),
            TurnOutcome::Paused => self.put_off(at, step),
            TurnOutcome::RateLimited => self.wait_for_limit(at, step, reason),
            TurnOutcome::ModelFailed => self.wait_for_model(at, step, reason),
        }
    }

    /// Handles an interrupted worker: the attempt continues in its tree with another one.
    fn put_off(&mut self, at: usize, step: usize) -> Consequences {
        self.queue.remove_live(at);
        let record = &mut self.records[at];
        record.resume = true;
        let moved = record.unit.put_off(step).unwrap_or(Moved::On);
        self.after(at, moved, String::new())
    }

    /// Handles a rate limit of the worker's service: the attempt continues after a wait, unless it has waited too
    /// often.
    fn wait_for_limit(&mut self, at: usize, step: usize, reason: &str) -> Consequences {
        let consequences = self.put_off(at, step);
        let record = &mut self.records[at];
        record.rate_waits += 1;
        if record.rate_waits <= MAX_RATE_WAITS || !consequences.is_empty() {
            return consequences;
        }
        let moved = record.unit.hold(Hold::Asked);
        let reason = format!("it has waited {MAX_RATE_WAITS} times for a rate limit: {reason} [agent.rate-limited]");
        self.after(at, moved, reason)
    }

    /// Handles a model that can't be reached: the attempt continues with the next worker, unless that happened too
    /// often in a row.
    fn wait_for_model(&mut self, at: usize, step: usize, reason: &str) -> Consequences {
        let consequences = self.put_off(at, step);
        let record = &mut self.records[at];
        record.transients += 1;
        let limit = match record.unit.way().steps()[step].limits.transients {
            0 => MAX_RATE_WAITS,
            limit => limit,
        };
        if record.transients <= limit || !consequences.is_empty() {
            return consequences;
        }
        let moved = record.unit.hold(Hold::Asked);
        let reason = format!("models failed {} times in a row: {reason} [agent.unavailable]", record.transients);
        self.after(at, moved, reason)
    }

    /// Handles a worker that reports it is done: its writes are captured next, or its answer is taken; a report passes.
    fn finish_work(&mut self, at: usize, step: usize) -> Consequences {
        self.queue.remove_live(at);
        self.records[at].rebase = false;
        let unit = &mut self.records[at].unit;
        let does = &unit.way().steps()[step].does;
        let writes = !does.writes().is_empty() || does.answer().is_some();
        let passed = Judgement { input: None, verdict: Verdict::Pass, output: None };
        let moved = if writes { unit.end(step) } else { unit.judge(step, passed) };
        self.after(at, moved.unwrap_or(Moved::On), String::new())
    }

    /// Handles a lost worker: the attempt continues with another one, unless too many were lost.
    pub(super) fn lose(&mut self, at: usize, step: usize, reason: &str) -> Consequences {
        self.queue.remove_live(at);
        if self.records[at].stopping {
            return self.stop_now(at);
        }
        // If a full disk ended a worker or prevented its start, the attempt resumes once there is room, any number of
        // times.
        let is_disk_full = self.pause == Some(PauseCause::Disk);
        let record = &mut self.records[at];
        record.resume = true;
        record.begun.take_if(|begun| begun.is_taken_back);
        let moved = if is_disk_full { record.unit.put_off(step) } else { record.unit.lose(step) };
        let moved = moved.unwrap_or(Moved::On);
        self.after(at, moved, format!("{reason} [worker.lost]"))
    }

    /// Handles a worker that could not start because the set-up of its tree failed. It would fail for the next one too,
    /// so a person decides.
    pub(super) fn give_up_start(&mut self, at: usize, step: usize, reason: &str) -> Consequences {
        self.queue.remove_live(at);
        if self.records[at].stopping {
            return self.stop_now(at);
        }
        let record = &mut self.records[at];
        // The caller has checked that the slot is intended.
        let _moved = record.unit.take_back(step);
        record.unit.hold(Hold::Asked);
        self.block(at, reason.to_owned())
    }

    /// Refuses a step: the attempt ends, and another begins or the task is blocked.
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

    /// Applies what follows from the unit's new position. `last` describes the last event, for the reason of a block.
    pub(super) fn after(&mut self, at: usize, moved: Moved, last: String) -> Consequences {
        match moved {
            Moved::On => self.reindex(at),
            // A task that is merged is settled by its merge.
            Moved::Done => return self.finish_task(at),
            Moved::Back { .. } => {
                self.queue.remove_live(at);
                self.queue.leave_turn(at);
                let record = &mut self.records[at];
                record.resume = false;
                record.again = None;
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
            Some(Hold::Attempts { step, limit }) if record.answers_in(*step) => {
                format!("step {} got {limit} answers that can't be used; the last: {last}", name(step))
            }
            Some(Hold::Failures { step, limit }) => {
                format!("step {}: {limit} workers failed; the last: {last}", name(step))
            }
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
        let event = RunEvent::TaskBlocked {
            task,
            attempt: record.attempt(),
            retries: Some(record.retries),
            reason: reason.clone(),
        };
        let mut consequences = vec![event.fitted()];
        consequences.extend(self.mark_blocked(at, reason));
        consequences
    }

    /// Returns why the first attempt was refused, if that differs from the last reason.
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

    /// Stops the task at once if no process, question or merge is in progress, else as soon as that has ended; stops
    /// its subtasks first.
    pub(super) fn request_stop(&mut self, at: usize) -> Consequences {
        let mut consequences = Vec::new();
        for subtask in self.records[at].subtasks.clone() {
            if !self.records[subtask].is_settled() {
                consequences.extend(self.request_stop(subtask));
            }
        }
        if !self.records[at].is_settled() {
            consequences.extend(self.stop_one(at));
        }
        consequences
    }

    fn stop_one(&mut self, at: usize) -> Consequences {
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

    /// Stops all tasks; none of them counts as failed because of another one.
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
}

/// Describes what refused an attempt, with the first of its reasons.
#[must_use]
pub fn describe(cause: &RefusalCause, reasons: &[String]) -> String {
    let what = words_of(cause);
    match reasons.first() {
        Some(first) if !first.is_empty() => format!("{what}: {first}"),
        Some(_) | None => what,
    }
}

/// Describes what refused an attempt.
#[must_use]
pub fn words_of(cause: &RefusalCause) -> String {
    match cause {
        RefusalCause::AgentFailed => "the agent failed".to_owned(),
        RefusalCause::AgentRefused => "the agent refused".to_owned(),
        RefusalCause::TimedOut => "the time limit passed".to_owned(),
        RefusalCause::NothingChanged => "nothing changed".to_owned(),
        RefusalCause::FilesLeftOut => "files can't be part of the change".to_owned(),
        RefusalCause::Gate { gate } => format!("gate {gate}"),
        RefusalCause::Step { step } => format!("step {step}"),
        RefusalCause::MergeConflict => "merge conflict".to_owned(),
        RefusalCause::Person => "a person wants it done differently".to_owned(),
    }
}
