use switchboard_store::{Batch, Cell, Error, Guard, Query};

use crate::board::{Fixture, add_owner, no, on_every_backend, post, take};

fn refused_with(it: &Fixture, guard: Guard) -> Option<String> {
    let before = it.store.head();
    match it.commit(Batch::synced().event(post("ann", 99)).guard(guard)) {
        Ok(_) => None,
        Err(Error::Refused(failure)) => {
            assert_eq!(it.store.head(), before, "a refused batch leaves no trace");
            Some(failure.what)
        }
        Err(other) => panic!("{other}"),
    }
}

fn each_guard_holds_when_it_should_and_refuses_otherwise(it: &Fixture) {
    it.commit(Batch::synced().event(add_owner("ann")).event(post("ann", 5))).unwrap();
    let key = |owner: &str| [Cell::from(owner)];
    let notes = || Query::table("notes").eq("owner", "ann").eq("weight", 5_i64);
    let one_of = |values: &[i64]| Guard::OneOf {
        table: "notes",
        key: vec!["ann".into(), Cell::Int(2)],
        column: "weight",
        values: values.iter().map(|value| Cell::Int(*value)).collect(),
        refusal: no("one of"),
    };
    let fewer = |than| Guard::Fewer { query: notes(), than, refusal: no("fewer") };
    let rule =
        |wanted: usize| Guard::holds(notes(), move |rows| if rows.len() == wanted { Ok(()) } else { Err(no("rule")) });

    let holding = [
        Guard::exists("owners", key("ann"), no("exists")),
        Guard::absent("owners", key("bob"), no("absent")),
        Guard::equals("notes", ["ann".into(), Cell::Int(2)], "state", "new", no("equals")),
        one_of(&[1, 5]),
        Guard::below("owners", key("bob"), "waiting", 1, no("below")),
        fewer(2),
        rule(1),
    ];
    for guard in holding {
        assert_eq!(refused_with(it, guard), None);
    }
    let refusing = [
        (Guard::exists("owners", key("bob"), no("exists")), "exists"),
        (Guard::absent("owners", key("ann"), no("absent")), "absent"),
        (Guard::equals("notes", ["ann".into(), Cell::Int(2)], "state", "taken", no("equals")), "equals"),
        (Guard::equals("notes", ["bob".into(), Cell::Int(2)], "state", "new", no("missing")), "missing"),
        (one_of(&[1, 6]), "one of"),
        (Guard::below("owners", key("ann"), "waiting", 1, no("below")), "below"),
        (fewer(1), "fewer"),
        (rule(2), "rule"),
    ];
    for (guard, why) in refusing {
        assert_eq!(refused_with(it, guard).as_deref(), Some(why));
    }
}

fn guards_see_what_came_before_and_not_their_own_batch(it: &Fixture) {
    let only_if_empty = || Guard::below("owners", ["ann".into()], "waiting", 1, no("full"));
    let batch = || Batch::synced().guard(only_if_empty()).event(post("ann", 1)).event(post("ann", 2));

    let first = it.commit(batch());
    let second = it.commit(batch());
    it.commit(Batch::synced().event(take("ann", 1)).event(take("ann", 2))).unwrap();
    let third = it.commit(batch());

    assert!(first.is_ok());
    assert!(matches!(second, Err(Error::Refused(_))));
    assert!(third.is_ok());
}

fn one_of_many_racing_claims_wins(it: &Fixture) {
    it.commit(Batch::synced().event(post("ann", 1))).unwrap();
    let unclaimed = || Guard::equals("notes", ["ann".into(), Cell::Int(1)], "state", "new", no("claimed"));

    let won: usize = std::thread::scope(|scope| {
        let claim = || {
            let store = it.store.clone();
            scope.spawn(move || store.commit_blocking(Batch::synced().guard(unclaimed()).event(take("ann", 1))).is_ok())
        };
        let claims: Vec<_> = (0..8).map(|_| claim()).collect();
        claims.into_iter().map(|claim| usize::from(claim.join().unwrap())).sum()
    });

    assert_eq!(won, 1);
    assert_eq!(it.store.head().lsn, 2);
}

fn expected_revisions_are_checked_before_anything_is_written(it: &Fixture) {
    it.commit(Batch::synced().event(post("ann", 1)).expect("owner/ann", 0)).unwrap();

    let stale = it.commit(Batch::synced().event(post("ann", 2)).expect("owner/ann", 0)).unwrap_err();
    let fresh = it.commit(Batch::synced().event(post("ann", 2)).expect("owner/ann", 1).expect("owner/bob", 0));

    assert!(matches!(stale, Error::Conflict { expected: 0, found: 1, .. }));
    assert_eq!(stale.failure().code, "store.conflict");
    assert!(fresh.is_ok());
    assert_eq!(it.store.head().lsn, 2);
}

fn a_guard_that_does_not_fit_its_table_is_a_defect(it: &Fixture) {
    let wrong = [
        Guard::exists("nowhere", ["ann".into()], no("")),
        Guard::exists("owners", [Cell::Int(1)], no("")),
        Guard::equals("owners", ["ann".into()], "height", 1_i64, no("")),
        Guard::holds(Query::table("owners"), |_| panic!("on purpose")),
    ];

    for guard in wrong {
        let refused = it.commit(Batch::synced().event(post("ann", 1)).guard(guard)).unwrap_err();
        assert_eq!(refused.failure().code, "internal.bug");
    }
    assert_eq!(it.store.head().lsn, 0);
}

on_every_backend!(
    each_guard_holds_when_it_should_and_refuses_otherwise,
    guards_see_what_came_before_and_not_their_own_batch,
    one_of_many_racing_claims_wins,
    expected_revisions_are_checked_before_anything_is_written,
    a_guard_that_does_not_fit_its_table_is_a_defect,
);
