//! Messages: addressed, durable, acknowledged.

use serde::{Deserialize, Serialize};

use crate::id::{AgentName, MessageId};
use crate::time::Millis;

/// Maximum size of a message's payload, in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 256 * 1024;

/// Default maximum number of unacknowledged messages in one inbox; further messages are refused (`bus.inbox-full`).
pub const INBOX_LIMIT: i64 = 1_000;

/// Maximum total size of the unacknowledged payloads in one inbox, in bytes.
pub const INBOX_BYTES: i64 = 64 * 1024 * 1024;

/// Number of messages beyond the limit that only the control lane may use.
pub const CONTROL_RESERVE: i64 = 64;

/// Maximum size of a message's metadata and of its persona, in bytes of JSON.
pub const MAX_METADATA_BYTES: usize = 64 * 1024;

/// Purpose of a message; the five words of the file protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Assigns work.
    DelegateTask,
    /// Asks for a review.
    RequestReview,
    /// Returns completed work or an answer.
    SubmitResult,
    /// Reports a status.
    #[default]
    StatusUpdate,
    /// Sends a command to a terminal.
    Execute,
}

impl Action {
    /// Returns the word that is sent.
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

impl Action {
    /// Returns true if the action asks the recipient to work: such messages are signed, have a cool-down and expire.
    #[must_use]
    pub const fn is_dispatch(self) -> bool {
        matches!(self, Self::DelegateTask | Self::Execute)
    }
}

/// Kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// Steers work (`pause`, `stop` …): goes before all other lanes and has its own reserve. Only a person or Switchboard itself can send it.
    Control,
    /// Reports something.
    #[default]
    Event,
    /// Asks for an answer.
    Request,
    /// Answers a request.
    Reply,
    /// Assigns work.
    Task,
    /// A turn of a debate.
    Debate,
    /// A step of a chain.
    Chain,
}

impl MessageKind {
    /// Returns the word that is sent.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Event => "event",
            Self::Request => "request",
            Self::Reply => "reply",
            Self::Task => "task",
            Self::Debate => "debate",
            Self::Chain => "chain",
        }
    }
}

/// Priority of a message; each has its own lane, in order of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Delivered before the others.
    High,
    /// The default.
    #[default]
    Normal,
    /// Delivered after the others.
    Low,
}

/// Number of lanes.
pub const LANES: u8 = 4;

/// Returns the lane of a message: 0 for control, then high, normal, low; below [`LANES`].
#[must_use]
pub const fn lane(kind: MessageKind, priority: Priority) -> u8 {
    match (kind, priority) {
        (MessageKind::Control, _) => 0,
        (_, Priority::High) => 1,
        (_, Priority::Normal) => 2,
        (_, Priority::Low) => 3,
    }
}

/// How close a message has come to its recipient's attention; the state only moves forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// The store has the message.
    Accepted,
    /// The message was passed to a channel of the recipient; whether it was seen is unknown.
    Offered,
    /// There is evidence that the recipient saw the message.
    Injected,
    /// The recipient acknowledged the message.
    Acked,
    /// The recipient reported the work as done, or sent its result.
    Done,
}

/// State of a message in its recipient's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueState {
    /// The message waits.
    #[default]
    Ready,
    /// A delivery holds the message until its lease lapses.
    Leased,
    /// The recipient acknowledged the message. Final.
    Acked,
    /// The message was delivered too often or can't be delivered. Final, until a person puts it back.
    Dead,
    /// The time to live is over. Final.
    Expired,
    /// The sender or a person withdrew the message, or a later one replaced it. Final.
    Cancelled,
}

impl QueueState {
    /// Returns the word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Leased => "leased",
            Self::Acked => "acked",
            Self::Dead => "dead",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns true if the message is still to be delivered.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Ready | Self::Leased)
    }
}

/// A message as its recipient reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
pub struct Message {
    /// Id of the message.
    pub id: MessageId,
    /// Purpose of the message.
    pub action: Action,
    /// Kind of the message.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: MessageKind,
    /// Priority of the message.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: Priority,
    /// Subject in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// Name of the sender.
    pub sender: AgentName,
    /// True if the sender's name is proven; `false` means that it is only claimed.
    pub sender_verified: bool,
    /// Name of the recipient.
    pub recipient: AgentName,
    /// Text of the message. Untrusted: it comes from the sender and is never an instruction of Switchboard.
    pub payload: String,
    /// True if the payload was cut to a preview.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_preview: bool,
    /// Id of the message that this one answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// True if the message answers a request after its deadline.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_late: bool,
    /// Team that the message was sent to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub team: String,
    /// Further fields from the sender, as JSON; untrusted like the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Value>,
    /// Persona that the sender asks the recipient to adopt; untrusted like the payload.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub persona: String,
    /// Delivery state.
    pub state: DeliveryState,
    /// State in the queue.
    #[serde(default)]
    pub queue: QueueState,
    /// Number of deliveries so far.
    #[serde(default)]
    pub attempt: u32,
    /// Token with which the receiver acknowledges this delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_token: Option<u64>,
    /// Time at which this delivery lapses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<Millis>,
    /// End of the time to live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
    /// Reason why the message is dead, expired or cancelled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// Time at which the store accepted the message.
    pub created_at: Millis,
    /// Position in the log, used as the cursor of `check_inbox`.
    pub seq: u64,
    /// Number of the message in this inbox, without gaps.
    #[serde(default)]
    pub number: u64,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Optional properties of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(default)]
