//! Asks and answers questions.

use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::NeedId;
use switchboard_protocol::need::{Need, NeedEvent, NeedKind};
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::need::ResolveReply;
use switchboard_store::{Batch, Guard, Store};

use crate::Error;
use crate::table::NEEDS;
use crate::task::RETRY;

/// Options of a team's question that take a note.
const NOTE_OPTIONS: [&str; 2] = ["text", "revise"];

/// Maximum length of a note, in bytes.
const MAX_NOTE: usize = 2_000;

/// Decision of a person on a question.
#[derive(Debug, Clone)]
pub enum Decision {
    /// Allow it, once.
    Approve,
    /// Refuse it.
    Deny,
    /// Choose this option, with a note for the next worker.
    Answer {
        /// Id of the option.
        option: String,
        /// Note for the next worker, if the option takes one.
        note: Option<String>,
    },
}

/// Returns the event that asks a question; its detail is the body.
///
/// # Errors
/// When the fact does not serialise.
pub fn ask_event(fact: &NeedEvent, detail: impl Into<String>, by: &str) -> Result<NewEvent, serde_json::Error> {
    let (NeedEvent::NeedAsked { id, .. } | NeedEvent::NeedSettled { id, .. }) = fact;
    Ok(NewEvent::of(fact, format!("need/{id}"), by)?.with_body(detail))
}

/// Returns the event that resolves a question, and the guard that it is still open.
///
/// # Errors
/// When the fact does not serialise.
pub fn resolved(
    id: &NeedId,
    outcome: &str,
    option: Option<String>,
    by: &str,
) -> Result<(NewEvent, Guard), serde_json::Error> {
    let fact = NeedEvent::NeedSettled { id: id.clone(), outcome: outcome.to_owned(), option };
    let refusal = Failure::new("need.settled", format!("{id} was answered before"));
    let guard = Guard::equals(NEEDS, [id.as_str().into()], "outcome", "", refusal);
    Ok((NewEvent::of(&fact, format!("need/{id}"), by)?, guard))
}

/// Resolves a question in the caller's batch, with or without a note; a call repeated under its idempotency key gets
/// the first answer.
///
/// # Errors
/// `need.settled`, or a failure of the store.
pub async fn resolve(
    store: &Store,
    id: &NeedId,
    (outcome, option, note): (&str, Option<String>, Option<String>),
    by: &str,
    batch: Batch,
) -> Result<ResolveReply, Error> {
    let (event, guard) = resolved(id, outcome, option, by)?;
    let event = note.map_or(event.clone(), |note| event.with_body(note));
    let reply = ResolveReply { id: id.clone(), outcome: outcome.to_owned() };
    let batch = batch.event(event).guard(guard).reply(serde_json::to_value(&reply)?);
    Ok(serde_json::from_value(store.commit(batch).await?.reply)?)
}

/// Returns the note that comes with an answer; `None` if there is none.
///
/// # Errors
/// `request.bad-args` if it is empty or too long, or if the chosen option takes no note.
pub fn note_of(need: &Need, how: &Decision) -> Result<Option<String>, Error> {
    let Decision::Answer { option, note: Some(note) } = how else { return Ok(None) };
    let bad = |what: String, hint: &str| Err(Error::Refused(Failure::new("request.bad-args", what).hint(hint)));
    let is_read = match need.kind {
        NeedKind::Denied | NeedKind::Change => option == RETRY,
        NeedKind::Team => NOTE_OPTIONS.contains(&option.as_str()),
        NeedKind::Permission | NeedKind::Merge | NeedKind::Call | NeedKind::DeadLetter | NeedKind::HeldMessage => false,
    };
    if !is_read {
        let hint = "a note goes with the option retry of a question about a task, and with text and revise of a team's";
        return bad(format!("nobody would read a note with {} of {}", cut(option, 40), need.id), hint);
    }
    if note.trim().is_empty() || note.len() > MAX_NOTE {
        return bad(format!("a note of {} bytes", note.len()), "a note has 1 to 2,000 bytes");
    }
    Ok(Some(note.clone()))
}

/// Returns the outcome and the option that result from a decision.
///
/// # Errors
/// `request.bad-args` if the question does not offer that.
pub fn choose(need: &Need, how: Decision) -> Result<(&'static str, Option<String>), Error> {
    let first = |kinds: [&str; 2]| {
        let of = |kind: &str| need.options.iter().find(|option| option.kind == kind);
        kinds.into_iter().find_map(of).map(|option| option.id.clone())
    };
    match how {
        Decision::Approve => match first(["allow_once", "allow_always"]) {
            Some(option) => Ok(("approved", Some(option))),
            None => Err(no_option(need, "that allows it")),
        },
        Decision::Deny => Ok(("denied", first(["reject_once", "reject_always"]))),
        Decision::Answer { option, .. } if need.options.iter().any(|offered| offered.id == option) => {
            Ok(("answered", Some(option)))
        }
        Decision::Answer { option, .. } => {
            let shown = cut(&option, 40);
            Err(no_option(need, &format!("called {shown}")))
        }
    }
}

fn no_option(need: &Need, which: &str) -> Error {
    let offered: Vec<_> = need.options.iter().map(|option| option.id.as_str()).collect();
    let what = format!("{} offers no option {which}", need.id);
    Error::Refused(Failure::new("request.bad-args", what).hint(format!("it offers: {}", offered.join(", "))))
}
