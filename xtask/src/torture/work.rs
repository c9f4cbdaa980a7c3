//! The work of a store under recording, and the checks of its state afterwards.

use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use fastrand::Rng;
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;
use switchboard_store::{
    Batch, Checkpoint, Clock, Config, Durability, Error, Filter, ManualClock, Scope, Store, Words,
};

use super::board::{closed, parts, posted};
use super::tape::{self, Ack, Op, Promised};

/// Name of the cursor that some batches move.
const CURSOR: &str = "feed";

/// Number of times the store is opened.
const SESSIONS: usize = 2;

/// Parameters of the work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    /// Seed that decides the operations.
    pub(super) seed: u64,
    /// Number of steps.
    pub(super) steps: usize,
    /// True if every commit is only written, whatever it asks for: simulates a store that syncs no commit.
    pub(super) is_careless: bool,
}

/// State of the log at each length, to compare a later one with.
#[derive(Debug, Default)]
pub(super) struct History {
    hashes: Vec<Digest>,
    /// For each event that moved the cursor or dropped a body: event, cursor and number of dropped bodies.
    marks: Vec<(u64, u64, u64)>,
    /// True if a commit failed with unknown outcome: it may be there, with all of its effects.
    has_unknown: bool,
}

/// Result of the work.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// State that the work leaves.
    pub(super) history: History,
    /// Errors of failed commits.
    pub(super) failed: Vec<Error>,
    /// Reason that the store stopped.
    pub(super) dead: Option<Error>,
}

/// Opens the store in a folder, with a clock that stands still.
pub(super) fn open(folder: &Path) -> Result<Store, Error> {
    let clock: Clock = ManualClock::at(Millis(1_772_186_400_000)).clock();
    Store::open(
        Config { clock, cache_kib: 256, io_hook: tape::io_hook(), ..Config::new(folder.join("store.db")) },
        parts(),
    )
}

/// Work in progress.
struct Work<'a> {
    folder: &'a Path,
    rng: Rng,
    plan: Plan,
    done: Done,
    dropped: u64,
    feed: u64,
    with_body: Vec<u64>,
}

/// Opens the store of a folder, works on it, closes it half-way, and returns it in its final state.
pub(super) fn run(folder: &Path, plan: Plan) -> (Done, Option<Store>) {
    let (rng, done) = (Rng::with_seed(plan.seed), Done::default());
    let mut work = Work { folder, rng, plan, done, dropped: 0, feed: 0, with_body: Vec::new() };
    for session in 0..SESSIONS {
        let store = match open(folder) {
            Ok(store) => store,
            Err(error) => {
                work.done.failed.push(error);
                return (work.done, None);
            }
        };
        tape::record(Op::Opened(store.epoch()));
        (0..plan.steps / SESSIONS).for_each(|_| work.step(&store));
        if session + 1 == SESSIONS {
            work.done.dead = store.dead();
            return (work.done, Some(store));
        }
        store.close();
    }
    (work.done, None)
}

// === impl Work ===

