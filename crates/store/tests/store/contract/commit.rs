use serde_json::json;
use switchboard_protocol::event::NewEvent;
use switchboard_store::{Batch, Cell, Error, Query};

use crate::board::{Fixture, add_owner, call, drop_note, on_every_backend, post, projections, raise, take};

fn numbers_events_densely_and_counts_revisions_per_subject(it: &Fixture) {
    let first = it.commit(Batch::synced().event(add_owner("ann")).event(post("ann", 1)).event(post("bob", 2))).unwrap();
    let second = it.commit(Batch::written().event(post("ann", 3))).unwrap();

    assert_eq!((first.first, first.last, first.repeated), (1, 3, false));
    assert_eq!((second.first, second.last), (4, 4));
    assert_eq!(it.store.rev("owner/ann").unwrap(), 3);
    assert_eq!(it.store.rev("owner/bob").unwrap(), 1);
    assert_eq!(it.store.rev("owner/nobody").unwrap(), 0);
    let revs: Vec<u64> = (1..=4).map(|lsn| it.store.event(lsn).unwrap().unwrap().rev).collect();
    assert_eq!(revs, [1, 2, 1, 3]);
}

fn applies_puts_patches_sums_and_deletes(it: &Fixture) {
    it.commit(Batch::synced().event(add_owner("ann")).event(post("ann", 7)).event(post("ann", 8))).unwrap();
    it.commit(Batch::synced().event(take("ann", 2)).event(drop_note("ann", 3))).unwrap();

    let notes = it.store.read(&Query::table("notes")).unwrap();
    let owner = it.store.get("owners", &["ann".into()]).unwrap().unwrap();
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0].get_text("state"), Some("taken"));
    assert_eq!(notes[0].get_int("weight"), Some(7));
    assert_eq!(owner.get_int("waiting"), Some(1));
}

fn sums_make_missing_rows_and_saturate(it: &Fixture) {
    it.commit(Batch::synced().event(post("new", 1))).unwrap();

    let made = it.store.get("owners", &["new".into()]).unwrap().unwrap();
    assert_eq!(made.get_int("waiting"), Some(1));
    assert_eq!(made.get("mood"), &Cell::Null);
    for (by, sum) in [(i64::MAX, i64::MAX), (5, i64::MAX), (i64::MIN, -1), (i64::MIN, i64::MIN)] {
        it.commit(Batch::synced().event(raise("new", by))).unwrap();
        assert_eq!(it.store.get("owners", &["new".into()]).unwrap().unwrap().get_int("waiting"), Some(sum));
    }
}

fn patches_and_deletes_of_missing_rows_do_nothing(it: &Fixture) {
    it.commit(Batch::synced().event(take("ann", 9)).event(drop_note("ann", 9))).unwrap();

    assert_eq!(it.store.read(&Query::table("notes")).unwrap(), []);
}

fn answers_a_repeated_call_with_the_first_answer(it: &Fixture) {
    let batch = |reply: &str| Batch::synced().event(post("ann", 1)).idempotent(call("k1", "a")).reply(json!(reply));
    let first = it.commit(batch("first")).unwrap();
    it.clock.advance(1000);

    let again = it.commit(batch("second")).unwrap();

    assert!(!first.repeated);
    assert!(again.repeated);
    assert_eq!(again.reply, json!("first"));
    assert_eq!((again.first, again.last, again.ts), (first.first, first.last, first.ts));
    assert_eq!(it.store.head().lsn, 1);
}

fn answers_a_repeated_call_although_its_conditions_no_longer_hold(it: &Fixture) {
    let batch = || Batch::synced().event(add_owner("ann")).expect("owner/ann", 0).idempotent(call("k1", "a"));
    it.commit(batch()).unwrap();

    assert!(it.commit(batch()).unwrap().repeated);
}

fn refuses_a_key_with_other_arguments_or_another_verb(it: &Fixture) {
    it.commit(Batch::synced().event(post("ann", 1)).idempotent(call("k1", "a"))).unwrap();
    let mut other_verb = call("k1", "a");
    other_verb.verb = "take_note";

    let other_args = it.commit(Batch::synced().event(post("ann", 1)).idempotent(call("k1", "b"))).unwrap_err();
    let other_verb = it.commit(Batch::synced().event(post("ann", 1)).idempotent(other_verb)).unwrap_err();

    assert_eq!(other_args.failure().code, "request.conflict");
    assert_eq!(other_verb.failure().code, "request.conflict");
    assert_eq!(it.store.head().lsn, 1);
}

fn keeps_the_keys_of_callers_apart(it: &Fixture) {
    it.commit(Batch::synced().event(post("ann", 1)).idempotent(call("k1", "a"))).unwrap();
    let mut stranger = call("k1", "b");
    stranger.caller = "stranger".to_owned();

    let committed = it.commit(Batch::synced().event(post("ann", 1)).idempotent(stranger)).unwrap();

    assert!(!committed.repeated);
}

