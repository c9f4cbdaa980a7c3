//! A flipped bit anywhere in the file is found or harmless; the store never returns wrong data because of it.

use std::fs;
use std::path::Path;

use switchboard_store::{Batch, Cell, Committed, Config, Error, Query, Row, Scope, Store};

use crate::board::{Fixture, START, add_owner, call, post, projections, take};

/// Number of positions that are tried; the torture run tries all of them.
const FLIPS: usize = 240;

/// All answers that a reader can get.
#[derive(PartialEq, Debug)]
struct Answers {
    export: Vec<u8>,
    owners: Vec<Row>,
    new: Vec<Row>,
    single: Option<Row>,
    cursor: u64,
    rev: u64,
    repeated: Committed,
}

fn repeat() -> Batch {
    Batch::synced().event(post("ann", 1)).idempotent(call("k", "a")).reply("yes".into())
}

fn answers(store: &Store) -> Result<Answers, Error> {
    let mut export = Vec::new();
    store.export(&mut export)?;
    Ok(Answers {
        export,
        owners: store.read(&Query::table("owners"))?,
        new: store.read(&Query::table("notes").eq("state", "new").asc("weight"))?,
        single: store.get("notes", &["ann".into(), Cell::Int(3)])?,
        cursor: store.cursor("search")?,
        rev: store.rev("owner/ann")?,
        repeated: store.commit_blocking(repeat())?,
    })
}

fn open(path: &Path) -> Result<Store, Error> {
    let clock = switchboard_store::ManualClock::at(START).clock();
    Store::open(Config { clock, ..Config::new(path) }, projections())
}

/// Returns the result of one flip: found (true), harmless (false), or an error if wrong data was returned.
fn is_found(path: &Path, wanted: &Answers) -> Result<bool, String> {
    let Ok(store) = open(path) else { return Ok(true) };
    if store.verify(Scope::All).map_or(true, |report| !report.is_clean()) {
        return Ok(true);
    }
    match answers(&store) {
        Err(_) => Ok(true),
        Ok(found) if found == *wanted => Ok(false),
        Ok(found) => Err(format!("{found:?}")),
    }
}

#[test]
fn a_flipped_bit_is_found_or_harmless() {
    let it = Fixture::sqlite();
    it.commit(Batch::synced().event(add_owner("ann")).event(add_owner("bob")).advance("search", 2)).unwrap();
    it.commit(repeat()).unwrap();
    for weight in 0..40 {
        it.commit(Batch::written().event(post("bob", weight).with_body(format!("text {weight}")))).unwrap();
    }
    it.commit(Batch::written().event(take("bob", 9)).drop_body(7)).unwrap();
    let path = it.path();
    it.store.close();
    let wanted = answers(&open(&path).unwrap()).unwrap();
    let whole = fs::read(&path).unwrap();
    let step = (whole.len() / FLIPS) | 1;

    let mut found = 0;
    for (flip, at) in (0..whole.len()).step_by(step).enumerate() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (flip % 8);
        let copy = path.with_file_name(format!("flip{flip}.db"));
        fs::write(&copy, flipped).unwrap();
        match is_found(&copy, &wanted) {
            Ok(is_found) => found += usize::from(is_found),
            Err(served) => panic!("byte {at} of {}, bit {}: {served}", whole.len(), flip % 8),
        }
        for ending in ["", "-wal", "-shm", ".lock"] {
            let _gone = fs::remove_file(format!("{}{ending}", copy.display()));
        }
    }

    assert!(found > FLIPS / 20, "only {found} were found: the flips miss what is stored");
}
