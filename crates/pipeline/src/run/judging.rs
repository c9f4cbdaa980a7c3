//! Gates, rebase and merge of a captured change.

use switchboard_protocol::id::Digest;
use switchboard_protocol::plan::{RetryFrom, TaskId};
use switchboard_protocol::run::way::{CommandStep, Need, StepAction};
use switchboard_protocol::run::{Change, GateReport, HeldBy, Refusal, RefusalCause, StartFrom, Verdict};

use super::consequences::Consequences;
use super::record::{Ending, OpenFor, Record, Reported};
use super::{Refused, RefusedCode, RunState};
use crate::way::{Assignee, Judgement, Moved, NotNow};

/// Report of a gate.
pub(super) struct Report<'a> {
    pub(super) gate: &'a str,
    pub(super) input: Option<Digest>,
    pub(super) verdict: Verdict,
    pub(super) asks: bool,
    pub(super) halts: bool,
    pub(super) reasons: &'a [String],
}

impl RunState {
    pub(super) fn change_captured(
        &mut self,
        id: &TaskId,
        attempt: u32,
        change: Change,
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if self.records[at].attempt() == attempt && self.records[at].is_made(&change) {
            return Ok(Vec::new());
        }
        let step = match self.records[at].open_for() {
            OpenFor::Gather { step } if self.records[at].attempt() == attempt => step,
            OpenFor::Gather { .. }
            | OpenFor::Nothing
            | OpenFor::LeftOut { .. }
            | OpenFor::Worker { .. }
            | OpenFor::Choice { .. }
            | OpenFor::LintFix { .. }
            | OpenFor::Checks { .. }
            | OpenFor::Person { .. }
            | OpenFor::Lease
            | OpenFor::Turn { .. } => {
                let step = self.expect_capturing(at, attempt)?;
                self.expect_answered(at, step)?;
                step
            }
        };
        let captured = self.records[at].unit.capture(step, change);
        let moved = captured.map_err(|why| Refused::illegal(format!("task {id}: {why}")))?;
        Ok(self.after(at, moved, String::new()))
    }

    /// Records that the lint command has fixed the change, or left it as it was. The gates judge the result.
    pub(super) fn change_fixed(
        &mut self,
        id: &TaskId,
        attempt: u32,
        commit: &str,
        tree: &str,
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        let known = self.records[at].captured().cloned();
        let OpenFor::LintFix { step } = self.records[at].open_for() else {
            let is_known = known.is_some_and(|known| known.commit == commit);
            let other = || Refused::illegal(format!("task {id} has no change that is to be mended"));
            return if is_known { Ok(Vec::new()) } else { Err(other()) };
        };
        let known = known.ok_or_else(|| Refused::illegal(format!("task {id} has no change")))?;
        let fixed = Change { commit: commit.to_owned(), tree: tree.to_owned(), ..known };
        let captured = self.records[at].unit.capture(step, fixed);
        let moved = captured.map_err(|why| Refused::illegal(format!("task {id}: {why}")))?;
        Ok(self.after(at, moved, String::new()))
    }

    /// Refuses an attempt whose files are partly in repositories of their own: merging the rest would lose them.
    pub(super) fn change_incomplete(
        &mut self,
        id: &TaskId,
        attempt: u32,
        left_out: &[String],
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        let step = self.expect_capturing(at, attempt)?;
        self.expect_answered(at, step)?;
        let refused = |path: &String| {
            format!(
                "the files in {path} can't be part of the change, because it is a git repository of its own or a submodule: \
                 remove its .git, or list it in .gitignore [dispatch.nested-repository]"
            )
        };
        Ok(self.refuse(at, step, RefusalCause::FilesLeftOut, left_out.iter().map(refused).collect()))
    }

