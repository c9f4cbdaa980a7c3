//! Evidence of checks in the two formats of `.swarm/evidence`: the bundle of a task
//! (`evidence/<id>/evidence.json`) and its gate record (`evidence/<id>.json`).

mod detail;
mod retrospective;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use detail::{
    BuildRun, Component, Detail, FileSyntax, Issue, PlaceholderFinding, QualityMetrics, Risk, SastFinding,
    SastLocation, Severity, SyntaxError, TestFailure, Violation,
};
pub use retrospective::{Approach, Directive, ErrorClass, Retrospective, TaskComplexity};

use crate::plan::SchemaVersion;
use crate::schema::JsonSchema;

/// Maximum size of `evidence.json`, in bytes.
pub const MAX_BUNDLE_BYTES: usize = 500 * 1024;

/// Maximum size of a patch file, in bytes.
pub const MAX_PATCH_BYTES: usize = 5 << 20;

/// Maximum size of the folder with one task's evidence, in bytes.
pub const MAX_TASK_FOLDER_BYTES: usize = 20 << 20;

/// Maximum number of entries in a bundle; the oldest are removed first.
pub const MAX_ENTRIES: usize = 100;

/// Ids of tools that may stand in place of a task's id.
pub const TOOL_IDS: [&str; 7] =
    ["sast_scan", "quality_budget", "syntax_check", "placeholder_scan", "sbom_generate", "build", "secretscan"];

/// All evidence about one task, phase or tool. Who only adds to it reads its entries as texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bundle<E = Entry> {
    /// Version of the schema, `"1.0.0"`.
    pub schema_version: SchemaVersion,
    /// Id of the task, `retro-N`, or a tool of [`TOOL_IDS`].
    pub task_id: String,
    /// Entries, oldest first, at most [`MAX_ENTRIES`].
    pub entries: Vec<E>,
    /// Time of the first entry (ISO 8601).
    pub created_at: String,
    /// Time of the last entry (ISO 8601).
    pub updated_at: String,
}

/// One piece of evidence. An entry with an unknown type or unknown fields is kept unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Entry {
    /// Evidence of a type in [`Detail`].
    Known(Box<Evidence>),
    /// Any other entry.
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
    /// Id of the task.
    pub task_id: String,
    /// Time of the evidence (ISO 8601).
    pub timestamp: String,
    /// Name of the agent that found it.
    pub agent: String,
    /// Verdict of the evidence.
    pub verdict: Verdict,
    /// One-sentence summary.
    pub summary: String,
    /// Additional data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Fields of the evidence's type.
    #[serde(flatten)]
    pub detail: Detail,
}

/// Verdict of a piece of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing is wrong.
    Pass,
    /// Something is wrong.
    Fail,
    /// Something may be wrong.
    Warn,
    /// Nothing was examined.
    Skip,
    /// A reviewer agrees.
    Approved,
    /// A reviewer disagrees.
    Rejected,
    /// For information.
    Info,
}

/// Which gates a task needs, and which have passed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GateRecord {
    /// Id of the task.
    #[serde(rename = "taskId")]
    pub task_id: String,
    /// Gates that the task needs, sorted.
    pub required_gates: Vec<String>,
    /// Gates that have passed.
    pub gates: BTreeMap<String, GateEvidence>,
    /// True if a faster mode was active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turbo: Option<bool>,
    /// Result of the search for TODO remarks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_scan: Option<Value>,
    /// Fields unknown to this version.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Which agent let a task pass a gate, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateEvidence {
    /// Session of the agent.
    #[serde(rename = "sessionId")]
    pub session_id: String,
    /// Time (ISO 8601).
    pub timestamp: String,
    /// Name of the agent.
    pub agent: String,
    /// Additional fields of a council.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}
