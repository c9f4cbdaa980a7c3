use switchboard_store::{Batch, Error, Scope, Words};

use crate::board::{Fixture, add_owner, on_every_backend, post, take};

fn posted(it: &Fixture, bodies: &[&str]) -> Vec<u64> {
    bodies
        .iter()
        .map(|body| it.commit(Batch::written().event(post("ann", 1).with_body(*body))).unwrap().first)
        .collect()
}

fn found(it: &Fixture, query: &str) -> Vec<u64> {
    let found = it.store.search(&Words::parse(query).unwrap(), None, 100).unwrap();
    assert!(found.is_whole);
    found.lsns
}

fn finds_words_phrases_and_beginnings_newest_first(it: &Fixture) {
    let lsns =
        posted(it, &["The merge had a CONFLICT.", "a conflict; merge it", "Ärger in src/lib.rs:3", "漢字とかな"]);

    assert_eq!(found(it, "merge conflict"), [lsns[1], lsns[0]]);
    assert_eq!(found(it, "\"conflict merge\""), [lsns[1]]);
    assert_eq!(found(it, "conf*"), [lsns[1], lsns[0]]);
    assert_eq!(found(it, "conf"), [0; 0]);
    assert_eq!(found(it, "merge -had"), [lsns[1]]);
    assert_eq!(found(it, "merge -had -it"), [0; 0]);
    assert_eq!(found(it, "ärger src/lib.rs"), [lsns[2]]);
    assert_eq!(found(it, "lib src"), [lsns[2]]);
    assert_eq!(found(it, "字と"), [lsns[3]]);
    assert_eq!(found(it, "or"), [0; 0], "a word of the index's own language is a word");
    assert_eq!(found(it, "NOT AND"), [0; 0]);
}

fn sees_what_was_committed_before_it_began_and_nothing_else(it: &Fixture) {
    assert_eq!(found(it, "one"), [0; 0]);
    it.commit(Batch::synced().event(add_owner("ann").with_body("one"))).unwrap();
    let lsns = posted(it, &["one"]);
    it.commit(Batch::synced().event(take("ann", 1).with_body("one"))).unwrap();
    assert_eq!(found(it, "one"), lsns, "of the kinds that are searched");

    let more = posted(it, &["one more"]);

    assert_eq!(found(it, "one"), [more[0], lsns[0]]);
}

fn answers_page_by_page(it: &Fixture) {
    let lsns = posted(it, &["x"; 7]);
    let words = Words::parse("x").unwrap();
    let page = |before| it.store.search(&words, before, 3).unwrap().lsns;

    let first = page(None);
    let second = page(first.last().copied());

    assert_eq!(first, [lsns[6], lsns[5], lsns[4]]);
    assert_eq!(second, [lsns[3], lsns[2], lsns[1]]);
    assert_eq!(page(Some(lsns[0])), [0; 0]);
    assert_eq!(it.store.search(&words, None, 0).unwrap().lsns, [0; 0]);
}

fn a_dropped_body_is_found_no_more(it: &Fixture) {
    let lsns = posted(it, &["alpha beta", "alpha gamma"]);
    assert_eq!(found(it, "alpha"), [lsns[1], lsns[0]]);
    let late = posted(it, &["alpha delta"]);

    it.commit(Batch::synced().drop_body(lsns[0]).drop_body(late[0]).drop_body(lsns[0]).drop_body(99)).unwrap();

    assert_eq!(found(it, "alpha"), [lsns[1]]);
    assert_eq!(found(it, "beta"), [0; 0]);
    let report = it.store.verify(Scope::All).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
}

fn nothing_in_a_text_means_anything_to_the_index(it: &Fixture) {
    let odd =
        ["\" OR * NEAR(a b) {c}: -d ^e +f", "'; DROP TABLE search; --", "\u{0}\u{1}nul\u{0}", "i̇stanbul İSTANBUL"];
    let lsns = posted(it, &odd);

    assert_eq!(found(it, "near"), [lsns[0]]);
    assert_eq!(found(it, "drop table"), [lsns[1]]);
    assert_eq!(found(it, "nul"), [lsns[2]]);
    assert_eq!(found(it, "İstanbul"), [lsns[3]]);
}

fn a_query_that_can_not_be_is_a_wrong_call(it: &Fixture) {
    let _none_of_its_business = it;

    let error = Words::parse("\"never ends").unwrap_err();

    assert!(matches!(error, Error::Query(_)));
    assert_eq!(error.failure().code, "request.bad-args");
}

on_every_backend!(
    finds_words_phrases_and_beginnings_newest_first,
    sees_what_was_committed_before_it_began_and_nothing_else,
    answers_page_by_page,
    a_dropped_body_is_found_no_more,
    nothing_in_a_text_means_anything_to_the_index,
    a_query_that_can_not_be_is_a_wrong_call,
);
