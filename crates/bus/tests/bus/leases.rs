//! Tests the lease book on both stores: holders, durations, and the effect of a restart.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use switchboard_bus::{Call, Error, LeaseBook, Uptime, departure, register_agent};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::Digest;
use switchboard_protocol::lease::{Lease, LeaseId};
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::lease::{
    ListLeasesRequest, ReleaseFilesRequest, RenewLeaseRequest, ReserveFilesRequest,
};
use switchboard_store::{Batch, Config, Idempotency, ManualClock, Query, Scope, Store};

use crate::fixtures::{caller, failure, name, person};

const HOUR: u64 = 3_600_000;
const DAY: i64 = 24 * 3_600_000;

/// Store with its book, and both clocks under control of the test.
struct World {
    store: Store,
    book: LeaseBook,
    wall: ManualClock,
    uptime: Arc<AtomicU64>,
    ids: AtomicU64,
    // Last, so that the store closes its files before they are removed.
    _folder: Option<tempfile::TempDir>,
}

async fn book(store: &Store, uptime: &Arc<AtomicU64>) -> LeaseBook {
    let uptime = Arc::clone(uptime);
    LeaseBook::open(store.clone(), Uptime::from_fn(move || uptime.load(Ordering::SeqCst))).await.unwrap()
}

fn open(folder: &Path, wall: &ManualClock) -> Store {
    let config = Config { clock: wall.clock(), ..Config::new(folder.join("store.db")) };
    Store::open(config, switchboard_bus::projections()).unwrap()
}

// === impl World ===

impl World {
    async fn memory() -> Self {
        let wall = ManualClock::at(Millis(1_800_000_000_000));
        Self::with(Store::in_memory(switchboard_bus::projections(), wall.clock()), wall, None).await
    }

    async fn disk() -> Self {
        let wall = ManualClock::at(Millis(1_800_000_000_000));
        let folder = tempfile::tempdir().unwrap();
        Self::with(open(folder.path(), &wall), wall, Some(folder)).await
    }

    async fn with(store: Store, wall: ManualClock, folder: Option<tempfile::TempDir>) -> Self {
        for who in ["ada", "ben", "carl"] {
            let request = serde_json::from_value(json!({ "name": who })).unwrap();
            register_agent(&store, &caller(who), request).await.unwrap();
        }
        let uptime = Arc::default();
        let book = book(&store, &uptime).await;
        Self { store, book, wall, uptime, ids: AtomicU64::new(1), _folder: folder }
    }

    /// Advances both clocks.
    fn pass(&self, ms: u64) {
        self.uptime.fetch_add(ms, Ordering::SeqCst);
        self.wall.advance(i64::try_from(ms).unwrap());
    }

    /// Ends the daemon and starts another one after a while.
    async fn restart(self, down: i64) -> Self {
        let Self { store, book: old, wall, uptime, ids, _folder } = self;
        drop(old);
        store.close();
        wall.advance(down);
        let store = open(_folder.as_ref().unwrap().path(), &wall);
        let book = book(&store, &uptime).await;
        Self { store, book, wall, uptime, ids, _folder }
    }

    async fn reserve(&self, who: &str, request: Value) -> Result<Lease, Error> {
        self.reserve_as(&caller(who), request).await
    }

    async fn reserve_as(&self, call: &Call, request: Value) -> Result<Lease, Error> {
        let fresh = LeaseId::from_bits(self.ids.fetch_add(1, Ordering::SeqCst));
        Ok(self.book.reserve_files(call, files(request), fresh).await?.lease)
    }

    async fn renew(&self, who: &str, lease: &Lease) -> Result<Lease, Error> {
        let request = RenewLeaseRequest { lease: lease.id.clone(), token: lease.token, ttl_seconds: None };
        Ok(self.book.renew_lease(&caller(who), request).await?.lease)
    }

    async fn release(&self, call: &Call, lease: Option<&Lease>) -> Result<Vec<LeaseId>, Error> {
        let request = ReleaseFilesRequest { lease: lease.map(|lease| lease.id.clone()), token: None };
        Ok(self.book.release_files(call, request).await?.released)
    }

