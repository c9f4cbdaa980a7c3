//! Questions to a person from both who ask them: workers of a run, and message files that are not signed.

use bus::files::Held;
use dispatch::Settle;
use protocol::error::Failure;
use protocol::frame::PermissionOption;
use protocol::id::NeedId;
use protocol::need::Need;
use protocol::verb::need::{ListNeedsReply, ListNeedsRequest, SettleReply};
use store::Idempotency;

use crate::verbs::Verbs;

/// Lists questions, oldest first.
pub(crate) fn list(verbs: &Verbs, request: &ListNeedsRequest) -> Result<ListNeedsReply, Failure> {
    let mut needs = verbs.dispatch.list_needs(request)?.needs;
    needs.extend(bus::files::list_held(&verbs.store, request.include_settled)?.iter().map(question));
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
    let Some(need) = of_message(verbs, id)? else {
        return Ok(verbs.dispatch.settle_need(id, how, by, call).await?);
    };
    let unknown = || Failure::new("need.unknown", format!("there is no question {need}"));
    let held = bus::files::held(&verbs.store, &need)?.ok_or_else(unknown)?;
    if !held.outcome.is_empty() {
        return Err(Failure::new("need.settled", format!("{need} was settled before: {}", held.outcome)));
    }
    let outcome = match how {
        Settle::Approve => "approved",
        Settle::Deny => "denied",
        Settle::Answer(option) if option == "approve" => "approved",
        Settle::Answer(option) if option == "deny" => "denied",
        Settle::Answer(_) => {
            let failure = Failure::new("request.bad-args", format!("{need} offers no such option"));
            return Err(failure.hint("it offers: approve, deny"));
        }
    };
    bus::files::settle_held(&verbs.store, &held, outcome, by, call).await?;
    Ok(SettleReply { id: need, outcome: outcome.to_owned() })
}

/// The one held message that an id means; nothing when it may mean a worker's question.
fn of_message(verbs: &Verbs, id: &str) -> Result<Option<NeedId>, Failure> {
    let mut found = bus::files::find_held(&verbs.store, id)?;
    if let Some(exact) = found.iter().position(|need| need.as_str() == id) {
        return Ok(Some(found.swap_remove(exact)));
    }
    if found.is_empty() || id.is_empty() {
        return Ok(None);
    }
    let fits = |need: &Need| need.id.as_str().starts_with(id) || need.id.as_str()["need_".len()..].starts_with(id);
    let of_workers = verbs.dispatch.list_needs(&ListNeedsRequest { include_settled: true })?.needs;
    if found.len() > 1 || of_workers.iter().any(fits) {
        let shown: String = id.chars().take(40).collect();
        return Err(Failure::new("need.unknown", format!("{shown} fits several questions")).hint("give more of its id"));
    }
    Ok(found.pop())
}

fn question(held: &Held) -> Need {
    let option =
        |id: &str, kind: &str| PermissionOption { id: id.to_owned(), name: id.to_owned(), kind: kind.to_owned() };
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
