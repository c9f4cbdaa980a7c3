//! What the evidence of a run says about its gates.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::verb;
use super::words::Words;
use crate::evidence::GateEvidence;

/// Which task.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckGateStatusRequest {
    /// `1.2`, or `RUN/1.2`; the newest run when none is named.
    #[serde(alias = "taskId", alias = "task")]
    pub task_id: String,
    /// The repository; only this one can be asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
}

/// How far a task has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateStatus {
    /// Every gate that it needs has passed.
    AllPassed,
    /// One is missing or refused.
    Incomplete,
    /// No gate has spoken yet.
    NoEvidence,
}

/// What the last scan for secrets came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecretscanVerdict {
    /// None were found.
    Pass,
    /// Some were.
    Fail,
    /// Nobody looked.
    NotRun,
}

/// The gates of a task, from the same record that the run goes by.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CheckGateStatusReply {
    /// Which task.
    #[serde(rename = "taskId")]
    pub task_id: String,
    /// How far it has come.
    pub status: GateStatus,
    /// Gates that it needs.
    pub required_gates: Vec<String>,
    /// Those that have passed.
    pub passed_gates: Vec<String>,
    /// Those that have not.
    pub missing_gates: Vec<String>,
    /// Those that nobody said how to run: they neither pass nor refuse.
    #[serde(default)]
    pub not_configured: Vec<String>,
    /// Those that were skipped: the plan leaves them out, or the change has no file that they judge.
    #[serde(default)]
    pub skipped: Vec<String>,
    /// Who let it pass, and when.
    pub gates: BTreeMap<String, GateEvidence>,
    /// In a sentence.
    pub message: String,
    /// Open notes in the change; nothing where nobody looked.
    #[serde(default)]
    pub todo_scan: Option<serde_json::Value>,
    /// What the last scan for secrets came to.
    pub secretscan_verdict: SecretscanVerdict,
}

verb! {
    /// Say which gates a task has passed and which are missing.
    CheckGateStatus = "check_gate_status", Read, Run, Found,
    CheckGateStatusRequest => CheckGateStatusReply
}

/// Which evidence.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceCheckRequest {
    /// Types that every finished task needs, such as `secretscan,syntax`; the gates of each task when left out.
    #[serde(default)]
    pub required_types: Words,
    /// Which tasks, with `*` as a wildcard; all when left out.
    #[serde(default, alias = "task", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Its id or the beginning of it; the newest run when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// A finished task that lacks evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceGap {
    /// Which task.
    pub task_id: String,
    /// What it is.
    pub task_name: String,
    /// Types that it lacks.
    pub missing: Vec<String>,
    /// Types that it has.
    pub present: Vec<String>,
}

/// Whether finished tasks have their evidence.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceCheckReply {
    /// Tasks that are finished.
    pub completed_tasks: Vec<String>,
    /// Those that have all that they need.
    pub tasks_with_full_evidence: Vec<String>,
    /// Share of the finished tasks that do, 0 to 1; nothing where no task is finished.
    pub completeness: Option<f64>,
    /// What was asked for.
    pub required_types: Vec<String>,
    /// The others.
    pub gaps: Vec<EvidenceGap>,
}

verb! {
    /// Check that every finished task of a run has the evidence that it needs.
    EvidenceCheck = "evidence_check", Read, Inspect, Found,
    EvidenceCheckRequest => EvidenceCheckReply
}
