//! A person's approval of a change that has passed its gates: required if the plan wants it, or if a gate's findings
//! need a person's attention.

use switchboard_protocol::id::{Digest, NeedId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::StepAction;
use switchboard_protocol::run::{PersonAnswer, Refusal, RefusalCause, Verdict};

use super::consequences::Consequences;
use super::record::{OpenFor, Record, Reported, Waiting};
use super::{Refused, RunState};
use crate::way::{Assignee, Hold, Judgement};

/// Question to a person about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    /// Question from the plan.
    pub(super) question: Option<String>,
    /// Findings of gates that need a person's attention.
    pub(super) findings: Vec<String>,
    /// Digest of both and of what made the change. A rebase doesn't change it.
    pub(super) digest: Digest,
}

impl Record {
    /// Returns the question to a person in a step.
    pub(super) fn question(&self, step: usize) -> Question {
        let steps = self.unit.way().steps();
        let question = match &steps[step].does {
            StepAction::Ask { question } => question.clone(),
            StepAction::Work { .. }
            | StepAction::Choose { .. }
            | StepAction::Check { .. }
            | StepAction::Command { .. }
            | StepAction::Units { .. }
            | StepAction::Merge => None,
        };
        let of_gate = |reported: &Reported| {
            let gate = reported.report.gate.clone();
            reported.report.reasons.iter().map(move |reason| format!("{gate}: {reason}")).collect::<Vec<_>>()
        };
        // In the order of the way: a gate that was asked again after a stop reports last, with the same findings.
        let mut asking: Vec<_> = self.reports.iter().filter(|reported| reported.asks).collect();
        asking.sort_by_key(|reported| self.unit.way().check_of(&reported.report.gate));
        let findings: Vec<_> = asking.into_iter().flat_map(of_gate).collect();
        let made = self.unit.way().maker().map_or(Digest::ZERO, |maker| self.unit.output(maker));
        let words = question.iter().chain(&findings).map(String::as_bytes);
        let parts: Vec<&[u8]> = [made.0.as_slice()].into_iter().chain(words).collect();
        let digest = Digest::of_parts(&parts);
        Question { question, findings, digest }
    }
}

impl RunState {
    /// Passes the step without a question if neither the plan nor a gate asks, or if a person has approved the same
    /// before.
    pub(super) fn pass_unasked(&mut self, at: usize, step: usize) -> Consequences {
        let record = &mut self.records[at];
        let Question { question, findings, digest } = record.question(step);
        let is_asked = question.is_some() || !findings.is_empty();
        if is_asked && !record.confirmed.contains(&digest) {
            return Vec::new();
        }
        let verdict = if is_asked { Verdict::Pass } else { Verdict::Skipped };
        // The step is open, so this can't be refused.
        let Ok(moved) = record.unit.judge(step, Judgement { input: None, verdict, output: None }) else {
            return Vec::new();
        };
        self.after(at, moved, String::new())
    }

    pub(super) fn confirmation_asked(
        &mut self,
        id: &TaskId,
        attempt: u32,
        need: &NeedId,
        (input, reason): (Digest, &str),
    ) -> Result<Consequences, Refused> {
        let at = self.find(id)?;
        if self.records[at].asked.contains(need) {
            return Ok(Vec::new());
        }
        self.expect_attempt(at, attempt)?;
        let record = &mut self.records[at];
        let OpenFor::Person { step } = record.open_for() else {
            return Err(Refused::illegal(format!("task {id} has no change that waits for a person")));
        };
        if record.unit.input(step) != input {
            return Err(Refused::stale(format!("the question is about an earlier change of task {id}")));
        }
        let intended = record.unit.intend(step, Assignee::Person);
        intended.map_err(|why| Refused::illegal(format!("task {id}: {why}")))?;
        record.asked.insert(need.clone());
        record.waiting = Some(Waiting { need: need.clone(), reason: reason.to_owned(), step: Some(step) });
        // Other tasks may be merged meanwhile.
        self.queue.leave_turn(at);
        self.reindex(at);
        Ok(Vec::new())
    }

    pub(super) fn confirmation_answered(
        &mut self,
        at: usize,
        step: usize,
        answer: PersonAnswer,
        note: &str,
        asked: String,
    ) -> Consequences {
        let record = &mut self.records[at];
        let judged = |verdict| Judgement { input: None, verdict, output: None };
        let last = match answer {
            PersonAnswer::Allow => {
                let digest = record.question(step).digest;
                record.confirmed.insert(digest);
                let moved = record.unit.judge(step, judged(Verdict::Pass));
                return moved.map_or_else(|_| Vec::new(), |moved| self.after(at, moved, String::new()));
            }
            PersonAnswer::Retry => {
                let (attempt, cause) = (record.attempt(), RefusalCause::Person);
                let reasons: Vec<_> = [note].into_iter().filter(|note| !note.is_empty()).map(str::to_owned).collect();
                let last = super::attempt::describe(&cause, &reasons);
                record.refusals.push(Refusal { attempt, cause, reasons });
                record.begin_after_refusal();
                let moved = record.unit.judge(step, judged(Verdict::Fail));
                return moved.map_or_else(|_| Vec::new(), |moved| self.after(at, moved, last));
            }
            PersonAnswer::GiveUp | PersonAnswer::Withdrawn => format!("a person gave it up; they were asked: {asked}"),
            PersonAnswer::Expired => format!("nobody answered: {asked} [need.expired]"),
        };
        // An open question means that the step is intended, so this can't be refused.
        let _withdrawn = record.unit.withdraw(step);
        record.unit.hold(Hold::Asked);
        self.block(at, last)
    }
}
