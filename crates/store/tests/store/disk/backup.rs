//! Copies of a store: made while it is in use, and restored in its place.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use switchboard_store::{Batch, Config, Error, Filter, Query, Scope, Store, Words, backup_file, restore, verify_file};

use crate::board::{Fixture, add_owner, call, post, projections};

fn fill(it: &Fixture, events: i64) {
    for weight in 0..events {
        it.commit(Batch::synced().event(post("ann", weight).with_body(format!("text {weight}")))).unwrap();
    }
}

fn config(it: &Fixture) -> Config {
    Config { clock: it.clock.clock(), ..Config::new(it.path()) }
}

fn open(path: &Path) -> Store {
    Store::open(Config::new(path), projections()).unwrap()
}

#[test]
fn a_backup_holds_everything_up_to_one_event_while_the_store_goes_on() {
    let it = Fixture::sqlite();
    it.commit(Batch::synced().event(add_owner("ann")).advance("feed", 1)).unwrap();
    fill(&it, 50);
    assert_eq!(it.store.search(&Words::parse("text").unwrap(), None, 100).unwrap().lsns.len(), 50);
    let to = it.path().with_file_name("copy.db");
    let stop = std::sync::atomic::AtomicBool::new(false);

    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                it.commit(Batch::written().event(post("ann", 1).with_body("more"))).unwrap();
            }
        });
        let report = it.store.backup(&to);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        report.unwrap()
    });

    assert!(report.is_clean() && report.events() >= 51);
    assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    let copy = Store::open(Config::new(&to), projections()).unwrap();
    let events = |store: &Store| store.events(0, &Filter::all(), report.events() as usize).unwrap();
    assert_eq!(copy.head().lsn, report.events());
    assert_eq!(events(&copy), events(&it.store));
    assert_eq!(copy.cursor("feed").unwrap(), 1);
    assert!(copy.verify(Scope::All).unwrap().is_clean());
}

#[test]
fn an_earlier_copy_of_the_same_record_is_replaced_and_no_other_store_is() {
    let (it, other) = (Fixture::sqlite(), Fixture::sqlite());
    fill(&it, 3);
    fill(&other, 3);
    let (copy, opened) = (it.path().with_file_name("copy"), it.path().with_file_name("opened"));
    it.store.backup(&copy).unwrap();
    it.store.backup(&opened).unwrap();
    drop(open(&opened));
    fill(&it, 2);

    let again = it.store.backup(&copy).unwrap();

    assert_eq!(again.head, it.store.head());
    for refused in [
        other.store.backup(&copy),
        it.store.backup(&other.path()),
        it.store.backup(&opened),
        it.store.backup(&it.path()),
    ] {
        assert_eq!(refused.unwrap_err().failure().code, "io.denied");
    }
    let names = fs::read_dir(it.path().parent().unwrap()).unwrap();
    let drafts = names.filter(|name| name.as_ref().unwrap().file_name().to_string_lossy().contains(".new-"));
    assert_eq!(drafts.count(), 0);
    assert_eq!(open(&copy).head(), it.store.head());
}

#[test]
fn a_copy_that_knows_more_than_the_record_is_kept() {
    let it = Fixture::sqlite();
    fill(&it, 1);
    let (early, late) = (it.path().with_file_name("early"), it.path().with_file_name("late"));
    it.store.backup(&early).unwrap();
    fill(&it, 3);
    it.store.backup(&late).unwrap();

    let older = open(&early);

    assert!(older.backup(&late).is_err());
    assert!(it.store.backup(&late).is_ok());
}

#[test]
fn a_backup_never_overwrites_and_leaves_nothing_when_it_fails() {
    let it = Fixture::sqlite();
    fill(&it, 1);
    let there = it.path().with_file_name("there");
    fs::write(&there, "precious").unwrap();

    let refused = it.store.backup(&there).unwrap_err();
    let nowhere = it.store.backup(&it.path().with_file_name("no/such/folder")).unwrap_err();

    assert_eq!(refused.failure().code, "io.denied");
    assert_eq!(nowhere.failure().code, "io.denied");
    assert_eq!(fs::read_to_string(&there).unwrap(), "precious");
    fs::remove_file(&there).unwrap();
    rusqlite::Connection::open(it.path())
        .unwrap()
        .execute_batch("UPDATE events SET actor = 'mallory' WHERE lsn = 1")
        .unwrap();
    let Err(Error::Corrupt { place, .. }) = it.store.backup(&there) else { panic!("a damaged store was backed up") };
    assert!(place.starts_with("event 1 "), "{place}");
    assert!(!there.exists());
    assert!(Fixture::memory().store.backup(&there).is_err());
}

#[test]
fn a_closed_store_is_backed_up_and_checked_without_being_changed() {
    let it = Fixture::sqlite();
    fill(&it, 3);
    let (config, path) = (config(&it), it.path());
    let to = path.with_file_name("copy.db");
    assert!(matches!(backup_file(&config, projections(), &to), Err(Error::Locked { .. })));
    assert!(matches!(verify_file(&config, projections()), Err(Error::Locked { .. })));
    it.store.close();
    let before = fs::read(&path).unwrap();

    let copied = backup_file(&config, projections(), &to).unwrap();
    let checked = verify_file(&config, projections()).unwrap();

    assert!(copied.is_clean() && checked.is_clean(), "{:?} {:?}", copied.findings, checked.findings);
    assert_eq!((copied.events(), checked.events()), (3, 3));
    assert_eq!(fs::read(&path).unwrap(), before);
    let nothing = Config::new(path.with_file_name("other.db"));
    assert_eq!(verify_file(&nothing, projections()).unwrap_err().failure().code, "io.denied");
}