    pub(super) fn nothing_changed(&mut self, id: &TaskId, attempt: u32, why: &str) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        let step = self.expect_capturing(at, attempt)?;
        self.expect_answered(at, step)?;
        if self.records[at].may_keep(step) {
            let unit = &mut self.records[at].unit;
            let judged = unit.judge(step, Judgement { input: None, verdict: Verdict::Pass, output: None });
            let moved = judged.map_err(|why| Refused::illegal(format!("task {id}: {why}")))?;
            // Without a change there is nothing to judge or to merge.
            let moved = if unit.change().is_none() { unit.finish() } else { moved };
            return Ok(match moved {
                Moved::Done => self.finish_task(at),
                moved @ (Moved::On | Moved::Back { .. } | Moved::Held) => self.after(at, moved, String::new()),
            });
        }
        let why = if why.is_empty() { String::new() } else { format!("; {why}") };
        let reason = format!("the agent said it was done, but no file had changed{why} [dispatch.no-change]");
        Ok(self.refuse(at, step, RefusalCause::NothingChanged, vec![reason]))
    }

    pub(super) fn gate_reported(
        &mut self,
        id: &TaskId,
        attempt: u32,
        report: Report<'_>,
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        let record = &self.records[at];
        let is_same_input = |known: &&Reported| report.input.is_none() || known.input == report.input;
        let known = record.reports.iter().filter(|known| known.report.gate == report.gate).find(is_same_input);
        if let Some(known) = known {
            let is_same = known.report.verdict == report.verdict;
            let twice = || Refused::stale(format!("gate {} has given another verdict on {id} before", report.gate));
            return if is_same { Ok(Vec::new()) } else { Err(twice()) };
        }
        let not_waiting = || Refused::illegal(format!("task {id} has no change that waits for gates"));
        let OpenFor::Checks { .. } = record.open_for() else { return Err(not_waiting()) };
        let Some(step) = record.unit.way().check_of(report.gate) else {
            keep(&mut self.records[at], &report, false);
            return Ok(Vec::new());
        };
        let need = &record.unit.way().steps()[step].need;
        let required = *need != Need::Advisory;
        let judgement = Judgement { input: report.input, verdict: report.verdict, output: None };
        // Without a refusal, nothing sends the unit back.
        let may_go_back = !need.accepts(report.verdict) || record.unit.is_refused();
        let before = may_go_back.then(|| record.unit.clone());
        let moved = self.records[at].unit.judge(step, judgement).map_err(|why| match why {
            NotNow::Stale => Refused::stale(format!("gate {} judged an earlier change of task {id}", report.gate)),
            NotNow::NotOpen | NotNow::Over => not_waiting(),
        })?;
        keep(&mut self.records[at], &report, required);
        let moved = self.hold_if_alike(at, before, moved);
        Ok(self.after_gate(at, attempt, moved))
    }

    /// Applies the verdicts once all gates have reported: the change moves on, or the attempt is refused with the
    /// reasons of each gate.
    fn after_gate(&mut self, at: usize, attempt: u32, moved: Moved) -> Consequences {
        match moved {
            Moved::On | Moved::Done => return self.after(at, moved, String::new()),
            Moved::Back { .. } | Moved::Held => {}
        }
        let record = &mut self.records[at];
        let refuses = |reported: &&Reported| record.is_refused_by(&reported.report.gate, reported.report.verdict);
        let refusing: Vec<_> = record.reports.iter().filter(refuses).map(|reported| reported.report.clone()).collect();
        let mut last = String::new();
        for GateReport { gate, reasons, .. } in refusing {
            let cause = RefusalCause::Gate { gate };
            last = super::attempt::describe(&cause, &reasons);
            record.refusals.push(Refusal { attempt, cause, reasons });
        }
        let halts = record.reports.iter().any(|reported| reported.halts);
        // A change that removes the tests it was given is no start point: the next attempt begins with these tests
        // again.
        if !record.lost_handed_tests() {
            record.begin_after_refusal();
        }
        let mut consequences = self.after(at, moved, last);
        if halts && let Some(halt) = self.halt() {
            self.is_violated = true;
            consequences.push(halt);
        }
        consequences
    }

    // === the run's branch ===

    pub(super) fn change_rebased(
        &mut self,
        id: &TaskId,
        attempt: u32,
        (commit, tree): (&str, &str),
        onto: &str,
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        if self.records[at].captured().is_some_and(|known| known.commit == commit) {
            return Ok(Vec::new());
        }
        let (OpenFor::Turn { step }, Some(known)) = (self.records[at].open_for(), self.records[at].captured()) else {
            return Err(Refused::illegal(format!("task {id} has no change that waits for its turn")));
        };
        // A rebase doesn't change the size.
        let (commit, tree, base) = (commit.to_owned(), tree.to_owned(), onto.to_owned());
        let change = Change { commit, tree, base, ..known.clone() };
        self.expect_turn(at)?;
        let mut unit = self.records[at].unit.clone();
        let mut moved = unit.move_head(onto);
        if moved == Moved::On {
            let rebase = unit.open().first().copied().filter(|at| is_rebase(&unit.way().steps()[*at].does));
            let Some(rebase) = rebase else {
                let what = &unit.way().steps()[step].id;
                return Err(Refused::illegal(format!("step {what} of task {id} is no rebase")));
            };
            let captured = unit.capture(rebase, change);
            moved = captured.map_err(|why| Refused::illegal(format!("task {id}: {why}")))?;
        }
        self.records[at].unit = unit;
        self.set_head(at, onto.to_owned());
        self.queue.take_turn(at);
        Ok(self.after(at, moved, String::new()))
    }

    /// Records that the branch has moved unexpectedly; cancels an intended merge.
    pub(super) fn branch_moved(&mut self, id: &TaskId, from: &str, head: &str) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        let known = self.head_of(at);
        if known == head || known != from {
            return Ok(Vec::new());
        }
        if self.queue.turn().is_some_and(|other| other != at) {
            return Err(Refused::new(RefusedCode::Limit, "it is another task's turn at the run's branch"));
        }
        self.set_head(at, head.to_owned());
        if self.records[at].onto.take().is_some() {
            if let Some(step) = self.merge_step(at) {
                self.records[at].unit.withdraw(step).map_err(|why| Refused::illegal(format!("task {id}: {why}")))?;
            }
            if self.records[at].stopping {
                return Ok(self.stop_now(at));
            }
        }
        self.reindex(at);
        Ok(Vec::new())
    }

    /// Records that another agent has leased files of the change. The task gives its turn to the next one in line.
    pub(super) fn merge_held(&mut self, id: &TaskId, attempt: u32, lease: &HeldBy) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        if self.records[at].lease.as_ref() == Some(lease) {
            return Ok(Vec::new());
        }
        match self.records[at].open_for() {
            OpenFor::Lease => {}
            OpenFor::Turn { .. } => self.expect_turn(at)?,
            OpenFor::Nothing
            | OpenFor::Worker { .. }
            | OpenFor::LeftOut { .. }
            | OpenFor::Choice { .. }
            | OpenFor::Gather { .. }
            | OpenFor::LintFix { .. }
            | OpenFor::Checks { .. }
            | OpenFor::Person { .. } => {
                return Err(Refused::illegal(format!("task {id} has no change that is to be merged")));
            }
        }
        self.queue.leave_turn(at);
        self.records[at].lease = Some(lease.clone());
        self.reindex(at);
        Ok(Vec::new())
    }

    /// Records that the lease has ended. The task waits for its turn again.
    pub(super) fn merge_released(&mut self, id: &TaskId, attempt: u32) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        if self.records[at].lease.take().is_some() {
            self.reindex(at);
        }
        Ok(Vec::new())
    }

    pub(super) fn merge_intended(
        &mut self,
        id: &TaskId,
        attempt: u32,
        commit: &str,
        onto: &str,
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        let record = &self.records[at];
        let is_same = |change: &Change| change.commit == commit;
        if record.onto.as_deref() == Some(onto) && record.unit.change().is_some_and(is_same) {
            return Ok(Vec::new());
        }
        let step = match record.open_for() {
            OpenFor::Turn { step } if record.unit.way().steps()[step].does == StepAction::Merge => step,
            OpenFor::Turn { .. }
            | OpenFor::Lease
            | OpenFor::Nothing
            | OpenFor::Worker { .. }
            | OpenFor::LeftOut { .. }
            | OpenFor::Choice { .. }
            | OpenFor::Gather { .. }
            | OpenFor::LintFix { .. }
            | OpenFor::Person { .. }
            | OpenFor::Checks { .. } => {
                return Err(Refused::illegal(format!("task {id} has no change that has passed its gates")));
            }
        };
        let Some(change) = record.captured().filter(|change| is_same(change)) else {
            return Err(Refused::stale(format!("what task {id} has passed its gates with is not commit {commit}")));
        };
        if !change.base.is_empty() && change.base != onto {
            let why = format!("the change of task {id} stands on {}, not on {onto}", change.base);
            return Err(Refused::stale(why).hint("rebase it first"));
        }
        self.expect_turn(at)?;
        let intended = self.records[at].unit.intend(step, Assignee::Daemon);
        intended.map_err(|why| Refused::illegal(format!("task {id}: {why}")))?;
        self.records[at].onto = Some(onto.to_owned());
        self.queue.take_turn(at);
        self.reindex(at);
        Ok(Vec::new())
    }

    pub(super) fn task_merged(&mut self, id: &TaskId, attempt: u32, commit: &str) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        if self.records[at].ending == (Some(Ending::Done { commit: commit.to_owned() })) {
            return Ok(Vec::new());
        }
        let step = self.expect_merging(at)?;
        let judgement = Judgement { input: None, verdict: Verdict::Pass, output: None };
        let merged = self.records[at].unit.judge(step, judgement);
        merged.map_err(|why| Refused::illegal(format!("task {id}: {why}")))?;
        self.set_head(at, commit.to_owned());
        self.records[at].onto = None;
        self.end(at, Ending::Done { commit: commit.to_owned() });
        Ok(self.release_dependents(at))
    }

    pub(super) fn merge_conflicted(
        &mut self,
        id: &TaskId,
        attempt: u32,
        files: &[String],
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        self.expect_attempt(at, attempt)?;
        let step = match self.records[at].open_for() {
            OpenFor::Turn { step } if is_rebase(&self.records[at].unit.way().steps()[step].does) => {
                self.expect_turn(at)?;
                step
            }
            OpenFor::Gather { step } => step,
            OpenFor::Turn { .. }
            | OpenFor::Lease
            | OpenFor::Nothing
            | OpenFor::Worker { .. }
            | OpenFor::LeftOut { .. }
            | OpenFor::Choice { .. }
            | OpenFor::LintFix { .. }
            | OpenFor::Person { .. }
            | OpenFor::Checks { .. } => self.expect_merging(at)?,
        };
        self.records[at].onto = None;
        if self.records[at].stopping {
            return Ok(self.stop_now(at));
        }
        if let Some(change) = self.records[at].unit.change() {
            self.records[at].from = match self.records[at].retry_from() {
                RetryFrom::Change => StartFrom::Rebased { commit: change.commit.clone() },
                // The change that the task builds on would conflict in the same way.
                RetryFrom::Clean if self.records[at].begins_on().is_some() => {
                    StartFrom::Rebased { commit: change.commit.clone() }
                }
                RetryFrom::Clean => StartFrom::RunHead,
            };
        }
        Ok(self.refuse(at, step, RefusalCause::MergeConflict, files.to_vec()))
    }

    /// Updates the branch's head for the task that has the next turn. A change that is based on the head needs no
    /// rebase. A task that has used up its rebases is blocked, and the next one in line is checked.
    pub(super) fn update_next_turn(&mut self, consequences: &mut Consequences) {
        while let Some(at) = self.queue.next_turn(&self.records) {
            let head = self.head_of(at).to_owned();
            let unit = &mut self.records[at].unit;
            let mut moved = if unit.head() == head { Moved::On } else { unit.move_head(&head) };
            let rebase = unit.open().first().copied().filter(|step| is_rebase(&unit.way().steps()[*step].does));
            if moved == Moved::On
                && let Some(step) = rebase
                && let Some(change) = unit.change().filter(|change| change.base == head).cloned()
                && let Ok(captured) = unit.capture(step, change)
            {
                moved = captured;
            }
            match moved {
                Moved::On | Moved::Back { .. } | Moved::Done => return self.reindex(at),
                Moved::Held => consequences.extend(self.after(at, moved, String::new())),
            }
        }
    }

    pub(super) fn merge_step(&self, at: usize) -> Option<usize> {
        self.records[at].unit.way().steps().iter().position(|step| step.does == StepAction::Merge)
    }
}

pub(super) fn is_rebase(does: &StepAction) -> bool {
    matches!(does, StepAction::Command { kind: CommandStep::Rebase, .. })
}

/// Keeps a gate's report; it replaces an earlier one of the same gate.
fn keep(record: &mut Record, report: &Report<'_>, required: bool) {
    let kept = Reported {
        input: report.input,
        asks: report.asks,
        halts: report.halts,
        report: GateReport {
            gate: report.gate.to_owned(),
            required,
            verdict: report.verdict,
            reasons: report.reasons.to_vec(),
        },
    };
    match record.reports.iter_mut().find(|known| known.report.gate == report.gate) {
        Some(known) => *known = kept,
        None => record.reports.push(kept),
    }
}
