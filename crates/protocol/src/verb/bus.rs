//! Mail.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::{AgentName, MessageId};
use crate::message::{Action, DeliveryState, Message};
use crate::time::Millis;

/// A message to one agent or person.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessageRequest {
    /// Who is to read it; must be registered.
    pub recipient: AgentName,
    /// The text, at most 256 KiB.
    pub payload: String,
    /// What it is for.
    #[serde(default)]
    pub action: Action,
    /// The message that this answers.
    #[serde(default, alias = "replyTo", skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// An id of your own choice: sending the same id again sends nothing new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MessageId>,
}

/// The store has the message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SendMessageReply {
    /// Its id.
    pub id: MessageId,
    /// `accepted`: it is on disk, not yet seen.
    pub state: DeliveryState,
    /// Position in the log.
    pub seq: u64,
}

verb! {
    /// Send a durable message to an agent or person by name. It is on disk when this returns; unknown names are errors.
    SendMessage = "send_message", Synced, tool: true,
    SendMessageRequest => SendMessageReply
}

/// Which mail.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckInboxRequest {
    /// Whose inbox; your own when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Only messages after this `seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// At most so many, 20 by default, 100 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Also messages that were acknowledged before.
    #[serde(default)]
    pub include_acked: bool,
}

/// Mail, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CheckInboxReply {
    /// The messages.
    pub messages: Vec<Message>,
    /// Pass this as `since` to read on.
    pub cursor: u64,
    /// Unacknowledged messages that lie behind these.
    pub more: u64,
}

verb! {
    /// Read your unacknowledged messages, oldest first; acknowledge each with ack_message when you have acted on it.
    CheckInbox = "check_inbox", Written, tool: true,
    CheckInboxRequest => CheckInboxReply
}

/// Which message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckMessageRequest {
    /// Its id.
    pub id: MessageId,
}

/// The message is done with.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AckMessageReply {
    /// `acked`.
    pub state: DeliveryState,
}

verb! {
    /// Acknowledge a message that is addressed to you: you have read it and act on it.
    AckMessage = "ack_message", Synced, tool: true,
    AckMessageRequest => AckMessageReply
}

/// Which messages.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListMessagesRequest {
    /// Only those from or to this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// At most so many, the newest; 50 by default, 1000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Messages and their counts.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListMessagesReply {
    /// Newest last.
    pub messages: Vec<Message>,
    /// Messages ever sent.
    pub sent: u64,
    /// Of these, acknowledged ones.
    pub acked: u64,
    /// When this was read.
    pub at: Millis,
}

verb! {
    /// List messages between agents with their delivery state, newest last.
    ListMessages = "list_messages", Read, tool: false,
    ListMessagesRequest => ListMessagesReply
}
