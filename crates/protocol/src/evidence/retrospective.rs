//! The evidence type `retrospective`: lessons of a phase.

use serde::{Deserialize, Serialize};

use crate::schema::JsonSchema;

/// Retrospective of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Retrospective {
    /// Number of the phase, 1 to 99.
    pub phase_number: u32,
    /// Number of tool calls, at most 9999.
    pub total_tool_calls: u32,
    /// Number of times that a coder had to try again, at most 999.
    pub coder_revisions: u32,
    /// Number of rejections by reviewers, at most 999.
    pub reviewer_rejections: u32,
    /// Number of failed tests, at most 9999.
    pub test_failures: u32,
    /// Number of security findings, at most 999.
    pub security_findings: u32,
    /// Number of times that parts did not fit together, at most 999.
    pub integration_issues: u32,
    /// Number of loops that were detected, at most 9999.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_detections: Option<u32>,
    /// Number of times that a limit stopped a worker, at most 9999.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit_breaker_trips: Option<u32>,
    /// Number of tasks in the phase, 1 to 9999.
    pub task_count: u32,
    /// Difficulty of the tasks.
    pub task_complexity: TaskComplexity,
    /// Most frequent reasons for rejected changes.
    #[serde(default)]
    pub top_rejection_reasons: Vec<String>,
    /// Lessons to remember, at most 5.
    #[serde(default)]
    pub lessons_learned: Vec<String>,
    /// Instructions of the user for the future.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_directives: Vec<Directive>,
    /// Approaches that were tried, at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approaches_tried: Vec<Approach>,
    /// Kinds of errors that were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub error_taxonomy: Vec<ErrorClass>,
}

/// Difficulty of a phase's tasks. The older words low, medium and high are read as simple, moderate and complex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum TaskComplexity {
    Trivial,
    #[serde(alias = "low")]
    Simple,
    #[serde(alias = "medium")]
    Moderate,
    #[serde(alias = "high")]
    Complex,
}

/// An instruction of the user for the future.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Directive {
    /// The instruction in words.
    pub directive: String,
    /// Subject of the instruction: `tooling`, `code_style`, `architecture`, `process` or `other`.
    pub category: String,
    /// Where the instruction applies: `session`, `project` or `global`.
    pub scope: String,
}

/// An approach that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approach {
    /// The approach in words.
    pub approach: String,
    /// Result of the approach: `success`, `failure` or `partial`.
    pub result: String,
    /// Reason why the approach was abandoned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abandoned_reason: Option<String>,
}

/// A kind of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ErrorClass {
    PlanningError,
    InterfaceMismatch,
    LogicError,
    ScopeCreep,
    GateEvasion,
}
