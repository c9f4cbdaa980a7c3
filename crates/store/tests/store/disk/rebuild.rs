use serde_json::{Value, json};
use switchboard_protocol::event::{Event, NewEvent};
use switchboard_store::{
    Batch, Change, Column, Config, Error, Filter, Projection, Query, Row, Scope, Store, Table, Upcaster,
};

use crate::board::{Board, Fixture, add_owner, post, projections, take};

#[test]
fn a_new_version_of_a_projection_rebuilds_its_tables() {
    let it = Fixture::sqlite();
    it.commit(Batch::synced().event(add_owner("ann")).event(post("ann", 1)).event(post("ann", 2))).unwrap();
    it.commit(Batch::synced().event(take("ann", 2)).drop_body(3)).unwrap();
    let notes = it.store.read(&Query::table("notes")).unwrap();

    let it = it.reopen(vec![Box::new(Board { version: 2 })]).unwrap();

    let owner = it.store.get("owners", &["ann".into()]).unwrap().unwrap();
    assert_eq!(owner.get_text("mood"), Some("calm"));
    assert_eq!(owner.get_int("waiting"), Some(1));
    assert_eq!(it.store.read(&Query::table("notes")).unwrap(), notes);
    assert!(it.store.verify(Scope::All).unwrap().is_clean());
}

#[test]
fn a_projector_that_changed_without_saying_so_is_found() {
    struct Nondeterministic;
    impl Projection for Nondeterministic {
        fn tables(&self) -> &'static [Table] {
            Board { version: 1 }.tables()
        }
        fn project(&self, event: &Event) -> Vec<Change> {
            Board { version: 2 }.project(event)
        }
        fn version(&self) -> u32 {
            1
        }
    }
    let it = Fixture::sqlite();
    it.commit(Batch::synced().event(add_owner("ann"))).unwrap();

    let it = it.reopen(vec![Box::new(Nondeterministic)]).unwrap();

    let report = it.store.verify(Scope::All).unwrap();
    assert_eq!(report.first().unwrap().place.to_string(), "table owners");
}

#[test]
fn tables_come_and_go_with_their_part() {
    let it = Fixture::sqlite();
    it.commit(Batch::synced().event(add_owner("ann"))).unwrap();

    let it = it.reopen(Vec::new()).unwrap();
    assert!(matches!(it.store.read(&Query::table("owners")), Err(Error::Schema { .. })));
    it.commit(Batch::synced().event(post("ann", 1))).unwrap();
    let it = it.reopen(projections()).unwrap();

    let owner = it.store.get("owners", &["ann".into()]).unwrap().unwrap();
    assert_eq!(owner.get_int("waiting"), Some(1));
}

/// Version 2 of `fact_noted` names the field `text`; version 1, of which a fixture is kept, named it `note`.
struct Facts {
    lifting: bool,
}

const FACTS: Table = Table {
    name: "facts",
    columns: &[Column::int("lsn"), Column::text("text"), Column::int("v")],
    key: &["lsn"],
    indexes: &[],
    sparse: &[],
};

fn lift_v1(facts: Value) -> Value {
    json!({ "text": facts["note"], "author": facts["by"] })
}

impl Projection for Facts {
    fn tables(&self) -> &'static [Table] {
        &[FACTS]
    }
    fn project(&self, event: &Event) -> Vec<Change> {
        let text = event.facts.field("text").as_str().map(str::to_owned);
        let row = Row::new().with("lsn", event.lsn).with("text", text).with("v", u32::from(event.v));
        vec![Change::put("facts", row)]
    }
    fn version(&self) -> u32 {
        1 + u32::from(self.lifting)
    }
    fn upcasters(&self) -> &'static [Upcaster] {
        const V1: &[Upcaster] = &[Upcaster { kind: "fact_noted", from: 1, lift: lift_v1 }];
        if self.lifting { V1 } else { &[] }
    }
}

#[test]
fn facts_of_an_older_version_are_lifted_for_readers_and_projectors() {
    let fixture: Value = serde_json::from_str(include_str!("../fixtures/fact_noted.v1.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = Config::new(folder.path().join("store.db"));
    let old = Store::open(config.clone(), vec![Box::new(Facts { lifting: false })]).unwrap();
    old.commit_blocking(Batch::synced().event(NewEvent::new("fact_noted", "s", "a", fixture))).unwrap();
    let stored = old.event(1).unwrap().unwrap();
    old.close();

    let new = Store::open(config, vec![Box::new(Facts { lifting: true })]).unwrap();
    let mut second = NewEvent::new("fact_noted", "s", "a", json!({ "text": "new", "author": "bob" }));
    second.v = 2;
    new.commit_blocking(Batch::synced().event(second)).unwrap();

    let events = new.events(0, &Filter::all(), 10).unwrap();
    assert_eq!((events[0].v, &events[0].facts), (2, &json!({ "text": "water is wet", "author": "ann" }).into()));
    assert_eq!((events[1].v, &events[1].facts), (2, &json!({ "text": "new", "author": "bob" }).into()));
    assert_eq!(events[0].hash, stored.hash, "the log keeps what was written");
    let texts = new.read(&Query::table("facts")).unwrap();
    assert_eq!(texts.iter().map(|row| row.try_text("text").unwrap()).collect::<Vec<_>>(), ["water is wet", "new"]);
    assert!(new.verify(Scope::All).unwrap().is_clean());
}
