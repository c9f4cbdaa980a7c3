//! `cargo xtask torture power`: opens what a power cut at any moment may leave of a store, with the store itself.
//!
//! A run of the real store is recorded, write by write. After every write all legal contents of the disk are
//! candidates: unsynced data is there, gone, torn or reordered. The controls must lose data, else the test proves
//! nothing: a store that syncs no commit (SQLite alone does so with `synchronous=NORMAL`), and a disk that ignores
//! every sync.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use fastrand::Rng;
use serde_json::json;
use switchboard_protocol::id::Digest;

use super::disk::{Cut, Disk, Image, sectors};
use super::tape::{self, Op, Promised};
use super::work::{self, History, Plan};
use super::{scratch, vfs};
use crate::parallel;

/// Options of the torture.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of distinct states of the disk to open
    #[arg(long, default_value_t = 2_000)]
    states: u64,
    /// First seed; a seed repeats its run exactly
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Number of steps of one recorded run.
const STEPS: usize = 40;

/// Minimum number of recorded runs in a short torture, so that no single history decides.
const RUNS: u64 = 4;

/// Maximum number of states queued to be opened.
const QUEUE: usize = 64;

/// Interval of progress messages.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Number of states after which a control that has lost nothing counts as blind.
const CONTROL: u64 = 3_000;

/// Kind of disk and store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreKind {
    /// The real store, on a disk that obeys syncs.
    Real,
    /// A store that syncs no commit.
    Careless,
    /// A disk that ignores syncs.
    LyingDisk,
}

/// A state to open.
struct State {
    image: Image,
    promised: Promised,
    cut: Cut,
    /// Position on the tape.
    at: usize,
}

/// Results of many states.
#[derive(Debug, Default)]
struct Tally {
    distinct: u64,
    opened: u64,
    kills: u64,
    faults: Vec<String>,
}

/// Prints the progress of a kind at intervals.
struct Progress {
    kind: StoreKind,
    wanted: u64,
    begun: Instant,
    said: Instant,
}

// === impl Progress ===

impl Progress {
    fn say(&mut self, distinct: u64) {
        if self.said.elapsed() < PROGRESS_INTERVAL {
            return;
        }
        self.said = Instant::now();
        let rate = distinct / self.begun.elapsed().as_secs().max(1);
        eprintln!("{:?}: {distinct} of {} states, {rate} a second", self.kind, self.wanted);
    }
}

/// Opens the states, prints the results, and fails when a promise broke or a control is blind.
///
/// # Errors
/// When a promise broke or a control is blind, or when no store can be created.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let _alone = super::exclusive::wait_until_alone();
    vfs::install()?;
    let begun = Instant::now();
    let real = try_states(StoreKind::Real, args.states, args.seed)?;
    let careless = try_states(StoreKind::Careless, CONTROL, args.seed)?;
    let lying = try_states(StoreKind::LyingDisk, CONTROL, args.seed)?;
    let lost = |tally: &Tally| tally.faults.iter().filter(|fault| fault.contains("LOST")).count();
    for fault in real.faults.iter().take(10) {
        println!("{fault}");
    }
    for (control, tally) in [("a store that syncs no commit", &careless), ("a disk that ignores syncs", &lying)] {
        println!("control, {control}: {}", tally.faults.first().map_or("nothing", String::as_str));
    }
    let line = json!({
        "states": real.distinct, "opened": real.opened, "kills": real.kills, "faults": real.faults.len(),
        "synced_losses": lost(&real), "control_normal_losses": lost(&careless), "control_normal_opened": careless.opened,
        "control_nosync_faults": lying.faults.len(), "control_nosync_opened": lying.opened,
        "seconds": begun.elapsed().as_secs(), "seed": args.seed,
    });
    println!("{line}");
    ensure!(real.faults.is_empty(), "a promise broke {} times", real.faults.len());
    ensure!(lost(&careless) > 0, "blind: a store that syncs no commit has lost nothing");
    ensure!(lost(&careless) == careless.faults.len(), "a store that syncs less broke more: {:?}", careless.faults);
    ensure!(!lying.faults.is_empty(), "blind: a disk that ignores syncs has lost nothing");
    Ok(())
}

/// Opens this many distinct states of runs with consecutive seeds; a control ends with its first fault.
fn try_states(kind: StoreKind, wanted: u64, seed: u64) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut seen = HashSet::new();
    let mut progress = Progress { kind, wanted, begun: Instant::now(), said: Instant::now() };
    let each = (wanted / RUNS).max(1);
    for seed in seed.. {
        let left = wanted.saturating_sub(tally.distinct);
        if left == 0 || (kind != StoreKind::Real && !tally.faults.is_empty()) {
            break;
        }
        // A long torture takes all states of a run; a short one a part of each.
        let share = if wanted > 20_000 { left } else { left.min(each) };
        let before = tally.distinct;
        one_run(kind, seed, share, &mut seen, &mut tally, &mut progress)?;
        ensure!(tally.distinct > before, "the run of seed {seed} has no state that was not seen before");
    }
    Ok(tally)
}

