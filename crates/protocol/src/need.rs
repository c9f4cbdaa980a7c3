//! Needs: questions to a person, answered by `approve`, `deny` or `answer`.

use serde::{Deserialize, Serialize};

use crate::frame::PermissionOption;
use crate::id::{MessageId, NeedId, RunId, WorkerId};
use crate::time::Millis;

/// A question that waits for a person, or one that was settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Need {
    /// Its id.
    pub id: NeedId,
    /// The run it belongs to; nothing for a message that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The task it belongs to; empty for a message that waits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// The worker that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// The message that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// What the agent wants to do, in its own words: untrusted.
    pub title: String,
    /// The command, the diff or the message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What can be chosen.
    pub options: Vec<PermissionOption>,
    /// When it was asked.
    pub asked_at: Millis,
    /// When it is refused by itself.
    pub expires_at: Millis,
    /// The outcome: `approved`, `denied`, `answered`, `expired`, `withdrawn`; nothing while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// What happens to needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum NeedEvent {
    /// A worker asked; the detail is the body.
    NeedAsked {
        /// The question's id.
        id: NeedId,
        /// The run.
        run: RunId,
        /// The task.
        task: String,
        /// The worker that waits.
        worker: WorkerId,
        /// The shim's id of the question.
        ask: String,
        /// What it wants to do.
        title: String,
        /// What can be chosen.
        options: Vec<PermissionOption>,
        /// When it is refused by itself.
        expires_at: Millis,
    },
    /// Somebody or the clock settled it.
    NeedSettled {
        /// Which.
        id: NeedId,
        /// `approved`, `denied`, `answered`, `expired` or `withdrawn`.
        outcome: String,
        /// The chosen option, to be sent to the worker.
        option: Option<String>,
    },
}
