//! Table of questions, made from the events of all parts that ask.

use switchboard_pipeline::delivery::DEAD_LETTER_MS;
use switchboard_protocol::event::Event;
use switchboard_protocol::file::FileEvent;
use switchboard_protocol::frame::PermissionOption;
use switchboard_protocol::id::NeedId;
use switchboard_protocol::message::{MessageEvent, QueueState};
use switchboard_protocol::need::{NeedAbout, NeedEvent, NeedKind};
use switchboard_protocol::time::Millis;
use switchboard_store::{Cell, Change, Column, Projection, Row, Table};

/// Questions, keyed by their id. `outcome` is empty while a question is open.
pub const NEEDS: &str = "needs";

static TABLES: [Table; 1] = [Table {
    name: NEEDS,
    columns: &[
        Column::text("id"),
        Column::int("seq"),
        Column::text("about"),
        Column::text("run"),
        Column::text("task"),
        Column::text("worker"),
        Column::text("ask"),
        Column::text("message"),
        Column::text("verb"),
        Column::text("caller"),
        Column::text("title"),
        Column::text("options"),
        Column::int("asked_at"),
        Column::int("expires_at"),
        Column::text("outcome"),
        Column::text("option"),
        Column::text("denied"),
        Column::int("answered"),
    ],
    key: &["id"],
    indexes: &[&["outcome", "seq"], &["worker"], &["message"]],
    sparse: &[],
}];

/// Projector of questions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Needs;

impl Projection for Needs {
    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn version(&self) -> u32 {
        2
    }

    fn prefixes(&self) -> &'static [&'static str] {
        &["need_", "message_ended", "message_revived", "message_dropped", "message_held", "held_message_settled"]
    }

    fn project(&self, event: &Event) -> Vec<Change> {
        if let Some(fact) = event.fact::<NeedEvent>() {
            return of_need(event, fact);
        }
        if let Some(fact) = event.fact::<MessageEvent>() {
            return of_message(event, &fact);
        }
        event.fact::<FileEvent>().map_or_else(Vec::new, |fact| of_file(event, &fact))
    }
}

fn of_need(event: &Event, fact: NeedEvent) -> Vec<Change> {
    match fact {
        NeedEvent::NeedAsked { id, about, title, options, expires_at } => {
            let row = open(event, &id, about.kind(), &title, &options, expires_at);
            let row = match about {
                NeedAbout::Permission { run, task, worker, ask } => {
                    row.with("run", run.as_str()).with("task", task).with("worker", worker.as_str()).with("ask", ask)
                }
                NeedAbout::Denied { run, task, worker, denied } => row
                    .with("run", run.as_str())
                    .with("task", task)
                    .with("worker", worker.as_str())
                    .with("denied", serde_json::json!(denied).to_string()),
                NeedAbout::Change { run, task, commit: _ } => row.with("run", run.as_str()).with("task", task),
                NeedAbout::Merge { run, commit: _ } | NeedAbout::Team { run, mode_step: _ } => {
                    row.with("run", run.as_str())
                }
                NeedAbout::Call { verb, caller } => row.with("verb", verb).with("caller", caller.as_str()),
            };
            vec![Change::put(NEEDS, row)]
        }
        NeedEvent::NeedSettled { id, outcome, option } => {
            let option = option.map_or(Cell::Null, Cell::from);
            let cells = [("outcome", outcome.into()), ("option", option), ("answered", event.lsn.into())];
            vec![Change::patch(NEEDS, [id.as_str().into()], cells)]
        }
    }
}

/// A message that could not be delivered is a question whether to send it once more.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "of the many things that happen to messages, three concern a person"
)]
fn of_message(event: &Event, fact: &MessageEvent) -> Vec<Change> {
    match fact {
        MessageEvent::MessageEnded { id, recipient, state: QueueState::Dead, cause, .. } => {
            let title = format!("to {recipient} came to nothing: {cause}");
            let options = [option("revive", "allow_once"), option("drop", "reject_once")];
            let need = NeedId::of_dead_letter(id);
            let row = open(event, &need, NeedKind::DeadLetter, &title, &options, event.ts.plus(DEAD_LETTER_MS));
            vec![Change::put(NEEDS, row.with("message", id.as_str()))]
        }
        MessageEvent::MessageRevived { id, .. } => vec![closed(&NeedId::of_dead_letter(id), "revived")],
        MessageEvent::MessageDropped { id } => vec![closed(&NeedId::of_dead_letter(id), "dropped")],
        _ => Vec::new(),
    }
}

/// A message file that requests more than its sender may is a question whether to send it.
#[expect(clippy::wildcard_enum_match_arm, reason = "of the many things that happen to files, two concern a person")]
fn of_file(event: &Event, fact: &FileEvent) -> Vec<Change> {
    match fact {
        FileEvent::MessageHeld { id, need, action, sender, recipient, expires_at, .. } => {
            let title = format!("{} to {recipient}, from a file that says it is by {sender}", action.as_str());
            let options = [option("approve", "allow_once"), option("deny", "reject_once")];
            let row = open(event, need, NeedKind::HeldMessage, &title, &options, *expires_at);
            vec![Change::put(NEEDS, row.with("message", id.as_str()))]
        }
        FileEvent::HeldMessageSettled { id, outcome } => vec![closed(&NeedId::of_held_message(id), outcome)],
        _ => Vec::new(),
    }
}

/// Returns an option whose name is its id.
fn option(id: &str, kind: &str) -> PermissionOption {
    PermissionOption { id: id.to_owned(), name: id.to_owned(), kind: kind.to_owned() }
}

fn open(
    event: &Event,
    id: &NeedId,
    kind: NeedKind,
    title: &str,
    options: &[PermissionOption],
    expires_at: Millis,
) -> Row {
    Row::new()
        .with("id", id.as_str())
        .with("seq", event.lsn)
        .with("about", kind.as_str())
        .with("title", title)
        .with("options", serde_json::json!(options).to_string())
        .with("asked_at", event.ts.0)
        .with("expires_at", expires_at.0)
        .with("outcome", "")
}

fn closed(id: &NeedId, outcome: &str) -> Change {
    Change::patch(NEEDS, [id.as_str().into()], [("outcome", outcome.into()), ("option", Cell::Null)])
}
