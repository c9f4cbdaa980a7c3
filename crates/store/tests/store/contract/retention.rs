use switchboard_protocol::event::Event;
use switchboard_store::{Batch, Error, Retention, Scope, Store, Swept};

use crate::board::{Fixture, on_every_backend, post, take};

const DAY: i64 = 24 * 60 * 60 * 1000;

/// Drops the bodies of notes that were taken a day ago.
const TAKEN: Retention = Retention { cursor: "retention/taken", kinds: &["note_taken"], keep_for: DAY, bodies_of };

fn bodies_of(_: &Store, event: &Event) -> Result<Vec<u64>, Error> {
    Ok(event.facts.field("lsn").as_u64().into_iter().collect())
}

fn sweep(it: &Fixture) -> Swept {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(it.store.sweep(&TAKEN, it.store.now())).unwrap()
}

fn posted(it: &Fixture) -> u64 {
    it.commit(Batch::synced().event(post("ann", 1).with_body("text"))).unwrap().first
}

fn bodies_go_a_day_after_they_were_settled_and_the_chain_stays(it: &Fixture) {
    let (old, young, open) = (posted(it), posted(it), posted(it));
    it.commit(Batch::synced().event(take("ann", old))).unwrap();
    it.clock.advance(DAY / 2);
    it.commit(Batch::synced().event(take("ann", young))).unwrap();
    assert_eq!(sweep(it), Swept { dropped: 0, is_done: true });
    it.clock.advance(DAY / 2);

    let swept = sweep(it);

    assert_eq!(swept, Swept { dropped: 1, is_done: true });
    assert_eq!(it.store.body(old).unwrap(), None);
    assert!(it.store.body(young).unwrap().is_some());
    it.clock.advance(365 * DAY);
    assert_eq!(sweep(it), Swept { dropped: 1, is_done: true });
    assert_eq!(it.store.body(open).unwrap().as_deref(), Some("text"), "what is not settled is never touched");
    let report = it.store.verify(Scope::All).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!((report.bodies, report.dropped), (1, 2));
    assert_eq!(sweep(it), Swept { dropped: 0, is_done: true });
}

fn a_sweep_stops_at_its_bound_and_goes_on_where_it_stopped(it: &Fixture) {
    let count = 10_100_u64;
    for from in (0..count).step_by(1_000) {
        let some = from..(from + 1_000).min(count);
        let posts = some.clone().fold(Batch::written(), |batch, _| batch.event(post("ann", 1).with_body("x")));
        let first = it.commit(posts).unwrap().first;
        let lsns = first..first + (some.end - some.start);
        it.commit(lsns.fold(Batch::written(), |batch, lsn| batch.event(take("ann", lsn)))).unwrap();
    }
    it.clock.advance(DAY);

    let mut sweeps = vec![sweep(it)];
    while sweeps.last().is_some_and(|swept| !swept.is_done) && sweeps.len() < 10 {
        sweeps.push(sweep(it));
    }

    assert!(sweeps.len() > 1 && sweeps.iter().all(|swept| swept.dropped <= 10_000), "{sweeps:?}");
    assert_eq!(sweeps.iter().map(|swept| swept.dropped).sum::<u64>(), count);
    assert_eq!(it.store.verify(Scope::Chain).unwrap().dropped, count);
}

fn a_clock_that_jumps_back_drops_nothing(it: &Fixture) {
    let lsn = posted(it);
    it.commit(Batch::synced().event(take("ann", lsn))).unwrap();
    it.clock.advance(-100 * DAY);

    assert_eq!(sweep(it), Swept { dropped: 0, is_done: true });
    assert!(it.store.body(lsn).unwrap().is_some());
}

on_every_backend!(
    bodies_go_a_day_after_they_were_settled_and_the_chain_stays,
    a_sweep_stops_at_its_bound_and_goes_on_where_it_stopped,
    a_clock_that_jumps_back_drops_nothing,
);
