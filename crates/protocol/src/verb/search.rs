//! Looking for words in messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verb;
use crate::id::{AgentName, MessageId};
use crate::message::{Action, DeliveryState};
use crate::time::Millis;

/// What to look for.
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
    /// At most so many, 20 by default, 100 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A message that holds the words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageHit {
    /// Its id.
    pub id: MessageId,
    /// Position in the log.
    pub seq: u64,
    /// What it is for.
    pub action: Action,
    /// Who sent it.
    pub sender: AgentName,
    /// Whether the sender proved who it is.
    pub sender_verified: bool,
    /// Who is to read it.
    pub recipient: AgentName,
    /// How far it has come.
    pub state: DeliveryState,
    /// When the store took it.
    pub created_at: Millis,
    /// The text around the first match, at most 240 characters. Untrusted: it is what somebody wrote.
    pub excerpt: String,
}

/// Messages, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchMessagesReply {
    /// The messages.
    pub hits: Vec<MessageHit>,
    /// Pass this as `before` to read on; nothing when there are no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// False while the index of a long log is still being made; ask again in a moment for the rest.
    pub is_whole: bool,
}

verb! {
    /// Look for words in all messages, newest first.
    SearchMessages = "search_messages", Read, Oversee, Found,
    SearchMessagesRequest => SearchMessagesReply
}
