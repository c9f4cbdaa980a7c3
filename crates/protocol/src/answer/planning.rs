//! Answers from which plans are made and changed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(feature = "schemas")]
use super::limits::{MAX_CHOICES, MAX_DOMAINS, MAX_LIST, MAX_NAME, MAX_PATH, MAX_QUESTIONS, MAX_REPORT, MAX_TEXT};
use super::review::is_blank;
use crate::schema::JsonSchema;

/// Findings of an explorer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exploration {
    /// The report, in the sections that the explorer's role prescribes.
    #[schemars(length(min = 1, max = MAX_REPORT))]
    pub report: String,
    /// Domains on which an expert can advise, such as `rust` or `security`; the same as in the report's section DOMAINS.
    #[serde(default)]
    #[schemars(length(max = MAX_DOMAINS), inner(length(min = 1, max = MAX_NAME)))]
    pub domains: Vec<String>,
}

/// What already exists of the items that a plan or specification refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reality {
    /// One entry for each item that was asked about.
    #[schemars(length(max = MAX_LIST))]
    pub items: Vec<RealityItem>,
}

/// State of one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RealityItem {
    /// The item.
    #[schemars(length(min = 1, max = MAX_PATH))]
    pub item: String,
    /// How complete the item is.
    pub status: RealityStatus,
    /// Files and lines that show it.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub evidence: String,
}

/// How complete an item is that a plan refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names say it")]
pub enum RealityStatus {
    NotStarted,
    PartiallyDone,
    AlreadyComplete,
    AssumptionIncorrect,
}

/// An expert's advice on one domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Guidance {
    /// The domain.
    #[schemars(length(min = 1, max = MAX_NAME))]
    pub domain: String,
    /// Points of advice.
    #[schemars(length(min = 1, max = MAX_LIST), inner(length(min = 1, max = MAX_TEXT)))]
    pub points: Vec<String>,
}

/// Questions that have to be answered before a plan can be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Questions {
    /// The questions; empty if the request is clear.
    #[schemars(length(max = MAX_QUESTIONS))]
    pub questions: Vec<Question>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Text of the question.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub question: String,
    /// Options to choose from; empty if the answer is free text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_CHOICES), inner(length(min = 1, max = MAX_PATH)))]
    pub choices: Vec<String>,
}

/// A plan that is not approved yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanDraft {
    /// A `plan.json`, validated as one when it is read.
    pub plan: Value,
}

/// The architect's decision about a failing task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// What to do with the task.
    pub decision: DecisionKind,
    /// Reason for the decision.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub reason: String,
    /// With `retry_with`: note for the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_TEXT))]
    pub note: Option<String>,
    /// With `rescope`: the files that the task may change from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_PATH)))]
    pub files: Vec<String>,
    /// With `split`: the tasks that replace it, two or more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_LIST))]
    pub tasks: Vec<SplitTask>,
}

/// What to do with a failing task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// The task gets other files.
    Rescope,
    /// Smaller tasks replace the task.
    Split,
    /// The task is tried again with a note.
    RetryWith,
    /// The task is not done, and a person is informed.
    GiveUp,
}

impl DecisionKind {
    /// Returns the decision as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rescope => "rescope",
            Self::Split => "split",
            Self::RetryWith => "retry_with",
            Self::GiveUp => "give_up",
        }
    }
}

/// A task that replaces part of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitTask {
    /// What the task is to do.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub description: String,
    /// Files that the task changes.
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_PATH)))]
    pub files: Vec<String>,
    /// How to tell that the task is done.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub acceptance: String,
}

/// What to build, and how to tell that it was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// What to build, FR-001 to FR-999.
    #[schemars(length(min = 1, max = 999))]
    pub requirements: Vec<SpecItem>,
    /// How to tell that it was built, SC-001 to SC-999.
    #[schemars(length(min = 1, max = 999))]
    pub criteria: Vec<SpecItem>,
}

/// A requirement or a success criterion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpecItem {
    /// Id of the item: `FR-001` or `SC-001`, each once.
    #[schemars(length(min = 6, max = 6))]
    pub id: String,
    /// Text of the item.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub text: String,
}

// === impl PlanDraft ===

impl PlanDraft {
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        (!self.plan.is_object()).then_some("`plan` is no object")
    }
}

// === impl Decision ===

impl Decision {
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        match self.decision {
            DecisionKind::Rescope if self.files.is_empty() => Some("`rescope` without `files`"),
            DecisionKind::Split if self.tasks.len() < 2 => Some("`split` into fewer than two `tasks`"),
            DecisionKind::RetryWith if is_blank(self.note.as_deref()) => Some("`retry_with` without a `note`"),
            DecisionKind::Rescope | DecisionKind::Split | DecisionKind::RetryWith | DecisionKind::GiveUp => None,
        }
    }
}

// === impl Spec ===

impl Spec {
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let is_id = |item: &SpecItem, prefix: &str| {
            let digits = item.id.strip_prefix(prefix).unwrap_or_default();
            digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()) && digits != "000"
        };
        if !self.requirements.iter().all(|item| is_id(item, "FR-")) {
            return Some("a requirement's `id` is none of FR-001 to FR-999");
        }
        if !self.criteria.iter().all(|item| is_id(item, "SC-")) {
            return Some("a criterion's `id` is none of SC-001 to SC-999");
        }
        let mut seen = BTreeSet::new();
        let is_new = self.requirements.iter().chain(&self.criteria).all(|item| seen.insert(&item.id));
        (!is_new).then_some("an `id` is given twice")
    }
}
