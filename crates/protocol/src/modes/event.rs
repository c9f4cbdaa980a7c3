//! Events in the modes of a run. Facts are small: texts are in bodies, and the facts hold their digests.

use serde::{Deserialize, Serialize};

use super::{PlanFacts, Proceed, Setup};
use crate::answer::{AnswerKind, DecisionKind, PlanVerdict, VerifierVerdict};
use crate::id::{AgentName, Digest};
use crate::plan::TaskId;
use crate::schema::JsonSchema;

/// Maximum length of a reason in an event's facts, in bytes: it fits beside the event's other fields.
const MAX_WHY_BYTES: usize = 400;

/// Maximum number of missing items that a check lists in its facts; the body lists all.
const MAX_MISSING: usize = 6;

/// Maximum length of a missing item's name, in bytes: that of a task.
const MAX_MISSING_BYTES: usize = crate::plan::MAX_TASK_ID_BYTES;

/// An event in the modes of a run. `step` is the number of the awaited step: an event about an earlier step is late and refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ModeEvent {
    /// The run began.
    Began {
        /// Start parameters.
        setup: Setup,
    },
    /// A role answered.
    Answered {
        /// Number of the step.
        step: u32,
        /// The answer.
        answer: AnswerFacts,
    },
    /// A role gave no usable answer in all of its attempts: a person is asked instead.
    Unanswered {
        /// Number of the step.
        step: u32,
        /// Reason.
        why: String,
    },
    /// A person answered.
    PersonAnswered {
        /// Number of the step.
        step: u32,
        /// Name of the person.
        by: AgentName,
        /// The answer.
        answer: PersonAnswer,
    },
    /// A person did not answer in time.
    PersonExpired {
        /// Number of the step.
        step: u32,
    },
    /// A phase was checked.
    Checked {
        /// Number of the step.
        step: u32,
        /// Missing items; empty if the check passed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
    },
    /// Work on the tasks of a phase ended.
    PhaseEnded {
        /// Number of the step.
        step: u32,
        /// Number of the phase.
        phase: u64,
        /// Outcome of the phase.
        outcome: PhaseOutcome,
    },
    /// The next phase begins without asking a person.
    Proceeded {
        /// Number of the step.
        step: u32,
        /// Setting that allowed it.
        because: Proceed,
    },
    /// A person stopped the run.
    Stopped {
        /// Name of the person.
        by: AgentName,
        /// Reason.
        why: String,
    },
    /// A person continued a stopped run.
    Resumed {
        /// Name of the person.
        by: AgentName,
    },
    /// An agent took the architect's seat: it leads the run from now on.
    SeatTaken {
        /// Name of the agent.
        agent: AgentName,
        /// Fence number of this seat, higher than all before.
        fence: u64,
        /// How long the agent keeps the seat without a call, in milliseconds.
        lease_ms: u64,
        /// Who requested it.
        by: AgentName,
    },
    /// The agent in the seat made no call in time.
    SeatLost {
        /// Fence number of the seat.
        fence: u64,
    },
    /// The agent left the seat: the engine drives the run from now on.
    SeatLeft {
        /// Fence number of the seat.
        fence: u64,
        /// Who requested it.
        by: AgentName,
    },
    /// The agent in the seat begins the step of a role.
    StepBegun {
        /// Number of the step.
        step: u32,
        /// Fence number of the seat.
        fence: u64,
    },
    /// The agent in the seat added gates for the tasks of later phases.
    GatesAdded {
        /// Names of the gates.
        gates: Vec<String>,
        /// Fence number of the seat.
        fence: u64,
    },
}

/// The parts of an answer that modes depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(missing_docs, reason = "`text` is the digest of the answer; the rest is explained at the answers")]
pub enum AnswerFacts {
    Questions { text: Digest, count: u32 },
    Exploration { text: Digest, domains: Vec<String> },
    Reality { text: Digest, items: u32, complete: u32, incorrect: u32 },
    Guidance { text: Digest, domain: String },
    Spec { text: Digest },
    PlanDraft { plan: PlanFacts },
    PlanReview { text: Digest, verdict: PlanVerdict },
    Drift { text: Digest, verdict: VerifierVerdict },
    Hallucination { text: Digest, verdict: VerifierVerdict },
    Docs { text: Digest },
    Retrospective { text: Digest, phase: u64 },
    Decision { text: Digest, decision: DecisionKind },
}

