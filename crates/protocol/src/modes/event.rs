//! What happens in the modes of a run. Facts are small: texts are bodies and stand here by their digests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlanFacts, Proceed, Setup};
use crate::answer::{AnswerKind, DecisionKind, PlanVerdict, VerifierVerdict};
use crate::id::{AgentName, Digest};
use crate::plan::TaskId;

/// Longest reason in the facts of an event, in bytes: it fits beside all else that an event holds.
const MAX_WHY_BYTES: usize = 400;

/// Most things that a check names as missing; the body names all.
const MAX_MISSING: usize = 6;

/// Longest name of one of them, in bytes: that of a task.
const MAX_MISSING_BYTES: usize = crate::plan::MAX_TASK_ID_BYTES;

/// What happened. `step` is the number of what was waited for: an event about an earlier one is late, and refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ModeEvent {
    /// The run began.
    Began {
        /// How.
        setup: Setup,
    },
    /// A role answered.
    Answered {
        /// Which step.
        step: u32,
        /// What.
        answer: AnswerFacts,
    },
    /// A role did not, however often its run has asked: a person is asked instead.
    Unanswered {
        /// Which step.
        step: u32,
        /// Why.
        why: String,
    },
    /// A person answered.
    PersonAnswered {
        /// Which step.
        step: u32,
        /// Who.
        by: AgentName,
        /// What.
        answer: PersonAnswer,
    },
    /// A person did not answer in time.
    PersonExpired {
        /// Which step.
        step: u32,
    },
    /// A check of a phase was made.
    Checked {
        /// Which step.
        step: u32,
        /// What is missing; nothing where it passed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
    },
    /// The tasks of a phase came to an end.
    PhaseEnded {
        /// Which step.
        step: u32,
        /// Which phase.
        phase: u64,
        /// How.
        outcome: PhaseOutcome,
    },
    /// The next phase begins without a person having been asked.
    Proceeded {
        /// Which step.
        step: u32,
        /// By which setting.
        because: Proceed,
    },
    /// A person stopped the run.
    Stopped {
        /// Who.
        by: AgentName,
        /// Why.
        why: String,
    },
    /// A person lets a stopped run go on.
    Resumed {
        /// Who.
        by: AgentName,
    },
    /// An agent has the architect's seat: it leads the run from now on.
    SeatTaken {
        /// Which.
        agent: AgentName,
        /// The number of this taking, higher than all before.
        fence: u64,
        /// How long the seat lasts without a call of the agent, in milliseconds.
        lease_ms: u64,
        /// Who said so.
        by: AgentName,
    },
    /// The agent that had the seat was not heard of in time.
    SeatLost {
        /// The seat's fence.
        fence: u64,
    },
    /// The engine drives the run from now on.
    SeatLeft {
        /// The seat's fence.
        fence: u64,
        /// Who said so.
        by: AgentName,
    },
    /// The agent that has the seat begins the step of a role.
    StepBegun {
        /// Which step.
        step: u32,
        /// The seat's fence.
        fence: u64,
    },
    /// The agent that has the seat has the tasks of later phases judged by more gates.
    GatesAdded {
        /// Which.
        gates: Vec<String>,
        /// The seat's fence.
        fence: u64,
    },
}

/// An answer, as far as modes depend on it.
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

/// What a person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PersonAnswer {
    /// A text.
    Text {
        /// Digest of it.
        text: Digest,
    },
    /// One of the choices of the question.
    Chose {
        /// Which.
        choice: Choice,
        /// Digest of what else the person said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Digest>,
    },
}

/// What a person may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Ask, check or run once more.
    Retry,
    /// Go on without.
    Skip,
    /// Take it as it is.
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

/// How the tasks of a phase came to an end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PhaseOutcome {
    /// All are done.
    Done,
    /// Some are not, and none of them can go on.
    Held {
        /// Why.
        why: String,
        /// The first task whose changes were refused until it had no attempts left, if it is for that: the architect is asked about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<FailedTask>,
    },
}

/// A task that has used up its attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedTask {
    /// Which.
    pub task: TaskId,
    /// Digest of what was tried, and why it was refused.
    pub text: Digest,
}

// === impl ModeEvent ===

impl ModeEvent {
    /// The same with reasons and lists cut, so that it fits into the facts of one event.
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

    /// Whether it says who leads the run and what that agent begins, and not what came of what is waited for.
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
    /// Which kind of answer it is.
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
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Retry, Self::Skip, Self::Approve, Self::Revise, Self::Redo, Self::Proceed, Self::Stop];

    /// The one of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.as_str() == word)
    }

    /// Its word.
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
