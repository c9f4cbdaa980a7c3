//! The timeline of a run: what happened, how long it took, what it cost, and what made it happen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::{RunId, WorkerId};
use crate::plan::TaskId;
use crate::time::Millis;

/// Most entries of one page, those of workers' turns and questions left out.
pub const MAX_ENTRIES: u32 = 1_000;

/// Entries of one page where the request says nothing.
pub const USUAL_ENTRIES: u32 = 200;

/// Most turns and questions that are shown of one worker.
pub const MAX_TURNS: usize = 100;

/// What an entry is about.
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
    /// The verdict of a gate.
    Gate,
    /// The plan's `lint_fix` command was run on a change.
    LintFix,
    /// A change was put on top of what others have merged.
    Rebase,
    /// The merge of a change waits for files that somebody else has reserved.
    Hold,
    /// A change is merged into the run's branch.
    Merge,
    /// A task ended without a merge of its own.
    Task,
    /// Somebody paused, resumed, stopped or tried again, or a ceiling was reached.
    Control,
    /// The run's branch is merged into the user's, or that is taken back.
    Branch,
}

/// How what an entry is about stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimelineState {
    /// It goes on.
    Running,
    /// It ended well.
    Done,
    /// It ended otherwise.
    Failed,
    /// It was interrupted and goes on later.
    Paused,
    /// Somebody ended it.
    Stopped,
    /// It was left out.
    Skipped,
}

/// What made an entry happen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimelineCause {
    /// The entry with this `id`.
    Entry(u64),
    /// A person or an agent, or `daemon`.
    By(String),
}

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineEntry {
    /// The number of the event that began it in the log.
    pub id: u64,
    /// When it began.
    pub at: Millis,
    /// When it ended; absent while it goes on, and for what has no length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Millis>,
    /// What it is about.
    pub what: TimelineKind,
    /// How that stands.
    pub state: TimelineState,
    /// Its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Its attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Its worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// The number of the agent's turn, or of the loop's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The run, its agent, its gate, its branch, or what was asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How it ended or why, in a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What it cost, in millionths of a US dollar; absent where nobody named a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// What made it happen.
    pub caused_by: TimelineCause,
    /// Turns and questions of this worker that are left out, since it has more than 100.
    #[serde(default, skip_serializing_if = "crate::run::change::is_zero")]
    pub left_out: u32,
}

/// Of which run, and from where.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetTimelineRequest {
    /// Its id or the beginning of it; the newest run when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Entries after the one with this id: `next` of the page before.
    #[serde(default)]
    pub after: u64,
    /// At most so many entries, 1 to 1000, beside the turns and questions of their workers; 200 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A page of a timeline.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GetTimelineReply {
    /// Id of the run.
    pub run: RunId,
    /// Its state: `running`, `succeeded`, `failed`, `stopped`.
    pub state: String,
    /// What happened, in order; what a worker did comes behind the worker. A run that goes on is shown as far as it is.
    pub entries: Vec<TimelineEntry>,
    /// Where the next page begins, if there is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

verb! {
    /// Show what happened in a run, with what caused it: dispatch, workers, their turns, gates, questions and merges, with durations and costs.
    GetTimeline = "get_timeline", Read, Run, Found,
    GetTimelineRequest => GetTimelineReply
}