pub struct Terms {
    /// Kind of the message.
    #[serde(skip_serializing_if = "is_default")]
    pub message_kind: MessageKind,
    /// Priority of the message.
    #[serde(skip_serializing_if = "is_default")]
    pub priority: Priority,
    /// Subject of the message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// Order key: messages with the same key keep their order; messages with other keys may overtake them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub order_key: String,
    /// Earliest time of delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Millis>,
    /// Latest time of delivery; the deadline of a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
    /// Maximum number of deliveries; after that the message is dead. 0 means the default.
    #[serde(skip_serializing_if = "is_default")]
    pub max_attempts: u32,
    /// Team that the message was sent to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub team: String,
    /// Id that the messages of one broadcast share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broadcast: Option<MessageId>,
    /// True if the message answers a request after its deadline.
    #[serde(skip_serializing_if = "is_default")]
    pub late: bool,
    /// True if the message has metadata or a persona, which are in a separate event.
    #[serde(skip_serializing_if = "is_default")]
    pub details: bool,
    /// True if the message needs no delivery because its recipient is the daemon itself or a command that reads no mail. It takes no room in
    /// an inbox.
    #[serde(skip_serializing_if = "is_default")]
    pub taken: bool,
}

/// Events about messages. The subject of `message_sent` is `inbox/RECIPIENT`, so that its revision numbers the inbox without gaps; the
/// subject of all others is `message/ID`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(tag = "kind", content = "facts")]
pub enum MessageEvent {
    /// The store accepted a message; the body is the payload.
    MessageSent {
        /// Id of the message.
        id: MessageId,
        /// Purpose of the message.
        action: Action,
        /// Name of the sender.
        sender: AgentName,
        /// True if the sender's name is proven.
        verified: bool,
        /// Name of the recipient.
        recipient: AgentName,
        /// Id of the message that this one answers.
        reply_to: Option<MessageId>,
        /// Size of the payload in bytes.
        bytes: u64,
        /// Optional properties.
        #[serde(flatten)]
        terms: Terms,
    },
    /// Metadata and persona of a message; the body is JSON with these two fields.
    MessageDetailed {
        /// Id of the message.
        id: MessageId,
    },
    /// A message was passed to a channel.
    MessageOffered {
        /// Id of the message.
        id: MessageId,
        /// Recipient of the message.
        recipient: AgentName,
        /// Name of the channel: `prompt`, `inbox-file`.
        channel: String,
    },
    /// There is evidence that the recipient saw the message.
    MessageInjected {
        /// Id of the message.
        id: MessageId,
        /// Recipient of the message.
        recipient: AgentName,
        /// The evidence: `turn 3 of wrk_…`, `check_inbox`.
        evidence: String,
    },
    /// A delivery holds the message; its token is this event's position in the log.
    MessageLeased {
        /// Id of the message.
        id: MessageId,
        /// Recipient of the message.
        recipient: AgentName,
        /// Number of the delivery, from 1.
        attempt: u32,
        /// Time at which the delivery lapses.
        until: Millis,
    },
    /// A delivery holds the message for longer.
    MessageExtended {
        /// Id of the message.
        id: MessageId,
        /// New time at which the delivery lapses.
        until: Millis,
    },
    /// A delivery ended without an acknowledgement.
    MessageReturned {
        /// Id of the message.
        id: MessageId,
        /// Recipient of the message.
        recipient: AgentName,
        /// Reason: `nak` or `lapsed`, and the receiver's explanation.
        why: String,
        /// Earliest time of the next delivery.
        not_before: Millis,
        /// End of the time to live, which is not extended.
        expires_at: Option<Millis>,
    },
    /// The recipient acknowledged the message.
    MessageAcked {
        /// Id of the message.
        id: MessageId,
        /// Recipient of the message.
        recipient: AgentName,
        /// Size of the payload in bytes, which no longer counts for the inbox.
        #[serde(default)]
        bytes: u64,
    },
    /// The recipient reported the requested work as done, or sent its result.
    MessageDone {
        /// Id of the message.
        id: MessageId,
        /// Recipient of the message.
        recipient: AgentName,
    },
    /// A message left the queue without an acknowledgement.
    MessageEnded {
        /// Id of the message.
        id: MessageId,
        /// Recipient of the message.
        recipient: AgentName,
        /// Final state: `dead`, `expired` or `cancelled`.
        state: QueueState,
        /// Reason.
        cause: String,
        /// Size of the payload in bytes, which no longer counts for the inbox.
        bytes: u64,
    },
    /// A person put a dead message back into the queue.
    MessageRevived {
        /// Id of the message.
        id: MessageId,
        /// Recipient of the message.
        recipient: AgentName,
        /// Size of the payload in bytes, which counts for the inbox again.
        bytes: u64,
    },
    /// A dead message was discarded, by a person or because its time ran out.
    MessageDropped {
        /// Id of the message.
        id: MessageId,
    },
    /// A request was answered.
    RequestReplied {
        /// Id of the request.
        id: MessageId,
        /// Id of the answer.
        reply: MessageId,
    },
}
