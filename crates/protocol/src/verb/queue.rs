//! A recipient's queue: deliveries that are held until they are acknowledged, requests, broadcasts, and the feed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bus::{Metadata, SendOptions};
use super::verb;
use crate::id::{AgentName, MessageId};
use crate::message::{Action, DeliveryState, Message, Priority, QueueState};
use crate::team::TeamName;
use crate::time::Millis;

/// What to take.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReceiveMessagesRequest {
    /// At most so many, 1 unless said, 100 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// How long you hold them in milliseconds: 30,000 unless said, 12 hours at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// Wait so many milliseconds for a first one, 30,000 at most.
    pub wait_ms: u64,
    /// Your registration's epoch: a newer one of the same name makes this call fail.
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

/// Which delivery.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NakMessageRequest {
    /// Id of the message.
    pub id: MessageId,
    /// The delivery's token.
    #[serde(alias = "token")]
    pub lease_token: u64,
    /// Deliver it again only after so many milliseconds, 12 hours at most.
    #[serde(default)]
    pub delay_ms: u64,
    /// Why, in a few words.
    #[serde(default)]
    pub why: String,
}

/// Where the message stands now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct QueueReply {
    /// Id of the message.
    pub id: MessageId,
    /// Its place in the queue.
    pub queue: QueueState,
    /// When it is delivered again at the earliest, or when the delivery lapses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Millis>,
}

verb! {
    /// Give a delivery back: it comes again after a while, and after its last delivery it is a dead letter.
    NakMessage = "nak_message", Synced, Delivery, Found,
    NakMessageRequest => QueueReply
}

/// Which delivery, and how long.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendMessageRequest {
    /// Id of the message.
    pub id: MessageId,
    /// The delivery's token.
    #[serde(alias = "token")]
    pub lease_token: u64,
    /// How long from now in milliseconds, 12 hours at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

verb! {
    /// Hold a delivery for longer, because you are still at work on it.
    ExtendMessage = "extend_message", Synced, Delivery, Found,
    ExtendMessageRequest => QueueReply
}

/// Which message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelMessageRequest {
    /// Its id.
    pub id: MessageId,
    /// Why, in a few words.
    #[serde(default)]
    pub why: String,
}

verb! {
    /// Take back a message that you sent and that nobody has acknowledged.
    CancelMessage = "cancel_message", Synced, Delivery, Found,
    CancelMessageRequest => QueueReply
}

/// Which message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviveMessageRequest {
    /// Its id.
    pub id: MessageId,
}

verb! {
    /// Put a dead letter back into its queue, with all its deliveries before it again.
    ReviveMessage = "revive_message", Synced, Admin, Found,
    ReviveMessageRequest => QueueReply
}

/// A question to an agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendRequestRequest {
    /// Who is to answer.
    pub recipient: AgentName,
    /// The text.
    pub payload: String,
    /// What it is for.
    #[serde(default)]
    pub action: Action,
    /// What it is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// Wait so many milliseconds for the answer, 60,000 unless said, ten minutes at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// An id of your own choice: asking with it again waits for the same answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MessageId>,
}

/// The answer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SendRequestReply {
    /// The request.
    pub id: MessageId,
    /// What came back.
    pub reply: Message,
}

verb! {
    /// Ask an agent and wait for its answer, which it sends with reply_to. Ends at once when that agent leaves.
    SendRequest = "send_request", Synced, Send, Found,
    SendRequestRequest => SendRequestReply
}

/// A message to many.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendTeamMessageRequest {
    /// The team; or name recipients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamName>,
    /// The recipients, when it is no team.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recipients: Vec<AgentName>,
    /// The text.
    pub payload: String,
    /// What it is for.
    #[serde(default)]
    pub action: Action,
    /// Only members of this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_filter: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// How urgent it is.
    #[serde(default)]
    pub priority: Priority,
    /// How it is delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub options: Option<SendOptions>,
    /// Further fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub metadata: Option<Metadata>,
}

/// Who will read it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SendTeamMessageReply {
    /// What the messages have in common.
    pub broadcast: MessageId,
    /// One message each.
    pub messages: Vec<SentCopy>,
}

/// One recipient's message of a broadcast.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SentCopy {
    /// Who will read it.
    pub recipient: AgentName,
    /// Its id.
    pub id: MessageId,
    /// Position in the log.
    pub seq: u64,
}

verb! {
    /// Send one message to every member of a team (or to named agents): to all of them or, on any error, to none.
    SendTeamMessage = "send_team_message", Synced, Send, Listed,
    SendTeamMessageRequest => SendTeamMessageReply
}

/// From where.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadInboxEventsRequest {
    /// Whose mail; your own when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// The cursor of the last answer; `start`, or `now` (which is meant when left out).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// At most so many, 100 unless said, 1,000 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Wait so many milliseconds for a first one, 30,000 at most.
    pub wait_ms: u64,
}

/// One thing that happened to a message, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InboxEvent {
    /// Position in the log.
    pub seq: u64,
    /// When.
    pub ts: Millis,
    /// `sent`, `offered`, `injected`, `leased`, `returned`, `acked`, `done`, `dead`, `expired`, `cancelled`, `revived`, `replied`.
    pub what: String,
    /// Id of the message.
    pub id: MessageId,
    /// Who sent it.
    #[serde(rename = "from")]
    pub sender: AgentName,
    /// Who is to read it.
    #[serde(rename = "to")]
    pub recipient: AgentName,
    /// What it is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// How far it has come now.
    pub state: DeliveryState,
}

/// The feed's next part.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReadInboxEventsReply {
    /// Oldest first.
    pub events: Vec<InboxEvent>,
    /// Pass this to read on.
    pub cursor: String,
    /// More lies behind it already.
    pub more: bool,
}

verb! {
    /// Follow what happens to your mail, sent and received, without its text: append-only, from a cursor that outlives restarts.
    ReadInboxEvents = "read_inbox_events", Read, Inbox, Found,
    ReadInboxEventsRequest => ReadInboxEventsReply
}
