//! Projection of mail: the position and delivery state of every message, and the content of each inbox.

use switchboard_protocol::event::Event;
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::{MessageEvent, QueueState, lane};
use switchboard_protocol::time::Millis;
use switchboard_store::{Cell, Change, Column, Projection, Row, Store, Table, Ty};

use crate::Error;

/// Numbers of unacknowledged, received and acknowledged messages, keyed by the recipient's folded name.
pub(crate) const INBOXES: &str = "inboxes";
/// Messages, keyed by id.
pub(crate) const MESSAGES: &str = "messages";
/// Totals of all inboxes, in one row with the key [`ALL`].
pub(crate) const TOTALS: &str = "mail_totals";
/// Key of the only row of [`TOTALS`].
pub(crate) const ALL: &str = "all";
/// Time of the last dispatch, keyed by sender, recipient and action.
pub(crate) const COOLDOWNS: &str = "cooldowns";

pub(crate) const fn text(name: &'static str) -> Column {
    Column { name, ty: Ty::Text }
}

pub(crate) const fn int(name: &'static str) -> Column {
    Column { name, ty: Ty::Int }
}

static TABLES: [Table; 4] = [
    Table {
        name: INBOXES,
        columns: &[text("id"), int("unread"), int("bytes"), int("sent"), int("acked")],
        key: &["id"],
        indexes: &[],
        sparse: &[],
    },
    Table {
        name: MESSAGES,
        columns: &[
            text("id"),
            int("seq"),
            int("number"),
            text("action"),
            text("kind"),
            int("lane"),
            text("topic"),
            text("sender"),
            text("sender_id"),
            int("verified"),
            text("recipient"),
            text("recipient_name"),
            text("reply_to"),
            int("late"),
            text("replied"),
            text("team"),
            text("order_key"),
            int("bytes"),
            // The event with metadata and persona.
            int("details"),
            text("state"),
            // 1 while the message is to be delivered.
            int("open"),
            int("attempt"),
            int("max_attempts"),
            int("not_before"),
            int("token"),
            int("until"),
            int("expires_at"),
            // When the clock acts on the message next.
            int("due"),
            // The recipient, while the message is to be delivered and there is no evidence that it was seen.
            text("unseen"),
            // Since when, under the same condition.
            int("unseen_at"),
            text("cause"),
            int("offered"),
            int("injected"),
            int("acked"),
            int("done"),
            int("created_at"),
            // 1 if the message is never delivered: the daemon handles it, or its content is shown elsewhere.
            int("taken"),
        ],
        key: &["id"],
        indexes: &[&["recipient", "open", "lane", "seq"], &["recipient", "seq"], &["sender_id", "seq"]],
        sparse: &[&["due"], &["unseen", "created_at"], &["unseen_at"]],
    },
    Table { name: TOTALS, columns: &[text("id"), int("unread"), int("dead")], key: &["id"], indexes: &[], sparse: &[] },
    Table {
        name: COOLDOWNS,
        columns: &[text("sender"), text("recipient"), text("action"), int("at")],
        key: &["sender", "recipient", "action"],
        indexes: &[],
        sparse: &[],
    },
];

/// Projector of messages.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mail;

impl Projection for Mail {
    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn version(&self) -> u32 {
        8
    }

    fn searched(&self) -> &'static [&'static str] {
        &["message_sent"]
    }

    fn prefixes(&self) -> &'static [&'static str] {
        &["message_", "request_replied"]
    }

    fn project(&self, event: &Event) -> Vec<Change> {
        event.fact::<MessageEvent>().map_or_else(Vec::new, |fact| changes(event, fact))
    }
}

/// Returns a total of all inboxes.
pub(crate) fn total(store: &Store, column: &'static str) -> Result<u64, Error> {
    let row = store.get(TOTALS, &[ALL.into()])?;
    Ok(row.and_then(|row| row.get_int(column)).map_or(0, |count| u64::try_from(count).unwrap_or(0)))
}

