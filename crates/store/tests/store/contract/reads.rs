use serde_json::json;
use switchboard_store::{Batch, Cell, Error, Query};

use crate::board::{Fixture, on_every_backend, post, post_with};

/// Posts notes 1..=6: weights 30, 10, 20, none, 10, -5; tags a, b, none, a, "A", "ä".
fn filled(it: &Fixture) {
    let notes = [
        json!({"owner": "ann", "weight": 30, "tag": "a"}),
        json!({"owner": "ann", "weight": 10, "tag": "b"}),
        json!({"owner": "bob", "weight": 20}),
        json!({"owner": "bob", "tag": "a"}),
        json!({"owner": "ann", "weight": 10, "tag": "A"}),
        json!({"owner": "ann", "weight": -5, "tag": "ä"}),
    ];
    let batch = notes.into_iter().fold(Batch::synced(), |batch, facts| batch.event(post_with(facts)));
    it.commit(batch).unwrap();
}

fn lsns(it: &Fixture, query: &Query) -> Vec<i64> {
    it.store.read(query).unwrap().iter().map(|row| row.get_int("lsn").unwrap()).collect()
}

fn filters_by_every_operator(it: &Fixture) {
    filled(it);
    let notes = || Query::table("notes").asc("lsn");

    assert_eq!(lsns(it, &notes().eq("weight", 10_i64)), [2, 5]);
    assert_eq!(lsns(it, &notes().ne("weight", 10_i64)), [1, 3, 4, 6]);
    assert_eq!(lsns(it, &notes().lt("weight", 10_i64)), [6]);
    assert_eq!(lsns(it, &notes().le("weight", 10_i64)), [2, 5, 6]);
    assert_eq!(lsns(it, &notes().gt("weight", 10_i64)), [1, 3]);
    assert_eq!(lsns(it, &notes().ge("weight", 10_i64)), [1, 2, 3, 5]);
    assert_eq!(lsns(it, &notes().is_in("tag", ["a", "ä"])), [1, 4, 6]);
    assert_eq!(lsns(it, &notes().is_in("tag", Vec::<Cell>::new())), [0; 0]);
    assert_eq!(lsns(it, &notes().is_in("tag", [Cell::Null, "b".into()])), [2]);
    assert_eq!(lsns(it, &notes().is_null("weight")), [4]);
    assert_eq!(lsns(it, &notes().ne("tag", Cell::Null)), [1, 2, 4, 5, 6]);
    assert_eq!(lsns(it, &notes().lt("weight", Cell::Null)), [0; 0]);
    assert_eq!(lsns(it, &notes().eq("owner", "ann").gt("lsn", 1_i64).lt("weight", 20_i64)), [2, 5, 6]);
}

fn sorts_null_first_text_by_bytes_and_ties_by_key(it: &Fixture) {
    filled(it);

    assert_eq!(lsns(it, &Query::table("notes").asc("weight")), [4, 6, 2, 5, 3, 1]);
    assert_eq!(lsns(it, &Query::table("notes").desc("weight")), [1, 3, 2, 5, 6, 4]);
    assert_eq!(lsns(it, &Query::table("notes").desc("tag").desc("lsn")), [6, 2, 4, 1, 5, 3]);
    assert_eq!(lsns(it, &Query::table("notes")), [1, 2, 5, 6, 3, 4]);
}

fn the_least_number_follows_every_commit(it: &Fixture) {
    let least = || it.store.least("notes", "weight").unwrap();
    assert_eq!(least(), None);
    filled(it);
    assert_eq!((least(), least()), (Some(-5), Some(-5)));

    it.commit(Batch::synced().event(post_with(json!({"owner": "bob", "weight": -7})))).unwrap();

    assert_eq!(least(), Some(-7));
    assert_eq!(it.store.least("notes", "color").unwrap_err().failure().code, "internal.bug");
}

fn pages_and_counts(it: &Fixture) {
    filled(it);
    let notes = || Query::table("notes").asc("lsn");

    assert_eq!(lsns(it, &notes().limit(2)), [1, 2]);
    assert_eq!(lsns(it, &notes().limit(2).offset(3)), [4, 5]);
    assert_eq!(lsns(it, &notes().offset(5)), [6]);
    assert_eq!(lsns(it, &notes().limit(0)), [0; 0]);
    assert_eq!(it.store.count(&notes().eq("owner", "ann").limit(1)).unwrap(), 4);
}

fn gets_whole_rows_by_key(it: &Fixture) {
    filled(it);

    let row = it.store.get("notes", &["bob".into(), Cell::Int(3)]).unwrap().unwrap();

    assert_eq!(row.iter().count(), 5);
    assert_eq!(row.try_text("owner").unwrap(), "bob");
    assert_eq!(row.try_u64("lsn").unwrap(), 3);
    assert!(row.try_text("tag").is_err());
    assert_eq!(it.store.get("notes", &["bob".into(), Cell::Int(99)]).unwrap(), None);
}

fn refuses_queries_that_do_not_fit(it: &Fixture) {
    let wrong = [
        Query::table("nowhere"),
        Query::table("notes").eq("height", 1_i64),
        Query::table("notes").eq("weight", "heavy"),
        Query::table("notes").asc("height"),
        Query::table("notes").is_in("weight", (0..1001_i64).collect::<Vec<_>>()),
    ];

    for query in wrong {
        assert!(matches!(it.store.read(&query), Err(Error::Schema { .. })), "{query:?}");
        assert!(matches!(it.store.count(&query), Err(Error::Schema { .. })), "{query:?}");
    }
    assert!(it.store.get("notes", &["ann".into()]).is_err());
    assert!(it.store.get("notes", &["ann".into(), Cell::Null]).is_err());
}

fn text_of_any_kind_comes_back_as_it_was(it: &Fixture) {
    let odd = ["", "'; DROP TABLE notes; --", "\"quoted\"", "nul\0inside", "\u{10ffff}", "line\nbreak"];
    for tag in odd {
        it.commit(Batch::written().event(post_with(json!({"owner": tag, "weight": 1, "tag": tag})))).unwrap();
    }

    for tag in odd {
        let found = it.store.read(&Query::table("notes").eq("tag", tag)).unwrap();
        assert_eq!(found.len(), 1, "{tag:?}");
        assert_eq!(found[0].get_text("owner"), Some(tag));
    }
}

fn reads_see_every_commit_that_was_answered(it: &Fixture) {
    for count in 1..=20 {
        it.commit(Batch::written().event(post("ann", 1))).unwrap();
        assert_eq!(it.store.count(&Query::table("notes")).unwrap(), count);
    }
}

on_every_backend!(
    filters_by_every_operator,
    sorts_null_first_text_by_bytes_and_ties_by_key,
    the_least_number_follows_every_commit,
    pages_and_counts,
    gets_whole_rows_by_key,
    refuses_queries_that_do_not_fit,
    text_of_any_kind_comes_back_as_it_was,
    reads_see_every_commit_that_was_answered,
);
