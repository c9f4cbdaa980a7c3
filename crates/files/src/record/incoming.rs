//! Takes files: what is recorded before a message is sent, so that its file is taken only once.

use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::file::FileEvent;
use switchboard_protocol::id::{MessageId, NeedId};
use switchboard_protocol::text::cut;
use switchboard_protocol::time::Millis;
use switchboard_store::{Batch, Durability, Guard, Query, Store};

use super::{HELD, NONCES, TAKEN};
use crate::Error;
use crate::message::MessageFile;
use switchboard_bus::auth::Proof;

/// How long a question about a message stays open, in milliseconds: as long as a dispatch file is valid by default, 480
/// minutes.
const HOLD_MS: i64 = 480 * 60_000;

/// Maximum number of nonces forgotten by one event; more would not fit into its facts.
const NONCES_AN_EVENT: usize = 20;

/// Maximum length of a refusal's text in the record, in bytes.
const MAX_WHAT: usize = 200;

/// File to be taken.
#[derive(Debug, Clone, Copy)]
pub struct Taking<'a> {
    /// Content of the file.
    pub file: &'a MessageFile,
    /// Path of the file, below `.switchboard/`.
    pub from: &'a str,
    /// Facts proven by its envelope.
    pub proof: Option<&'a Proof>,
}

/// State of a file in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// It is new.
    New,
    /// It was taken, and its message is not sent yet.
    Taken {
        /// True if its signature was valid then.
        is_signed: bool,
    },
    /// Its message was sent.
    Sent,
    /// It waits for a person, or was approved and is not sent yet.
    Held,
    /// A person refused it, or it has expired.
    Denied,
    /// Another file had the same id.
    Other,
}

/// Looks a file up.
///
/// # Errors
/// When the store can't be read.
pub fn known(store: &Store, file: &MessageFile) -> Result<Known, Error> {
    let key = [file.id.as_str().into()];
    let digest = file.digest.to_string();
    let (taken, held) = (store.get(TAKEN, &key)?, store.get(HELD, &key)?);
    if taken.iter().chain(&held).any(|row| row.get_text("digest") != Some(&digest)) {
        return Ok(Known::Other);
    }
    let outcome = held.as_ref().map(|row| row.get_text("outcome").unwrap_or_default());
    Ok(match (taken, outcome) {
        (Some(_), _) if switchboard_bus::is_known(store, &file.id)? => Known::Sent,
        (_, Some("" | "approved")) => Known::Held,
        (_, Some(_)) => Known::Denied,
        (Some(row), None) => Known::Taken { is_signed: row.get_bool("signed") },
        (None, None) => Known::New,
    })
}

/// Records that a file is taken and its nonce used up.
///
/// # Errors
/// `auth.replayed`, `request.conflict` for an id that is taken, or a failure of the store.
pub async fn take(store: &Store, taking: Taking<'_>) -> Result<(), Error> {
    let file = taking.file;
    let fact = FileEvent::MessageFileTaken {
        id: file.id.clone(),
        digest: file.digest,
        from: taking.from.to_owned(),
        sender: file.sender.clone(),
        signed_by: taking.proof.map(|proof| proof.key_id.clone()),
        nonce: taking.proof.map(|proof| (proof.nonce.clone(), proof.until)),
    };
    let mut event = NewEvent::of(&fact, subject(&file.id), file.sender.as_str())?;
    // Fields not covered by the first version of the envelope must not be passed on under a signature of ours.
    let carried = file.carried();
    if !carried.is_empty() && taking.proof.is_none_or(|proof| proof.is_whole) {
        event = event.with_body(serde_json::to_string(&carried)?);
    }
    // The message follows in a commit that syncs this one too; after a power cut before that, the file is still in its
    // folder.
    let mut batch = Batch::new(Durability::Written).event(event).guard(unused(&file.id, TAKEN));
    if let Some(proof) = taking.proof {
        let refusal = Failure::new("auth.replayed", "the envelope's nonce was used before");
        batch = batch.guard(Guard::absent(NONCES, [proof.nonce.as_str().into()], refusal));
    }
    store.commit(batch).await?;
    Ok(())
}

/// Records that a file waits for a person.
///
/// # Errors
/// `request.conflict` for an id that is taken, or a failure of the store.
pub async fn hold(store: &Store, taking: Taking<'_>, text: &str, need: NeedId) -> Result<(), Error> {
    let file = taking.file;
    let latest = store.now().plus(HOLD_MS);
    let fact = FileEvent::MessageHeld {
        id: file.id.clone(),
        need,
        digest: file.digest,
        from: taking.from.to_owned(),
        action: file.action,
        sender: file.sender.clone(),
        recipient: file.recipient.clone(),
        expires_at: file.expires_at().map_or(latest, |at| Millis(at.0.min(latest.0))),
    };
    let event = NewEvent::of(&fact, subject(&file.id), file.sender.as_str())?.with_body(text);
    let batch = Batch::new(Durability::Synced).event(event);
    store.commit(batch.guard(unused(&file.id, TAKEN)).guard(unused(&file.id, HELD))).await?;
    Ok(())
}

/// Records that a file was refused.
///
/// # Errors
/// A failure of the store.
pub async fn refuse(store: &Store, from: &str, id: Option<&MessageId>, failure: &Failure) -> Result<(), Error> {
    let fact = FileEvent::MessageFileRefused {
        from: from.to_owned(),
        id: id.cloned(),
        code: failure.code.clone(),
        what: cut(&failure.what, MAX_WHAT),
    };
    let subject = id.map_or_else(|| "message-file/unnamed".to_owned(), subject);
    store.commit(Batch::new(Durability::Written).event(NewEvent::of(&fact, subject, "daemon")?)).await?;
    Ok(())
}

/// Forgets nonces whose envelopes have expired.
///
/// # Errors
/// A failure of the store.
pub async fn forget_nonces(store: &Store) -> Result<(), Error> {
    let old = store.read(&Query::table(NONCES).lt("until", store.now().0).asc("until").limit(1000))?;
    let nonces: Vec<_> = old.iter().filter_map(|row| row.get_text("nonce")).map(str::to_owned).collect();
    let mut batch = Batch::new(Durability::Written);
    for nonces in nonces.chunks(NONCES_AN_EVENT) {
        let fact = FileEvent::NoncesForgotten { nonces: nonces.to_vec() };
        batch = batch.event(NewEvent::of(&fact, "message-file/nonces", "daemon")?);
    }
    if !batch.events.is_empty() {
        store.commit(batch).await?;
    }
    Ok(())
}

fn unused(id: &MessageId, table: &'static str) -> Guard {
    let refusal = Failure::new("request.conflict", format!("the id {id} was used for another message"));
    Guard::absent(table, [id.as_str().into()], refusal)
}

pub(super) fn subject(id: &MessageId) -> String {
    format!("message-file/{id}")
}