    async fn live(&self) -> Vec<Lease> {
        self.book.list_leases(&ListLeasesRequest::default()).await.unwrap().leases
    }

    async fn leave(&self, who: &str) {
        let event = departure(&name(who), "ended", "daemon").unwrap();
        self.store.commit(Batch::synced().event(event)).await.unwrap();
    }

    fn is_sound(&self) -> bool {
        self.store.verify(Scope::All).unwrap().is_clean()
    }
}

fn keyed(who: &str, key: &str, verb: &'static str) -> Call {
    let key = Idempotency { key: key.to_owned(), caller: who.to_owned(), verb, args: Digest::of(key.as_bytes()) };
    Call { idempotency: Some(key), ..caller(who) }
}

fn files(request: Value) -> ReserveFilesRequest {
    serde_json::from_value(request).unwrap()
}

fn src() -> Value {
    json!({ "globs": ["src/**"] })
}

fn code<T: std::fmt::Debug>(answer: Result<T, Error>) -> String {
    failure(answer).code
}

#[tokio::test]
async fn a_conflict_says_who_holds_what_and_for_how_long_and_reserves_nothing() {
    for world in [World::memory().await, World::disk().await] {
        let wanted = json!({ "globs": ["src/**", "docs"], "ttl_seconds": 600, "reason": "parser" });
        let lease = world.reserve("ada", wanted).await.unwrap();
        world.pass(60_000);

        let refused = failure(world.reserve("ben", json!({ "globs": ["tests", "src/a.rs"] })).await);

        assert_eq!(refused.code, "lease.conflict");
        assert_eq!(refused.what, "src/a.rs: held by ada for 9 min 0 s: exclusive on docs, src/** (parser)");
        assert!(refused.hint.contains("ada"), "{refused:?}");
        world.reserve("carl", json!({ "globs": ["tests"] })).await.unwrap();
        assert_eq!(world.release(&caller("ada"), Some(&lease)).await.unwrap(), std::slice::from_ref(&lease.id));
        let next = world.reserve("ben", json!({ "globs": ["src/a.rs"] })).await.unwrap();
        assert!(next.token > lease.token);
        assert!(world.is_sound());
    }
}

#[tokio::test]
async fn the_token_is_the_place_of_the_grant_in_the_log() {
    let world = World::memory().await;

    let lease = world.reserve("ada", src()).await.unwrap();

    let event = world.store.event(lease.token).unwrap().unwrap();
    assert_eq!((event.kind.as_str(), event.facts.field("id").as_str()), ("lease_granted", Some(lease.id.as_str())));
}

#[tokio::test]
async fn a_lease_lapses_is_renewed_in_time_and_never_after() {
    let world = World::memory().await;
    let lease = world.reserve("ada", json!({ "globs": ["src"], "ttl_seconds": 60 })).await.unwrap();
    world.pass(59_000);

    let renewed = world.renew("ada", &lease).await.unwrap();
    assert_eq!((renewed.token, renewed.left_ms), (lease.token, 60_000));
    world.pass(59_999);
    assert_eq!(code(world.reserve("ben", src()).await), "lease.conflict");
    world.pass(1);
    assert_eq!(code(world.renew("ada", &lease).await), "lease.lost");
    world.reserve("ben", src()).await.unwrap();
    assert_eq!(code(world.renew("ada", &lease).await), "lease.lost");
    assert_eq!(world.live().await.len(), 1);
}

#[tokio::test]
async fn only_the_holder_renews_and_releases_and_only_under_its_token() {
    let world = World::memory().await;
    let lease = world.reserve("ada", src()).await.unwrap();
    let stale = Lease { token: lease.token - 1, ..lease.clone() };

    assert_eq!(code(world.renew("ben", &lease).await), "lease.not-yours");
    assert_eq!(code(world.renew("ada", &stale).await), "lease.lost");
    assert_eq!(code(world.release(&caller("ben"), Some(&lease)).await), "lease.not-yours");
    let under_stale = ReleaseFilesRequest { lease: Some(lease.id.clone()), token: Some(stale.token) };
    assert_eq!(code(world.book.release_files(&caller("ada"), under_stale).await), "lease.lost");
    let of_none = ReleaseFilesRequest { lease: None, token: Some(1) };
    assert_eq!(code(world.book.release_files(&caller("ada"), of_none).await), "request.bad-args");
    assert_eq!(world.release(&caller("ben"), None).await.unwrap(), []);
    assert_eq!(world.release(&person(), Some(&lease)).await.unwrap(), std::slice::from_ref(&lease.id));
    assert_eq!(world.release(&caller("ada"), Some(&lease)).await.unwrap(), []);
}

