//! Random histories: both backends must return the same answers, rows and log.

use proptest::prelude::*;
use serde_json::json;
use switchboard_protocol::event::NewEvent;
use switchboard_store::{Batch, Cell, Committed, Error, Filter, Guard, Op, Query, Scope};

use crate::board::{Fixture, add_owner, call, drop_note, no, post, post_with, projections, raise, take};

const OWNERS: [&str; 3] = ["ann", "bob", "ü"];

fn owner() -> impl Strategy<Value = &'static str> {
    prop::sample::select(OWNERS.as_slice())
}

fn event() -> impl Strategy<Value = NewEvent> {
    prop_oneof![
        1 => owner().prop_map(add_owner),
        9 => (owner(), -3..3_i64, any::<bool>()).prop_map(|(owner, weight, body)| {
            let event = if weight < -2 { post_with(json!({ "owner": owner })) } else { post(owner, weight) };
            if body { event.with_body("text") } else { event }
        }),
        3 => (owner(), 1..12_u64).prop_map(|(owner, lsn)| take(owner, lsn)),
        2 => (owner(), 1..12_u64).prop_map(|(owner, lsn)| drop_note(owner, lsn)),
        1 => (owner(), prop::sample::select(vec![i64::MIN, -1, 1, i64::MAX])).prop_map(|(owner, by)| raise(owner, by)),
        1 => Just(NewEvent::new("unknown", "elsewhere", "test", json!({"float": 0.1}))),
        1 => Just(NewEvent::new("projector_broken", "elsewhere", "test", json!({}))),
    ]
}

fn guard() -> impl Strategy<Value = Guard> {
    let key = || (owner(), 1..8_i64).prop_map(|(owner, lsn)| [Cell::from(owner), Cell::Int(lsn)]);
    prop_oneof![
        owner().prop_map(|owner| Guard::exists("owners", [owner.into()], no("exists"))),
        owner().prop_map(|owner| Guard::absent("owners", [owner.into()], no("absent"))),
        key().prop_map(|key| Guard::equals("notes", key, "state", "new", no("equals"))),
        (owner(), 0..4_i64).prop_map(|(owner, limit)| Guard::below(
            "owners",
            [owner.into()],
            "waiting",
            limit,
            no("below")
        )),
        (owner(), 0..4_u64).prop_map(|(owner, than)| Guard::Fewer {
            query: Query::table("notes").eq("owner", owner),
            than,
            refusal: no("fewer"),
        }),
        Just(Guard::exists("nowhere", ["ann".into()], no("schema"))),
    ]
}

fn batch() -> impl Strategy<Value = Batch> {
    let events = prop::collection::vec(event(), 0..4);
    let guards = prop::option::weighted(0.2, guard()).prop_map(Vec::from_iter);
    let expect = prop::option::weighted(0.2, (owner(), 0..4_u64)).prop_map(Vec::from_iter);
    let named = prop::option::weighted(0.3, (0..4_u8, 0..2_u8));
    let cursor = prop::option::weighted(0.2, 0..12_u64);
    let dropped = prop::option::weighted(0.2, 0..12_u64);
    (events, guards, expect, named, cursor, dropped, 0..20_u8).prop_map(
        |(events, guards, expect, named, cursor, dropped, reply)| {
            let mut batch = Batch { events, guards, ..Batch::written() }.reply(json!(reply));
            batch.expect = expect.into_iter().map(|(owner, rev)| (format!("owner/{owner}"), rev)).collect();
            batch.idempotency = named.map(|(key, args)| call(&key.to_string(), &args.to_string()));
            batch.cursors = cursor.into_iter().map(|lsn| ("search".to_owned(), lsn)).collect();
            batch.drop_bodies = dropped.into_iter().collect();
            batch.epoch = (reply == 0).then_some(1).or((reply == 1).then_some(7));
            batch
        },
    )
}

#[derive(Debug, Clone)]
enum Step {
    Commit(Box<Batch>),
    Wait(i64),
    Reopen,
    Kill,
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => batch().prop_map(|batch| Step::Commit(Box::new(batch))),
        2 => prop::sample::select(vec![1_i64, 1_000, 13 * 60 * 60 * 1000]).prop_map(Step::Wait),
        1 => Just(Step::Reopen),
        1 => Just(Step::Kill),
        4 => Just(Step::Look),
    ]
}

fn query() -> impl Strategy<Value = Query> {
    let value = prop_oneof![Just(Cell::Null), (-3..6_i64).prop_map(Cell::Int)];
    let op = (0..7_u8, value).prop_map(|(op, cell)| match op {
        0 => Op::Eq(cell),
        1 => Op::Ne(cell),
        2 => Op::Lt(cell),
        3 => Op::Le(cell),
        4 => Op::Gt(cell),
        5 => Op::Ge(cell),
        _ => Op::In(vec![cell, Cell::Int(0), Cell::Null]),
    });
    let column = || prop::sample::select(vec!["weight", "lsn"]);
    let order = prop::option::of((prop::sample::select(vec!["weight", "state", "tag", "lsn"]), any::<bool>()));
    // Columns that the key and the indexes begin with.
    let first = prop_oneof![
        owner().prop_map(|owner| ("owner", Cell::from(owner))),
        prop::sample::select(vec!["new", "taken", "none"]).prop_map(|state| ("state", Cell::from(state))),
        Just(("tag", Cell::Null)),
    ];
    let first = prop::collection::vec(first, 0..3);
    (first, prop::collection::vec((column(), op), 0..3), order, prop::option::of(0..5_u64), 0..3_u64).prop_map(
        |(first, tests, order, limit, offset)| {
            let query = first.into_iter().fold(Query::table("notes"), |query, (column, cell)| query.eq(column, cell));
            let query = tests.into_iter().fold(query, |query, (column, op)| query.filter(column, op));
            let query = match order {
                Some((column, true)) => query.asc(column),
                Some((column, false)) => query.desc(column),
                None => query,
            };
            Query { limit, ..query.offset(offset) }
        },
    )
}

