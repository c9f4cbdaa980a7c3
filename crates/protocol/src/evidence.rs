//! Evidence of what was checked, in the two formats of `.swarm/evidence`: the bundle of a task
//! (`evidence/<id>/evidence.json`) and its gate record (`evidence/<id>.json`).

mod detail;
mod retrospective;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use detail::{
    BuildRun, Component, Detail, FileSyntax, Issue, PlaceholderFinding, QualityMetrics, Risk, SastFinding,
    SastLocation, Severity, SyntaxError, TestFailure, Violation,
};
pub use retrospective::{Approach, Directive, ErrorClass, Retrospective, TaskComplexity};

use crate::plan::SchemaVersion;

/// Largest `evidence.json` in bytes.
pub const MAX_BUNDLE_BYTES: usize = 500 * 1024;

/// Largest patch file in bytes.
pub const MAX_PATCH_BYTES: usize = 5 << 20;

/// Largest folder of one task's evidence in bytes.
pub const MAX_TASK_FOLDER_BYTES: usize = 20 << 20;

/// Entries that a bundle keeps; the oldest go first.
pub const MAX_ENTRIES: usize = 100;

/// Days after which a bundle may be archived.
pub const MAX_AGE_DAYS: u32 = 90;

/// Bundles that a project keeps.
pub const MAX_BUNDLES: usize = 1_000;

/// Ids of tools that may stand in place of a task's.
pub const TOOL_IDS: [&str; 7] =
    ["sast_scan", "quality_budget", "syntax_check", "placeholder_scan", "sbom_generate", "build", "secretscan"];

/// All evidence about one task, phase or tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bundle {
    /// `"1.0.0"`.
    pub schema_version: SchemaVersion,
    /// The task, `retro-N`, or a tool of [`TOOL_IDS`].
    pub task_id: String,
    /// Oldest first, at most [`MAX_ENTRIES`].
    pub entries: Vec<Entry>,
    /// When the first entry was written (ISO 8601).
    pub created_at: String,
    /// When the last entry was written.
    pub updated_at: String,
}

/// One piece of evidence, or one with a type or fields that this version doesn't know, kept as it was.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Entry {
    /// A type of [`Detail`].
    Known(Box<Evidence>),
    /// Anything else.
    Other(Map<String, Value>),
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let whole = Value::Object(Map::deserialize(deserializer)?);
        let known = Evidence::deserialize(&whole).ok();
        let lossless = |known: &Evidence| serde_json::to_value(known).is_ok_and(|again| again == whole);
        match (known.filter(lossless), whole) {
            (Some(known), _) => Ok(Self::Known(Box::new(known))),
            (None, Value::Object(fields)) => Ok(Self::Other(fields)),
            (None, _) => Err(serde::de::Error::custom("expected an object")),
        }
    }
}

/// One piece of evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Which task.
    pub task_id: String,
    /// When (ISO 8601).
    pub timestamp: String,
    /// Who found it.
    pub agent: String,
    /// What it comes to.
    pub verdict: Verdict,
    /// In a sentence.
    pub summary: String,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// What the type adds.
    #[serde(flatten)]
    pub detail: Detail,
}

/// What a piece of evidence comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing is wrong.
    Pass,
    /// Something is.
    Fail,
    /// Something may be.
    Warn,
    /// It was not looked at.
    Skip,
    /// A reviewer agrees.
    Approved,
    /// A reviewer doesn't.
    Rejected,
    /// For information.
    Info,
}

/// Which gates a task needs, and which have passed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GateRecord {
    /// Which task.
    #[serde(rename = "taskId")]
    pub task_id: String,
    /// Gates that it needs, sorted.
    pub required_gates: Vec<String>,
    /// Gates that have passed.
    pub gates: BTreeMap<String, GateEvidence>,
    /// Whether a faster mode was on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turbo: Option<bool>,
    /// Result of the search for open remarks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_scan: Option<Value>,
    /// Fields that this version doesn't know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Who let a task pass a gate, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateEvidence {
    /// The session of the agent.
    #[serde(rename = "sessionId")]
    pub session_id: String,
    /// When (ISO 8601).
    pub timestamp: String,
    /// Who.
    pub agent: String,
    /// What a council adds.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