#[test]
fn a_restored_store_is_the_backup_and_refuses_what_was_decided_before() {
    let it = Fixture::sqlite();
    fill(&it, 3);
    let to = it.path().with_file_name("copy.db");
    it.store.backup(&to).unwrap();
    let kept = it.store.events(0, &Filter::all(), 10).unwrap();
    let it = it.reopen(projections()).unwrap().reopen(projections()).unwrap();
    fill(&it, 2);
    let (epoch, config) = (it.store.epoch(), config(&it));
    assert!(matches!(restore(&to, &config, projections), Err(Error::Locked { .. })));
    assert_eq!(it.store.head().lsn, 5, "nothing has changed");
    it.store.close();

    let restored = restore(&to, &config, projections).unwrap();

    assert_eq!((restored.from.lsn, restored.head.lsn), (3, 4));
    assert!(restored.epoch > epoch);
    let store = Store::open(config.clone(), projections()).unwrap();
    assert_eq!(store.events(0, &Filter::all(), 3).unwrap(), kept);
    let last = store.event(4).unwrap().unwrap();
    assert_eq!((last.kind.as_str(), &last.facts.field("replaced_lsn")), ("store_restored", &serde_json::json!(5)));
    let stale = store.commit_blocking(Batch::synced().event(post("ann", 9)).epoch(epoch));
    assert!(matches!(stale, Err(Error::StaleEpoch { .. })));
    assert!(store.commit_blocking(Batch::synced().event(post("ann", 9)).epoch(store.epoch())).is_ok());
    assert!(store.verify(Scope::All).unwrap().is_clean());
    let aside = Config::new(restored.replaced.unwrap().join("store.db"));
    assert_eq!(verify_file(&aside, projections()).unwrap().events(), 5, "the old store is kept");
}

#[test]
fn a_damaged_backup_is_refused_and_nothing_has_changed() {
    let it = Fixture::sqlite();
    fill(&it, 3);
    let (config, path) = (config(&it), it.path());
    let to = path.with_file_name("copy.db");
    it.store.backup(&to).unwrap();
    it.store.close();
    let before = fs::read(&path).unwrap();
    let damage = |sql: &str| rusqlite::Connection::open(&to).unwrap().execute_batch(sql).unwrap();

    damage("UPDATE events SET facts = '{}' WHERE lsn = 2");
    let Err(Error::Corrupt { place, .. }) = restore(&to, &config, projections) else { panic!("it was restored") };
    assert_eq!(place, "event 2 (note_posted of owner/ann)");
    fs::write(&to, "not a store").unwrap();
    assert!(matches!(restore(&to, &config, projections), Err(Error::Corrupt { .. })));
    fs::write(&to, "").unwrap();
    assert!(matches!(restore(&to, &config, projections), Err(Error::Corrupt { .. })));
    assert!(matches!(restore(Path::new("/no/such/file"), &config, projections), Err(Error::Io { .. })));

    assert_eq!(fs::read(&path).unwrap(), before);
    assert!(!path.with_file_name("restoring").exists());
    assert!(Store::open(config, projections()).is_ok());
}

#[test]
fn a_store_that_can_not_be_opened_is_replaced_and_one_that_is_gone_made() {
    let it = Fixture::sqlite();
    fill(&it, 3);
    it.commit(Batch::synced().event(post("ann", 7)).idempotent(call("k", "a")).reply("yes".into())).unwrap();
    let (config, path) = (config(&it), it.path());
    let to = path.with_file_name("copy.db");
    it.store.backup(&to).unwrap();
    let epoch = it.store.epoch();
    it.store.close();
    fs::write(&path, "garbage".repeat(1000)).unwrap();
    assert!(matches!(Store::open(config.clone(), projections()), Err(Error::Corrupt { .. })));

    let restored = restore(&to, &config, projections).unwrap();

    assert!(restored.epoch > epoch + 1_000, "nobody knows how many epochs there were");
    assert!(fs::read(restored.replaced.unwrap().join("store.db")).unwrap().starts_with(b"garbage"));
    let store = Store::open(config.clone(), projections()).unwrap();
    assert_eq!(store.count(&Query::table("notes")).unwrap(), 4);
    let again = Batch::synced().event(post("ann", 7)).idempotent(call("k", "a")).reply("no".into());
    assert_eq!(store.commit_blocking(again).unwrap().reply, "yes");
    store.close();
    let elsewhere = Config { path: path.with_file_name("new").join("store.db"), ..config };
    let made = restore(&to, &elsewhere, projections).unwrap();
    assert_eq!(made.replaced, None);
    assert_eq!(Store::open(elsewhere, projections()).unwrap().head().lsn, 5);
}
