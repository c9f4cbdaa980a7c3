use switchboard_protocol::id::Digest;
use switchboard_store::{Batch, Checkpoint, Error, Filter, Head, Scope};

use crate::board::{Fixture, add_owner, on_every_backend, post, take};

fn filled(it: &Fixture) {
    it.commit(Batch::synced().event(add_owner("ann")).event(post("ann", 1).with_body("first"))).unwrap();
    it.commit(Batch::synced().event(post("bob", 2).with_body("second")).event(take("ann", 2))).unwrap();
}

fn tails_from_a_cursor_with_filters_and_without_bodies(it: &Fixture) {
    filled(it);
    let lsns = |from, filter: &Filter, limit| -> Vec<u64> {
        it.store.events(from, filter, limit).unwrap().iter().map(|event| event.lsn).collect()
    };

    assert_eq!(lsns(0, &Filter::all(), 10), [1, 2, 3, 4]);
    assert_eq!(lsns(2, &Filter::all(), 1), [3]);
    assert_eq!(lsns(4, &Filter::all(), 10), [0; 0]);
    assert_eq!(lsns(0, &Filter::all(), 0), [0; 0]);
    assert_eq!(lsns(0, &Filter::kinds(["note_posted"]), 10), [2, 3]);
    assert_eq!(lsns(0, &Filter::all().subject("owner/b"), 10), [3]);
    assert_eq!(lsns(0, &Filter::kinds(["note_posted"]).subject("owner/a"), 10), [2]);
    assert!(it.store.events(0, &Filter::all(), 10).unwrap().iter().all(|event| event.body.is_none()));
}

fn events_as_text_are_the_same_events(it: &Fixture) {
    filled(it);
    for (from, limit) in [(0, 10), (1, 2), (4, 10), (0, 0)] {
        let events = it.store.events(from, &Filter::all(), limit).unwrap().into_iter();
        let events = events.map(|event| (event.subject, event.lsn, event.kind, event.rev, event.facts));
        let texts = it.store.raw_events(from, limit).unwrap().into_iter();
        let texts = texts.map(|(subject, event)| (subject, event.lsn, event.kind, event.rev, event.facts));

        assert_eq!(texts.collect::<Vec<_>>(), events.collect::<Vec<_>>(), "{limit} from {from}");
    }
}

fn events_of_a_subject_are_exactly_its_own_in_order(it: &Fixture) {
    filled(it);
    it.commit(Batch::written().event(post("ann", 3).with_body("third")).event(post("anna", 4))).unwrap();
    let revs = |subject: &str, after, limit| -> Vec<(u64, u64)> {
        let events = it.store.events_of(subject, after, limit).unwrap();
        assert!(events.iter().all(|event| event.subject == subject && event.body.is_none()));
        events.iter().map(|event| (event.lsn, event.rev)).collect()
    };

    assert_eq!(revs("owner/ann", 0, 10), [(1, 1), (2, 2), (4, 3), (5, 4)]);
    assert_eq!(revs("owner/ann", 2, 1), [(4, 3)]);
    assert_eq!(revs("owner/ann", 4, 10), []);
    assert_eq!(revs("owner/ann", 0, 0), []);
    assert_eq!(revs("owner/an", 0, 10), []);
    assert_eq!(revs("owner/anna", 0, usize::MAX), [(6, 1)]);
}

