//! Calls that the policy lets through only with a person's approval: each one becomes a question, and its caller waits.
//!
//! The wait belongs to the caller: when it goes away, the question is withdrawn and the call does not run. After an approval the call runs once,
//! with the caller's identity and key. A caller that sends the call again under its key joins the question, or is let through if it was
//! approved; the key keeps the call from running twice.

use serde_json::Value;
use switchboard_needs::NEEDS;
use switchboard_policy::{Decision, hidden, is_secret};
use switchboard_process::task;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::PermissionOption;
use switchboard_protocol::id::{Digest, NeedId};
use switchboard_protocol::need::{Need, NeedAbout, NeedEvent, NeedKind};
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::Row;
use switchboard_store::{Batch, Guard, Interest, Query, Store};

/// How long a call waits for a person, in milliseconds: ten minutes.
const WAIT_MS: i64 = 10 * 60 * 1000;
/// How long an approval lets the same call through again under its key, in milliseconds: a day, as long as keys are remembered.
const YES_MS: i64 = 24 * 60 * 60 * 1000;
/// Maximum number of waiting calls of one caller; less than one connection serves concurrently, so that other calls on it continue.
const MAX_OF_ONE: u64 = 8;
/// Maximum number of waiting calls; less than the requests that HTTP serves concurrently.
const MAX_HELD: u64 = 64;
/// Id of the option that lets a call through.
const APPROVE: &str = "approve";
/// Maximum length of a text in the question, in characters.
const MAX_TEXT: usize = 4_000;
/// Maximum length of the question, in characters.
const MAX_SHOWN: usize = 16_000;

/// A waiting call; its question is withdrawn if this is dropped unanswered.
struct Waiting {
    store: Store,
    id: NeedId,
    is_over: bool,
}

/// Waits until a person has approved a call.
///
/// # Errors
/// `policy.denied` when the answer is no, none came in time, or too many calls wait; the store's failure.
pub(super) async fn hold(
    store: &Store,
    caller: &Caller,
    row: &Row,
    (args, key): (&Value, Option<&str>),
    decision: &Decision,
) -> Result<(), Failure> {
    let id = question_id(caller, row, args, key)?;
    let broken = |error: switchboard_store::Error| error.failure();
    let mut changes = store.subscribe([Interest::rows(NEEDS, "id", id.as_str())]);
    let before = switchboard_needs::get(store, &id)?;
    let is_asked = before.as_ref().is_some_and(|need| counts(need, store.now()));
    if !is_asked {
        let event = question(&id, caller, row, args, decision, store.now())?;
        let mut batch = Batch::synced().event(event);
        batch.guards.extend(room(caller));
        store.commit(batch).await.map_err(broken)?;
    }
    let mut waiting = Waiting { store: store.clone(), id: id.clone(), is_over: is_asked };
    loop {
        let need = switchboard_needs::get(store, &id)?;
        match need.and_then(|need| need.outcome).as_deref() {
            None => {}
            Some("approved" | "answered") => {
                waiting.is_over = true;
                return answered(store, &id, row);
            }
            Some(outcome) => {
                waiting.is_over = true;
                return Err(denied(&id, outcome, row));
            }
        }
        changes.changed().await.map_err(broken)?;
    }
}

/// Withdraws the questions that an earlier daemon left open: their callers are gone.
///
/// # Errors
/// The store's failure.
pub(crate) async fn withdraw_all(store: &Store) -> Result<(), Failure> {
    for need in switchboard_needs::open_calls(store)? {
        switchboard_needs::resolve(store, &need.id, ("withdrawn", None, None), "daemon", Batch::synced()).await?;
    }
    Ok(())
}

/// Derives a question's id: the same for the same call under the same key; a fresh one for a call without a key.
fn question_id(caller: &Caller, row: &Row, args: &Value, key: Option<&str>) -> Result<NeedId, Failure> {
    let Some(key) = key else {
        let bits = getrandom::u64().map_err(|error| Failure::new("internal.bug", error.to_string()))?;
        return Ok(NeedId::from_bits(bits));
    };
    let (folded, args) = (caller.name.folded(), Digest::of(args.to_string().as_bytes()));
    Ok(NeedId::derived(&[b"call", folded.as_bytes(), row.name.as_bytes(), key.as_bytes(), &args.0]))
}

/// Returns true if an earlier question about the same call is still valid.
fn counts(need: &Need, now: Millis) -> bool {
    need.kind == NeedKind::Call
        && match need.outcome.as_deref() {
            None => true,
            Some("withdrawn" | "expired") => false,
            Some(_) => need.asked_at.plus(YES_MS) > now,
        }
}