#[tokio::test]
async fn asking_again_for_the_same_files_renews_and_for_more_takes_more() {
    let world = World::memory().await;
    let first = world.reserve("ada", src()).await.unwrap();
    world.pass(1_000);

    let again = world.reserve("ada", json!({ "globs": ["./src//**"], "ttl_seconds": 7_200 })).await.unwrap();
    let more = world.reserve("ada", json!({ "globs": ["src/a.rs", "lib"] })).await.unwrap();

    assert_eq!((&again.id, again.token, again.left_ms), (&first.id, first.token, 2 * HOUR));
    assert_eq!(world.live().await.len(), 2);
    let mut released = world.release(&caller("ada"), None).await.unwrap();
    released.sort();
    assert_eq!(released, [first.id, more.id]);
}

#[tokio::test]
async fn a_wall_clock_that_jumps_neither_ends_nor_prolongs_a_lease() {
    let world = World::memory().await;
    world.reserve("ada", src()).await.unwrap();

    for jump in [10 * DAY, -30 * DAY] {
        world.wall.advance(jump);
        assert_eq!(world.live().await[0].left_ms, HOUR);
        assert_eq!(code(world.reserve("ben", src()).await), "lease.conflict");
    }
    world.pass(HOUR);
    world.reserve("ben", src()).await.unwrap();
}

#[tokio::test]
async fn time_without_a_daemon_does_not_count_however_often_it_restarts() {
    let world = World::disk().await;
    let lease = world.reserve("ada", src()).await.unwrap();
    world.pass(HOUR / 4);
    world.leave("carl").await;
    world.pass(60_000);

    let world = world.restart(DAY).await;
    let after_one = world.live().await[0].left_ms;
    let world = world.restart(DAY).await.restart(DAY).await;

    assert_eq!(after_one, HOUR - HOUR / 4, "counted to the last event of the log");
    assert_eq!(world.live().await[0].left_ms, after_one);
    assert_eq!(code(world.reserve("ben", src()).await), "lease.conflict");
    assert_eq!(world.renew("ada", &lease).await.unwrap().left_ms, HOUR);
    assert!(world.is_sound());
}

#[tokio::test]
async fn a_jump_of_the_wall_clock_is_not_taken_for_time_that_passed_after_a_restart_either() {
    let world = World::disk().await;
    world.reserve("ada", src()).await.unwrap();
    world.pass(1_000);
    assert!(!world.book.follow_time().await.unwrap(), "nothing has jumped");
    world.wall.advance(3 * DAY);

    assert!(world.book.follow_time().await.unwrap());
    assert!(!world.book.follow_time().await.unwrap(), "once");
    world.pass(2_000);
    world.leave("carl").await;
    let world = world.restart(-3 * DAY).await;

    assert_eq!(world.live().await[0].left_ms, HOUR - 3_000);
    assert_eq!(code(world.reserve("ben", src()).await), "lease.conflict");
}

#[tokio::test]
async fn after_a_restart_no_lease_lasts_longer_than_it_was_granted_for() {
    let world = World::disk().await;
    world.reserve("ada", src()).await.unwrap();
    world.pass(1_000);
    world.wall.advance(-3 * DAY);
    world.leave("carl").await;

    let world = world.restart(-DAY).await;

    assert_eq!(world.live().await[0].left_ms, HOUR - 1_000, "what passed before the time of day was put back");
    world.pass(HOUR);
    world.reserve("ben", src()).await.unwrap();
}

