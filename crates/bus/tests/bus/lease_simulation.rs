//! Simulates seeded histories of many holders and several books over one log: waiting and late holders, clocks that
//! jump, daemons that end. The checker uses only the log, and of globs only which paths they cover.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use switchboard_bus::{Error, LeaseBook, Uptime, departure, register_agent};
use switchboard_pipeline::paths::Pattern;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::lease::{Lease, LeaseEvent, LeaseId, Mode, Resource};
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::lease::{ReleaseFilesRequest, RenewLeaseRequest, ReserveFilesRequest};
use switchboard_store::{Batch, Filter, ManualClock, Scope, Store};

use crate::fixtures::caller;

/// Number of seeds of a quick run.
const SEEDS: u64 = 250;
/// Number of steps of one history.
const STEPS: usize = 80;

const HOLDERS: [&str; 5] = ["ada", "ben", "carl", "dora", "emil"];
const GLOBS: [&str; 12] = [
    "src",
    "src/**",
    "src/a.rs",
    "src/*.rs",
    "src/a/**",
    "src/?/x.rs",
    "**/x.rs",
    "lib",
    "lib/[ab]/*",
    "lib/[ab]",
    "*.md",
    "**",
];
const PATHS: [&str; 11] = [
    "src/a.rs",
    "src/b.rs",
    "src/a/x.rs",
    "src/b/x.rs",
    "src/a/y/x.rs",
    "lib/a/z",
    "lib/[ab]/z",
    "lib/c/z",
    "x.rs",
    "README.md",
    "docs/x.md",
];

/// Random numbers that are the same on every machine (SplitMix64).
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

struct World {
    rng: Rng,
    store: Store,
    books: Vec<LeaseBook>,
    wall: ManualClock,
    uptime: Arc<AtomicU64>,
    /// Leases that their holders believe to have; some of them are over.
    believed: Vec<Lease>,
    /// Number of occurrences of each answer.
    seen: BTreeMap<String, u64>,
}

// === impl World ===

impl World {
    async fn new(seed: u64) -> Self {
        let wall = ManualClock::at(Millis(1_800_000_000_000));
        let store = Store::in_memory(switchboard_bus::projections(), wall.clock());
        let rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (uptime, seen) = (Arc::default(), BTreeMap::new());
        let mut world = Self { rng, store, books: Vec::new(), wall, uptime, believed: Vec::new(), seen };
        for who in HOLDERS {
            world.join(who).await;
        }
        world.restart().await;
        world
    }

    /// Ends all daemons and starts as many. Three at once is more than there ever are in practice.
    async fn restart(&mut self) {
        self.books.clear();
        for _ in 0..3 {
            let uptime = Arc::clone(&self.uptime);
            let uptime = Uptime::from_fn(move || uptime.load(Ordering::SeqCst));
            self.books.push(LeaseBook::open(self.store.clone(), uptime).await.unwrap());
        }
    }

    async fn join(&self, who: &str) {
        let request = serde_json::from_value(serde_json::json!({ "name": who })).unwrap();
        register_agent(&self.store, &caller(who), request).await.unwrap();
    }

    async fn step(&mut self) {
        match self.rng.below(20) {
            0..=8 => self.reserve().await,
            9..=11 => self.renew().await,
            12..=13 => self.release().await,
            14..=16 => self.pass(),
            17 => self.wall.advance([-7_200_000, 7_200_000, 86_400_000][self.rng.below(3)]),
            18 => self.leave_and_come_back().await,
            _ => self.restart().await,
        }
    }

    async fn reserve(&mut self) {
        let who = *self.rng.pick(&HOLDERS);
        let globs = (0..=self.rng.below(3)).map(|_| (*self.rng.pick(&GLOBS)).to_owned()).collect();
        let mode = if self.rng.below(3) == 0 { Mode::Shared } else { Mode::Exclusive };
        let ttl_seconds = Some(60 * (1 + self.rng.below(60) as u64));
        let request = ReserveFilesRequest { globs, mode, ttl_seconds, reason: String::new() };
        let fresh = LeaseId::from_bits(self.store.head().lsn);
        let at = self.rng.below(self.books.len());
        let answer = self.books[at].reserve_files(&caller(who), request, fresh).await;
        if let Some(reply) = self.note("reserve", answer) {
            self.believed.push(reply.lease);
        }
    }

    async fn renew(&mut self) {
        let Some(lease) = self.some_lease() else { return };
        let token = if self.rng.below(5) == 0 { lease.token.saturating_sub(1) } else { lease.token };
        let request = RenewLeaseRequest { lease: lease.id.clone(), token, ttl_seconds: None };
        let at = self.rng.below(self.books.len());
        let answer = self.books[at].renew_lease(&caller(lease.holder.as_str()), request).await;
        let renewed = self.note("renew", answer).is_some();
        assert!(!renewed || token == lease.token, "a stale token was taken");
    }

