//! Messages: addressed, durable, acknowledged.

use serde::{Deserialize, Serialize};

use crate::id::{AgentName, MessageId};
use crate::time::Millis;

/// Largest payload of a message in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 256 * 1024;

/// Unacknowledged messages that one inbox holds unless the settings say otherwise; the next sender is refused (`bus.inbox-full`).
pub const INBOX_LIMIT: i64 = 1_000;

/// Bytes of unacknowledged payloads that one inbox holds.
pub const INBOX_BYTES: i64 = 64 * 1024 * 1024;

/// Messages beyond the limit that only the control lane may use.
pub const CONTROL_RESERVE: i64 = 64;

/// Largest metadata of a message in bytes of JSON, and largest persona.
pub const MAX_METADATA_BYTES: usize = 64 * 1024;

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

impl Action {
    /// Whether it sets somebody to work: these are signed, cooled down and come to an end.
    #[must_use]
    pub const fn is_dispatch(self) -> bool {
        matches!(self, Self::DelegateTask | Self::Execute)
    }
}

/// What kind of message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// Steers work (`pause`, `stop` …): passes all other lanes and has room of its own. Only a person or Switchboard itself sends it.
    Control,
    /// Says something.
    #[default]
    Event,
    /// Wants an answer.
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
    /// The word on the wire.
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

/// How urgent it is; each is a lane of its own, in order of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Before the others.
    High,
    /// As usual.
    #[default]
    Normal,
    /// After the others.
    Low,
}

/// How many lanes there are.
pub const LANES: u8 = 4;

/// The lane of a message: 0 is control, then high, normal, low; below [`LANES`].
#[must_use]
pub const fn lane(kind: MessageKind, priority: Priority) -> u8 {
    match (kind, priority) {
        (MessageKind::Control, _) => 0,
        (_, Priority::High) => 1,
        (_, Priority::Normal) => 2,
        (_, Priority::Low) => 3,
    }
}

/// How far a message has come before its recipient's eyes; it only ever moves forward.
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
    /// The recipient said that it is done, or sent its result.
    Done,
}

/// Where a message stands in its recipient's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueState {
    /// It waits.
    #[default]
    Ready,
    /// A delivery holds it until its lease lapses.
    Leased,
    /// Its recipient has it. Final.
    Acked,
    /// It was delivered too often, or can't be. Final, until a person puts it back.
    Dead,
    /// Its time to live was over. Final.
    Expired,
    /// Its sender or a person took it back, or a later one took its place. Final.
    Cancelled,
}

impl QueueState {
    /// The word that is stored and shown.
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

    /// Whether it is still to be delivered.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Ready | Self::Leased)
    }
}

