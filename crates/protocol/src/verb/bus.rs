//! Mail.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verb;
use crate::coordination::ControlReply;
use crate::id::{AgentName, MessageId};
use crate::message::{Action, DeliveryState, Message, MessageKind, Priority, QueueState};
use crate::time::Millis;

/// A message to one agent or person.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessageRequest {
    /// Who is to read it: a registered name, or a role or alias that only one agent has.
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
    /// What it is about, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// How urgent it is.
    #[serde(default)]
    pub priority: Priority,
    /// How it is delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<SendOptions>,
    /// Further fields: `phase_gate`, `dispatch_ttl_minutes`, `queue_mode` (`keep` or `replace`), `no_cooldown`, or your own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub metadata: Option<Metadata>,
    /// The part that you want played.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub persona: String,
}

impl SendMessageRequest {
    /// A plain message, as [`Action::StatusUpdate`].
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

/// How a message is delivered.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SendOptions {
    /// Its kind.
    pub kind: MessageKind,
    /// Messages of one key keep their order; those of other keys pass them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub order_key: String,
    /// Deliver it only after so many milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// Don't deliver it after so many milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Deliveries before it is a dead letter, 5 unless said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Your registration's epoch: a newer one of the same name makes this call fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// The store has the message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SendMessageReply {
    /// Its id.
    pub id: MessageId,
    /// Who will read it, as registered.
    pub recipient: AgentName,
    /// `accepted`: it is on disk, not yet seen.
    pub state: DeliveryState,
    /// Position in the log.
    pub seq: u64,
    /// The same was sent before; nothing new was.
    #[serde(default)]
    pub duplicate: bool,
    /// Messages that this one took the place of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<MessageId>,
    /// How the units stood that a control is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlReply>,
}

verb! {
    /// Send a durable message to an agent or person by name. It is on disk when this returns; unknown names are errors.
    SendMessage = "send_message", Synced, Send, Listed,
    SendMessageRequest => SendMessageReply
}

/// Which side of the mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MailBox {
    /// What was sent to the agent.
    #[default]
    Inbox,
    /// What the agent sent, with how far it has come.
    Outbox,
}

/// Which mail.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckInboxRequest {
    /// Whose; your own when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Which side.
    #[serde(default, rename = "box")]
    pub mailbox: MailBox,
    /// Only this action; `all` for every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Only messages after this `seq`, in order of sending; else control and urgent ones come first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// At most so many, 20 by default, 100 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// False for previews of 200 characters, which don't count as read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbose: Option<bool>,
    /// Also messages that are done with.
    #[serde(default)]
    pub include_acked: bool,
}

/// Mail.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CheckInboxReply {
    /// The messages.
    pub messages: Vec<Message>,
    /// Pass this as `since` to read on; nothing before it was left out.
    pub cursor: u64,
    /// Messages that lie behind these, counted up to 100.
    pub more: u64,
}

verb! {
    /// Read your open messages; acknowledge each with ack_message when you have acted on it. The `outbox` shows how far your own have come.
    CheckInbox = "check_inbox", Written, Inbox, Listed,
    CheckInboxRequest => CheckInboxReply
}

/// Which message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AckMessageRequest {
    /// Its id.
    pub id: MessageId,
    /// The delivery's token, when it came by receive_messages.
    #[serde(default, alias = "token", skip_serializing_if = "Option::is_none")]
    pub lease_token: Option<u64>,
    /// What it asks for is done, too.
    #[serde(default)]
    pub done: bool,
}

/// The message is done with.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AckMessageReply {
    /// `acked` or `done`.
    pub state: DeliveryState,
}

verb! {
    /// Acknowledge a message that is addressed to you: you have read it and act on it.
    AckMessage = "ack_message", Synced, Delivery, Listed,
    AckMessageRequest => AckMessageReply
}

/// Which messages.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListMessagesRequest {
    /// Only those from or to this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Only those of this state in their queue: `ready`, `leased`, `acked`, `dead`, `expired`, `cancelled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<QueueState>,
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
    /// Dead letters that nobody has looked after.
    #[serde(default)]
    pub dead: u64,
    /// When this was read.
    pub at: Millis,
}

verb! {
    /// List messages between agents with their delivery state, newest last.
    ListMessages = "list_messages", Read, Oversee, Found,
    ListMessagesRequest => ListMessagesReply
}
