//! The timeline of a run: a fold of its events in which each entry names its cause.
//!
//! [`Timeline`] folds the events of the run, [`WorkerTimeline`] those of one of its workers.

mod control;
mod units;
mod worker;

use std::collections::HashMap;

use switchboard_protocol::event::{Event, Lsn};
use switchboard_protocol::id::{AgentName, NeedId, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::StepId;
use switchboard_protocol::run::{HeldBy, RunEvent, RunOutcome, TurnOutcome, Verdict};
use switchboard_protocol::text::cut;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::timeline::{TimelineCause, TimelineEntry, TimelineKind, TimelineState};

use units::Units;
pub use worker::WorkerTimeline;

/// Maximum length of [`TimelineEntry::detail`] in bytes.
const DETAIL: usize = 300;

/// Maximum number of files that an entry names.
const FILES: usize = 3;

/// Fold of the run's own events.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    entries: Vec<TimelineEntry>,
    /// Index of the run's own entry.
    run: Option<usize>,
    /// The turn of a loop that caused the next entries.
    loop_turn: Option<Lsn>,
    units: Units,
    tasks: HashMap<TaskId, Line>,
    workers: HashMap<WorkerId, usize>,
    questions: HashMap<NeedId, usize>,
    /// Index of the pause that is still open.
    pause: Option<usize>,
    /// Index of the move of the user's branch that is still open.
    branch: Option<usize>,
    /// The entry of the last merge.
    last_merge: Option<Lsn>,
    /// True if an agent leads the run.
    is_led: bool,
}

/// Indexes and ids of a task's entries.
#[derive(Debug, Clone, Default)]
struct Line {
    /// The last entry, which causes the next one.
    last: Option<Lsn>,
    /// The entry that made the current change, which the gates judge.
    change: Option<Lsn>,
    /// The last gate that refused.
    refused: Option<Lsn>,
    /// Index of the merge that is still open.
    merge: Option<usize>,
    /// Index of the wait for a lease that is still open.
    hold: Option<usize>,
    /// Index of the pause that is still open.
    pause: Option<usize>,
}

/// Time, id and author of an event.
#[derive(Clone, Copy)]
struct At<'a> {
    id: Lsn,
    at: Millis,
    by: &'a str,
}

// === impl Timeline ===

impl Timeline {
    /// Folds an event of the run; ignores others.
    pub fn take(&mut self, event: &Event) {
        if let Some(fact) = event.fact::<RunEvent>() {
            self.happened(At { id: event.lsn, at: event.ts, by: &event.actor }, fact);
        }
    }

