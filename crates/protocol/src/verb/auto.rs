//! The verb that decides the next action of a loop that runs a plan unit by unit.

use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::RunId;
use crate::plan::TaskId;
use crate::run::AutoTurn;
use crate::run::way::UnitId;
use crate::schema::JsonSchema;
use crate::time::Millis;

/// The plan of the loop.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextUnitRequest {
    /// Text of a plan.json or a plan.md.
    pub plan: String,
    /// Where the plan came from, for people.
    #[serde(default)]
    pub source: String,
    /// Id of the only unit to run; the whole plan by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<UnitId>,
    /// Branch or commit that the loop starts from, as `base` of `start_run`; by default what is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Number of the last turn before this loop began. After failures up to that turn the loop retries or asks a person where it would
    /// otherwise stop. By default the number of the last turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u32>,
}

/// Next action of the loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Start a unit: `start_run` with this scope and turn, or `retry_task` if a run is named.
    Start(NextStart),
    /// Wait for a current run, or until a time.
    Wait {
        /// Id of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// Time at which to continue.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Millis>,
        /// Reason in a sentence.
        why: String,
    },
    /// Ask a person whether to continue, and only then start this.
    Ask {
        /// The problem, in a sentence.
        why: String,
        /// What to start after an approval.
        start: NextStart,
    },
    /// Stop, because continuing would only cost money.
    Stop {
        /// Code of the error table.
        code: String,
        /// Reason in a sentence.
        why: String,
    },
    /// Every task of the plan that can be done is merged.
    Done,
}

/// What the loop starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextStart {
    /// Unit of the plan; `None` for the whole plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<UnitId>,
    /// Id of the run whose failed tasks are retried, instead of a new run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The turn, to be sent with the request.
    pub turn: AutoTurn,
}

/// The next action, with the state that it was decided from.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NextUnitReply {
    /// The next action.
    pub next: Next,
    /// Number of the last turn; 0 before the first.
    pub turns: u32,
    /// Tasks that earlier runs have merged into the start point of the next run.
    pub done: Vec<TaskId>,
    /// Run whose branch the next run starts from; `None` for the branch that is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<RunId>,
    /// Position in the log from which to follow a run.
    pub cursor: u64,
    /// Tasks that are left out because they, or tasks that they need, are marked as blocked or closed in the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<TaskId>,
}

verb! {
    /// Return the next action of a loop over a plan: start or retry a unit, wait, ask a person, or stop. Decided from the record alone;
    /// changes nothing.
    NextUnit = "next_unit", Read, Run, Found,
    NextUnitRequest => NextUnitReply
}
