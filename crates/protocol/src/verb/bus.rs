//! Verbs about mail.

use serde::{Deserialize, Serialize};

use super::verb;
use crate::coordination::ControlReply;
use crate::id::{AgentName, MessageId};
use crate::message::{Action, DeliveryState, Message, MessageKind, Priority, QueueState};
use crate::schema::JsonSchema;
use crate::time::Millis;

/// A message to one agent or person.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessageRequest {
    /// Recipient: a registered name, or a role or alias that only one agent has.
    pub recipient: AgentName,
    /// The text, at most 256 KiB.
    pub payload: String,
    /// Purpose.
    #[serde(default)]
    pub action: Action,
    /// Id of the message that this one answers.
    #[serde(default, alias = "replyTo", skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// Id of your own choice: sending the same id again sends nothing new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MessageId>,
    /// Subject in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// Priority.
    #[serde(default)]
    pub priority: Priority,
    /// Delivery options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<SendOptions>,
    /// Further fields: `phase_gate`, `dispatch_ttl_minutes`, `queue_mode` (`keep` or `replace`), `no_cooldown`, or your own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub metadata: Option<Metadata>,
    /// Persona that you ask the recipient to adopt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub persona: String,
}

impl SendMessageRequest {
    /// Makes a plain message, as [`Action::StatusUpdate`].
    #[must_use]
    pub fn new(recipient: AgentName, payload: impl Into<String>) -> Self {
        Self {
            recipient,
            payload: payload.into(),
            action: Action::default(),
            reply_to: None,
            id: None,
            topic: String::new(),
            priority: Priority::default(),
            options: None,
            metadata: None,
            persona: String::new(),
        }
    }
}

/// Further fields of a message.
pub type Metadata = serde_json::Map<String, serde_json::Value>;

/// Delivery options of a message.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SendOptions {
    /// Kind of the message.
    pub kind: MessageKind,
    /// Order key: messages with the same key keep their order; messages with other keys may overtake them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub order_key: String,
    /// Milliseconds before which the message is not delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Milliseconds after which the message is no longer delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Maximum number of deliveries before it is a dead letter; 5 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Your registration's epoch: the call fails if there is a newer one of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// The stored message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SendMessageReply {
    /// Id of the message.
    pub id: MessageId,
    /// Name of the recipient, as registered.
    pub recipient: AgentName,
    /// `accepted`: the message is on disk, not yet seen.
    pub state: DeliveryState,
    /// Position in the log.
    pub seq: u64,
    /// True if the same message was sent before; nothing new was sent.
    #[serde(default)]
    pub duplicate: bool,
    /// Ids of the messages that this one replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<MessageId>,
    /// For a control message: the units concerned and their state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlReply>,
}

verb! {
    /// Send a durable message to an agent or person by name. It is on disk when this returns; unknown names are errors.
    SendMessage = "send_message", Synced, Send, Listed,
    SendMessageRequest => SendMessageReply
}

/// Side of the mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MailBox {
    /// Messages to the agent.
    #[default]
    Inbox,
    /// Messages from the agent, with their delivery state.
    Outbox,
}

/// Mail to read.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckInboxRequest {
    /// Name of the agent; yourself by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Side of the mail.
    #[serde(default, rename = "box")]
    pub mailbox: MailBox,
    /// Only messages with this action; `all` for every action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Only messages after this `seq`, oldest first; by default control and urgent ones come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Maximum: 20 by default, 100 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// False for previews of 200 characters, which don't count as read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbose: Option<bool>,
    /// Also acknowledged messages.
    #[serde(default)]
    pub include_acked: bool,
}

/// Messages that were found.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CheckInboxReply {
    /// The messages.
    pub messages: Vec<Message>,
    /// Pass this as `since` to read on; no earlier message was left out.
    pub cursor: u64,
    /// Number of further messages, counted up to 100.
    pub more: u64,
}

verb! {
    /// Read your open messages; acknowledge each with ack_message when you have acted on it. The `outbox` shows the state of those you sent.
    CheckInbox = "check_inbox", Written, Inbox, Listed,
    CheckInboxRequest => CheckInboxReply
}

/// The message to acknowledge.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckMessageRequest {
    /// Id of the message.
    pub id: MessageId,
    /// Token of the delivery, if it came by receive_messages.
    #[serde(default, alias = "token", skip_serializing_if = "Option::is_none")]
    pub lease_token: Option<u64>,
    /// True if what it asks for is done, too.
    #[serde(default)]
    pub done: bool,
}

/// The acknowledged message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AckMessageReply {
    /// New state: `acked` or `done`.
    pub state: DeliveryState,
}

verb! {
    /// Acknowledge a message to you: you have read it and act on it.
    AckMessage = "ack_message", Synced, Delivery, Listed,
    AckMessageRequest => AckMessageReply
}

/// Messages to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListMessagesRequest {
    /// Only messages from or to this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Only messages with this state in their queue: `ready`, `leased`, `acked`, `dead`, `expired`, `cancelled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<QueueState>,
    /// Maximum number of messages, the newest: 50 by default, 1000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Messages, and totals over all messages.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ListMessagesReply {
    /// Messages, newest last.
    pub messages: Vec<Message>,
    /// Number of messages ever sent.
    pub sent: u64,
    /// Number of those that were acknowledged.
    pub acked: u64,
    /// Number of unhandled dead letters.
    #[serde(default)]
    pub dead: u64,
    /// Time of the reply.
    pub at: Millis,
}

verb! {
    /// List messages between agents with their delivery state, newest last.
    ListMessages = "list_messages", Read, Oversee, Found,
    ListMessagesRequest => ListMessagesReply
}
