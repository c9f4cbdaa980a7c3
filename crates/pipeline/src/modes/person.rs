//! Questions to a person, and what follows from the answers.

use std::fmt;

use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::modes::{Choice, Mode, PersonAnswer};

use super::known::{Approval, Approver};
use super::note::{Refused, RefusedCode};
use super::{Ask, At, Known};

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// What the request leaves open.
    Clarify {
        /// The questions.
        questions: Digest,
        /// Which of them, from 1.
        number: u32,
        /// How many there are.
        of: u32,
    },
    /// A role does not answer.
    NoAnswer {
        /// What it was asked.
        ask: Ask,
        /// Why there is no answer.
        why: String,
    },
    /// The critic rejects the plan.
    PlanRejected {
        /// The review.
        review: Digest,
    },
    /// The critic wants one more revision than there may be.
    RevisionsSpent {
        /// The review.
        review: Digest,
        /// How many revisions there were.
        cycles: u32,
    },
    /// A phase can't begin.
    Blocked {
        /// Which phase.
        phase: u64,
        /// What is missing.
        missing: Vec<String>,
    },
    /// Tasks of a phase can't go on.
    PhaseHeld {
        /// Which phase.
        phase: u64,
        /// Why.
        why: String,
    },
    /// Tasks lack evidence.
    EvidenceMissing {
        /// Which phase.
        phase: u64,
        /// What is missing.
        missing: Vec<String>,
    },
    /// A verifier finds that something does not hold.
    Unverified {
        /// What was asked.
        ask: Ask,
        /// What it found.
        findings: Digest,
    },
    /// "Ready for phase N?"
    NextPhase {
        /// Which phase.
        phase: u64,
    },
    /// What the run is at.
    Unknown {
        /// Why that can't be told.
        why: String,
    },
}

// === impl Question ===

impl Question {
    /// The mode that it belongs to.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        match self {
            Self::Clarify { .. } => Mode::Clarify,
            Self::NoAnswer { ask, .. } | Self::Unverified { ask, .. } => ask.mode(),
            Self::PlanRejected { .. } | Self::RevisionsSpent { .. } => Mode::CriticGate,
            Self::Blocked { .. } | Self::PhaseHeld { .. } => Mode::Execute,
            Self::EvidenceMissing { .. } | Self::NextPhase { .. } => Mode::PhaseWrap,
            Self::Unknown { .. } => Mode::Unknown,
        }
    }

    /// What can be chosen; none where the answer is a text.
    #[must_use]
    pub fn choices(&self) -> Vec<Choice> {
        match self {
            Self::Clarify { .. } => vec![Choice::Skip, Choice::Stop],
            Self::NoAnswer { ask, .. } if ask.may_skip() => vec![Choice::Retry, Choice::Skip, Choice::Stop],
            Self::NoAnswer { ask: Ask::Critique, .. } => vec![Choice::Retry, Choice::Approve, Choice::Stop],
            Self::NoAnswer { .. } => vec![Choice::Retry, Choice::Stop],
            Self::PlanRejected { .. } | Self::RevisionsSpent { .. } => {
                vec![Choice::Approve, Choice::Revise, Choice::Stop]
            }
            Self::Blocked { .. } | Self::PhaseHeld { .. } => vec![Choice::Retry, Choice::Revise, Choice::Stop],
            Self::EvidenceMissing { .. } => vec![Choice::Retry, Choice::Redo, Choice::Revise, Choice::Stop],
            Self::Unverified { .. } => {
                vec![Choice::Retry, Choice::Redo, Choice::Revise, Choice::Approve, Choice::Stop]
            }
            Self::NextPhase { .. } => vec![Choice::Proceed, Choice::Revise, Choice::Stop],
            Self::Unknown { .. } => vec![Choice::Stop],
        }
    }

    /// Whether the answer may be a text.
    #[must_use]
    pub const fn takes_text(&self) -> bool {
        match self {
            Self::Clarify { .. } | Self::Unknown { .. } => true,
            Self::NoAnswer { .. }
            | Self::PlanRejected { .. }
            | Self::RevisionsSpent { .. }
            | Self::Blocked { .. }
            | Self::PhaseHeld { .. }
            | Self::EvidenceMissing { .. }
            | Self::Unverified { .. }
            | Self::NextPhase { .. } => false,
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clarify { number, of, .. } => write!(f, "question {number} of {of} about the request"),
            Self::NoAnswer { ask, why } => write!(f, "{} gives no answer: {why}", ask.role()),
            Self::PlanRejected { .. } => f.write_str("the critic rejects the plan"),
            Self::RevisionsSpent { cycles, .. } => write!(f, "the critic is not content after {cycles} revisions"),
            Self::Blocked { phase, missing } => write!(f, "phase {phase} can't begin: {}", missing.join(", ")),
            Self::PhaseHeld { phase, why } => write!(f, "phase {phase} can't go on: {why}"),
            Self::EvidenceMissing { phase, missing } => {
                write!(f, "evidence is missing in phase {phase}: {}", missing.join(", "))
            }
            Self::Unverified { ask, .. } => write!(f, "{} finds what does not hold", ask.role()),
            Self::NextPhase { phase } => write!(f, "Ready for Phase {phase}?"),
            Self::Unknown { why } => write!(f, "what the run is at can't be told: {why}"),
        }
    }
}

/// What follows from an answer.
pub(super) enum Follows {
    /// The run goes on with what it knows.
    GoOn,
    /// It waits for something in particular.
    At(At),
    /// It ends.
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
        PersonAnswer::Text { text } if question.takes_text() => Ok(told(known, question, text)),
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

fn told(known: &mut Known, question: &Question, text: Digest) -> Follows {
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
    match choice {
        Choice::Stop => return Follows::Stop,
        // What is asked, checked or run anew follows from what is known: nothing of it is there.
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
