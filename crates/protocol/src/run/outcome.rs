//! Outcomes of turns, steps and runs.

use serde::{Deserialize, Serialize};

use crate::schema::JsonSchema;

/// Outcome of an agent's turn as the agent reports it; the tree and the gates decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// The agent reported that it is done.
    Finished,
    /// The agent gave up, or its command failed.
    Failed,
    /// The agent was stopped, by a person or because the daemon was gone for too long.
    Stopped,
    /// The agent refused the task.
    Refused,
    /// The agent was stopped at the task's time limit.
    TimedOut,
    /// The turn was interrupted because the run is paused: the same attempt continues in the same tree later.
    Paused,
    /// The agent's service asked clients to wait: the same attempt continues in the same tree after that.
    RateLimited,
    /// The agent's model is temporarily unavailable: the same attempt continues in the same tree, with a fallback model or later with the
    /// same one.
    ModelFailed,
}

/// A person's answer about a task whose worker ended without a permission that was denied, or about a change that needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PersonAnswer {
    /// Approved: the next worker of the task has the permission, or the change is merged.
    Allow,
    /// Another worker is to try again, without the permission or with the change done differently.
    Retry,
    /// The task becomes blocked.
    GiveUp,
    /// No answer came in time: as `GiveUp`.
    Expired,
    /// The task was stopped meanwhile.
    Withdrawn,
}

/// Verdict of a step; for a gate, its verdict on one change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No findings.
    Pass,
    /// Findings that don't refuse the change.
    Warn,
    /// The change is refused.
    Fail,
    /// The step could not judge, so the change has not passed.
    Error,
    /// The step was left out, by the plan or because it doesn't apply.
    Skipped,
    /// The step has no configuration: it neither passes nor refuses, and is shown.
    NotConfigured,
    /// No answer came in time.
    NoReply,
}

impl Verdict {
    /// Returns true if a change with this verdict of a gate may not be merged.
    #[must_use]
    pub const fn refuses(self) -> bool {
        match self {
            Self::Fail | Self::Error | Self::NoReply => true,
            Self::Pass | Self::Warn | Self::Skipped | Self::NotConfigured => false,
        }
    }
}

/// Outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// Every task is merged.
    Succeeded,
    /// At least one task is blocked, or can't start because of a blocked one.
    Failed,
    /// At least one task was stopped, and none is blocked.
    Stopped,
}
