//! The daemon and its record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::run::RunSummary;
use super::verb;
use crate::event::{Event, ReadFrom};
use crate::id::{AgentName, Digest};
use crate::time::Millis;

/// Nothing to say.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetStatusRequest {}

/// How everything is, what needs you first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GetStatusReply {
    /// The daemon's version.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// When it became ready.
    pub started_at: Millis,
    /// Root of the repository.
    pub root: String,
    /// State folder.
    pub state_folder: String,
    /// Where the loopback HTTP server listens.
    pub http: String,
    /// Last event.
    pub lsn: u64,
    /// What was noted of the record and is not in it: a loss until a person has accepted it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// Open questions to a person, counted to 1,000.
    pub needs: u64,
    /// Registered agents.
    pub agents: u64,
    /// Unacknowledged messages.
    pub unread: u64,
    /// Messages that came to nothing and wait for a person; they are among `needs`.
    #[serde(default)]
    pub dead: u64,
    /// Agents that have not seen mail for more than ten minutes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<UnseenMail>,
    /// Workers of live runs that the daemon watches.
    #[serde(default)]
    pub workers: u64,
    /// How many of them have their shim connected. After a restart of the daemon fewer, until it has adopted all.
    #[serde(default)]
    pub connected: u64,
    /// Runs, newest first, at most 20.
    pub runs: Vec<RunSummary>,
}

/// Mail that its recipient has not seen for more than ten minutes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnseenMail {
    /// Whose.
    pub agent: AgentName,
    /// How many messages, counted up to 100.
    pub count: u64,
    /// Since when the oldest one waits.
    pub since: Millis,
}

verb! {
    /// Show how everything is: open questions, runs and their tasks, agents, mail.
    GetStatus = "get_status", Read, Status, Listed,
    GetStatusRequest => GetStatusReply
}

/// Nothing to say.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetCallerRequest {}

/// What the daemon takes the caller for.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GetCallerReply {
    /// The name under which its calls are recorded.
    pub name: AgentName,
    /// `person`, `worker` or `agent`.
    pub kind: String,
    /// Whether a person is there to decide: in front of a terminal, in a page session, or in a CI session that was told `--yes`.
    pub is_present: bool,
    /// How the daemon knows.
    pub known_by: String,
}

verb! {
    /// Say what the daemon takes the caller for, and how it knows.
    GetCaller = "get_caller", Read, Status, Found,
    GetCallerRequest => GetCallerReply
}

/// Which events.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadEventsRequest {
    /// Events after this place: the cursor of the last answer, a number, `start` (unless said otherwise) or `now`.
    #[serde(default)]
    pub after: ReadFrom,
    /// Only of these kinds; all when empty.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// Only of subjects that begin with this.
    #[serde(default)]
    pub subject: String,
    /// At most so many, 100 by default, 1000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Wait so many milliseconds for a first event when there is none yet; 30,000 at most.
    #[serde(default)]
    pub wait_ms: u64,
    /// Send bodies along.
    #[serde(default)]
    pub with_bodies: bool,
}

/// Events, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReadEventsReply {
    /// The events.
    pub events: Vec<Event>,
    /// Pass this as `after` to read on: all up to here was looked at.
    pub cursor: String,
    /// Last position of the log.
    pub head: u64,
}

verb! {
    /// Read the event log from a position, waiting a little for the next event if asked to.
    ReadEvents = "read_events", Read, Oversee, Found,
    ReadEventsRequest => ReadEventsReply
}

/// Nothing to say.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyLogRequest {}

/// What the verification found.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct VerifyLogReply {
    /// Whether everything fits.
    pub is_intact: bool,
    /// `hash chain verified`, or what is wrong and with which event.
    pub summary: String,
    /// Events looked at.
    pub events: u64,
    /// Hash of the last one.
    pub head: Digest,
    /// Details of what is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

verb! {
    /// Verify the record: every event's hash, every body, and the state that follows from them.
    VerifyLog = "verify_log", Read, Inspect, Found,
    VerifyLogRequest => VerifyLogReply
}

/// Where to.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportLogRequest {
    /// Absolute path: of a file that does not exist yet, or of an earlier one of this record, which is replaced.
    pub path: String,
}

/// The export.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExportLogReply {
    /// Where it lies: JSON lines.
    pub path: String,
    /// Events in it.
    pub events: u64,
    /// Hash of the last one.
    pub head: Digest,
}

verb! {
    /// Write the whole record as JSON lines, which `switchboard verify FILE` checks without a daemon.
    ExportLog = "export_log", Read, Record, Never,
    ExportLogRequest => ExportLogReply
}

/// Nothing to say.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignHeadRequest {}

/// The signed head.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SignHeadReply {
    /// DSSE envelope around the statement of the log's length, its last hash and its Merkle root.
    pub envelope: Value,
    /// The public key in hex, to be kept where the machine can't change it.
    pub public_key: String,
}

verb! {
    /// Sign the record's head (its length, last hash and Merkle root) and record that.
    SignHead = "sign_head", Synced, Record, Found,
    SignHeadRequest => SignHeadReply
}

/// How to end.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShutdownRequest {
    /// Leave the workers at work for the next daemon (`restart`) instead of stopping them (`down`).
    #[serde(default)]
    pub keep_workers: bool,
}

/// The daemon ends after this answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShutdownReply {
    /// Its process id, so that the caller can see it go.
    pub pid: u32,
    /// Workers that were left at work.
    pub workers: u64,
}

verb! {
    /// End the daemon, stopping its workers unless told to leave them.
    Shutdown = "shutdown", Read, Admin, Never,
    ShutdownRequest => ShutdownReply
}

/// Nothing to say.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSessionCodeRequest {}

/// A code that opens one session over HTTP.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CreateSessionCodeReply {
    /// The code.
    pub code: String,
    /// Where it is exchanged: `POST` an object with it as `code`.
    pub url: String,
    /// When it is worth nothing any more.
    pub expires_at: Millis,
}

verb! {
    /// Make a one-time code with which a page opens a session of the person who calls.
    CreateSessionCode = "create_session_code", Read, Approve, Never,
    CreateSessionCodeRequest => CreateSessionCodeReply
}