/// A message as its recipient reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// What it is for.
    pub action: Action,
    /// Its kind.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: MessageKind,
    /// Its priority.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: Priority,
    /// What it is about, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// Who sent it.
    pub sender: AgentName,
    /// Whether the sender proved who it is; `false` means that the name is only a claim.
    pub sender_verified: bool,
    /// Who is to read it.
    pub recipient: AgentName,
    /// The text. Untrusted: it is what somebody wrote, never an instruction of Switchboard.
    pub payload: String,
    /// True when the payload was cut to a preview.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_preview: bool,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// It answers a request whose deadline was over.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_late: bool,
    /// The team to which it was sent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub team: String,
    /// Further fields that its sender gave, as JSON; untrusted like the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Value>,
    /// The part that its sender wants played; untrusted like the payload.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub persona: String,
    /// How far it has come.
    pub state: DeliveryState,
    /// Where it stands in the queue.
    #[serde(default)]
    pub queue: QueueState,
    /// Deliveries so far.
    #[serde(default)]
    pub attempt: u32,
    /// What the receiver of this delivery shows to acknowledge it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_token: Option<u64>,
    /// When this delivery lapses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<Millis>,
    /// When its time to live is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
    /// Why it is dead, expired or cancelled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// When the store took it.
    pub created_at: Millis,
    /// Position in the log, which is the cursor of `check_inbox`.
    pub seq: u64,
    /// Its number in this inbox, without gaps.
    #[serde(default)]
    pub number: u64,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What a sender may say about a message beyond its text; all optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Terms {
    /// Its kind.
    #[serde(skip_serializing_if = "is_default")]
    pub message_kind: MessageKind,
    /// Its priority.
    #[serde(skip_serializing_if = "is_default")]
    pub priority: Priority,
    /// What it is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// Messages of one key keep their order; those of other keys pass them.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub order_key: String,
    /// Not to be delivered earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Millis>,
    /// Not to be delivered later; a request's deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
    /// Deliveries before it is dead; 0 means the usual number.
    #[serde(skip_serializing_if = "is_default")]
    pub max_attempts: u32,
    /// The team to which it was sent.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub team: String,
    /// What the messages of one broadcast have in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broadcast: Option<MessageId>,
    /// It answers a request whose deadline was over.
    #[serde(skip_serializing_if = "is_default")]
    pub late: bool,
    /// It has metadata or a persona, in an event of its own.
    #[serde(skip_serializing_if = "is_default")]
    pub details: bool,
    /// Its recipient has it: the daemon itself, or a command that reads no mail. It is never delivered and takes no room.
    #[serde(skip_serializing_if = "is_default")]
    pub taken: bool,
}

/// What happens to messages. The subject of `message_sent` is `inbox/RECIPIENT`, so that its revision numbers the inbox without gaps; all others are about
/// `message/ID`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
        /// The rest.
        #[serde(flatten)]
        terms: Terms,
    },
    /// Metadata and persona of a message; the body is JSON with these two fields.
    MessageDetailed {
        /// Which.
        id: MessageId,
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
    /// A delivery holds it; the token is this event's place in the log.
    MessageLeased {
        /// Which.
        id: MessageId,
        /// Whose.
        recipient: AgentName,
        /// Which delivery this is, from 1.
        attempt: u32,
        /// When it lapses.
        until: Millis,
    },
    /// A delivery holds it for longer.
    MessageExtended {
        /// Which.
        id: MessageId,
        /// When it lapses now.
        until: Millis,
    },
    /// A delivery ended without an acknowledgement.
    MessageReturned {
        /// Which.
        id: MessageId,
        /// Whose.
        recipient: AgentName,
        /// Why: `nak` or `lapsed`, and what the receiver said.
        why: String,
        /// Not to be delivered earlier.
        not_before: Millis,
        /// Its time to live, which goes on.
        expires_at: Option<Millis>,
    },
    /// The recipient said that it has it.
    MessageAcked {
        /// Which.
        id: MessageId,
        /// Whose.
        recipient: AgentName,
        /// Bytes of its payload, which the inbox no longer holds.
        #[serde(default)]
        bytes: u64,
    },
    /// The recipient said that what it asks for is done, or sent the result.
    MessageDone {
        /// Which.
        id: MessageId,
        /// Whose.
        recipient: AgentName,
    },
    /// It left the queue without an acknowledgement.
    MessageEnded {
        /// Which.
        id: MessageId,
        /// Whose.
        recipient: AgentName,
        /// `dead`, `expired` or `cancelled`.
        state: QueueState,
        /// Why.
        cause: String,
        /// Bytes of its payload, which the inbox no longer holds.
        bytes: u64,
    },
    /// A person put a dead message back into the queue.
    MessageRevived {
        /// Which.
        id: MessageId,
        /// Whose.
        recipient: AgentName,
        /// Bytes of its payload, which the inbox holds again.
        bytes: u64,
    },
    /// A person, or the end of its time, let a dead message go.
    MessageDropped {
        /// Which.
        id: MessageId,
    },
    /// A request got its answer.
    RequestReplied {
        /// The request.
        id: MessageId,
        /// The answer.
        reply: MessageId,
    },
}