fn events_of_a_subject_go_on_where_the_disk_has_the_first_of_them(it: &Fixture) {
    filled(it);
    it.store.checkpoint(Checkpoint::Passive).unwrap();
    it.commit(Batch::written().event(post("ann", 3))).unwrap();

    let events = it.store.events_of("owner/ann", 1, 10).unwrap();

    assert_eq!(events.iter().map(|event| event.rev).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(events[2].facts.field("weight"), 3);
}

fn a_cursor_ahead_of_the_log_is_an_error(it: &Fixture) {
    filled(it);

    assert!(matches!(it.store.events(5, &Filter::all(), 1), Err(Error::Ahead { cursor: 5, head: 4 })));
}

fn single_events_come_with_their_body(it: &Fixture) {
    filled(it);

    assert_eq!(it.store.body(2).unwrap().as_deref(), Some("first"));
    assert_eq!(it.store.event(3).unwrap().unwrap().body.as_deref(), Some("second"));
    assert_eq!(it.store.body(1).unwrap(), None);
    assert_eq!(it.store.event(0).unwrap(), None);
    assert_eq!(it.store.event(5).unwrap(), None);
    let texts = it.store.bodies(&[5, 3, 1, 2, 2, 0]).unwrap();
    assert_eq!(texts.into_iter().collect::<Vec<_>>(), [(2, "first".to_owned()), (3, "second".to_owned())]);
}

fn every_event_continues_the_one_before(it: &Fixture) {
    filled(it);

    let events = it.store.events(0, &Filter::all(), 10).unwrap();

    assert_eq!(events[0].prev_hash, Digest::ZERO);
    for pair in events.windows(2) {
        assert_eq!(pair[1].prev_hash, pair[0].hash);
    }
    assert_eq!(it.store.head(), Head { lsn: 4, hash: events[3].hash });
    assert_eq!(events[0].body_hash, Digest::ZERO);
    assert_ne!(events[1].body_hash, Digest::ZERO);
}

fn equal_bodies_have_different_hashes(it: &Fixture) {
    it.commit(Batch::synced().event(post("a", 1).with_body("yes")).event(post("a", 1).with_body("yes"))).unwrap();

    let events = it.store.events(0, &Filter::all(), 10).unwrap();

    assert_ne!(events[0].body_hash, events[1].body_hash);
}

fn a_dropped_body_is_gone_and_the_chain_still_whole(it: &Fixture) {
    filled(it);

    it.commit(Batch::synced().drop_body(2).drop_body(99)).unwrap();

    assert_eq!(it.store.body(2).unwrap(), None);
    assert_ne!(it.store.event(2).unwrap().unwrap().body_hash, Digest::ZERO);
    let report = it.store.verify(Scope::All).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!((report.bodies, report.dropped), (1, 1));
}

fn verifies_and_says_no_more_than_that_the_chain_holds(it: &Fixture) {
    filled(it);

    let report = it.store.verify(Scope::All).unwrap();

    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!(report.head, it.store.head());
    assert_eq!(report.verdict(), "hash chain verified");
    assert_eq!((report.events(), report.bodies, report.rows), (4, 2, 4));
}

fn an_empty_store_verifies_and_exports(it: &Fixture) {
    let mut export = Vec::new();
    it.store.export(&mut export).unwrap();

    assert!(it.store.verify(Scope::All).unwrap().is_clean());
    let report = switchboard_store::verify_export(export.as_slice()).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!(report.head, Head { lsn: 0, hash: Digest::ZERO });
}

fn an_export_verifies_without_the_store(it: &Fixture) {
    filled(it);
    it.commit(Batch::synced().drop_body(2)).unwrap();
    let mut export = Vec::new();
    it.store.export(&mut export).unwrap();
    let mut hashes = Vec::new();

    let report =
        switchboard_store::verify_export_with(&mut export.as_slice(), &mut |lsn, hash| hashes.push((lsn, hash)))
            .unwrap();

    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!(report.head, it.store.head());
    assert_eq!(report.chain_id, it.store.chain_id());
    assert_eq!((report.bodies, report.dropped), (1, 1));
    let events = it.store.events(0, &Filter::all(), 10).unwrap();
    assert_eq!(hashes, events.iter().map(|event| (event.lsn, event.hash)).collect::<Vec<_>>());
}

/// Changes every byte to every value that differs in one bit; each change must be found and attributed to its event.
fn every_flipped_bit_of_an_export_is_found_and_named(it: &Fixture) {
    filled(it);
    it.commit(Batch::synced().event(post("ü\u{1}\"\\", 3).with_body("\n\u{7f}é")).drop_body(3)).unwrap();
    let mut export = Vec::new();
    it.store.export(&mut export).unwrap();
    let line_of = |at: usize| export[..at].iter().filter(|byte| **byte == b'\n').count() as u64;

    for at in 0..export.len() {
        for bit in 0..8 {
            let mut flipped = export.clone();
            flipped[at] ^= 1 << bit;
            let report = switchboard_store::verify_export(flipped.as_slice()).unwrap();
            let found = report.first().unwrap_or_else(|| panic!("byte {at}, bit {bit} is not found"));
            if let (switchboard_store::DamageSite::Event { lsn, .. }, line @ 1..) = (&found.place, line_of(at)) {
                assert_eq!(*lsn, line, "byte {at}, bit {bit}: {found}");
            }
        }
    }
}

fn a_cut_export_is_found(it: &Fixture) {
    filled(it);
    let mut export = Vec::new();
    it.store.export(&mut export).unwrap();

    for end in 0..export.len() {
        let report = switchboard_store::verify_export(&export[..end]).unwrap();
        assert!(!report.is_clean(), "cut at {end}");
    }
    let swapped = String::from_utf8(export).unwrap();
    let mut lines: Vec<&str> = swapped.lines().collect();
    lines.swap(2, 3);
    assert!(!switchboard_store::verify_export((lines.join("\n") + "\n").as_bytes()).unwrap().is_clean());
}

on_every_backend!(
    tails_from_a_cursor_with_filters_and_without_bodies,
    events_as_text_are_the_same_events,
    events_of_a_subject_are_exactly_its_own_in_order,
    events_of_a_subject_go_on_where_the_disk_has_the_first_of_them,
    a_cursor_ahead_of_the_log_is_an_error,
    single_events_come_with_their_body,
    every_event_continues_the_one_before,
    equal_bodies_have_different_hashes,
    a_dropped_body_is_gone_and_the_chain_still_whole,
    verifies_and_says_no_more_than_that_the_chain_holds,
    an_empty_store_verifies_and_exports,
    an_export_verifies_without_the_store,
    every_flipped_bit_of_an_export_is_found_and_named,
    a_cut_export_is_found,
);
