//! Verbs that read the evidence of a run about its gates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::verb;
use super::words::Words;
use crate::evidence::GateEvidence;
use crate::schema::JsonSchema;

/// The task to look up.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckGateStatusRequest {
    /// Id of the task: `1.2` of the newest run, or `RUN/1.2`.
    #[serde(alias = "taskId", alias = "task")]
    pub task_id: String,
    /// Path of the repository; only this one is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// State of a task's gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateStatus {
    /// Every required gate that judged the present attempt has passed, and at least one did.
    AllPassed,
    /// At least one required gate is missing or refused.
    Incomplete,
    /// No gate has judged the present attempt: none has reported, or all that have were skipped or are not configured.
    NoEvidence,
}

/// Result of the last scan for secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecretscanVerdict {
    /// No secrets were found.
    Pass,
    /// Secrets were found.
    Fail,
    /// No scan was made.
    NotRun,
}

/// The gates of a task, from the same record that the run uses.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CheckGateStatusReply {
    /// Id of the task.
    #[serde(rename = "taskId")]
    pub task_id: String,
    /// State of the task's gates.
    pub status: GateStatus,
    /// Gates that the task needs.
    pub required_gates: Vec<String>,
    /// Required gates that have passed.
    pub passed_gates: Vec<String>,
    /// Required gates that have not passed.
    pub missing_gates: Vec<String>,
    /// Gates without configuration: they neither pass nor refuse.
    #[serde(default)]
    pub not_configured: Vec<String>,
    /// Gates that were skipped: the plan leaves them out, or the change has no file that they judge.
    #[serde(default)]
    pub skipped: Vec<String>,
    /// Which agent let the task pass each gate, and when.
    pub gates: BTreeMap<String, GateEvidence>,
    /// One-sentence summary.
    pub message: String,
    /// Open notes in the change; none if no scan was made.
    #[serde(default)]
    pub todo_scan: Option<serde_json::Value>,
    /// Result of the last scan for secrets.
    pub secretscan_verdict: SecretscanVerdict,
}

verb! {
    /// Return which gates a task has passed and which are missing.
    CheckGateStatus = "check_gate_status", Read, Run, Found,
    CheckGateStatusRequest => CheckGateStatusReply
}

/// Evidence to check.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceCheckRequest {
    /// Types that every finished task needs, such as `secretscan,syntax`; by default the gates of each task.
    #[serde(default)]
    pub required_types: Words,
    /// Id of the task, with `*` as a wildcard; all tasks by default.
    #[serde(default, alias = "task", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Id of the run, or its beginning; the newest run by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// A finished task that lacks evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceGap {
    /// Id of the task.
    pub task_id: String,
    /// Description of the task.
    pub task_name: String,
    /// Types that are missing.
    pub missing: Vec<String>,
    /// Types that are present.
    pub present: Vec<String>,
}

/// Whether finished tasks have their evidence.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceCheckReply {
    /// Ids of the finished tasks.
    pub completed_tasks: Vec<String>,
    /// Ids of the finished tasks with all required evidence.
    pub tasks_with_full_evidence: Vec<String>,
    /// Share of the finished tasks with all required evidence, 0 to 1; none if no task is finished.
    pub completeness: Option<f64>,
    /// Required types of the request.
    pub required_types: Vec<String>,
    /// Finished tasks that lack evidence.
    pub gaps: Vec<EvidenceGap>,
}

verb! {
    /// Check that every finished task of a run has the evidence that it needs.
    EvidenceCheck = "evidence_check", Read, Inspect, Found,
    EvidenceCheckRequest => EvidenceCheckReply
}