fn changes(event: &Event, fact: MessageEvent) -> Vec<Change> {
    match fact {
        sent @ MessageEvent::MessageSent { .. } => accepted(event, sent),
        MessageEvent::MessageDetailed { id } => vec![patch(&id, vec![("details", event.lsn.into())])],
        MessageEvent::MessageOffered { id, .. } => vec![patch(&id, vec![("offered", 1_i64.into())])],
        MessageEvent::MessageInjected { id, .. } => {
            vec![patch(&id, vec![("injected", 1_i64.into()), ("unseen", Cell::Null), ("unseen_at", Cell::Null)])]
        }
        MessageEvent::MessageLeased { id, attempt, until, recipient: _ } => vec![patch(
            &id,
            vec![
                ("state", QueueState::Leased.as_str().into()),
                ("attempt", i64::from(attempt).into()),
                ("token", event.lsn.into()),
                ("until", until.0.into()),
                ("due", until.0.into()),
                // Only the recipient's own program takes a delivery.
                ("injected", 1_i64.into()),
                ("unseen", Cell::Null),
                ("unseen_at", Cell::Null),
            ],
        )],
        MessageEvent::MessageExtended { id, until } => {
            vec![patch(&id, vec![("until", until.0.into()), ("due", until.0.into())])]
        }
        MessageEvent::MessageReturned { id, not_before, expires_at, why, recipient: _ } => vec![patch(
            &id,
            vec![
                ("state", QueueState::Ready.as_str().into()),
                ("token", Cell::Null),
                ("until", Cell::Null),
                ("not_before", not_before.0.into()),
                ("due", time(expires_at)),
                ("cause", why.into()),
            ],
        )],
        MessageEvent::MessageAcked { id, recipient, bytes } => {
            let mut set = closed(QueueState::Acked);
            set.push(("acked", 1_i64.into()));
            vec![
                patch(&id, set),
                inbox(&recipient, [("unread", -1), ("bytes", -signed(bytes)), ("acked", 1)]),
                count([("unread", -1)]),
            ]
        }
        MessageEvent::MessageDone { id, recipient: _ } => vec![patch(&id, vec![("done", 1_i64.into())])],
        MessageEvent::MessageEnded { id, recipient, state, cause, bytes } => {
            let mut set = closed(state);
            set.push(("cause", cause.into()));
            let dead = i64::from(state == QueueState::Dead);
            vec![
                patch(&id, set),
                inbox(&recipient, [("unread", -1), ("bytes", -signed(bytes))]),
                count([("unread", -1), ("dead", dead)]),
            ]
        }
        MessageEvent::MessageRevived { id, recipient, bytes } => vec![
            patch(
                &id,
                vec![
                    ("state", QueueState::Ready.as_str().into()),
                    ("open", 1_i64.into()),
                    ("attempt", 0_i64.into()),
                    ("not_before", Cell::Null),
                    ("expires_at", Cell::Null),
                    ("due", Cell::Null),
                    // If the recipient has seen the message, `injected` is set as well, which is also checked.
                    ("unseen", recipient.folded().into()),
                    ("unseen_at", event.ts.0.into()),
                    ("cause", "".into()),
                ],
            ),
            inbox(&recipient, [("unread", 1), ("bytes", signed(bytes))]),
            count([("unread", 1), ("dead", -1)]),
        ],
        MessageEvent::MessageDropped { id } => {
            vec![patch(&id, vec![("state", QueueState::Cancelled.as_str().into())]), count([("dead", -1)])]
        }
        MessageEvent::RequestReplied { id, reply } => vec![patch(&id, vec![("replied", reply.as_str().into())])],
    }
}

fn accepted(event: &Event, fact: MessageEvent) -> Vec<Change> {
    let MessageEvent::MessageSent { id, action, sender, verified, recipient, reply_to, bytes, terms } = fact else {
        return Vec::new();
    };
    let is_taken = terms.taken;
    // Ordered by column name, as in a row.
    let mut row = Row::from([
        ("acked", 0_i64.into()),
        ("action", action.as_str().into()),
        ("attempt", 0_i64.into()),
        ("bytes", bytes.into()),
        ("cause", "".into()),
        ("created_at", event.ts.0.into()),
        ("details", Cell::Null),
        ("done", 0_i64.into()),
        ("due", time(terms.expires_at)),
        ("expires_at", time(terms.expires_at)),
        ("id", id.as_str().into()),
        ("injected", 0_i64.into()),
        ("kind", terms.message_kind.as_str().into()),
        ("lane", i64::from(lane(terms.message_kind, terms.priority)).into()),
        ("late", terms.late.into()),
        ("max_attempts", i64::from(terms.max_attempts).into()),
        ("not_before", time(terms.not_before)),
        ("number", event.rev.into()),
        ("offered", 0_i64.into()),
        ("open", 1_i64.into()),
        ("order_key", terms.order_key.into()),
        ("recipient", recipient.folded().into()),
        ("recipient_name", recipient.as_str().into()),
        ("replied", Cell::Null),
        ("reply_to", reply_to.map_or(Cell::Null, |id| id.as_str().into())),
        ("sender", sender.as_str().into()),
        ("sender_id", sender.folded().into()),
        ("seq", event.lsn.into()),
        ("state", QueueState::Ready.as_str().into()),
        ("taken", i64::from(is_taken).into()),
        ("team", terms.team.into()),
        ("token", Cell::Null),
        ("topic", terms.topic.into()),
        ("unseen", recipient.folded().into()),
        ("unseen_at", event.ts.0.into()),
        ("until", Cell::Null),
        ("verified", verified.into()),
    ]);
    if is_taken {
        let over = closed(QueueState::Acked)
            .into_iter()
            .chain(["injected", "acked", "done"].map(|column| (column, 1_i64.into())));
        row = over.fold(row, |row, (column, cell)| row.with(column, cell));
        // Not counted either: the counts are of mail between agents.
        return vec![Change::Put { table: MESSAGES, row }];
    }
    let mut all = vec![
        Change::Put { table: MESSAGES, row },
        inbox(&recipient, [("unread", 1), ("bytes", signed(bytes)), ("sent", 1)]),
        count([("unread", 1)]),
    ];
    if action.is_dispatch() {
        let row = Row::new()
            .with("sender", sender.folded())
            .with("recipient", recipient.folded())
            .with("action", action.as_str())
            .with("at", event.ts.0);
        all.push(Change::Put { table: COOLDOWNS, row });
    }
    all
}

/// Returns the columns of a message that leaves the queue.
fn closed(state: QueueState) -> Vec<(&'static str, Cell)> {
    vec![
        ("state", state.as_str().into()),
        ("open", 0_i64.into()),
        ("token", Cell::Null),
        ("until", Cell::Null),
        ("due", Cell::Null),
        ("unseen", Cell::Null),
        ("unseen_at", Cell::Null),
    ]
}

fn time(at: Option<Millis>) -> Cell {
    at.map_or(Cell::Null, |at| at.0.into())
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn patch(id: &MessageId, set: Vec<(&'static str, Cell)>) -> Change {
    Change::Patch { table: MESSAGES, key: vec![id.as_str().into()], set }
}

fn inbox<const N: usize>(recipient: &AgentName, by: [(&'static str, i64); N]) -> Change {
    Change::add(INBOXES, [recipient.folded().into()], by)
}

fn count<const N: usize>(by: [(&'static str, i64); N]) -> Change {
    Change::add(TOTALS, [ALL.into()], by)
}
