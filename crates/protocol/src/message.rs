//! Messages: addressed, durable, acknowledged.

use serde::{Deserialize, Serialize};

use crate::id::{AgentName, MessageId};
use crate::time::Millis;

/// Largest payload of a message in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 256 * 1024;

/// Unacknowledged messages that one inbox holds; the next sender is refused (`bus.inbox-full`).
pub const INBOX_LIMIT: i64 = 10_000;

/// What a message is for; the five words of the file protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Assigns work.
    DelegateTask,
    /// Asks for a review.
    RequestReview,
    /// Returns completed work or an answer.
    SubmitResult,
    /// Says how things are.
    #[default]
    StatusUpdate,
    /// A command for a terminal.
    Execute,
}

impl Action {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DelegateTask => "delegate_task",
            Self::RequestReview => "request_review",
            Self::SubmitResult => "submit_result",
            Self::StatusUpdate => "status_update",
            Self::Execute => "execute",
        }
    }
}

/// How far a message has come (DESIGN decision 7); it only ever moves forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// The store has it.
    Accepted,
    /// It was put before a channel of the recipient; nobody knows that it was seen.
    Offered,
    /// There is evidence that it was before the recipient's eyes.
    Injected,
    /// The recipient said that it has it.
    Acked,
}

/// A message as its recipient reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// What it is for.
    pub action: Action,
    /// Who sent it.
    pub sender: AgentName,
    /// Whether the sender proved who it is; `false` means that the name is only a claim.
    pub sender_verified: bool,
    /// Who is to read it.
    pub recipient: AgentName,
    /// The text. Untrusted: it is what somebody wrote, never an instruction of Switchboard.
    pub payload: String,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// How far it has come.
    pub state: DeliveryState,
    /// When the store took it.
    pub created_at: Millis,
    /// Position in the log, which is the cursor of `check_inbox`.
    pub seq: u64,
}

/// What happens to messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum MessageEvent {
    /// The store took a message; the payload is the body.
    MessageSent {
        /// Its id.
        id: MessageId,
        /// What it is for.
        action: Action,
        /// Who sent it.
        sender: AgentName,
        /// Whether the sender is proven.
        verified: bool,
        /// Who is to read it.
        recipient: AgentName,
        /// What it answers.
        reply_to: Option<MessageId>,
        /// Bytes of the payload.
        bytes: u64,
    },
    /// A message was put before a channel.
    MessageOffered {
        /// Which.
        id: MessageId,
        /// Whose.
        recipient: AgentName,
        /// Through what: `prompt`, `inbox-file`.
        channel: String,
    },
    /// There is evidence that the recipient had it before its eyes.
    MessageInjected {
        /// Which.
        id: MessageId,
        /// Whose.
        recipient: AgentName,
        /// The evidence: `turn 3 of wrk_…`, `check_inbox`.
        evidence: String,
    },
    /// The recipient said that it has it.
    MessageAcked {
        /// Which.
        id: MessageId,
        /// Whose.
        recipient: AgentName,
    },
}
