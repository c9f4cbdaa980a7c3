//! Applies the answers of a person.

use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::modes::{Choice, PersonAnswer};

use super::known::{Approval, Approver};
use super::refused::{Refused, RefusedCode};
use super::{Ask, At, Known, Question};

/// Consequence of an answer.
pub(super) enum Follows {
    /// The run continues with what it needs next.
    GoOn,
    /// The run waits for this.
    At(At),
    /// The run stops.
    Stop,
}

/// Applies a person's answer.
pub(super) fn answered(
    known: &mut Known,
    question: &Question,
    by: &AgentName,
    answer: PersonAnswer,
) -> Result<Follows, Refused> {
    match answer {
        PersonAnswer::Text { text } if question.takes_text() => Ok(apply_text_answer(known, question, text)),
        PersonAnswer::Chose { choice, note } if question.choices().contains(&choice) => {
            Ok(chose(known, question, choice, note, by))
        }
        PersonAnswer::Text { .. } | PersonAnswer::Chose { .. } => {
            let words: Vec<_> = question.choices().into_iter().map(Choice::as_str).collect();
            let text = if question.takes_text() { " or a text" } else { "" };
            let hint = format!("answer with one of {}{text}", words.join(", "));
            Err(Refused::new(RefusedCode::NoChoice, format!("it is no answer to: {question}"), hint))
        }
    }
}

fn apply_text_answer(known: &mut Known, question: &Question, text: Digest) -> Follows {
    match question {
        Question::Clarify { questions, number, of } => {
            known.answers.push(text);
            if number < of {
                let next = Question::Clarify { questions: *questions, number: number + 1, of: *of };
                return Follows::At(At::Waiting(next));
            }
        }
        Question::NoAnswer { .. }
        | Question::PlanRejected { .. }
        | Question::RevisionsSpent { .. }
        | Question::Blocked { .. }
        | Question::PhaseHeld { .. }
        | Question::EvidenceMissing { .. }
        | Question::Unverified { .. }
        | Question::NextPhase { .. }
        | Question::Unknown { .. } => known.request = Some(text),
    }
    Follows::GoOn
}

fn chose(known: &mut Known, question: &Question, choice: Choice, note: Option<Digest>, by: &AgentName) -> Follows {
    if choice != Choice::Stop && matches!(question, Question::PhaseHeld { .. }) {
        known.let_go_on();
    }
    match choice {
        Choice::Stop => return Follows::Stop,
        // The next action follows from what is known. Since the result is missing, it is asked, checked or run again.
        Choice::Retry => {}
        Choice::Skip => skip(known, question),
        Choice::Approve => approve(known, question, by),
        Choice::Revise => revise(known, question, note),
        Choice::Redo => {
            let is_let_in = known.work.is_let_in;
            known.begin_phase(is_let_in);
        }
        Choice::Proceed => known.work.is_let_in = true,
    }
    Follows::GoOn
}

fn skip(known: &mut Known, question: &Question) {
    if let Question::NoAnswer { ask, .. } = question {
        known.skipped.insert(ask.clone());
    }
}

fn approve(known: &mut Known, question: &Question, by: &AgentName) {
    match question {
        Question::Unverified { ask: Ask::Drift { .. }, .. } => known.work.is_verified = true,
        Question::Unverified { .. } => known.work.is_true = true,
        Question::NoAnswer { .. } | Question::PlanRejected { .. } | Question::RevisionsSpent { .. } => {
            let by = Approver::Person(by.clone());
            known.approval = known.plan.as_ref().map(|plan| Approval { plan: plan.plan, by });
            known.revise = None;
            known.cycles = 0;
        }
        Question::Clarify { .. }
        | Question::Blocked { .. }
        | Question::PhaseHeld { .. }
        | Question::EvidenceMissing { .. }
        | Question::NextPhase { .. }
        | Question::Unknown { .. } => {}
    }
}

fn revise(known: &mut Known, question: &Question, note: Option<Digest>) {
    match question {
        Question::PlanRejected { review } | Question::RevisionsSpent { review, .. } => {
            known.revise_for(note.unwrap_or(*review));
        }
        Question::Unverified { findings, .. } => known.replan_for(note.unwrap_or(*findings)),
        Question::Clarify { .. }
        | Question::NoAnswer { .. }
        | Question::Blocked { .. }
        | Question::PhaseHeld { .. }
        | Question::EvidenceMissing { .. }
        | Question::NextPhase { .. }
        | Question::Unknown { .. } => {
            let why = Digest::of(question.to_string().as_bytes());
            known.replan_for(note.unwrap_or(why));
        }
    }
}
