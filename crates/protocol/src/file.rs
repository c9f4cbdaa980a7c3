//! Message files: events about messages that arrive or leave as files.

use serde::{Deserialize, Serialize};

use crate::id::{AgentName, Digest, MessageId, NeedId};
use crate::message::Action;
use crate::time::Millis;

/// Events about message files. The subject is `message-file/ID`, or `message-file/unnamed` and `message-file/nonces` where the message is
/// unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(tag = "kind", content = "facts")]
pub enum FileEvent {
    /// A file is being read: its message is sent next. The body holds the fields that are passed on.
    MessageFileTaken {
        /// Id of the message.
        id: MessageId,
        /// SHA-256 of the file.
        digest: Digest,
        /// Path of the file, below `.switchboard/`.
        from: String,
        /// Sender that the file names.
        sender: AgentName,
        /// Key whose signature was valid.
        signed_by: Option<String>,
        /// The nonce that was used, and the time until which it is kept.
        nonce: Option<(String, Millis)>,
    },
    /// A file was refused and set aside.
    MessageFileRefused {
        /// Path of the file, below `.switchboard/`.
        from: String,
        /// Id of the message, if the file names one.
        id: Option<MessageId>,
        /// Error code.
        code: String,
        /// Reason in words.
        what: String,
    },
    /// A file needs a permission that its sender lacks, so a person decides. The body holds the whole file.
    MessageHeld {
        /// Id of the message.
        id: MessageId,
        /// Id of the question.
        need: NeedId,
        /// SHA-256 of the file.
        digest: Digest,
        /// Path of the file, below `.switchboard/`.
        from: String,
        /// Action that needs the decision.
        action: Action,
        /// Sender that the file names.
        sender: AgentName,
        /// Recipient of the message.
        recipient: AgentName,
        /// Time after which the missing answer counts as a denial.
        expires_at: Millis,
    },
    /// A person decided about a held message, or its time ran out.
    HeldMessageSettled {
        /// Id of the message.
        id: MessageId,
        /// `approved`, `denied`, `expired`, or `refused` if it could not be sent after an approval.
        outcome: String,
    },
    /// A message is being written as a file: its temporary file exists.
    MessageFileStaged {
        /// Id of the message.
        id: MessageId,
        /// Recipient of the message.
        recipient: AgentName,
        /// Folder within `inbox/`.
        folder: String,
    },
    /// The file has its final name.
    MessageFileWritten {
        /// Id of the message.
        id: MessageId,
    },
    /// The file no longer exists.
    MessageFileGone {
        /// Id of the message.
        id: MessageId,
        /// Reason why the file is gone.
        how: Gone,
    },
    /// Nonces of expired envelopes were deleted.
    NoncesForgotten {
        /// The nonces.
        nonces: Vec<String>,
    },
}

/// Reason why a file is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Gone {
    /// The recipient took it.
    PickedUp,
    /// The daemon archived it.
    Archived,
    /// Its whole folder vanished; the file is written again.
    Lost,
}