/// Converts an answer to what both backends must agree on; errors by all that a caller sees of them.
fn outcome(answer: Result<Committed, Error>) -> Result<Committed, (String, String)> {
    answer.map_err(|error| (error.failure().code, error.to_string()))
}

fn compare(disk: &Fixture, memory: &Fixture, queries: &[Query]) {
    assert_eq!(disk.store.head().lsn, memory.store.head().lsn);
    for table in ["owners", "notes"] {
        assert_eq!(disk.store.read(&Query::table(table)).unwrap(), memory.store.read(&Query::table(table)).unwrap());
    }
    for query in queries {
        assert_eq!(disk.store.read(query).unwrap(), memory.store.read(query).unwrap(), "{query:?}");
        assert_eq!(disk.store.count(query).unwrap(), memory.store.count(query).unwrap(), "{query:?}");
        let few = |it: &Fixture| it.store.count_up_to(query, 2).unwrap();
        assert_eq!((few(disk), few(memory)), (few(memory), memory.store.count(query).unwrap().min(2)), "{query:?}");
    }
    for (table, column) in [("owners", "waiting"), ("notes", "lsn"), ("notes", "weight")] {
        let least = |it: &Fixture| it.store.least(table, column).unwrap();
        let numbers = memory.store.read(&Query::table(table)).unwrap();
        let expected = numbers.iter().filter_map(|row| row.get_int(column)).min();
        assert_eq!((least(disk), least(memory)), (expected, expected), "{table}.{column}");
    }
    let log = |it: &Fixture| -> Vec<_> {
        let events = it.store.events(0, &Filter::all(), usize::MAX).unwrap();
        let body = |lsn| it.store.body(lsn).unwrap();
        let seen =
            |e: switchboard_protocol::event::Event| (e.lsn, e.ts, e.kind, e.subject, e.rev, e.facts, body(e.lsn));
        events.into_iter().map(seen).collect()
    };
    assert_eq!(log(disk), log(memory));
    let lsns: Vec<u64> = (0..=disk.store.head().lsn + 1).collect();
    assert_eq!(disk.store.bodies(&lsns).unwrap(), memory.store.bodies(&lsns).unwrap());
    assert_eq!(disk.store.cursor("search").unwrap(), memory.store.cursor("search").unwrap());
    for it in [disk, memory] {
        let report = it.store.verify(Scope::All).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
    }
}

/// Compares answers that need no SQLite, while some batches are not yet in it.
fn look(disk: &Fixture, memory: &Fixture) {
    for owner in OWNERS {
        assert_eq!(
            disk.store.get("owners", &[owner.into()]).unwrap(),
            memory.store.get("owners", &[owner.into()]).unwrap()
        );
        for lsn in 1..12 {
            let key = [owner.into(), Cell::Int(lsn)];
            assert_eq!(disk.store.get("notes", &key).unwrap(), memory.store.get("notes", &key).unwrap());
        }
        let subject = format!("owner/{owner}");
        assert_eq!(disk.store.rev(&subject).unwrap(), memory.store.rev(&subject).unwrap());
        for (after, limit) in [(0, usize::MAX), (1, 2)] {
            let of = |it: &Fixture| -> Vec<_> {
                let events = it.store.events_of(&subject, after, limit).unwrap();
                events.into_iter().map(|event| (event.lsn, event.rev, event.facts)).collect()
            };
            assert_eq!(of(disk), of(memory), "{subject} after {after}");
        }
    }
    assert_eq!(disk.store.cursor("search").unwrap(), memory.store.cursor("search").unwrap());
    assert_eq!(
        disk.store.event(1).unwrap().map(|event| event.body),
        memory.store.event(1).unwrap().map(|event| event.body)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_backends_answer_alike(
        steps in prop::collection::vec(step(), 1..24),
        queries in prop::collection::vec(query(), 4..20),
    ) {
        let (mut disk, memory) = (Fixture::sqlite(), Fixture::memory());
        for step in steps {
            match step {
                Step::Commit(mut batch) => {
                    // The store in memory never reopens, so its epoch stays; each store gets its own epoch.
                    let own = |it: &Fixture, epoch: Option<u64>| epoch.map(|epoch| epoch * it.store.epoch());
                    let asked = batch.epoch.take();
                    let on_disk = Batch { epoch: own(&disk, asked), ..(*batch).clone() };
                    let in_memory = Batch { epoch: own(&memory, asked), ..*batch };
                    let (left, right) = (outcome(disk.commit(on_disk)), outcome(memory.commit(in_memory)));
                    match (left, right) {
                        (Err((left, _)), Err((right, _))) if asked == Some(7) => prop_assert_eq!(left, right),
                        (left, right) => prop_assert_eq!(left, right),
                    }
                }
                Step::Wait(span) => {
                    disk.clock.advance(span);
                    memory.clock.advance(span);
                }
                Step::Reopen => disk = disk.reopen(projections()).unwrap(),
                Step::Kill => disk = disk.killed(),
                Step::Look => look(&disk, &memory),
            }
        }
        compare(&disk, &memory, &queries);
    }
}