fn forgets_a_call_after_a_day(it: &Fixture) {
    let batch = || Batch::synced().event(post("ann", 1)).idempotent(call("k1", "a"));
    it.commit(batch()).unwrap();
    it.clock.advance(24 * 60 * 60 * 1000 - 1);
    assert!(it.commit(batch()).unwrap().repeated);
    it.clock.advance(1);

    let later = it.commit(batch()).unwrap();

    assert!(!later.repeated);
    assert_eq!(it.store.head().lsn, 2);
}

fn remembers_nothing_of_a_refused_call(it: &Fixture) {
    let refused = Batch::synced().event(post("ann", 1)).expect("owner/ann", 5).idempotent(call("k1", "a"));
    it.commit(refused).unwrap_err();

    let allowed = it.commit(Batch::synced().event(post("ann", 1)).idempotent(call("k1", "a"))).unwrap();

    assert!(!allowed.repeated);
}

fn refuses_a_batch_of_another_epoch(it: &Fixture) {
    let epoch = it.store.epoch();

    let stale = it.commit(Batch::synced().event(post("ann", 1)).epoch(epoch - 1)).unwrap_err();

    assert!(matches!(stale, Error::StaleEpoch { given, current } if given == epoch - 1 && current == epoch));
    assert!(it.commit(Batch::synced().event(post("ann", 1)).epoch(epoch)).is_ok());
    assert_eq!(it.store.head().lsn, 1);
}

fn refuses_what_is_too_large(it: &Fixture) {
    let facts_of = |bytes: usize| json!("x".repeat(bytes - 2));
    let event = |facts| NewEvent::new("kind", "subject", "actor", facts);
    let too_large = [
        Batch::synced().event(event(facts_of(1025))),
        Batch::synced().event(event(json!({})).with_body("x".repeat((1 << 20) + 1))),
        Batch::synced().event(NewEvent::new("k".repeat(257), "subject", "actor", json!({}))),
        Batch::synced().event(event(json!({}))).idempotent(call(&"k".repeat(257), "a")),
        Batch::synced().event(event(json!({}))).idempotent(call("k", "a")).reply(json!("x".repeat(1 << 20))),
    ];

    for batch in too_large {
        assert_eq!(it.commit(batch).unwrap_err().failure().code, "store.too-large");
    }
    let largest = Batch::synced().event(event(facts_of(1024)).with_body("x".repeat(1 << 20)));
    assert!(it.commit(largest).is_ok());
    assert_eq!(it.store.head().lsn, 1);
}

fn refuses_facts_that_are_nested_too_deeply_to_be_read_again(it: &Fixture) {
    let nested = |levels: u8| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let event = |levels| NewEvent::new("kind", "subject", "actor", nested(levels));

    let refused = it.commit(Batch::synced().event(event(127))).unwrap_err();

    assert_eq!(refused.failure().code, "store.too-large");
    let why = "the facts of kind of subject: 127 levels of nesting, at most 126 are allowed";
    assert_eq!(refused.failure().what, why);
    it.commit(Batch::synced().event(event(126))).unwrap();
    assert_eq!(it.store.event(1).unwrap().unwrap().facts.to_value().unwrap(), nested(126));
}

fn a_projector_that_fails_refuses_its_event_and_nothing_else(it: &Fixture) {
    let broken = |kind: &str| Batch::synced().event(post("ann", 1)).event(NewEvent::new(kind, "s", "a", json!({})));

    assert_eq!(it.commit(broken("projector_broken")).unwrap_err().failure().code, "internal.bug");
    assert_eq!(it.commit(broken("projector_panics")).unwrap_err().failure().code, "internal.bug");

    assert_eq!(it.store.head().lsn, 0);
    assert_eq!(it.store.read(&Query::table("notes")).unwrap(), []);
    assert!(it.commit(Batch::synced().event(post("ann", 1))).is_ok());
}

fn moves_cursors_forward_only_and_never_past_the_batch(it: &Fixture) {
    it.commit(Batch::synced().event(post("ann", 1)).event(post("ann", 1)).advance("search", 2)).unwrap();
    it.commit(Batch::synced().advance("search", 1)).unwrap();

    let ahead = it.commit(Batch::synced().event(post("ann", 1)).advance("search", 4)).unwrap_err();

    assert!(matches!(ahead, Error::Ahead { cursor: 4, head: 3 }));
    assert_eq!(it.store.cursor("search").unwrap(), 2);
    assert_eq!(it.store.cursor("unknown").unwrap(), 0);
    assert_eq!(it.store.head().lsn, 2);
}

fn a_batch_without_events_says_so(it: &Fixture) {
    it.commit(Batch::synced().event(post("ann", 1))).unwrap();

    let committed = it.commit(Batch::written().advance("search", 1)).unwrap();

    assert_eq!((committed.first, committed.last), (2, 1));
    assert_eq!(it.store.head().lsn, 1);
}

fn time_never_goes_back(it: &Fixture) {
    let first = it.commit(Batch::synced().event(post("ann", 1))).unwrap();
    it.clock.advance(-60_000);

    let second = it.commit(Batch::synced().event(post("ann", 1))).unwrap();

    assert!(second.ts >= first.ts);
    assert!(it.store.now() >= second.ts);
}

