//! What a phase taught, as an architect answers it: the fields and limits of the evidence type `retrospective`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_LIST, MAX_TEXT};
use crate::evidence;
pub use crate::evidence::{ErrorClass, TaskComplexity};

/// A look back at a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retrospective {
    /// Which phase.
    #[schemars(range(min = 1, max = 99))]
    pub phase_number: u32,
    /// How many tools were called.
    #[schemars(range(max = 9999))]
    pub total_tool_calls: u32,
    /// How often a coder had to try again.
    #[schemars(range(max = 999))]
    pub coder_revisions: u32,
    /// How often a reviewer refused.
    #[schemars(range(max = 999))]
    pub reviewer_rejections: u32,
    /// How many tests failed.
    #[schemars(range(max = 9999))]
    pub test_failures: u32,
    /// How many security findings there were.
    #[schemars(range(max = 999))]
    pub security_findings: u32,
    /// How often parts did not fit together.
    #[schemars(range(max = 999))]
    pub integration_issues: u32,
    /// How often a loop was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9999))]
    pub loop_detections: Option<u32>,
    /// How often a limit stopped a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9999))]
    pub circuit_breaker_trips: Option<u32>,
    /// How many tasks the phase had.
    #[schemars(range(min = 1, max = 9999))]
    pub task_count: u32,
    /// How hard they were.
    pub task_complexity: TaskComplexity,
    /// Why changes were rejected most.
    #[serde(default)]
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_TEXT)))]
    pub top_rejection_reasons: Vec<String>,
    /// What to remember.
    #[serde(default)]
    #[schemars(length(max = 5), inner(length(min = 1, max = MAX_TEXT)))]
    pub lessons_learned: Vec<String>,
    /// What the user said should hold from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_LIST))]
    pub user_directives: Vec<Directive>,
    /// What was tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub approaches_tried: Vec<Approach>,
    /// What kinds of errors were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 5))]
    pub error_taxonomy: Vec<ErrorClass>,
}

/// What the user said should hold from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Directive {
    /// In words.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub directive: String,
    /// What it is about.
    pub category: DirectiveCategory,
    /// How far it reaches.
    pub scope: DirectiveScope,
}

/// What a directive is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum DirectiveCategory {
    Tooling,
    CodeStyle,
    Architecture,
    Process,
    Other,
}

/// How far a directive reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum DirectiveScope {
    Session,
    Project,
    Global,
}

/// Something that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approach {
    /// What.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub approach: String,
    /// How it ended.
    pub result: ApproachResult,
    /// Why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_TEXT))]
    pub abandoned_reason: Option<String>,
}

/// How something that was tried ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ApproachResult {
    Success,
    Failure,
    Partial,
}

// === impl Retrospective ===

impl From<Retrospective> for evidence::Retrospective {
    fn from(retro: Retrospective) -> Self {
        Self {
            phase_number: retro.phase_number,
            total_tool_calls: retro.total_tool_calls,
            coder_revisions: retro.coder_revisions,
            reviewer_rejections: retro.reviewer_rejections,
            test_failures: retro.test_failures,
            security_findings: retro.security_findings,
            integration_issues: retro.integration_issues,
            loop_detections: retro.loop_detections,
            circuit_breaker_trips: retro.circuit_breaker_trips,
            task_count: retro.task_count,
            task_complexity: retro.task_complexity,
            top_rejection_reasons: retro.top_rejection_reasons,
            lessons_learned: retro.lessons_learned,
            user_directives: retro.user_directives.into_iter().map(Into::into).collect(),
            approaches_tried: retro.approaches_tried.into_iter().map(Into::into).collect(),
            error_taxonomy: retro.error_taxonomy,
        }
    }
}

impl From<Directive> for evidence::Directive {
    fn from(Directive { directive, category, scope }: Directive) -> Self {
        let category = match category {
            DirectiveCategory::Tooling => "tooling",
            DirectiveCategory::CodeStyle => "code_style",
            DirectiveCategory::Architecture => "architecture",
            DirectiveCategory::Process => "process",
            DirectiveCategory::Other => "other",
        };
        let scope = match scope {
            DirectiveScope::Session => "session",
            DirectiveScope::Project => "project",
            DirectiveScope::Global => "global",
        };
        Self { directive, category: category.to_owned(), scope: scope.to_owned() }
    }
}

impl From<Approach> for evidence::Approach {
    fn from(Approach { approach, result, abandoned_reason }: Approach) -> Self {
        let result = match result {
            ApproachResult::Success => "success",
            ApproachResult::Failure => "failure",
            ApproachResult::Partial => "partial",
        };
        Self { approach, result: result.to_owned(), abandoned_reason }
    }
}
