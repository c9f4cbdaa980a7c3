//! Verbs about the daemon and its record.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::run::RunSummary;
use super::verb;
use crate::event::{Event, ReadFrom};
use crate::id::{AgentName, Digest};
use crate::schema::JsonSchema;
use crate::time::Millis;

/// Request without arguments.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetStatusRequest {}

/// State of everything; what needs you comes first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GetStatusReply {
    /// Version of the daemon.
    pub version: String,
    /// Process id of the daemon.
    pub pid: u32,
    /// Time at which it became ready.
    pub started_at: Millis,
    /// Root of the repository.
    pub root: String,
    /// State folder.
    pub state_folder: String,
    /// Address of the loopback HTTP server.
    pub http: String,
    /// Number of the last event.
    pub lsn: u64,
    /// Events that were noted outside of the record and are missing from it: a loss until a person has accepted it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// Number of open questions to a person, counted to 1,000.
    pub needs: u64,
    /// Number of registered agents.
    pub agents: u64,
    /// Number of unacknowledged messages.
    pub unread: u64,
    /// Number of undeliverable messages that wait for a person; they are among `needs`.
    #[serde(default)]
    pub dead: u64,
    /// Agents with mail that they have not seen for more than ten minutes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<UnseenMail>,
    /// Number of workers of live runs that the daemon watches.
    #[serde(default)]
    pub workers: u64,
    /// Number of those whose shim is connected. After a restart of the daemon it is lower until all are adopted.
    #[serde(default)]
    pub connected: u64,
    /// Runs, newest first, at most 20.
    pub runs: Vec<RunSummary>,
}

/// Mail that its recipient has not seen for more than ten minutes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnseenMail {
    /// Name of the agent.
    pub agent: AgentName,
    /// Number of messages, counted up to 100.
    pub count: u64,
    /// Time since which the oldest one waits.
    pub since: Millis,
}

verb! {
    /// Show the state of everything: open questions, runs and their tasks, agents, mail.
    GetStatus = "get_status", Read, Status, Listed,
    GetStatusRequest => GetStatusReply
}

/// Request without arguments.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetCallerRequest {}

/// The caller as the daemon identified it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GetCallerReply {
    /// Name under which its calls are recorded.
    pub name: AgentName,
    /// Kind: `person`, `worker` or `agent`.
    pub kind: String,
    /// True if a person is there to decide: in front of a terminal, in a page session, or in a CI session that was started with `--yes`.
    pub is_present: bool,
    /// How the caller was identified.
    pub known_by: String,
}

verb! {
    /// Return how the daemon identified the caller.
    GetCaller = "get_caller", Read, Status, Found,
    GetCallerRequest => GetCallerReply
}

/// Events to read.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadEventsRequest {
    /// Position after which to read: the cursor of the last reply, a number, `start` (the default) or `now`.
    #[serde(default)]
    pub after: ReadFrom,
    /// Only these kinds; all if empty.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// Only subjects that begin with this text.
    #[serde(default)]
    pub subject: String,
    /// Maximum number of events: 100 by default, 1000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Maximum wait for a first event if there is none yet, in milliseconds; 30,000 at most.
    #[serde(default)]
    pub wait_ms: u64,
    /// Whether to include bodies.
    #[serde(default)]
    pub with_bodies: bool,
}

/// Events, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReadEventsReply {
    /// Events that were read.
    pub events: Vec<Event>,
    /// Pass this as `after` to read on; all events up to it were examined.
    pub cursor: String,
    /// Last position of the log.
    pub head: u64,
}

verb! {
    /// Read the event log from a position, optionally waiting a little for the next event.
    ReadEvents = "read_events", Read, Oversee, Found,
    ReadEventsRequest => ReadEventsReply
}

/// Request without arguments.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyLogRequest {}

/// Result of the verification.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct VerifyLogReply {
    /// True if the record has no fault.
    pub is_intact: bool,
    /// `hash chain verified`, or the fault and its event.
    pub summary: String,
    /// Number of events examined.
    pub events: u64,
    /// Hash of the last event.
    pub head: Digest,
    /// Details of the faults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

verb! {
    /// Verify the record: every event's hash, every body, and the state that follows from them.
    VerifyLog = "verify_log", Read, Inspect, Found,
    VerifyLogRequest => VerifyLogReply
}

/// Target of the export.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportLogRequest {
    /// Absolute path of a file that does not exist yet, or of an earlier export of this record, which is replaced.
    pub path: String,
}

/// The export.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExportLogReply {
    /// Path of the export, in JSON lines.
    pub path: String,
    /// Number of events.
    pub events: u64,
    /// Hash of the last event.
    pub head: Digest,
}

verb! {
    /// Write the whole record as JSON lines, which `switchboard verify FILE` checks without a daemon.
    ExportLog = "export_log", Read, Record, Never,
    ExportLogRequest => ExportLogReply
}

/// Request without arguments.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignHeadRequest {}

/// The signed head.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SignHeadReply {
    /// DSSE envelope around the statement of the log's length, its last hash and its Merkle root.
    pub envelope: Value,
    /// Public key in hex, to be kept where this machine can't change it.
    pub public_key: String,
}

verb! {
    /// Sign the record's head (its length, last hash and Merkle root) and record that.
    SignHead = "sign_head", Synced, Record, Found,
    SignHeadRequest => SignHeadReply
}

/// How the daemon ends.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShutdownRequest {
    /// Whether to leave the workers running for the next daemon (`restart`) instead of stopping them (`down`).
    #[serde(default)]
    pub keep_workers: bool,
}

/// The daemon, which ends after this reply.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShutdownReply {
    /// Process id of the daemon, so that the caller can wait for its end.
    pub pid: u32,
    /// Number of workers that were left running.
    pub workers: u64,
}

verb! {
    /// End the daemon, stopping its workers unless told to leave them.
    Shutdown = "shutdown", Read, Admin, Never,
    ShutdownRequest => ShutdownReply
}

/// Request without arguments.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSessionCodeRequest {}

/// A code that opens one session over HTTP.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CreateSessionCodeReply {
    /// The code.
    pub code: String,
    /// URL at which it is exchanged: `POST` an object with it as `code`.
    pub url: String,
    /// Time at which the code expires.
    pub expires_at: Millis,
}

verb! {
    /// Create a one-time code with which a page opens a session of the calling person.
    CreateSessionCode = "create_session_code", Read, Approve, Never,
    CreateSessionCodeRequest => CreateSessionCodeReply
}
