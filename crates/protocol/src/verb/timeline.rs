//! The verb that shows the timeline of a run: events with their duration, cost and cause.

use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::{RunId, WorkerId};
use crate::plan::TaskId;
use crate::schema::JsonSchema;
use crate::time::Millis;

/// Maximum number of entries on one page, without those of workers' turns and questions.
pub const MAX_ENTRIES: u32 = 1_000;

/// Default number of entries on one page.
pub const DEFAULT_ENTRIES: u32 = 200;

/// Maximum number of turns and questions that are shown for one worker.
pub const MAX_TURNS: usize = 100;

/// Kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimelineKind {
    /// A turn of the loop that runs a plan unit by unit.
    LoopTurn,
    /// The run itself, from its dispatch to its end.
    Run,
    /// A worker, from its start to the end of its attempt.
    Worker,
    /// A turn of a worker's agent.
    Turn,
    /// A question to a person.
    Question,
    /// A verdict of a gate.
    Gate,
    /// The plan's `lint_fix` command was run on a change.
    LintFix,
    /// A change was rebased onto what others have merged.
    Rebase,
    /// The merge of a change waits for files that another agent has reserved.
    Hold,
    /// A change was merged into the run's branch.
    Merge,
    /// A task ended without a separate merge.
    Task,
    /// A pause, resumption, stop or retry was requested, or a ceiling was reached.
    Control,
    /// The run's branch was merged into the user's, or that merge was undone.
    Branch,
}

/// State of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimelineState {
    /// In progress.
    Running,
    /// Ended successfully.
    Done,
    /// Ended without success.
    Failed,
    /// Interrupted, to be continued later.
    Paused,
    /// Stopped on request.
    Stopped,
    /// Left out.
    Skipped,
}

/// Cause of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimelineCause {
    /// The entry with this `id`.
    Entry(u64),
    /// A person or an agent, by name, or `daemon`.
    By(String),
}

/// An entry of a run's timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineEntry {
    /// Number of the event in the log that began it.
    pub id: u64,
    /// Time of its beginning.
    pub at: Millis,
    /// Time of its end; absent while it is in progress, and for entries without duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Millis>,
    /// Kind of the entry.
    pub what: TimelineKind,
    /// State of the entry.
    pub state: TimelineState,
    /// Id of its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Attempt number, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Id of its worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// Number of the agent's turn, or of the loop's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// Name of the run, agent, gate or branch, or of the request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Result or reason, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Cost in millionths of a US dollar; absent if no price was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Cause of the entry.
    pub caused_by: TimelineCause,
    /// Number of this worker's turns and questions that are left out, because it has more than 100.
    #[serde(default, skip_serializing_if = "crate::run::change::is_zero")]
    pub left_out: u32,
}

/// The run, and the page to show.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetTimelineRequest {
    /// Id of the run, or its beginning; the newest run by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Only entries after the one with this id: `next` of the page before.
    #[serde(default)]
    pub after: u64,
    /// Maximum number of entries, 1 to 1000, without the turns and questions of their workers; 200 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A page of a timeline.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GetTimelineReply {
    /// Id of the run.
    pub run: RunId,
    /// State of the run: `running`, `succeeded`, `failed`, `stopped`.
    pub state: String,
    /// Entries in order; those of a worker follow the worker. A current run is shown up to now.
    pub entries: Vec<TimelineEntry>,
    /// Value of `after` for the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

verb! {
    /// Show what happened in a run and why: dispatch, workers, their turns, gates, questions and merges, with durations and costs.
    GetTimeline = "get_timeline", Read, Run, Found,
    GetTimelineRequest => GetTimelineReply
}
