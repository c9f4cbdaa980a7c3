//! A small part for tests: notes, and owners with a count of waiting notes.

use serde_json::{Value, json};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::{Event, NewEvent};
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;
use switchboard_store::{
    Batch, Cell, Change, Column, Committed, Config, Error, Idempotency, ManualClock, Projection, Row, Store, Table,
};

pub(crate) const OWNERS: Table = Table {
    name: "owners",
    columns: &[Column::text("owner"), Column::int("waiting"), Column::text("mood")],
    key: &["owner"],
    indexes: &[],
    sparse: &[],
};

pub(crate) const NOTES: Table = Table {
    name: "notes",
    columns: &[
        Column::text("owner"),
        Column::int("lsn"),
        Column::text("state"),
        Column::int("weight"),
        Column::text("tag"),
    ],
    key: &["owner", "lsn"],
    indexes: &[&["state", "weight"], &["tag"]],
    sparse: &[],
};

/// The projection; another version of it adds a mood to every owner.
pub(crate) struct Board {
    pub(crate) version: u32,
}

impl Projection for Board {
    fn tables(&self) -> &'static [Table] {
        &[OWNERS, NOTES]
    }

    fn project(&self, event: &Event) -> Vec<Change> {
        assert!(event.body.is_none(), "a projector never sees a body");
        let owner = || Cell::from(event.facts.field("owner").as_str().unwrap_or_default());
        let lsn = || Cell::from(event.facts.field("lsn").as_i64().unwrap_or_default());
        match event.kind.as_str() {
            "owner_added" => {
                let mood = if self.version > 1 { Cell::from("calm") } else { Cell::Null };
                vec![Change::put("owners", [("owner", owner()), ("waiting", Cell::Int(0)), ("mood", mood)])]
            }
            "note_posted" => {
                let weight = Cell::from(event.facts.field("weight").as_i64());
                let tag = Cell::from(event.facts.field("tag").as_str().map(str::to_owned));
                let row = Row::new().with("owner", owner()).with("lsn", event.lsn).with("state", "new");
                vec![
                    Change::put("notes", row.with("weight", weight).with("tag", tag)),
                    Change::add("owners", [owner()], [("waiting", 1)]),
                ]
            }
            "note_taken" => vec![
                Change::patch("notes", [owner(), lsn()], [("state", Cell::from("taken")), ("tag", Cell::Null)]),
                Change::add("owners", [owner()], [("waiting", -1)]),
            ],
            "waiting_raised" => {
                vec![Change::add(
                    "owners",
                    [owner()],
                    [("waiting", event.facts.field("by").as_i64().unwrap_or_default())],
                )]
            }
            "note_dropped" => vec![Change::delete("notes", [owner(), lsn()])],
            "projector_broken" => vec![Change::put("notes", [("owner", Cell::Int(1))])],
            "projector_panics" => panic!("on purpose"),
            _ => Vec::new(),
        }
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn searched(&self) -> &'static [&'static str] {
        &["note_posted"]
    }
}

pub(crate) fn projections() -> Vec<Box<dyn Projection>> {
    vec![Box::new(Board { version: 1 })]
}

/// A store, its clock, and values that must outlive the store.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) clock: ManualClock,
    pub(crate) folder: Option<tempfile::TempDir>,
}

pub(crate) const START: Millis = Millis(1_772_186_400_000);

impl Fixture {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = ManualClock::at(START);
        let config = Config { clock: clock.clock(), ..Config::new(folder.path().join("state/store.db")) };
        Self { store: Store::open(config, projections()).unwrap(), clock, folder: Some(folder) }
    }

    pub(crate) fn memory() -> Self {
        let clock = ManualClock::at(START);
        Self { store: Store::in_memory(projections(), clock.clock()), clock, folder: None }
    }

    /// Returns the path of the database.
    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.folder.as_ref().unwrap().path().join("state/store.db")
    }

    /// Closes the store and opens it again with other projections.
    pub(crate) fn reopen(self, projections: Vec<Box<dyn Projection>>) -> Result<Self, Error> {
        let path = self.path();
        self.store.close();
        let config = Config { clock: self.clock.clock(), ..Config::new(path) };
        Ok(Self { store: Store::open(config, projections)?, clock: self.clock, folder: self.folder })
    }

    /// Returns the store as a kill at this moment would leave it, opened in another folder.
    pub(crate) fn killed(self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/store.db");
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        for ending in ["", "-wal", ".redo", ".head"] {
            std::fs::copy(format!("{}{ending}", self.path().display()), format!("{}{ending}", path.display())).unwrap();
        }
        let config = Config { clock: self.clock.clock(), ..Config::new(path) };
        Self { store: Store::open(config, projections()).unwrap(), clock: self.clock.clone(), folder: Some(folder) }
    }

    pub(crate) fn commit(&self, batch: Batch) -> Result<Committed, Error> {
        self.store.commit_blocking(batch)
    }
}

pub(crate) fn add_owner(owner: &str) -> NewEvent {
    NewEvent::new("owner_added", format!("owner/{owner}"), "test", json!({ "owner": owner }))
}

pub(crate) fn post(owner: &str, weight: i64) -> NewEvent {
    post_with(json!({ "owner": owner, "weight": weight }))
}

pub(crate) fn post_with(facts: Value) -> NewEvent {
    let owner = facts["owner"].as_str().unwrap_or_default().to_owned();
    NewEvent::new("note_posted", format!("owner/{owner}"), "test", facts)
}

pub(crate) fn take(owner: &str, lsn: u64) -> NewEvent {
    NewEvent::new("note_taken", format!("owner/{owner}"), "test", json!({ "owner": owner, "lsn": lsn }))
}

pub(crate) fn raise(owner: &str, by: i64) -> NewEvent {
    NewEvent::new("waiting_raised", format!("owner/{owner}"), "test", json!({ "owner": owner, "by": by }))
}

pub(crate) fn drop_note(owner: &str, lsn: u64) -> NewEvent {
    NewEvent::new("note_dropped", format!("owner/{owner}"), "test", json!({ "owner": owner, "lsn": lsn }))
}

pub(crate) fn call(key: &str, args: &str) -> Idempotency {
    Idempotency {
        key: key.to_owned(),
        caller: "tester".to_owned(),
        verb: "post_note",
        args: Digest::of(args.as_bytes()),
    }
}

pub(crate) fn no(why: &str) -> Failure {
    Failure::new("store.conflict", why)
}

/// Runs each test on every backend: one module per backend, which creates an empty store for each test.
macro_rules! on_every_backend {
    ($($test:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $test() { super::$test(&crate::board::Fixture::sqlite()); })*
        }
        mod memory {
            $(#[test] fn $test() { super::$test(&crate::board::Fixture::memory()); })*
        }
    };
}
pub(crate) use on_every_backend;
