//! The batch before a review.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::verb;
use super::files::Files;

/// What to check.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreCheckBatchRequest {
    /// The changed files; everything that differs from the base when left out.
    #[serde(default, alias = "changed_files")]
    pub files: Files,
    /// Folder of the project.
    #[serde(default, alias = "working_directory", skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Lowest severity at which `sast_scan` blocks: `high` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sast_threshold: Option<String>,
    /// The phase that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u64>,
    /// `enforce` (default), or `warn` to let `quality_budget` be exceeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality_policy: Option<String>,
    /// Parts that must have looked, such as `["lint"]`; one that did not then refuses.
    #[serde(default)]
    pub required_parts: super::words::Words,
    /// `false` keeps the repository's own linter from being run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_run_commands: Option<bool>,
    /// Revision that old findings are told from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// How a part of the batch came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartState {
    /// It looked and does not refuse.
    Passed,
    /// It looked and refuses.
    Failed,
    /// Nobody said how to do it, or this version does not have it: it neither passed nor refuses.
    NotConfigured,
    /// There was nothing for it to look at.
    Skipped,
    /// It should have looked and could not: it refuses.
    Error,
}

impl PartState {
    /// Whether the batch is refused because of the part.
    #[must_use]
    pub const fn refuses(self) -> bool {
        match self {
            Self::Failed | Self::Error => true,
            Self::Passed | Self::NotConfigured | Self::Skipped => false,
        }
    }
}

/// One part of the batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Whether it looked at all.
    pub ran: bool,
    /// How it came out.
    pub state: PartState,
    /// Whether it looked and does not refuse; false for a part that did not look.
    pub passed: bool,
    /// What it says, in the form of its own verb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it did not look, or could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
}

/// What the batch says.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PreCheckBatchReply {
    /// At least one part looked, and none refuses. Nothing to check is no pass.
    pub gates_passed: bool,
    /// `pass` where all parts looked, `incomplete` where none refuses but some did not look, `fail`, or `nothing_to_check`.
    pub status: String,
    /// In a sentence.
    pub message: String,
    /// The repository's linter.
    pub lint: Part,
    /// Secrets.
    pub secretscan: Part,
    /// Weaknesses.
    pub sast_scan: Part,
    /// Thresholds of simplicity.
    pub quality_budget: Part,
    /// Parts that did not look.
    pub not_available: Vec<String>,
    /// Wall time; the parts run side by side.
    pub total_duration_ms: u64,
    /// Weaknesses that the base had already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sast_preexisting_findings: Option<Value>,
}

verb! {
    /// Run lint, secretscan, sast_scan and quality_budget over the changed files at once; none of them may refuse.
    PreCheckBatch = "pre_check_batch", Read, Build, Found,
    PreCheckBatchRequest => PreCheckBatchReply
}
