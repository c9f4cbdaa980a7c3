//! Results written by agents, and receipts written by us.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::MessageId;
use switchboard_protocol::time::Millis;

use crate::message::malformed;

/// Maximum size of a result file, in bytes; it becomes the payload of a message.
const MAX_RESULT_BYTES: usize = switchboard_protocol::message::MAX_PAYLOAD_BYTES;

/// Outcome of a message, in the words of the file protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is in the recipient's inbox.
    Delivered,
    /// A terminal has received it.
    Executed,
    /// The agent reported that the work is done.
    Completed,
    /// The agent reported that the work failed.
    Failed,
    /// More information is needed first.
    NeedsClarification,
    /// It was refused.
    Error,
}

/// Content of `<message>.result.json`, which a recipient puts beside a message or into its outbox.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultFile {
    /// Id of the message that it answers.
    pub in_reply_to: MessageId,
    /// Outcome of the work.
    pub status: Status,
    /// Id of the result, in any form.
    #[serde(default)]
    pub id: Option<String>,
    /// Time of the result, as the agent wrote it.
    #[serde(default)]
    pub processed_at: Option<String>,
    /// Results of the work.
    #[serde(default)]
    pub artifacts: Value,
    /// Cause of a failure.
    #[serde(default)]
    pub error: Option<String>,
}

/// Delivery receipt, written to the sender's outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// Id of the receipt: `receipt_<message>`.
    pub id: String,
    /// Id of the message.
    pub in_reply_to: String,
    /// Outcome of the message.
    pub status: Status,
    /// Outcome in a sentence.
    pub summary: String,
    /// Time of the receipt.
    pub processed_at: String,
    /// Reason of a refusal.
    pub error: Option<String>,
}

// === impl ResultFile ===

impl ResultFile {
    /// Reads a file.
    ///
    /// # Errors
    /// `file.too-large`, `file.malformed`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Failure> {
        if bytes.len() > MAX_RESULT_BYTES {
            return Err(Failure::new("file.too-large", format!("a result has at most {MAX_RESULT_BYTES} bytes")));
        }
        serde_json::from_slice(bytes).map_err(|error| malformed(&format!("the result: {error}")))
    }
}

// === impl Receipt ===

impl Receipt {
    /// Returns the receipt of a message that is in its recipient's inbox.
    #[must_use]
    pub fn delivered(message: &str, recipient: &str, now: Millis) -> Self {
        Self::new(message, Status::Delivered, format!("Message delivered to '{recipient}' inbox"), now)
    }

    /// Returns the receipt of a message that waits for a person.
    #[must_use]
    pub fn held(message: &str, now: Millis) -> Self {
        let summary = "Message waits for a person's yes: sign it, or send it as request_review".to_owned();
        let held = Failure::new("file.held", "a person has to say yes").hint("switchboard needs");
        Self { error: Some(failure_text(&held)), ..Self::new(message, Status::NeedsClarification, summary, now) }
    }

    /// Returns the receipt of a refused message.
    #[must_use]
    pub fn refused(message: &str, failure: &Failure, now: Millis) -> Self {
        Self {
            error: Some(failure_text(failure)),
            ..Self::new(message, Status::Error, "Message refused".to_owned(), now)
        }
    }

    fn new(message: &str, status: Status, summary: String, now: Millis) -> Self {
        let id = format!("receipt_{message}");
        Self { id, in_reply_to: message.to_owned(), status, summary, processed_at: now.to_string(), error: None }
    }

    /// Returns the name of the receipt's file.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.json", self.id)
    }

    /// Returns the file's name and text.
    ///
    /// # Errors
    /// When it does not serialise, which is a defect.
    pub fn to_file(&self) -> Result<(String, String), serde_json::Error> {
        Ok((self.file_name(), serde_json::to_string_pretty(self)? + "\n"))
    }
}

fn failure_text(failure: &Failure) -> String {
    if failure.hint.is_empty() { failure.to_string() } else { format!("{failure}; {}", failure.hint) }
}