impl Work<'_> {
    fn step(&mut self, store: &Store) {
        match self.rng.usize(..20) {
            0 => self.checkpoint(store, Checkpoint::Passive),
            1 => self.checkpoint(store, Checkpoint::Truncate),
            2 => self.search(store),
            3 | 4 => self.drop_body(store),
            5..8 => self.together(store),
            8..14 => self.one(store, Durability::Synced),
            _ => self.one(store, Durability::Written),
        }
    }

    fn batch(&mut self, durability: Durability) -> Batch {
        let in_force = if self.plan.is_careless { Durability::Written } else { durability };
        let mut batch = Batch::new(in_force);
        for _ in 0..=self.rng.usize(..3) {
            let size = [0, 40, 900, 5_000][self.rng.usize(..4)];
            let weight = self.rng.u64(..) >> 32;
            let event = posted(["ann", "bob"][self.rng.usize(..2)], weight);
            batch = batch.event(if size == 0 { event } else { event.with_body(format!("word {}", ".".repeat(size))) });
        }
        batch
    }

    fn one(&mut self, store: &Store, durability: Durability) {
        let batch = self.batch(durability);
        let answer = store.commit_blocking(batch.clone());
        self.take(store, answer.map(|done| done.first), &batch, durability);
    }

    /// Commits several batches at once, which share a transaction.
    fn together(&mut self, store: &Store) {
        let batches = [Durability::Written, Durability::Synced, Durability::Written].map(|how| (self.batch(how), how));
        let answers: Vec<_> = std::thread::scope(|scope| {
            let commit = |(batch, how): &(Batch, Durability)| {
                let (batch, how) = (batch.clone(), *how);
                scope.spawn(move || {
                    let answer = store.commit_blocking(batch);
                    if let Ok(committed) = &answer {
                        ack(committed.last, how);
                    }
                    answer.map(|committed| committed.first)
                })
            };
            let threads: Vec<_> = batches.iter().map(commit).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(Err(Error::Closed))).collect()
        });
        for (answer, (batch, durability)) in answers.into_iter().zip(&batches) {
            self.take(store, answer, batch, *durability);
        }
    }

    /// Drops a body, closes its note and moves a cursor, all in one batch.
    fn drop_body(&mut self, store: &Store) {
        if self.with_body.is_empty() {
            return;
        }
        let lsn = self.with_body.swap_remove(self.rng.usize(..self.with_body.len()));
        let feed = store.head().lsn;
        let durability = if self.plan.is_careless { Durability::Written } else { Durability::Synced };
        let batch = Batch::new(durability).event(closed("ann", lsn)).drop_body(lsn).advance(CURSOR, feed);
        let answer = store.commit_blocking(batch.clone());
        if answer.is_ok() {
            (self.dropped, self.feed) = (self.dropped + 1, feed);
        }
        self.take(store, answer.map(|done| done.first), &batch, Durability::Synced);
    }

    fn checkpoint(&mut self, store: &Store, mode: Checkpoint) {
        if let Err(error) = store.checkpoint(mode) {
            self.done.failed.push(error);
        }
    }

    fn search(&mut self, store: &Store) {
        let found = Words::parse("word").and_then(|words| store.search(&words, None, 5));
        if let Err(error) = found {
            self.done.failed.push(error);
        }
    }

    /// Records an answer. Its promise is on the tape before any later operation.
    fn take(&mut self, store: &Store, answer: Result<u64, Error>, batch: &Batch, durability: Durability) {
        match answer {
            Ok(first) => {
                let bodies = batch.events.iter().zip(first..).filter(|(event, _)| event.body.is_some());
                self.with_body.extend(bodies.map(|(_, lsn)| lsn));
                let last = first + batch.events.len() as u64 - 1;
                ack(last, durability);
                self.done.history.marks.push((last, self.feed, self.dropped));
                self.done.history.read_on(store);
                if let Ok(note) = std::fs::read(self.folder.join("store.db.head")) {
                    tape::record(Op::Note(note));
                }
            }
            Err(error) => {
                self.done.history.has_unknown |= matches!(error, Error::Fatal(_));
                self.done.failed.push(error);
            }
        }
    }
}

fn ack(lsn: u64, durability: Durability) {
    tape::record(Op::Acked(Ack { lsn, is_synced: durability == Durability::Synced }));
}

// === impl History ===

impl History {
    /// Records the new events of the log.
    fn read_on(&mut self, store: &Store) {
        let more = store.events(self.hashes.len() as u64, &Filter::all(), usize::MAX).unwrap_or_default();
        self.hashes.extend(more.iter().map(|event| event.hash));
    }

    /// Checks what a power cut or a kill has left: the store opens, is whole, begins as the history did, holds what was
    /// promised, and accepts more.
    ///
    /// # Errors
    /// When a promise is broken; the error names it.
    pub(super) fn check(&self, folder: &Path, promised: &Promised, is_kill: bool) -> anyhow::Result<()> {
        let store = open(folder).context("the store does not open")?;
        let head = store.head();
        let length = usize::try_from(head.lsn)?;
        let must = if is_kill { promised.written } else { promised.synced };
        ensure!(head.lsn >= must, "LOST: the log ends at {}, and {must} was answered", head.lsn);
        ensure!(store.epoch() > promised.epoch, "the epoch {} was there before", store.epoch());
        // Data written when the disk failed was never answered, and may be there.
        let is_known = length <= self.hashes.len() && !self.has_unknown;
        if let Some(known) = length.checked_sub(1).and_then(|last| self.hashes.get(last)) {
            ensure!(*known == head.hash, "event {length} is not the one that was written");
        }
        let report = store.verify(Scope::All).context("it can't be verified")?;
        if let Some(finding) = report.first() {
            bail!("it does not verify: {finding}");
        }
        let (cursor, dropped) = self.at(head.lsn);
        let found = store.cursor(CURSOR)?;
        ensure!(!is_known || found == cursor, "the cursor stands at {found}, not {cursor}");
        ensure!(!is_known || report.dropped == dropped, "{} bodies are gone, not {dropped}", report.dropped);
        let more = store.commit_blocking(Batch::synced().event(posted("ann", 1))).context("it takes nothing more")?;
        ensure!(more.first == head.lsn + 1, "the next event is {}", more.first);
        Ok(())
    }

    /// Returns the cursor and the number of dropped bodies at this length of the log.
    fn at(&self, lsn: u64) -> (u64, u64) {
        let before = self.marks.iter().filter(|(last, _, _)| *last <= lsn);
        before.max_by_key(|(last, _, _)| *last).map_or((0, 0), |(_, cursor, dropped)| (*cursor, *dropped))
    }
}