fn question(
    id: &NeedId,
    caller: &Caller,
    row: &Row,
    args: &Value,
    decision: &Decision,
    now: Millis,
) -> Result<switchboard_protocol::event::NewEvent, Failure> {
    let option = |id: &str, kind: &str| PermissionOption { id: id.into(), name: id.into(), kind: kind.into() };
    let fact = NeedEvent::NeedAsked {
        id: id.clone(),
        about: NeedAbout::Call { verb: row.name.to_string(), caller: caller.name.clone() },
        title: format!("{} calls {}: {}", caller.name, row.name, decision.reason),
        options: vec![option(APPROVE, "allow_once"), option("deny", "reject_once")],
        expires_at: now.plus(WAIT_MS),
    };
    switchboard_needs::ask_event(&fact, summary(args), caller.name.as_str())
        .map_err(|error| Failure::new("internal.bug", error.to_string()))
}

/// Formats the arguments for the person who decides: all of them, but for possible secrets. What is too long says so.
fn summary(args: &Value) -> String {
    beginning(&serde_json::to_string_pretty(&shown(args)).unwrap_or_default(), MAX_SHOWN)
}

fn shown(value: &Value) -> Value {
    let field = |name: &str, value: &Value| if is_secret(name) { hidden(value) } else { shown(value) };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => beginning(text, MAX_TEXT).into(),
        Value::Array(items) => items.iter().map(shown).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), field(name, value))).collect(),
    }
}

/// Returns a text, or its beginning and the length of all of it.
fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}… ({} characters in all)", &text[..at], text.chars().count()),
    }
}

fn room(caller: &Caller) -> [Guard; 2] {
    let open = || Query::table(NEEDS).eq("about", NeedKind::Call.as_str()).eq("outcome", "");
    let refusal = |what: String| {
        Failure::new("policy.denied", what)
            .hint("wait until a person has answered; switchboard needs lists the questions")
    };
    [
        Guard::Fewer {
            query: open().eq("caller", caller.name.as_str()),
            than: MAX_OF_ONE,
            refusal: refusal(format!("{MAX_OF_ONE} calls of {} wait for a person already", caller.name)),
        },
        Guard::Fewer {
            query: open(),
            than: MAX_HELD,
            refusal: refusal(format!("{MAX_HELD} calls wait for a person already")),
        },
    ]
}

/// Lets the call through if the chosen option allows it.
fn answered(store: &Store, id: &NeedId, row: &Row) -> Result<(), Failure> {
    let option = switchboard_needs::option_of(store, id)?;
    if is_yes(option.as_deref()) { Ok(()) } else { Err(denied(id, "denied", row)) }
}

/// Returns true if an answer lets the call through: only the option [`APPROVE`] does.
fn is_yes(option: Option<&str>) -> bool {
    option == Some(APPROVE)
}

fn denied(id: &NeedId, outcome: &str, row: &Row) -> Failure {
    let why = match outcome {
        "denied" => "a person said no",
        "expired" => "nobody answered in time",
        _ => "the question was withdrawn",
    };
    Failure::new("policy.denied", format!("{} was held and not let through: {why}", row.name)).at(id.to_string())
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (store, id) = (self.store.clone(), self.id.clone());
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(task::boxed(async move {
            let resolved =
                switchboard_needs::resolve(&store, &id, ("withdrawn", None, None), "daemon", Batch::synced()).await;
            if let Err(error) = resolved {
                tracing::debug!(need = %id, %error, "a question whose caller is gone was resolved already");
            }
        }));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_person_sees_all_of_a_call_but_secrets_and_how_much_is_left_out() {
        let task = "x".repeat(300);
        let args = json!({ "task": task, "tasks": [{ "env": { "TOKEN": "s3cret" }, "task": "y" }], "payload": "z".repeat(5_000) });

        let seen = summary(&args);

        assert!(seen.contains(&task) && seen.contains("(5000 characters in all)"), "{seen}");
        assert!(!seen.contains("s3cret"));
        let long = summary(&json!({ "tasks": vec!["y"; 9_000] }));
        assert!(long.chars().count() < MAX_SHOWN + 60 && long.ends_with("characters in all)"));
    }

    #[test]
    fn only_the_option_that_approves_lets_a_call_through() {
        assert!(is_yes(Some("approve")));
        assert!(!is_yes(Some("deny")) && !is_yes(Some("another")) && !is_yes(None));
    }
}
