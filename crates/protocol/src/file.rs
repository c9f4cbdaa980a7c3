//! Message files: what happens to a message that comes as a file, or goes as one.

use serde::{Deserialize, Serialize};

use crate::id::{AgentName, Digest, MessageId, NeedId};
use crate::message::Action;
use crate::time::Millis;

/// What happens to message files. The subject is `message-file/ID`, or `message-file/unnamed` and `message-file/nonces` where no message is
/// known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum FileEvent {
    /// A file is being taken: its message is sent next. The fields that go on with it are the body.
    MessageFileTaken {
        /// The message.
        id: MessageId,
        /// SHA-256 of the file.
        digest: Digest,
        /// Where it lay, below `.switchboard/`.
        from: String,
        /// Who it says sends it.
        sender: AgentName,
        /// The key whose signature was valid.
        signed_by: Option<String>,
        /// The nonce that is used up, and until when it counts.
        nonce: Option<(String, Millis)>,
    },
    /// A file was refused and set aside.
    MessageFileRefused {
        /// Where it lay.
        from: String,
        /// The message, where it says one.
        id: Option<MessageId>,
        /// Why.
        code: String,
        /// The same in words.
        what: String,
    },
    /// A file asks for more than it may; a person decides. The whole file is the body.
    MessageHeld {
        /// The message.
        id: MessageId,
        /// The question.
        need: NeedId,
        /// SHA-256 of the file.
        digest: Digest,
        /// Where it lay.
        from: String,
        /// What it is for.
        action: Action,
        /// Who it says sends it.
        sender: AgentName,
        /// Who is to read it.
        recipient: AgentName,
        /// When nobody's word counts as no.
        expires_at: Millis,
    },
    /// A person or the clock decided.
    HeldMessageSettled {
        /// The message.
        id: MessageId,
        /// `approved`, `denied`, `expired`, or `refused` when it could not be sent after a yes.
        outcome: String,
    },
    /// A message is being written as a file: its temporary file is there.
    MessageFileStaged {
        /// The message.
        id: MessageId,
        /// Whose.
        recipient: AgentName,
        /// The folder in `inbox/`.
        folder: String,
    },
    /// The file is in its place.
    MessageFileWritten {
        /// The message.
        id: MessageId,
    },
    /// The file is not there any more.
    MessageFileGone {
        /// The message.
        id: MessageId,
        /// Why.
        how: Gone,
    },
    /// Nonces of expired envelopes are forgotten.
    NoncesForgotten {
        /// Which.
        nonces: Vec<String>,
    },
}

/// Why a file is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Gone {
    /// The recipient took it.
    PickedUp,
    /// We archived it.
    Archived,
    /// Its whole folder vanished; it is written again.
    Lost,
}
