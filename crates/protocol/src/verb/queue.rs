//! Verbs about a recipient's queue: deliveries held until they are acknowledged, requests, broadcasts, and the feed of events.

use serde::{Deserialize, Serialize};

use super::bus::{Metadata, SendOptions};
use super::verb;
use crate::id::{AgentName, MessageId};
use crate::message::{Action, DeliveryState, Message, Priority, QueueState};
use crate::schema::JsonSchema;
use crate::team::TeamName;
use crate::time::Millis;

/// Messages to take.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReceiveMessagesRequest {
    /// Maximum number of messages: 1 by default, 100 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// How long you hold the messages, in milliseconds: 30,000 by default, 12 hours at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// Maximum wait for a first message, in milliseconds; 30,000 at most.
    pub wait_ms: u64,
    /// Your registration's epoch: the call fails if there is a newer one of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
}

/// Deliveries, in order.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReceiveMessagesReply {
    /// The messages, each with its `lease_token` and `lease_until`.
    pub messages: Vec<Message>,
}

verb! {
    /// Take your oldest waiting messages and hold them: acknowledge each with its lease_token in time, or it is delivered again.
    ReceiveMessages = "receive_messages", Synced, Inbox, Found,
    ReceiveMessagesRequest => ReceiveMessagesReply
}

/// The delivery to return.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NakMessageRequest {
    /// Id of the message.
    pub id: MessageId,
    /// Token of the delivery.
    #[serde(alias = "token")]
    pub lease_token: u64,
    /// Milliseconds before it is delivered again, 12 hours at most.
    #[serde(default)]
    pub delay_ms: u64,
    /// Reason in a few words.
    #[serde(default)]
    pub why: String,
}

/// Present state of the message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct QueueReply {
    /// Id of the message.
    pub id: MessageId,
    /// State in the queue.
    pub queue: QueueState,
    /// Earliest time of the next delivery, or the time at which the delivery lapses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Millis>,
}

verb! {
    /// Return a delivery: it is delivered again after a while; after its last delivery it is a dead letter.
    NakMessage = "nak_message", Synced, Delivery, Found,
    NakMessageRequest => QueueReply
}

/// The delivery to extend.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendMessageRequest {
    /// Id of the message.
    pub id: MessageId,
    /// Token of the delivery.
    #[serde(alias = "token")]
    pub lease_token: u64,
    /// How long you hold it from now, in milliseconds; 12 hours at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

verb! {
    /// Hold a delivery for longer, because you still work on it.
    ExtendMessage = "extend_message", Synced, Delivery, Found,
    ExtendMessageRequest => QueueReply
}

/// The message to cancel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelMessageRequest {
    /// Id of the message.
    pub id: MessageId,
    /// Reason in a few words.
    #[serde(default)]
    pub why: String,
}

verb! {
    /// Withdraw a message that you sent and that was not acknowledged.
    CancelMessage = "cancel_message", Synced, Delivery, Found,
    CancelMessageRequest => QueueReply
}

/// The message to revive.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviveMessageRequest {
    /// Id of the message.
    pub id: MessageId,
}

verb! {
    /// Put a dead letter back into its queue, with all its deliveries available again.
    ReviveMessage = "revive_message", Synced, Admin, Found,
    ReviveMessageRequest => QueueReply
}

/// A question to an agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendRequestRequest {
    /// Agent that is to answer.
    pub recipient: AgentName,
    /// The text.
    pub payload: String,
    /// Purpose.
    #[serde(default)]
    pub action: Action,
    /// Subject in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// Maximum wait for the answer, in milliseconds: 60,000 by default, ten minutes at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Id of your own choice: asking with it again waits for the same answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MessageId>,
}

/// The answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SendRequestReply {
    /// Id of the request.
    pub id: MessageId,
    /// The answer.
    pub reply: Message,
}

verb! {
    /// Ask an agent and wait for its answer, which it sends with reply_to. Ends at once when that agent leaves.
    SendRequest = "send_request", Synced, Send, Found,
    SendRequestRequest => SendRequestReply
}

/// A message to several agents.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendTeamMessageRequest {
    /// Name of the team; or use `recipients`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamName>,
    /// Names of the recipients, if it is not a team.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recipients: Vec<AgentName>,
    /// The text.
    pub payload: String,
    /// Purpose.
    #[serde(default)]
    pub action: Action,
    /// Only members with this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_filter: Option<String>,
    /// Subject in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// Priority.
    #[serde(default)]
    pub priority: Priority,
    /// Delivery options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub options: Option<SendOptions>,
    /// Further fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub metadata: Option<Metadata>,
}

/// The messages that were sent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SendTeamMessageReply {
    /// Id that the messages share.
    pub broadcast: MessageId,
    /// One message for each recipient.
    pub messages: Vec<SentCopy>,
}

/// The message to one recipient of a broadcast.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SentCopy {
    /// Name of the recipient.
    pub recipient: AgentName,
    /// Id of the message.
    pub id: MessageId,
    /// Position in the log.
    pub seq: u64,
}

verb! {
    /// Send one message to every member of a team (or to named agents): to all of them or, on any error, to none.
    SendTeamMessage = "send_team_message", Synced, Send, Listed,
    SendTeamMessageRequest => SendTeamMessageReply
}

/// Part of the feed to read.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadInboxEventsRequest {
    /// Name of the agent; yourself by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Cursor of the last reply; `start`, or `now` (the default).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Maximum number of events: 100 by default, 1,000 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Maximum wait for a first event, in milliseconds; 30,000 at most.
    pub wait_ms: u64,
}

/// An event about a message, without the message's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InboxEvent {
    /// Position in the log.
    pub seq: u64,
    /// Time of the event.
    pub ts: Millis,
    /// Kind of event: `sent`, `offered`, `injected`, `leased`, `returned`, `acked`, `done`, `dead`, `expired`, `cancelled`, `revived`,
    /// `replied`.
    pub what: String,
    /// Id of the message.
    pub id: MessageId,
    /// Name of the sender.
    #[serde(rename = "from")]
    pub sender: AgentName,
    /// Name of the recipient.
    #[serde(rename = "to")]
    pub recipient: AgentName,
    /// Subject of the message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// Present delivery state.
    pub state: DeliveryState,
}

/// The next part of the feed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReadInboxEventsReply {
    /// Events, oldest first.
    pub events: Vec<InboxEvent>,
    /// Cursor with which to read on.
    pub cursor: String,
    /// True if more events are available already.
    pub more: bool,
}

verb! {
    /// Follow the events of your mail, sent and received, without its text: append-only, from a cursor that stays valid across restarts.
    ReadInboxEvents = "read_inbox_events", Read, Inbox, Found,
    ReadInboxEventsRequest => ReadInboxEventsReply
}
