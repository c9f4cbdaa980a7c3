//! Results that agents write, and receipts that we write.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::MessageId;
use switchboard_protocol::time::Millis;

use crate::message::malformed;

/// Largest result file in bytes; it becomes the payload of a message.
const MAX_RESULT_BYTES: usize = switchboard_protocol::message::MAX_PAYLOAD_BYTES;

/// What became of a message, in the words of the file protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It lies in the recipient's inbox.
    Delivered,
    /// A terminal has it.
    Executed,
    /// The work is done, by the agent's word.
    Completed,
    /// The agent reported that the work failed.
    Failed,
    /// Somebody must say more first.
    NeedsClarification,
    /// It was refused.
    Error,
}

/// `<message>.result.json`, which a recipient puts beside a message or into its outbox.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultFile {
    /// The message that it answers.
    pub in_reply_to: MessageId,
    /// How it went.
    pub status: Status,
    /// Its own id, free of rules.
    #[serde(default)]
    pub id: Option<String>,
    /// When, as the agent wrote it.
    #[serde(default)]
    pub processed_at: Option<String>,
    /// What came of it.
    #[serde(default)]
    pub artifacts: Value,
    /// Why it went wrong.
    #[serde(default)]
    pub error: Option<String>,
}

/// A delivery receipt, which is written to the sender's outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// `receipt_<message>`.
    pub id: String,
    /// The message.
    pub in_reply_to: String,
    /// What became of it.
    pub status: Status,
    /// The same in a sentence.
    pub summary: String,
    /// When.
    pub processed_at: String,
    /// Why it was refused.
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
    /// The message lies in its recipient's inbox.
    #[must_use]
    pub fn delivered(message: &str, recipient: &str, now: Millis) -> Self {
        Self::new(message, Status::Delivered, format!("Message delivered to '{recipient}' inbox"), now)
    }

    /// The message waits for a person.
    #[must_use]
    pub fn held(message: &str, now: Millis) -> Self {
        let summary = "Message waits for a person's yes: sign it, or send it as request_review".to_owned();
        let held = Failure::new("file.held", "a person has to say yes").hint("switchboard needs");
        Self { error: Some(said(&held)), ..Self::new(message, Status::NeedsClarification, summary, now) }
    }

    /// The message was refused.
    #[must_use]
    pub fn refused(message: &str, failure: &Failure, now: Millis) -> Self {
        Self { error: Some(said(failure)), ..Self::new(message, Status::Error, "Message refused".to_owned(), now) }
    }

    fn new(message: &str, status: Status, summary: String, now: Millis) -> Self {
        let id = format!("receipt_{message}");
        Self { id, in_reply_to: message.to_owned(), status, summary, processed_at: now.to_string(), error: None }
    }

    /// The name of its file.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.json", self.id)
    }

    /// The file's name and text.
    ///
    /// # Errors
    /// When it does not serialise: a defect.
    pub fn to_file(&self) -> Result<(String, String), serde_json::Error> {
        Ok((self.file_name(), serde_json::to_string_pretty(self)? + "\n"))
    }
}

fn said(failure: &Failure) -> String {
    if failure.hint.is_empty() { failure.to_string() } else { format!("{failure}; {}", failure.hint) }
}