#[tokio::test]
async fn many_long_globs_are_one_lease_over_a_restart_and_leave_nothing_behind() {
    let world = World::disk().await;
    let globs: Vec<_> = (0..64).map(|n| format!("{}/\"{}\"/{n}", "q".repeat(150), "\"".repeat(150))).collect();
    let lease = world.reserve("ada", json!({ "globs": globs, "reason": "\"".repeat(200) })).await.unwrap();

    let world = world.restart(0).await;

    assert_eq!(world.live().await[0].resource, lease.resource);
    assert_eq!(code(world.reserve("ben", json!({ "globs": [globs[63]] })).await), "lease.conflict");
    assert_eq!(world.release(&caller("ada"), None).await.unwrap().len(), 1);
    for table in ["leases", "lease_parts"] {
        assert_eq!(world.store.count(&Query::table(table)).unwrap(), 0, "{table}");
    }
    assert!(world.is_sound());
}

#[tokio::test]
async fn the_leases_of_who_leaves_end_and_do_not_come_back_with_it() {
    let world = World::disk().await;
    world.reserve("ada", src()).await.unwrap();
    world.leave("ada").await;
    let request = serde_json::from_value(json!({ "name": "ada" })).unwrap();
    register_agent(&world.store, &caller("ada"), request).await.unwrap();

    let world = world.restart(0).await;

    assert!(world.live().await.is_empty());
    world.reserve("ben", src()).await.unwrap();
    assert_eq!(code(world.reserve("ada", src()).await), "lease.conflict");
}

#[tokio::test]
async fn who_is_not_on_the_roster_holds_nothing_unless_it_is_a_person() {
    let world = World::memory().await;

    assert_eq!(code(world.reserve("eve", src()).await), "bus.not-registered");
    world.leave("carl").await;
    assert_eq!(code(world.reserve("carl", src()).await), "bus.not-registered");
    world.reserve_as(&person(), src()).await.unwrap();
}