    async fn release(&mut self) {
        let Some(lease) = self.some_lease() else { return };
        let request = ReleaseFilesRequest { lease: Some(lease.id.clone()), token: Some(lease.token) };
        let at = self.rng.below(self.books.len());
        let answer = self.books[at].release_files(&caller(lease.holder.as_str()), request).await;
        self.note("release", answer);
    }

    async fn leave_and_come_back(&mut self) {
        let who = *self.rng.pick(&HOLDERS);
        let event = departure(&AgentName::new(who).unwrap(), "ended", "daemon").unwrap();
        self.store.commit(Batch::synced().event(event)).await.unwrap();
        self.join(who).await;
    }

    fn pass(&mut self) {
        let ms = self.rng.below(1_200_000) as u64;
        self.uptime.fetch_add(ms, Ordering::SeqCst);
        self.wall.advance(i64::try_from(ms).unwrap());
    }

    fn some_lease(&mut self) -> Option<Lease> {
        let believed = self.believed.clone();
        if believed.is_empty() { None } else { Some(self.rng.pick(&believed).clone()) }
    }

    fn note<T>(&mut self, what: &str, answer: Result<T, Error>) -> Option<T> {
        let (word, reply) = match answer {
            Ok(reply) => ("done".to_owned(), Some(reply)),
            Err(error) => (Failure::from(error).code, None),
        };
        *self.seen.entry(format!("{what} {word}")).or_default() += 1;
        reply
    }
}

/// Lease as recorded in the log.
struct GrantedLease {
    holder: String,
    globs: Vec<Pattern>,
    mode: Mode,
    deadline: u64,
}

impl GrantedLease {
    fn covers(&self, path: &str) -> bool {
        self.globs.iter().any(|glob| glob.covers(path))
    }
}

/// Reads the log from its beginning and checks the invariants.
fn check(store: &Store, seed: u64) {
    let mut live: BTreeMap<LeaseId, GrantedLease> = BTreeMap::new();
    let mut clock = 0;
    for event in store.events(0, &Filter::all(), usize::MAX).unwrap() {
        if event.kind == "agent_left" {
            let name = event.facts.field("name");
            let who = name.as_str().unwrap();
            live.retain(|_, lease| lease.holder != who);
        }
        let Some(fact) = event.fact::<LeaseEvent>() else { continue };
        match fact {
            LeaseEvent::LeaseGranted { id, holder, resource: Resource::Files(globs), mode, at, span, .. } => {
                assert!(at >= clock, "seed {seed}: the clock went back at {}", event.lsn);
                clock = at;
                let globs = globs.iter().map(|glob| Pattern::parse(glob).unwrap()).collect();
                let new = GrantedLease { holder: holder.to_string(), globs, mode, deadline: at + span };
                for (other, old) in live.iter().filter(|(_, old)| old.holder != new.holder && old.deadline > at) {
                    let both = PATHS.iter().find(|path| new.covers(path) && old.covers(path));
                    let both = both.filter(|_| old.mode.excludes(new.mode));
                    assert_eq!(both, None, "seed {seed}: {other} of {} and {id} of {}", old.holder, new.holder);
                }
                live.insert(id, new);
            }
            LeaseEvent::LeaseRenewed { id, at, span } => {
                clock = at.max(clock);
                let lease = live.get_mut(&id).unwrap_or_else(|| panic!("seed {seed}: {id} was over"));
                assert!(lease.deadline > at, "seed {seed}: {id} was renewed after its time");
                lease.deadline = at + span;
            }
            LeaseEvent::LeaseEnded { id, at, .. } => {
                clock = at.max(clock);
                live.remove(&id);
            }
            LeaseEvent::LeasesResumed { at } => clock = at.max(clock),
            LeaseEvent::LeaseGranted { .. } | LeaseEvent::LeaseGlobsAdded { .. } => {
                panic!("seed {seed}: not asked for")
            }
        }
    }
}

#[tokio::test]
async fn in_every_history_a_path_has_one_holder_at_a_time_and_no_stale_token_counts() {
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..SEEDS {
        let mut world = World::new(seed).await;

        for _ in 0..STEPS {
            world.step().await;
        }

        check(&world.store, seed);
        let tokens: Vec<_> = world.believed.iter().map(|lease| (lease.token, lease.id.clone())).collect();
        let is_grown = tokens.windows(2).all(|pair| pair[0].0 < pair[1].0 || tokens_of_one(&tokens, &pair[1]));
        assert!(is_grown, "seed {seed}: {tokens:?}");
        assert!(world.store.verify(Scope::All).unwrap().is_clean(), "seed {seed}");
        world.seen.into_iter().for_each(|(what, count)| *seen.entry(what).or_default() += count);
    }
    for what in ["reserve done", "reserve lease.conflict", "renew done", "renew lease.lost", "release done"] {
        assert!(seen.get(what).is_some_and(|count| *count > SEEDS), "{what} is seen often: {seen:?}");
    }
}

/// Checks that a lease requested again keeps its token.
fn tokens_of_one(tokens: &[(u64, LeaseId)], one: &(u64, LeaseId)) -> bool {
    tokens.iter().filter(|other| *other == one).count() > 1
}
