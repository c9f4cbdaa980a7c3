//! The batch of checks before a review.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::verb;
use super::files::Files;
use crate::schema::JsonSchema;

/// Files to check.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreCheckBatchRequest {
    /// Changed files; by default everything that differs from the base.
    #[serde(default, alias = "changed_files")]
    pub files: Files,
    /// Folder of the project.
    #[serde(default, alias = "working_directory", skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Lowest severity at which `sast_scan` blocks; `high` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sast_threshold: Option<String>,
    /// Number of the phase that the batch is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u64>,
    /// `enforce` (default), or `warn` to let `quality_budget` be exceeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality_policy: Option<String>,
    /// Parts that must run, such as `["lint"]`; if one of them can't run, it refuses.
    #[serde(default)]
    pub required_parts: super::words::Words,
    /// False to not run the repository's own linter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_run_commands: Option<bool>,
    /// Revision to compare findings with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// State of a part of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartState {
    /// The part ran and does not refuse.
    Passed,
    /// The part ran and refuses.
    Failed,
    /// The part has no configuration, or this version does not have it: it neither passed nor refuses.
    NotConfigured,
    /// The part had nothing to check.
    Skipped,
    /// The part should have run and could not: it refuses.
    Error,
}

impl PartState {
    /// Returns true if the batch is refused because of the part.
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
    /// True if the part ran at all.
    pub ran: bool,
    /// State of the part.
    pub state: PartState,
    /// True if the part ran and does not refuse.
    pub passed: bool,
    /// Result of the part, in the form of its own verb.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Reason why the part did not or could not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// Result of the batch.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PreCheckBatchReply {
    /// True if at least one part ran and none refuses. With nothing to check it is false.
    pub gates_passed: bool,
    /// `pass` if all parts ran, `incomplete` if none refuses but some did not run, `fail`, or `nothing_to_check`.
    pub status: String,
    /// One-sentence summary.
    pub message: String,
    /// Part `lint`: the repository's linter.
    pub lint: Part,
    /// Part `secretscan`: secrets.
    pub secretscan: Part,
    /// Part `sast_scan`: security weaknesses.
    pub sast_scan: Part,
    /// Part `quality_budget`: limits of complexity.
    pub quality_budget: Part,
    /// Names of the parts that did not run.
    pub not_available: Vec<String>,
    /// Wall time in milliseconds; the parts run in parallel.
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