fn wakes_watchers_with_the_new_head(it: &Fixture) {
    let mut watch = it.store.watch();
    assert_eq!(*watch.borrow_and_update(), 0);

    it.commit(Batch::written().event(post("ann", 1)).event(post("ann", 1))).unwrap();

    let wait = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let woken =
        wait.block_on(async { tokio::time::timeout(std::time::Duration::from_secs(10), watch.changed()).await });
    assert!(woken.is_ok());
    assert_eq!(*watch.borrow(), 2);
}

fn a_closed_store_answers_every_handle_with_an_error(it: &Fixture) {
    let other = it.store.clone();
    it.commit(Batch::synced().event(post("ann", 1))).unwrap();

    it.store.clone().close();

    assert!(matches!(other.commit_blocking(Batch::synced().event(post("ann", 1))), Err(Error::Closed)));
    assert!(matches!(other.read(&Query::table("notes")), Err(Error::Closed)));
    assert!(matches!(other.dead(), Some(Error::Closed)));
}

fn many_callers_at_once_lose_nothing_and_share_one_order(it: &Fixture) {
    let (callers, each) = (8, 25);
    std::thread::scope(|scope| {
        for caller in 0..callers {
            let store = it.store.clone();
            scope.spawn(move || {
                let owner = format!("owner{caller}");
                for weight in 0..each {
                    store.commit_blocking(Batch::written().event(post(&owner, weight))).unwrap();
                }
            });
        }
    });

    for caller in 0..callers {
        let mine = Query::table("notes").eq("owner", format!("owner{caller}")).asc("lsn");
        let weights: Vec<_> = it.store.read(&mine).unwrap().iter().map(|row| row.get_int("weight").unwrap()).collect();
        assert_eq!(weights, (0..each).collect::<Vec<_>>());
    }
    assert!(it.store.verify(switchboard_store::Scope::All).unwrap().is_clean());
}

fn time_goes_on_where_the_time_of_day_has_jumped_back(it: &Fixture) {
    it.clock.advance(1_000_000);
    let before = it.commit(Batch::synced().event(add_owner("ann"))).unwrap().ts;
    it.clock.advance(-500_000);
    assert_eq!(it.store.now(), before);

    it.clock.advance(300);
    let after = it.commit(Batch::synced().event(add_owner("bob"))).unwrap().ts;

    assert_eq!(after.since(before), 300);
}

on_every_backend!(
    time_goes_on_where_the_time_of_day_has_jumped_back,
    numbers_events_densely_and_counts_revisions_per_subject,
    applies_puts_patches_sums_and_deletes,
    sums_make_missing_rows_and_saturate,
    patches_and_deletes_of_missing_rows_do_nothing,
    answers_a_repeated_call_with_the_first_answer,
    answers_a_repeated_call_although_its_conditions_no_longer_hold,
    refuses_a_key_with_other_arguments_or_another_verb,
    keeps_the_keys_of_callers_apart,
    forgets_a_call_after_a_day,
    remembers_nothing_of_a_refused_call,
    refuses_a_batch_of_another_epoch,
    refuses_what_is_too_large,
    refuses_facts_that_are_nested_too_deeply_to_be_read_again,
    a_projector_that_fails_refuses_its_event_and_nothing_else,
    moves_cursors_forward_only_and_never_past_the_batch,
    a_batch_without_events_says_so,
    time_never_goes_back,
    wakes_watchers_with_the_new_head,
    a_closed_store_answers_every_handle_with_an_error,
    many_callers_at_once_lose_nothing_and_share_one_order,
);

#[test]
fn refuses_declarations_that_cannot_be() {
    struct Wrong(&'static [switchboard_store::Table]);
    impl switchboard_store::Projection for Wrong {
        fn tables(&self) -> &'static [switchboard_store::Table] {
            self.0
        }
        fn project(&self, _: &switchboard_protocol::event::Event) -> Vec<switchboard_store::Change> {
            Vec::new()
        }
        fn version(&self) -> u32 {
            1
        }
    }
    use switchboard_store::{Column, Table};
    const GOOD: Table = Table { name: "good", columns: &[Column::int("a")], key: &["a"], indexes: &[], sparse: &[] };
    const WRONG: &[Table] = &[
        Table { name: "events", ..GOOD },
        Table { name: "sqlite_x", ..GOOD },
        Table { name: "a\"b", ..GOOD },
        Table { key: &[], ..GOOD },
        Table { key: &["b"], ..GOOD },
        Table { indexes: &[&["b"]], sparse: &[], ..GOOD },
        Table { columns: &[Column::int("a"), Column::text("a")], ..GOOD },
        Table { columns: &[Column::int("A")], key: &["A"], ..GOOD },
        Table { name: "notes", ..GOOD },
    ];
    let folder = tempfile::tempdir().unwrap();

    for table in WRONG {
        let mut all = projections();
        all.push(Box::new(Wrong(std::slice::from_ref(table))));
        let opened =
            switchboard_store::Store::open(switchboard_store::Config::new(folder.path().join("store.db")), all);
        assert!(matches!(opened, Err(Error::Schema { .. })), "{table:?}");
    }
}
