//! What a loop that runs a plan unit by unit does next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::RunId;
use crate::plan::TaskId;
use crate::run::AutoTurn;
use crate::run::way::UnitId;
use crate::time::Millis;

/// Which plan.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextUnitRequest {
    /// The text of a plan.json or a plan.md.
    pub plan: String,
    /// Where it came from, for people.
    #[serde(default)]
    pub source: String,
    /// The only unit of the plan that is run; all of them by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<UnitId>,
    /// The branch or commit that the loop is begun at, as `base` of `start_run`; what is checked out by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The number of the last turn before this loop began: what was wrong until then is a person's doing to start again. Without it, that of the last turn
    /// that there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u32>,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Start a unit: `start_run` with this scope and turn, or `retry_task` where a run is named.
    Start(NextStart),
    /// Wait for a run that is at work, or until a time.
    Wait {
        /// Id of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// The time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Millis>,
        /// Reason in a sentence.
        why: String,
    },
    /// Ask a person whether to go on, and only then start this.
    Ask {
        /// What is wrong, in a sentence.
        why: String,
        /// What to start after a yes.
        start: NextStart,
    },
    /// Stop: going on would only cost.
    Stop {
        /// Code of the error table.
        code: String,
        /// Reason in a sentence.
        why: String,
    },
    /// Every task of the plan that can be done is merged.
    Done,
}

/// What is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextStart {
    /// The part of the plan; `None` is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<UnitId>,
    /// The run whose failed tasks are tried again, instead of a new run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The turn, which belongs into the request.
    pub turn: AutoTurn,
}

/// What to do next, and what that follows from.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NextUnitReply {
    /// What to do.
    pub next: Next,
    /// The number of the last turn that there is; 0 before the first.
    pub turns: u32,
    /// Tasks that earlier runs have merged into what the next run begins at.
    pub done: Vec<TaskId>,
    /// The run whose branch the next run begins at; `None` for the branch that is checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<RunId>,
    /// Position in the log: follow a run from here.
    pub cursor: u64,
    /// Tasks that are left out because the plan marks them, or what they need, as blocked or closed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<TaskId>,
}

verb! {
    /// Say what a loop over a plan does next: start or retry a unit, wait, ask a person, stop, or nothing. Follows from the record alone and changes nothing.
    NextUnit = "next_unit", Read, Run, Found,
    NextUnitRequest => NextUnitReply
}
