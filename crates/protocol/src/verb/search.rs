//! The verb that searches messages for words.

use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::{AgentName, MessageId};
use crate::message::{Action, DeliveryState};
use crate::schema::JsonSchema;
use crate::time::Millis;

/// Words and limits of the search.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchMessagesRequest {
    /// Words that must all occur, `"phrases"`, beginnings `like*` and `-words` that must not occur; at most 1,000 bytes.
    pub text: String,
    /// Only messages from or to this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Only messages before this `seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Maximum: 20 by default, 100 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A message that contains the words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageHit {
    /// Id of the message.
    pub id: MessageId,
    /// Position in the log.
    pub seq: u64,
    /// Purpose.
    pub action: Action,
    /// Name of the sender.
    pub sender: AgentName,
    /// True if the sender's name is proven.
    pub sender_verified: bool,
    /// Name of the recipient.
    pub recipient: AgentName,
    /// Delivery state.
    pub state: DeliveryState,
    /// Time at which the store accepted the message.
    pub created_at: Millis,
    /// Text around the first match, at most 240 characters. Untrusted: it comes from the sender.
    pub excerpt: String,
}

/// Messages, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchMessagesReply {
    /// The messages.
    pub hits: Vec<MessageHit>,
    /// Pass this as `before` to read on; none if there are no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// False while the index of a long log is still being built; ask again in a moment for the rest.
    pub is_whole: bool,
}

verb! {
    /// Search all messages for words, newest first.
    SearchMessages = "search_messages", Read, Oversee, Found,
    SearchMessagesRequest => SearchMessagesReply
}