/// Answer of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PersonAnswer {
    /// A free text.
    Text {
        /// Digest of the text.
        text: Digest,
    },
    /// One of the question's options.
    Chose {
        /// The chosen option.
        choice: Choice,
        /// Digest of an additional note.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Digest>,
    },
}

/// Option that a person can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Ask, check or run again.
    Retry,
    /// Continue without it.
    Skip,
    /// Accept it as it is.
    Approve,
    /// Have the plan revised.
    Revise,
    /// Run the tasks of the phase again.
    Redo,
    /// Begin the next phase.
    Proceed,
    /// End the run.
    Stop,
}

/// Outcome of the tasks of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseOutcome {
    /// All tasks are done.
    Done,
    /// Some tasks are not done, and none of them can continue.
    Held {
        /// Reason.
        why: String,
        /// The first task that used up its attempts with refused changes, if that is the reason: the architect is asked about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<FailedTask>,
    },
}

/// A task that has used up its attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedTask {
    /// Id of the task.
    pub task: TaskId,
    /// Digest of the description of its attempts and their refusals.
    pub text: Digest,
}

// === impl ModeEvent ===

impl ModeEvent {
    /// Shortens reasons and lists so that the event fits into the facts.
    #[must_use]
    pub fn fitted(mut self) -> Self {
        let fit = |why: &mut String| *why = crate::text::cut(why, MAX_WHY_BYTES);
        match &mut self {
            Self::Unanswered { why, .. }
            | Self::Stopped { why, .. }
            | Self::PhaseEnded { outcome: PhaseOutcome::Held { why, .. }, .. } => fit(why),
            Self::Checked { missing, .. } => {
                missing.truncate(MAX_MISSING);
                missing.iter_mut().for_each(|one| *one = crate::text::cut(one, MAX_MISSING_BYTES));
            }
            Self::Began { .. }
            | Self::Answered { .. }
            | Self::PersonAnswered { .. }
            | Self::PersonExpired { .. }
            | Self::PhaseEnded { outcome: PhaseOutcome::Done, .. }
            | Self::Proceeded { .. }
            | Self::Resumed { .. }
            | Self::SeatTaken { .. }
            | Self::SeatLost { .. }
            | Self::SeatLeft { .. }
            | Self::StepBegun { .. }
            | Self::GatesAdded { .. } => {}
        }
        self
    }

    /// Returns true for events about the seat and the steps that the agent in it begins; false for results of awaited steps.
    #[must_use]
    pub const fn is_of_seat(&self) -> bool {
        matches!(
            self,
            Self::SeatTaken { .. }
                | Self::SeatLost { .. }
                | Self::SeatLeft { .. }
                | Self::StepBegun { .. }
                | Self::GatesAdded { .. }
        )
    }
}

// === impl AnswerFacts ===

impl AnswerFacts {
    /// Returns the kind of the answer.
    #[must_use]
    pub const fn kind(&self) -> AnswerKind {
        match self {
            Self::Questions { .. } => AnswerKind::Questions,
            Self::Exploration { .. } => AnswerKind::Exploration,
            Self::Reality { .. } => AnswerKind::Reality,
            Self::Guidance { .. } => AnswerKind::Guidance,
            Self::Spec { .. } => AnswerKind::Spec,
            Self::PlanDraft { .. } => AnswerKind::PlanDraft,
            Self::PlanReview { .. } => AnswerKind::PlanReview,
            Self::Drift { .. } => AnswerKind::Drift,
            Self::Hallucination { .. } => AnswerKind::Hallucination,
            Self::Docs { .. } => AnswerKind::Docs,
            Self::Retrospective { .. } => AnswerKind::Retrospective,
            Self::Decision { .. } => AnswerKind::Decision,
        }
    }
}

// === impl Choice ===

impl Choice {
    /// All values.
    pub const ALL: [Self; 7] =
        [Self::Retry, Self::Skip, Self::Approve, Self::Revise, Self::Redo, Self::Proceed, Self::Stop];

    /// Returns the value with this word; `None` if there is none.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.as_str() == word)
    }

    /// Returns the value as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Skip => "skip",
            Self::Approve => "approve",
            Self::Revise => "revise",
            Self::Redo => "redo",
            Self::Proceed => "proceed",
            Self::Stop => "stop",
        }
    }
}