    /// Returns the entries in the order in which they began.
    #[must_use]
    pub fn into_entries(self) -> Vec<TimelineEntry> {
        self.entries
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    fn happened(&mut self, at: At<'_>, fact: RunEvent) {
        match fact {
            RunEvent::LoopTurned { turn, why, .. } => self.loop_turned(at, turn, why),
            RunEvent::RunConfigured { title, .. } => self.run_configured(at, title),
            RunEvent::UnitAdded { unit, within, after, .. } => self.units.add(unit, within, after),
            RunEvent::UnitExtended { unit, after, .. } => self.units.extend(&unit, after),
            RunEvent::WorkerIntended { task, attempt, worker, .. } => self.worker_intended(at, task, attempt, worker),
            RunEvent::WorkerLost { worker, reason, .. } => {
                self.worker_ended(at, &worker, TimelineState::Failed, &format!("lost: {reason}"));
            }
            RunEvent::TreeSetupFailed { worker, reason, .. } => {
                self.worker_ended(at, &worker, TimelineState::Failed, &reason);
            }
            RunEvent::TurnEnded { worker, outcome, reason, .. } => {
                self.worker_ended(at, &worker, state_of(outcome), &reason);
            }
            RunEvent::ChangeCaptured { task, files, files_total, .. } => self.changed(&task, &files, files_total),
            RunEvent::NothingChanged { task, step, .. } => self.unchanged(&task, step.as_ref()),
            RunEvent::StepAnswered { task, step, verdict, reasons, .. } => {
                self.step_answered(&task, &step, verdict, &reasons);
            }
            RunEvent::AnswerRefused { task, step, reason, .. } => self.answer_refused(&task, &step, &reason),
            RunEvent::GateReported { task, attempt, gate, verdict, reasons, .. } => {
                self.gate_reported(at, (task, attempt), gate, verdict, &reasons);
            }
            RunEvent::ChangeFixed { task, attempt, files, files_total, told, .. } => {
                self.fixed(at, (&task, attempt), (&files, files_total), &told);
            }
            RunEvent::ChangeRebased { task, attempt, .. } => self.rebased(at, (&task, attempt)),
            RunEvent::MergeIntended { task, attempt, .. } => self.merge_intended(at, (&task, attempt)),
            RunEvent::TaskMerged { task, attempt, commit } => self.merged(at, (&task, attempt), &commit),
            RunEvent::MergeConflicted { task, attempt, files } => self.conflicted(at, (&task, attempt), &files),
            RunEvent::BranchMoved { task, .. } => {
                let merge = self.line(&task).merge.take();
                self.close(merge, at, TimelineState::Stopped, "others were merged first");
            }
            RunEvent::MergeHeld { task, attempt, lease } => self.held(at, (&task, attempt), &lease),
            RunEvent::MergeReleased { task, .. } => {
                let hold = self.line(&task).hold.take();
                self.close(hold, at, TimelineState::Done, "");
            }
            RunEvent::TaskDone { task, attempt, .. } => {
                self.task_ended(at, (&task, Some(attempt)), TimelineState::Done, "", None);
            }
            RunEvent::TurnOmitted { task, attempt, .. } => {
                self.task_ended(at, (&task, Some(attempt)), TimelineState::Skipped, "all agree", None);
            }
            RunEvent::CandidateChosen { task, attempt, candidate, among, .. } => {
                self.chosen(at, (&task, attempt), &candidate, among);
            }
            RunEvent::TaskBlocked { task, attempt, reason, .. } => {
                self.task_ended(at, (&task, Some(attempt)), TimelineState::Failed, &reason, None);
            }
            RunEvent::TaskDepFailed { task, root } => {
                let (cause, detail) = (self.line(&root).last, format!("{root} did not make it"));
                self.task_ended(at, (&task, None), TimelineState::Failed, &detail, cause);
            }
            RunEvent::PersonAsked { task, need, reason, .. } => self.asked(at, (&task, None), need, &reason),
            RunEvent::ConfirmationAsked { task, attempt, need, reason, .. } => {
                self.asked(at, (&task, Some(attempt)), need, &reason);
            }
            RunEvent::PersonAnswered { need, answer, .. } => self.answered(at, &need, answer),
            RunEvent::TaskStopRequested { task, .. } => self.control(at, Some(&task), "stop", ""),
            RunEvent::RunStopRequested => self.control(at, None, "stop", ""),
            RunEvent::TaskRetryRequested { task, .. } => self.tried_again(at, &task),
            RunEvent::BudgetSet { .. } => self.control(at, None, "budget", ""),
            RunEvent::TaskRebaseRequested { task } => self.control(at, Some(&task), "rebase", ""),
            RunEvent::TreeRebased { task, onto, .. } => self.tree_rebased(at, &task, &onto),
            RunEvent::TreeNotRebased { task, files, .. } => self.tree_not_rebased(at, &task, &files),
            RunEvent::TaskBudgetSet { task, .. } => self.control(at, Some(&task), "budget", ""),
            RunEvent::BudgetAlert { percent, task, of, .. } => self.alert(at, percent, task.as_ref(), of),
            RunEvent::RunPaused { cause } => self.run_paused(at, cause),
            RunEvent::RunResumed => self.run_resumed(at),
            RunEvent::TaskPaused { task, cause } => self.task_paused(at, &task, cause),
            RunEvent::TaskResumed { task } => self.task_resumed(at, &task),
            RunEvent::StepBegun { task, step, by, .. } => self.step_begun(at, &task, &step, by),
            RunEvent::LedSet { is_led } => self.led_set(at, is_led),
            RunEvent::RunMergeIntended { target, undo, .. } => self.branch_intended(at, target, undo),
            RunEvent::RunMerged { target, to, .. } => {
                self.branch_moved(at, TimelineState::Done, target, to.get(..9).unwrap_or(&to));
            }
            RunEvent::RunMergeUndone { target, .. } => {
                self.branch_moved(at, TimelineState::Done, target, "taken back");
            }
            RunEvent::RunMergeAbandoned { why, .. } => {
                self.branch_moved(at, TimelineState::Failed, String::new(), &why);
            }
            RunEvent::CostCounted { worker, total_micro_usd, estimated: true, .. } => {
                self.estimated(&worker, total_micro_usd);
            }
            RunEvent::RunFinished { outcome } => self.run_ended(at, outcome),
            RunEvent::SetupChosen { .. }
            | RunEvent::StepSkipped { .. }
            | RunEvent::RunStarted { .. }
            | RunEvent::PlanRecorded { .. }
            | RunEvent::WayRecorded { .. }
            | RunEvent::WorkerStarted { .. }
            | RunEvent::CostCounted { estimated: false, .. }
            | RunEvent::TurnBegun { .. }
            | RunEvent::ScopeDeclared { .. }
            | RunEvent::RunCleanIntended { .. }
            | RunEvent::RunCleaned { .. }
            | RunEvent::RunCleanAbandoned { .. } => {}
        }
    }

    fn step_begun(&mut self, at: At<'_>, task: &TaskId, step: &StepId, by: Option<AgentName>) {
        let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
        self.control(at, Some(task), "begin", &format!("{step}{by}"));
    }

    fn run_configured(&mut self, at: At<'_>, title: String) {
        let run = self.add(at, TimelineKind::Run, TimelineState::Running, self.loop_turn);
        self.entries[run].name = title;
        self.run = Some(run);
    }

    fn changed(&mut self, task: &TaskId, files: &[String], total: u32) {
        let names = files.iter().take(FILES).map(String::as_str).collect::<Vec<_>>().join(", ");
        self.of_worker(task, &format!("{total} changed: {names}"), None);
    }

    fn unchanged(&mut self, task: &TaskId, may_be: Option<&StepId>) {
        // The answer of a step that may leave the change unchanged is already shown.
        if may_be.is_none() {
            self.of_worker(task, "changed nothing", Some(TimelineState::Failed));
        }
    }

    fn conflicted(&mut self, at: At<'_>, (task, attempt): (&TaskId, u32), files: &[String]) {
        let merge = self.merge_of(at, task, attempt);
        self.end(merge, at.at, TimelineState::Failed, &format!("conflicts in {}", files.join(", ")));
    }

    fn chosen(&mut self, at: At<'_>, (task, attempt): (&TaskId, u32), candidate: &TaskId, among: u32) {
        let cause = self.line(candidate).last;
        let detail = format!("takes the change of {candidate}, the best of {among}");
        self.task_ended(at, (task, Some(attempt)), TimelineState::Done, &detail, cause);
    }

    /// Adds the reservation of a worker that reported no cost.
    fn estimated(&mut self, worker: &WorkerId, micro_usd: u64) {
        if let Some(entry) = self.workers.get(worker).map(|at| &mut self.entries[*at]) {
            entry.micro_usd = Some(micro_usd);
        }
    }

    fn loop_turned(&mut self, at: At<'_>, turn: u32, why: String) {
        let entry = self.add(at, TimelineKind::LoopTurn, TimelineState::Done, None);
        (self.entries[entry].turn, self.entries[entry].detail) = (Some(turn), why);
        self.loop_turn = Some(at.id);
    }

    fn worker_intended(&mut self, at: At<'_>, task: TaskId, attempt: u32, worker: WorkerId) {
        // The loop's turn doesn't cause later attempts.
        self.loop_turn = None;
        let after = self.units.made_ready(&task);
        let cause = self.line(&task).last.or(after).or_else(|| self.run.map(|run| self.entries[run].id));
        let entry = self.add_to(at, TimelineKind::Worker, TimelineState::Running, (&task, Some(attempt)), cause);
        self.entries[entry].worker = Some(worker.clone());
        self.workers.insert(worker, entry);
        self.line(&task).change = Some(at.id);
    }

    /// Records the end of a worker's attempt.
    fn worker_ended(&mut self, at: At<'_>, worker: &WorkerId, state: TimelineState, why: &str) {
        if let Some(entry) = self.workers.get(worker).copied() {
            self.end(entry, at.at, state, why);
        }
    }

    /// Records the result of a task's last worker.
    fn of_worker(&mut self, task: &TaskId, what: &str, state: Option<TimelineState>) {
        let Some(change) = self.line(task).change else { return };
        let worker = self.entries.iter_mut().rev().find(|entry| entry.id == change);
        if let Some(entry) = worker {
            entry.detail = what.to_owned();
            entry.state = state.unwrap_or(entry.state);
        }
    }

    fn answer_refused(&mut self, task: &TaskId, step: &StepId, reason: &str) {
        self.of_worker(task, &format!("{step}: its answer can't be used: {reason}"), Some(TimelineState::Failed));
    }

    /// Records a worker's answer that judges a change.
    fn step_answered(&mut self, task: &TaskId, step: &StepId, verdict: Verdict, reasons: &[String]) {
        let first = reasons.first().map(|reason| format!(": {reason}")).unwrap_or_default();
        let (what, state) = match verdict {
            Verdict::Pass | Verdict::Warn => ("passed", None),
            Verdict::Fail | Verdict::Error | Verdict::Skipped | Verdict::NotConfigured | Verdict::NoReply => {
                ("refused", Some(TimelineState::Failed))
            }
        };
        self.of_worker(task, &format!("{step} {what}{first}"), state);
    }

    fn gate_reported(
        &mut self,
        at: At<'_>,
        (task, attempt): (TaskId, u32),
        gate: String,
        verdict: Verdict,
        reasons: &[String],
    ) {
        let state = match verdict {
            Verdict::Pass | Verdict::Warn => TimelineState::Done,
            Verdict::Fail | Verdict::Error | Verdict::NoReply => TimelineState::Failed,
            Verdict::Skipped => TimelineState::Skipped,
            // The gate did not run.
            Verdict::NotConfigured => return,
        };
        let cause = self.line(&task).change;
        let before = self.line(&task).last;
        let entry = self.add_to(at, TimelineKind::Gate, state, (&task, Some(attempt)), cause);
        self.entries[entry].name = gate;
        self.entries[entry].detail = cut(&reasons.join("; "), DETAIL);
        // The refusal causes the next attempt, even if other gates pass after it.
        let line = self.line(&task);
        if state == TimelineState::Failed {
            line.refused = Some(at.id);
        } else if line.refused.is_some() && line.refused > cause {
            line.last = before;
        }
    }

    fn fixed(
        &mut self,
        at: At<'_>,
        (task, attempt): (&TaskId, u32),
        (files, total): (&[String], u32),
        told: &[String],
    ) {
        let names = files.iter().take(FILES).map(String::as_str).collect::<Vec<_>>().join(", ");
        let mended = if total == 0 { "nothing to mend".to_owned() } else { format!("{total} mended: {names}") };
        let cause = self.line(task).last;
        let entry = self.add_to(at, TimelineKind::LintFix, TimelineState::Done, (task, Some(attempt)), cause);
        self.entries[entry].detail = cut(&[&[mended], told].concat().join("; "), DETAIL);
        self.line(task).change = Some(at.id);
    }

    fn rebased(&mut self, at: At<'_>, (task, attempt): (&TaskId, u32)) {
        let cause = self.last_merge.or_else(|| self.line(task).last);
        self.add_to(at, TimelineKind::Rebase, TimelineState::Done, (task, Some(attempt)), cause);
        self.line(task).change = Some(at.id);
    }

    fn merge_intended(&mut self, at: At<'_>, (task, attempt): (&TaskId, u32)) {
        let cause = self.line(task).last;
        let merge = self.add_to(at, TimelineKind::Merge, TimelineState::Running, (task, Some(attempt)), cause);
        self.line(task).merge = Some(merge);
    }

    fn merged(&mut self, at: At<'_>, (task, attempt): (&TaskId, u32), commit: &str) {
        let merge = self.merge_of(at, task, attempt);
        self.end(merge, at.at, TimelineState::Done, commit.get(..9).unwrap_or(commit));
        let id = self.entries[merge].id;
        self.last_merge = Some(id);
        self.units.ended(task, id);
    }

    /// Returns the open merge of a task; opens one if its intent is not in the record.
    fn merge_of(&mut self, at: At<'_>, task: &TaskId, attempt: u32) -> usize {
        let line = self.line(task);
        let (open, last) = (line.merge.take(), line.last);
        open.unwrap_or_else(|| {
            self.add_to(at, TimelineKind::Merge, TimelineState::Running, (task, Some(attempt)), last)
        })
    }

    fn held(&mut self, at: At<'_>, (task, attempt): (&TaskId, u32), lease: &HeldBy) {
        let cause = self.line(task).last;
        let hold = self.add_to(at, TimelineKind::Hold, TimelineState::Running, (task, Some(attempt)), cause);
        self.entries[hold].name = lease.holder.to_string();
        self.entries[hold].detail = cut(&lease.files.join(", "), DETAIL);
        self.line(task).hold = Some(hold);
    }

    /// Records the end of a task that had no merge of its own; without another cause, its last entry is the cause.
    fn task_ended(
        &mut self,
        at: At<'_>,
        (task, attempt): (&TaskId, Option<u32>),
        state: TimelineState,
        detail: &str,
        cause: Option<Lsn>,
    ) {
        let cause = cause.or_else(|| self.line(task).last);
        let entry = self.add_to(at, TimelineKind::Task, state, (task, attempt), cause);
        self.entries[entry].detail = cut(detail, DETAIL);
        if state == TimelineState::Done {
            self.units.ended(task, at.id);
        }
    }

    fn run_ended(&mut self, at: At<'_>, outcome: RunOutcome) {
        let (state, detail) = match outcome {
            RunOutcome::Succeeded => (TimelineState::Done, "every task is done"),
            RunOutcome::Failed => (TimelineState::Failed, "some task did not make it"),
            RunOutcome::Stopped => (TimelineState::Stopped, "it was stopped"),
        };
        if let Some(run) = self.run {
            self.end(run, at.at, state, detail);
        }
    }

    fn line(&mut self, task: &TaskId) -> &mut Line {
        self.tasks.entry(task.clone()).or_default()
    }

    /// Closes an open entry, if there is one.
    fn close(&mut self, open: Option<usize>, at: At<'_>, state: TimelineState, detail: &str) {
        if let Some(entry) = open {
            self.end(entry, at.at, state, detail);
        }
    }

    fn end(&mut self, entry: usize, at: Millis, state: TimelineState, detail: &str) {
        let entry = &mut self.entries[entry];
        entry.ended_at = Some(at);
        entry.state = state;
        if !detail.is_empty() {
            entry.detail = cut(detail, DETAIL);
        }
    }

    /// Adds an entry and returns its index. Without a cause among the entries, the author of the event is the cause.
    fn add(&mut self, at: At<'_>, what: TimelineKind, state: TimelineState, cause: Option<Lsn>) -> usize {
        let caused_by = cause.map_or_else(|| TimelineCause::By(at.by.to_owned()), TimelineCause::Entry);
        self.entries.push(blank(at.id, at.at, what, state, caused_by));
        self.entries.len() - 1
    }

    /// Adds an entry about a task and makes it the task's last one.
    fn add_to(
        &mut self,
        at: At<'_>,
        what: TimelineKind,
        state: TimelineState,
        (task, attempt): (&TaskId, Option<u32>),
        cause: Option<Lsn>,
    ) -> usize {
        let entry = self.add(at, what, state, cause);
        self.entries[entry].task = Some(task.clone());
        self.entries[entry].attempt = attempt;
        self.line(task).last = Some(at.id);
        entry
    }
}

/// Returns an entry without details.
fn blank(id: Lsn, at: Millis, what: TimelineKind, state: TimelineState, caused_by: TimelineCause) -> TimelineEntry {
    TimelineEntry {
        id,
        at,
        ended_at: None,
        what,
        state,
        task: None,
        attempt: None,
        worker: None,
        turn: None,
        name: String::new(),
        detail: String::new(),
        micro_usd: None,
        caused_by,
        left_out: 0,
    }
}

fn state_of(outcome: TurnOutcome) -> TimelineState {
    match outcome {
        TurnOutcome::Finished => TimelineState::Done,
        TurnOutcome::Failed | TurnOutcome::Refused | TurnOutcome::TimedOut => TimelineState::Failed,
        TurnOutcome::Stopped => TimelineState::Stopped,
        TurnOutcome::Paused | TurnOutcome::RateLimited | TurnOutcome::ModelFailed => TimelineState::Paused,
    }
}

#[cfg(test)]
mod tests;
