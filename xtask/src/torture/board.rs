//! A small projection for the store under torture: notes with a state, and the number of open ones.

use serde_json::json;
use switchboard_protocol::event::{Event, NewEvent};
use switchboard_store::{Cell, Change, Column, Projection, Row, Table};

const NOTES: Table = Table {
    name: "notes",
    columns: &[Column::int("lsn"), Column::text("owner"), Column::text("state"), Column::int("weight")],
    key: &["lsn"],
    indexes: &[&["owner", "state", "lsn"]],
    sparse: &[],
};

const OWNERS: Table = Table {
    name: "owners",
    columns: &[Column::text("owner"), Column::int("open")],
    key: &["owner"],
    indexes: &[],
    sparse: &[],
};

/// The projection of notes.
#[derive(Debug)]
struct Board;

impl Projection for Board {
    fn tables(&self) -> &'static [Table] {
        const TABLES: &[Table] = &[NOTES, OWNERS];
        TABLES
    }

    fn project(&self, event: &Event) -> Vec<Change> {
        let owner = event.facts.field("owner");
        let owner = owner.as_str().unwrap_or_default();
        match event.kind.as_str() {
            "note_posted" => {
                let row = Row::new().with("lsn", event.lsn).with("owner", owner).with("state", "open");
                let row = row.with("weight", event.facts.field("weight").as_i64());
                vec![Change::put("notes", row), Change::add("owners", [Cell::from(owner)], [("open", 1)])]
            }
            "note_closed" => {
                let key = [Cell::from(event.facts.field("lsn").as_u64().unwrap_or(0))];
                vec![
                    Change::patch("notes", key, [("state", "closed".into())]),
                    Change::add("owners", [Cell::from(owner)], [("open", -1)]),
                ]
            }
            _ => Vec::new(),
        }
    }

    fn version(&self) -> u32 {
        1
    }

    fn searched(&self) -> &'static [&'static str] {
        &["note_posted"]
    }
}

/// Returns the projections of every store under torture.
pub(super) fn parts() -> Vec<Box<dyn Projection>> {
    vec![Box::new(Board)]
}

/// Makes the event of a new note.
pub(super) fn posted(owner: &str, weight: u64) -> NewEvent {
    NewEvent::new("note_posted", format!("owner/{owner}"), owner, json!({ "owner": owner, "weight": weight }))
}

/// Makes the event that closes a note.
pub(super) fn closed(owner: &str, lsn: u64) -> NewEvent {
    NewEvent::new("note_closed", format!("owner/{owner}"), owner, json!({ "owner": owner, "lsn": lsn }))
}
