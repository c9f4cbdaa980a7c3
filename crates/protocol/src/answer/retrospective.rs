//! An architect's answer about the lessons of a phase: the fields and limits of the evidence type `retrospective`.

use serde::{Deserialize, Serialize};

#[cfg(feature = "schemas")]
use super::limits::{MAX_LIST, MAX_TEXT};
use crate::evidence;
pub use crate::evidence::{ErrorClass, TaskComplexity};
use crate::schema::JsonSchema;

/// Retrospective of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retrospective {
    /// Number of the phase.
    #[schemars(range(min = 1, max = 99))]
    pub phase_number: u32,
    /// Number of tool calls.
    #[schemars(range(max = 9999))]
    pub total_tool_calls: u32,
    /// Number of times that a coder had to try again.
    #[schemars(range(max = 999))]
    pub coder_revisions: u32,
    /// Number of rejections by reviewers.
    #[schemars(range(max = 999))]
    pub reviewer_rejections: u32,
    /// Number of failed tests.
    #[schemars(range(max = 9999))]
    pub test_failures: u32,
    /// Number of security findings.
    #[schemars(range(max = 999))]
    pub security_findings: u32,
    /// Number of times that parts did not fit together.
    #[schemars(range(max = 999))]
    pub integration_issues: u32,
    /// Number of loops that were detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9999))]
    pub loop_detections: Option<u32>,
    /// Number of times that a limit stopped a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 9999))]
    pub circuit_breaker_trips: Option<u32>,
    /// Number of tasks in the phase.
    #[schemars(range(min = 1, max = 9999))]
    pub task_count: u32,
    /// Difficulty of the tasks.
    pub task_complexity: TaskComplexity,
    /// Most frequent reasons for rejected changes.
    #[serde(default)]
    #[schemars(length(max = MAX_LIST), inner(length(min = 1, max = MAX_TEXT)))]
    pub top_rejection_reasons: Vec<String>,
    /// Lessons to remember.
    #[serde(default)]
    #[schemars(length(max = 5), inner(length(min = 1, max = MAX_TEXT)))]
    pub lessons_learned: Vec<String>,
    /// Instructions of the user for the future.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_LIST))]
    pub user_directives: Vec<Directive>,
    /// Approaches that were tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub approaches_tried: Vec<Approach>,
    /// Kinds of errors that were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 5))]
    pub error_taxonomy: Vec<ErrorClass>,
}

/// An instruction of the user for the future.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Directive {
    /// The instruction in words.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub directive: String,
    /// Subject of the instruction.
    pub category: DirectiveCategory,
    /// Where the instruction applies.
    pub scope: DirectiveScope,
}

/// Subject of an instruction.
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

/// Where an instruction applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum DirectiveScope {
    Session,
    Project,
    Global,
}

/// An approach that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approach {
    /// The approach in words.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    pub approach: String,
    /// Result of the approach.
    pub result: ApproachResult,
    /// Reason why the approach was abandoned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_TEXT))]
    pub abandoned_reason: Option<String>,
}

/// Result of an approach.
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
