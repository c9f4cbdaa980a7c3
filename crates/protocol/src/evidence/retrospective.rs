//! What a phase taught.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A look back at a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Retrospective {
    /// Which phase, 1 to 99.
    pub phase_number: u32,
    /// At most 9999.
    pub total_tool_calls: u32,
    /// How often a coder had to try again, at most 999.
    pub coder_revisions: u32,
    /// At most 999.
    pub reviewer_rejections: u32,
    /// At most 9999.
    pub test_failures: u32,
    /// At most 999.
    pub security_findings: u32,
    /// At most 999.
    pub integration_issues: u32,
    /// At most 9999.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loop_detections: Option<u32>,
    /// At most 9999.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit_breaker_trips: Option<u32>,
    /// How many tasks the phase had, 1 to 9999.
    pub task_count: u32,
    /// How hard they were.
    pub task_complexity: TaskComplexity,
    /// Why changes were rejected most.
    #[serde(default)]
    pub top_rejection_reasons: Vec<String>,
    /// What to remember, at most 5.
    #[serde(default)]
    pub lessons_learned: Vec<String>,
    /// What the user said should hold from now on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_directives: Vec<Directive>,
    /// What was tried, at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approaches_tried: Vec<Approach>,
    /// What kinds of errors were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub error_taxonomy: Vec<ErrorClass>,
}

/// How hard the tasks of a phase were. The older words low, medium and high are read as simple, moderate and complex.
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

/// What the user said should hold from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Directive {
    /// In words.
    pub directive: String,
    /// `tooling`, `code_style`, `architecture`, `process` or `other`.
    pub category: String,
    /// `session`, `project` or `global`.
    pub scope: String,
}

/// Something that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approach {
    /// What.
    pub approach: String,
    /// `success`, `failure` or `partial`.
    pub result: String,
    /// Why it was given up.
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
