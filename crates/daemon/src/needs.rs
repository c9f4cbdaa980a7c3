//! Questions to a person: lists them with their texts, and applies the answers.

use switchboard_needs::Decision;
use switchboard_protocol::error::Failure;
use switchboard_protocol::need::{Need, NeedKind};
use switchboard_protocol::verb::need::{ListNeedsReply, ListNeedsRequest, ResolveReply};

use crate::verbs::{Context, Verbs};

/// Lists questions, oldest first, or one.
pub(crate) fn list(verbs: &Verbs, request: &ListNeedsRequest) -> Result<ListNeedsReply, Failure> {
    let mut needs = match &request.id {
        Some(id) => vec![switchboard_needs::find(&verbs.store, id)?],
        None => switchboard_needs::list(&verbs.store, request.include_settled)?,
    };
    for need in &mut needs {
        fill_in(verbs, need)?;
    }
    Ok(ListNeedsReply { needs })
}

/// Adds the text of the message that a question is about, which the record keeps only once.
fn fill_in(verbs: &Verbs, need: &mut Need) -> Result<(), Failure> {
    let Some(id) = &need.message else { return Ok(()) };
    match need.kind {
        NeedKind::Permission
        | NeedKind::Denied
        | NeedKind::Change
        | NeedKind::Merge
        | NeedKind::Team
        | NeedKind::Call => {}
        NeedKind::DeadLetter => {
            if let Some(message) = switchboard_bus::message(&verbs.store, id)? {
                need.title = format!("from {} {}", message.sender, need.title);
                need.detail = message.payload;
            }
        }
        NeedKind::HeldMessage => {
            if let Some(held) = switchboard_files::held_message(&verbs.store, id)? {
                need.detail = held.text;
            }
        }
    }
    Ok(())
}

/// Resolves a question by its id or the beginning of it. A worker, a held call and the file protocol learn of it from the log; a dead
/// letter is put back or dropped in the same commit.
pub(crate) async fn resolve(verbs: &Verbs, id: &str, how: Decision, call: &Context) -> Result<ResolveReply, Failure> {
    let need = switchboard_needs::find(&verbs.store, id)?;
    let note = switchboard_needs::note_of(&need, &how)?;
    let (outcome, option) = switchboard_needs::choose(&need, how)?;
    match need.kind {
        NeedKind::Permission
        | NeedKind::Denied
        | NeedKind::Change
        | NeedKind::Merge
        | NeedKind::Team
        | NeedKind::Call => {
            let answer = (outcome, option, note);
            Ok(switchboard_needs::resolve(&verbs.store, &need.id, answer, call.by(), call.batch()).await?)
        }
        NeedKind::DeadLetter => resolve_dead(verbs, need, option.as_deref() == Some("revive"), call).await,
        NeedKind::HeldMessage => resolve_held(verbs, need, option.as_deref() == Some("approve"), call).await,
    }
}

async fn resolve_dead(verbs: &Verbs, need: Need, revive: bool, call: &Context) -> Result<ResolveReply, Failure> {
    let letters = switchboard_bus::find_dead_letters(&verbs.store, need.id.as_str())?;
    let letter = letters.first().ok_or_else(|| unknown(&need))?;
    let outcome = switchboard_bus::settle_dead_letter(&verbs.store, &call.on_bus(verbs), letter, revive).await?;
    Ok(ResolveReply { id: need.id, outcome: outcome.to_owned() })
}

async fn resolve_held(verbs: &Verbs, need: Need, approve: bool, call: &Context) -> Result<ResolveReply, Failure> {
    let held = switchboard_files::held(&verbs.store, &need.id)?.ok_or_else(|| unknown(&need))?;
    // Treated as open here: the writer checks the key first, then whether the question is still open.
    let held = switchboard_files::Held { outcome: String::new(), ..held };
    let outcome = if approve { "approved" } else { "denied" };
    switchboard_files::settle_held(&verbs.store, &held, outcome, call.by(), call.idempotency.clone()).await?;
    Ok(ResolveReply { id: need.id, outcome: outcome.to_owned() })
}

fn unknown(need: &Need) -> Failure {
    Failure::new("need.unknown", format!("what {} is about is not there any more", need.id))
}
