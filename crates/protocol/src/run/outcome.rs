//! How a turn, a step and a run end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an agent's turn ended. What the agent claims; the tree and the gates decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// It says that it is done.
    Finished,
    /// It gave up, or its command failed.
    Failed,
    /// It was told to stop, by a person or because the daemon was gone for too long.
    Stopped,
    /// It won't do it.
    Refused,
    /// It was stopped at the task's time limit.
    TimedOut,
    /// It was interrupted because the run is paused: the same attempt goes on in the same tree later.
    Paused,
    /// Its service wants its clients to wait: the same attempt goes on in the same tree after that.
    RateLimited,
    /// Its model can't be reached for now: the same attempt goes on in the same tree, with a fallback model or the same one later.
    ModelFailed,
}

/// What a person says about a task whose worker ended without what it was denied, or about a change that waits for a yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PersonAnswer {
    /// It is allowed: the next worker of the task gets it without asking, or the change goes on to its merge.
    Allow,
    /// Another worker is to try again, without what was denied or with the change done differently.
    Retry,
    /// The task is blocked.
    GiveUp,
    /// Nobody answered in time: as `GiveUp`.
    Expired,
    /// The task was stopped meanwhile.
    Withdrawn,
}

/// What a step came to; for a gate, what it says about one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It found nothing.
    Pass,
    /// It found something that doesn't refuse the change.
    Warn,
    /// It refuses the change.
    Fail,
    /// It could not judge, so it has not passed.
    Error,
    /// It was left out, by the plan or because it doesn't apply.
    Skipped,
    /// Nobody said how to run it: it neither passes nor refuses, and is shown.
    NotConfigured,
    /// No answer came in time.
    NoReply,
}

impl Verdict {
    /// Whether a change with this verdict of a gate may not be merged.
    #[must_use]
    pub const fn refuses(self) -> bool {
        match self {
            Self::Fail | Self::Error | Self::NoReply => true,
            Self::Pass | Self::Warn | Self::Skipped | Self::NotConfigured => false,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// Every task is merged.
    Succeeded,
    /// Some task is blocked, or can't start because of one that is.
    Failed,
    /// Some task was stopped, and none is blocked.
    Stopped,
}
