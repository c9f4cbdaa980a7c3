//! Message files of the protocol.

use serde_json::{Map, Value};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, Digest, MessageId};
use switchboard_protocol::message::{Action, MAX_PAYLOAD_BYTES};
use switchboard_protocol::text::cut;
use switchboard_protocol::time::Millis;

use crate::names::canonical;
use switchboard_bus::auth::{Envelope, Fields};

/// Maximum size of a message file, in bytes. A payload of 256 KiB fits even if much of it is escaped, and the whole
/// text fits into the record while it waits for a person.
pub const MAX_FILE_BYTES: usize = switchboard_protocol::event::MAX_BODY_BYTES;

/// Maximum nesting depth of a message file.
const MAX_DEPTH: usize = 32;

/// Optional fields that are passed on with a message. Other fields are ignored; `sessionToken` is a secret.
const CARRIED: [&str; 4] = ["metadata", "createdAt", "persona", "team"];

/// Folder in which a file was found; it supplies missing fields and limits the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin<'a> {
    /// Folder `inbox/<recipient>/`.
    Inbox(&'a str),
    /// Folder `outbox/<sender>/send/`.
    Send(&'a str),
}

/// Parsed message file in a folder where it is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFile {
    /// Id of the message; derived from the content if the file has none.
    pub id: MessageId,
    /// Purpose of the message.
    pub action: Action,
    /// Claimed sender.
    pub sender: AgentName,
    /// Recipient of the message.
    pub recipient: AgentName,
    /// Text of the message.
    pub payload: String,
    /// Id of the message that it answers.
    pub reply_to: Option<MessageId>,
    /// Envelope, if it is signed.
    pub auth: Option<Envelope>,
    /// All fields as written, for the signature.
    pub fields: Fields,
    /// SHA-256 of the file.
    pub digest: Digest,
}

/// Returns true if the text is the beginning of a JSON value: it may still be being written.
#[must_use]
pub fn is_unfinished(bytes: &[u8]) -> bool {
    let parsed = serde_json::from_slice::<serde::de::IgnoredAny>(bytes);
    bytes.iter().all(u8::is_ascii_whitespace) || parsed.is_err_and(|error| error.is_eof())
}

// === impl MessageFile ===

impl MessageFile {
    /// Reads a file.
    ///
    /// # Errors
    /// `file.malformed` names the field; `file.too-large`; `file.wrong-folder`.
    pub fn parse(bytes: &[u8], origin: Origin<'_>) -> Result<Self, Failure> {
        if bytes.len() > MAX_FILE_BYTES {
            return Err(too_large(&format!("the file has more than {MAX_FILE_BYTES} bytes")));
        }
        let fields = object(bytes)?;
        let digest = Digest::of(bytes);
        let (folder_sender, folder_recipient) = match origin {
            Origin::Inbox(folder) => (None, Some(folder)),
            Origin::Send(folder) => (Some(folder), None),
        };
        let payload = text(&fields, "payload")?.ok_or_else(|| missing("payload"))?;
        if payload.len() > MAX_PAYLOAD_BYTES {
            return Err(too_large(&format!("the payload has more than {MAX_PAYLOAD_BYTES} bytes")));
        }
        let id = match id(&fields, "id")? {
            Some(id) => id,
            None => MessageId::from_bits(bits(&digest)),
        };
        Ok(Self {
            id,
            action: action(&fields)?,
            sender: name(&fields, "sender", folder_sender)?,
            recipient: name(&fields, "recipient", folder_recipient)?,
            payload: payload.to_owned(),
            reply_to: id_of_reply(&fields)?,
            auth: envelope(&fields)?,
            fields,
            digest,
        })
    }

    /// Returns the fields that are passed on with the message.
    #[must_use]
    pub fn carried(&self) -> Fields {
        let carried = CARRIED.iter().filter_map(|name| Some(((*name).to_owned(), self.fields.get(*name)?.clone())));
        carried.collect()
    }

    /// Returns when the message expires, as requested by the sender (`metadata.dispatch.expires_at`).
    #[must_use]
    pub fn expires_at(&self) -> Option<Millis> {
        Millis::parse(self.fields.get("metadata")?.get("dispatch")?.get("expires_at")?.as_str()?)
    }
}

fn object(bytes: &[u8]) -> Result<Map<String, Value>, Failure> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        let failure = malformed("the file is not JSON");
        failure.at(format!("line {}, column {}", error.line(), error.column()))
    })?;
    if depth(&value) > MAX_DEPTH {
        return Err(malformed(&format!("the file nests deeper than {MAX_DEPTH}")));
    }
    match value {
        Value::Object(fields) => Ok(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(malformed("the file is not a JSON object"))
        }
    }
}

/// Returns the nesting depth; the parser limits the recursion to 128.
fn depth(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
    }
}

/// Returns a field's text; `None` for null and an empty text.
fn text<'a>(fields: &'a Fields, name: &str) -> Result<Option<&'a str>, Failure> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() && name != "payload" => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(malformed(&format!("`{name}` is not a text")))
        }
    }
}

fn id(fields: &Fields, name: &str) -> Result<Option<MessageId>, Failure> {
    let id = text(fields, name)?.map(MessageId::new).transpose();
    id.map_err(|error| malformed(&format!("`{name}`: {error}")))
}

fn id_of_reply(fields: &Fields) -> Result<Option<MessageId>, Failure> {
    id(fields, "replyTo")
}

fn action(fields: &Fields) -> Result<Action, Failure> {
    let word = text(fields, "action")?.ok_or_else(|| missing("action"))?;
    serde_json::from_value(Value::from(word)).map_err(|_| {
        malformed("`action` is none of delegate_task, request_review, submit_result, status_update, execute")
    })
}

/// Returns the name given by the file, the folder, or both in spellings of one name.
fn name(fields: &Fields, field: &str, folder: Option<&str>) -> Result<AgentName, Failure> {
    let said = text(fields, field)?;
    if let (Some(said), Some(folder)) = (said, folder)
        && canonical(said) != canonical(folder)
    {
        let shown = cut(said, 64);
        let what = format!("the file lies in the folder of {folder:?} and says that its {field} is {shown:?}");
        return Err(Failure::new("file.wrong-folder", what));
    }
    let name = said.or(folder).ok_or_else(|| missing(field))?;
    AgentName::new(name).map_err(|error| malformed(&format!("`{field}`: {error}")))
}

fn envelope(fields: &Fields) -> Result<Option<Envelope>, Failure> {
    match fields.get("auth") {
        None | Some(Value::Null) => Ok(None),
        Some(auth) => serde_json::from_value(auth.clone())
            .map(Some)
            .map_err(|_| Failure::new("auth.bad-signature", "`auth` needs version, nonce, payloadHash and signature")),
    }
}

/// Returns the first 64 bits of a digest, for ids derived from content.
pub(super) fn bits(digest: &Digest) -> u64 {
    digest.0[..8].iter().fold(0, |bits, byte| (bits << 8) | u64::from(*byte))
}

pub(super) fn malformed(why: &str) -> Failure {
    Failure::new("file.malformed", why)
}

fn missing(field: &str) -> Failure {
    malformed(&format!("`{field}` is missing"))
}

fn too_large(what: &str) -> Failure {
    Failure::new("file.too-large", what)
}