#[tokio::test]
async fn a_book_that_is_behind_never_grants_what_another_one_granted() {
    let world = World::memory().await;
    let other = book(&world.store, &world.uptime).await;
    let lease = world.reserve("ada", src()).await.unwrap();

    let refused = other.reserve_files(&caller("ben"), files(src()), LeaseId::from_bits(90)).await;
    world.release(&caller("ada"), Some(&lease)).await.unwrap();
    let granted = other.reserve_files(&caller("ben"), files(src()), LeaseId::from_bits(91)).await;

    assert_eq!(code(refused), "lease.conflict");
    assert!(granted.unwrap().lease.token > lease.token);
    assert_eq!(code(world.reserve("ada", src()).await), "lease.conflict");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_race_through_several_books_one_gets_it() {
    let world = Arc::new(World::disk().await);
    let books = [Arc::new(book(&world.store, &world.uptime).await), Arc::new(book(&world.store, &world.uptime).await)];
    let mut racing = tokio::task::JoinSet::new();
    for n in 0..12 {
        let book = Arc::clone(&books[n % 2]);
        let who = ["ada", "ben", "carl"][n % 3];
        let globs = json!({ "globs": [format!("src/{who}/*"), "src/shared.rs"] });
        let fresh = LeaseId::from_bits(100 + n as u64);
        racing.spawn(async move { book.reserve_files(&caller(who), files(globs), fresh).await });
    }

    let mut holders = std::collections::BTreeSet::new();
    while let Some(answer) = racing.join_next().await {
        match answer.unwrap() {
            Ok(reply) => drop(holders.insert(reply.lease.holder.to_string())),
            Err(error) => assert_eq!(Failure::from(error).code, "lease.conflict"),
        }
    }

    assert_eq!(holders.len(), 1, "{holders:?}");
    assert_eq!(world.live().await.len(), 1);
}

#[tokio::test]
async fn a_repeated_call_under_one_key_gets_the_first_answer_whatever_happened_since() {
    let world = World::memory().await;
    let caller = keyed("ada", "k1", "reserve_files");
    let first = world.reserve_as(&caller, src()).await.unwrap();
    let releasing = keyed("ada", "k2", "release_files");
    let released = world.release(&releasing, Some(&first)).await.unwrap();
    world.reserve("ben", src()).await.unwrap();

    assert_eq!(world.reserve_as(&caller, src()).await.unwrap(), first);
    assert_eq!(world.release(&releasing, Some(&first)).await.unwrap(), released);
    assert_eq!(world.live().await.len(), 1);
    assert_eq!(code(world.reserve_as(&keyed("ada", "k3", "reserve_files"), src()).await), "lease.conflict");
}

#[tokio::test]
async fn spans_globs_and_reasons_out_of_bounds_are_refused() {
    let world = World::memory().await;
    for (bad, expected) in [
        (json!({ "globs": ["src"], "ttl_seconds": 0 }), "request.bad-args"),
        (json!({ "globs": ["src"], "ttl_seconds": 86_401 }), "request.bad-args"),
        (json!({ "globs": ["src"], "reason": "x".repeat(201) }), "request.bad-args"),
        (json!({ "globs": ["src"], "reason": "a\u{1b}b" }), "request.bad-args"),
        (json!({ "globs": [] }), "lease.unsafe-glob"),
        (json!({ "globs": ["../x"] }), "lease.unsafe-glob"),
        (json!({ "globs": ["/etc/passwd"] }), "lease.unsafe-glob"),
    ] {
        assert_eq!(code(world.reserve("ada", bad.clone()).await), expected, "{bad}");
    }
    assert!(world.live().await.is_empty());
}

#[tokio::test]
async fn a_commit_under_a_lease_is_refused_once_somebody_else_has_it() {
    let world = World::memory().await;
    let lease = world.reserve("ada", src()).await.unwrap();
    let merge = || Batch::synced().guard(LeaseBook::guard(&lease.id, lease.token));

    world.store.commit(merge()).await.unwrap();
    world.pass(HOUR);
    world.reserve("ben", src()).await.unwrap();

    let refused = world.store.commit(merge()).await.unwrap_err();
    assert_eq!(refused.failure().code, "lease.lost");
}

#[tokio::test]
async fn a_sweep_writes_down_what_is_over_once() {
    let world = World::memory().await;
    for n in 0..600 {
        world.reserve("ada", json!({ "globs": [format!("f{n}")], "mode": "shared" })).await.unwrap();
    }
    world.pass(HOUR);

    assert_eq!(world.book.sweep().await.unwrap(), 600);
    assert_eq!(world.book.sweep().await.unwrap(), 0);
    assert_eq!(world.store.count(&Query::table("leases")).unwrap(), 0);
}

#[tokio::test]
async fn a_reserved_agent_is_set_to_work_by_its_holder_and_by_people_only_and_others_may_still_write() {
    let world = World::memory().await;
    let request = |value: Value| serde_json::from_value(value).unwrap();
    let send = async |from: &Call, action: &str, number| {
        let metadata = json!({ "no_cooldown": true });
        let message = json!({ "recipient": "carl", "payload": "x", "action": action, "metadata": metadata });
        let sent =
            switchboard_bus::send_message(&world.store, from, serde_json::from_value(message).unwrap(), number).await;
        sent.map(drop).map_err(|error| Failure::from(error).code)
    };
    let id = |bits| switchboard_protocol::id::MessageId::from_bits(bits);

    let held =
        world.book.reserve_agent(&caller("ada"), request(json!({ "agent": "Carl" })), LeaseId::from_bits(1)).await;

    assert_eq!(send(&caller("ben"), "execute", id(1)).await, Err("bus.recipient-locked".to_owned()));
    assert_eq!(send(&caller("ben"), "status_update", id(2)).await, Ok(()));
    assert_eq!(send(&caller("Ada"), "execute", id(3)).await, Ok(()));
    assert_eq!(send(&person(), "execute", id(4)).await, Ok(()));
    let release = ReleaseFilesRequest { lease: Some(held.unwrap().lease.id), token: None };
    world.book.release_files(&caller("ada"), release).await.unwrap();
    assert_eq!(send(&caller("ben"), "execute", id(5)).await, Ok(()));
}