/// Records a run and opens states of it.
fn one_run(
    kind: StoreKind,
    seed: u64,
    share: u64,
    seen: &mut HashSet<Digest>,
    tally: &mut Tally,
    progress: &mut Progress,
) -> anyhow::Result<()> {
    let folder = scratch::folder()?;
    let recording = tape::start(folder.path(), None);
    let plan = Plan { seed, steps: STEPS, is_careless: kind == StoreKind::Careless };
    let (done, store) = work::run(folder.path(), plan);
    let recorded = recording.stop();
    drop(store);
    if let Some(error) = done.failed.first() {
        bail!("the work itself failed: {error}");
    }
    let obeys_sync = kind != StoreKind::LyingDisk;
    let candidates = candidates(&recorded.ops, obeys_sync, seed, share);
    let (sender, receiver) = sync_channel(QUEUE);
    let receiver = Mutex::new(receiver);
    let watch = Watch { is_over: AtomicBool::new(false), opened: AtomicU64::new(0), faults: Mutex::new(Vec::new()) };
    let threads = parallel::processors().min(8);
    std::thread::scope(|scope| -> anyhow::Result<()> {
        for _ in 0..threads {
            let folder = scratch::folder()?;
            let (receiver, watch, history) = (&receiver, &watch, &done.history);
            scope.spawn(move || open_all(receiver, folder.path(), history, watch, kind, seed));
        }
        let (mut disk, mut promised, mut next) = (Disk::default(), Promised::default(), 0);
        let mut asked = HashSet::new();
        for (at, op) in recorded.ops.iter().enumerate() {
            disk.step(&recorded.ops, obeys_sync);
            promised.take(op);
            while let Some((_, cut)) = candidates.get(next).filter(|(point, _)| *point == at) {
                next += 1;
                let image = disk.image(&recorded.ops, *cut);
                let digest = image.digest();
                tally.distinct += u64::from(seen.insert(digest));
                // The same disk is opened again only if more is promised of it.
                let must = if *cut == Cut::Nothing { promised.written } else { promised.synced };
                if !asked.insert((digest, must, promised.epoch)) {
                    continue;
                }
                progress.say(tally.distinct);
                tally.kills += u64::from(*cut == Cut::Nothing);
                if sender.send(State { image, promised, cut: *cut, at }).is_err() {
                    bail!("nobody opens states any more");
                }
            }
            if watch.is_over.load(Ordering::Relaxed) {
                break;
            }
        }
        drop(sender);
        Ok(())
    })?;
    tally.opened += watch.opened.into_inner();
    tally.faults.extend(watch.faults.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(())
}

/// State shared by the threads that open states.
struct Watch {
    is_over: AtomicBool,
    opened: AtomicU64,
    faults: Mutex<Vec<String>>,
}

fn open_all(
    receiver: &Mutex<Receiver<State>>,
    folder: &Path,
    history: &History,
    watch: &Watch,
    kind: StoreKind,
    seed: u64,
) {
    loop {
        let received = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(state) = received else { return };
        if watch.is_over.load(Ordering::Relaxed) {
            continue;
        }
        watch.opened.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = open_one(&state, folder, history) {
            let fault = format!("seed {seed}, after operation {}, {:?}: {error:#}", state.at, state.cut);
            watch.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
            watch.is_over.store(kind != StoreKind::Real, Ordering::Relaxed);
        }
    }
}

fn open_one(state: &State, folder: &Path, history: &History) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        std::fs::remove_file(entry?.path())?;
    }
    state.image.lay(folder)?;
    history.check(folder, &state.promised, state.cut == Cut::Nothing)
}

/// Returns the cuts to try after each operation, in the order of the tape: all of them, or a seeded share.
fn candidates(ops: &[Op], obeys_sync: bool, seed: u64, share: u64) -> Vec<(usize, Cut)> {
    let mut rng = Rng::with_seed(seed);
    let mut disk = Disk::default();
    let mut all = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        disk.step(ops, obeys_sync);
        all.push((at, Cut::Nothing));
        let pending = disk.pending();
        if pending.is_empty() {
            continue;
        }
        all.push((at, Cut::Everything));
        for sector in 1..sectors(op) {
            all.extend([true, false].map(|has_front| (at, Cut::Torn { sector, has_front })));
        }
        for _ in 0..pending.len().min(4) {
            all.push((at, Cut::Without(pending[rng.usize(..pending.len())])));
            all.push((at, Cut::Only(pending[rng.usize(..pending.len())])));
        }
        all.extend(
            [Cut::Shuffled(rng.u64(..)), Cut::Shuffled(rng.u64(..)), Cut::Blocks(rng.u64(..))].map(|cut| (at, cut)),
        );
    }
    // Some states of the disk are equal, so more candidates than wanted states are taken.
    let keep = usize::try_from(share.saturating_mul(5) / 4).unwrap_or(usize::MAX);
    while all.len() > keep {
        all.swap_remove(rng.usize(..all.len()));
    }
    all.sort_by_key(|(at, _)| *at);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_cut_takes_nothing_that_was_synced_and_the_controls_see() {
        run(&Args { states: 200, seed: 7 }).unwrap();
    }
}
