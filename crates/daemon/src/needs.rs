//! Questions to a person from all who ask them: workers of a run, message files that are not signed, and messages that came to nothing.

use switchboard_bus::DeadLetter;
use switchboard_dispatch::Settle;
use switchboard_files::Held;
use switchboard_pipeline::delivery::DEAD_LETTER_MS;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::PermissionOption;
use switchboard_protocol::id::{AgentName, NeedId};
use switchboard_protocol::need::Need;
use switchboard_protocol::verb::need::{ListNeedsReply, ListNeedsRequest, SettleReply};
use switchboard_store::Idempotency;

use crate::verbs::Verbs;

/// Lists questions, oldest first.
pub(crate) fn list(verbs: &Verbs, request: &ListNeedsRequest) -> Result<ListNeedsReply, Failure> {
    let mut needs = verbs.dispatch.list_needs(request)?.needs;
    needs.extend(switchboard_files::list_held(&verbs.store, request.include_settled)?.iter().map(question));
    needs.extend(switchboard_bus::dead_letters(&verbs.store, request.include_settled)?.iter().map(whether_to_revive));
    needs.sort_by_key(|need| need.asked_at);
    Ok(ListNeedsReply { needs })
}

/// Settles a question by its id or the beginning of it. An approved message is sent right after, from the record.
pub(crate) async fn settle(
    verbs: &Verbs,
    id: &str,
    how: Settle,
    by: &str,
    call: Option<Idempotency>,
) -> Result<SettleReply, Failure> {
    match find(verbs, id)? {
        Found::Other => Ok(verbs.dispatch.settle_need(id, how, by, call).await?),
        Found::Held(need) => settle_held(verbs, need, how, by, call).await,
        Found::Dead(letter) => settle_dead(verbs, &letter, how, by, call).await,
    }
}

/// What an id means.
enum Found {
    /// A message that waits for a yes.
    Held(NeedId),
    /// A message that came to nothing.
    Dead(Box<DeadLetter>),
    /// A worker's question, or nothing.
    Other,
}

/// A yes puts a dead letter back, a no lets it go.
async fn settle_dead(
    verbs: &Verbs,
    letter: &DeadLetter,
    how: Settle,
    by: &str,
    call: Option<Idempotency>,
) -> Result<SettleReply, Failure> {
    let revive = match how {
        Settle::Approve => true,
        Settle::Deny => false,
        Settle::Answer(option) if option == "revive" => true,
        Settle::Answer(option) if option == "drop" => false,
        Settle::Answer(_) => return Err(no_such_option(&letter.need, "revive, drop")),
    };
    let name = AgentName::new(by).map_err(|error| Failure::new("request.bad-args", error.to_string()))?;
    let call = switchboard_bus::Call {
        caller: Caller::person(name.clone()),
        idempotency: call,
        limits: verbs.limits,
        ..switchboard_bus::Call::of(name)
    };
    let outcome = switchboard_bus::settle_dead_letter(&verbs.store, &call, letter, revive).await?;
    Ok(SettleReply { id: letter.need.clone(), outcome: outcome.to_owned() })
}

fn no_such_option(need: &NeedId, offers: &str) -> Failure {
    Failure::new("request.bad-args", format!("{need} offers no such option")).hint(format!("it offers: {offers}"))
}

async fn settle_held(
    verbs: &Verbs,
    need: NeedId,
    how: Settle,
    by: &str,
    call: Option<Idempotency>,
) -> Result<SettleReply, Failure> {
    let unknown = || Failure::new("need.unknown", format!("there is no question {need}"));
    let held = switchboard_files::held(&verbs.store, &need)?.ok_or_else(unknown)?;
    if !held.outcome.is_empty() {
        return Err(Failure::new("need.settled", format!("{need} was settled before: {}", held.outcome)));
    }
    let outcome = match how {
        Settle::Approve => "approved",
        Settle::Deny => "denied",
        Settle::Answer(option) if option == "approve" => "approved",
        Settle::Answer(option) if option == "deny" => "denied",
        Settle::Answer(_) => return Err(no_such_option(&need, "approve, deny")),
    };
    switchboard_files::settle_held(&verbs.store, &held, outcome, by, call).await?;
    Ok(SettleReply { id: need, outcome: outcome.to_owned() })
}

/// The one message that an id means; nothing when it may mean a worker's question.
fn find(verbs: &Verbs, id: &str) -> Result<Found, Failure> {
    let held =
        switchboard_files::find_held(&verbs.store, id)?.into_iter().map(|need| (need.clone(), Found::Held(need)));
    let dead = switchboard_bus::find_dead_letters(&verbs.store, id)?.into_iter();
    let dead = dead.map(|letter| (letter.need.clone(), Found::Dead(Box::new(letter))));
    let mut found: Vec<_> = held.chain(dead).collect();
    if let Some(exact) = found.iter().position(|(need, _)| need.as_str() == id) {
        return Ok(found.swap_remove(exact).1);
    }
    if found.is_empty() || id.is_empty() {
        return Ok(Found::Other);
    }
    let fits = |need: &Need| need.id.as_str().starts_with(id) || need.id.as_str()["need_".len()..].starts_with(id);
    let of_workers = verbs.dispatch.list_needs(&ListNeedsRequest { include_settled: true })?.needs;
    if found.len() > 1 || of_workers.iter().any(fits) {
        let shown: String = id.chars().take(40).collect();
        return Err(Failure::new("need.unknown", format!("{shown} fits several questions")).hint("give more of its id"));
    }
    Ok(found.pop().map_or(Found::Other, |(_, found)| found))
}

fn option(id: &str, kind: &str) -> PermissionOption {
    PermissionOption { id: id.to_owned(), name: id.to_owned(), kind: kind.to_owned() }
}

fn whether_to_revive(letter: &DeadLetter) -> Need {
    let message = &letter.message;
    Need {
        id: letter.need.clone(),
        run: None,
        task: String::new(),
        worker: None,
        message: Some(message.id.clone()),
        title: format!("from {} to {} came to nothing: {}", message.sender, message.recipient, message.cause),
        detail: message.payload.clone(),
        options: vec![option("revive", "allow_once"), option("drop", "reject_once")],
        asked_at: letter.at,
        expires_at: letter.at.plus(DEAD_LETTER_MS),
        outcome: (!letter.outcome.is_empty()).then(|| letter.outcome.clone()),
    }
}

fn question(held: &Held) -> Need {
    Need {
        id: held.need.clone(),
        run: None,
        task: String::new(),
        worker: None,
        message: Some(held.id.clone()),
        title: format!("{} to {}, from a file that says it is by {}", held.action, held.recipient, held.sender),
        detail: held.text.clone(),
        options: vec![option("approve", "allow_once"), option("deny", "reject_once")],
        asked_at: held.asked_at,
        expires_at: held.expires_at,
        outcome: (!held.outcome.is_empty()).then(|| held.outcome.clone()),
    }
}
