//! `cargo xtask torture faults`: makes one write, truncation, sync or opening of a file fail, at every point where one
//! can.
//!
//! A full disk refuses and the store continues; a broken one stops it, because after a failed sync the content of the
//! disk is unknown, and a second sync that succeeds would prove nothing. Everything that had been answered is there at
//! the next opening, even if the machine loses power in between.

use std::path::Path;
use std::time::Instant;

use anyhow::ensure;
use serde_json::json;
use switchboard_store::Error;

use super::disk::{Cut, Disk};
use super::tape::{self, Call, Fault, Promised, Recorded};
use super::work::{self, Done, Plan};
use super::{scratch, vfs};

/// Options of the torture.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of faults, spread over all points; 0: one at every point
    #[arg(long, default_value_t = 200)]
    faults: u64,
    /// First seed; a seed repeats its run exactly
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Number of steps of the work; each point of it is tried in a separate run.
const STEPS: usize = 30;

/// Results of the faults.
#[derive(Debug, Default)]
struct Tally {
    played: u64,
    full: u64,
    ended: u64,
    refused_at_open: u64,
}

/// Injects the faults, prints the results, and fails when a promise broke.
///
/// # Errors
/// When a promise broke, or no store can be created.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let _alone = super::exclusive::wait_until_alone();
    vfs::install()?;
    let begun = Instant::now();
    let plan = Plan { seed: args.seed, steps: STEPS, is_careless: false };
    let places = play(plan, None)?.1.calls;
    let step = usize::try_from(places.checked_div(args.faults).unwrap_or(1).max(1))?;
    let mut tally = Tally::default();
    let mut broken = Vec::new();
    for at in (0..places).step_by(step) {
        for is_full in [false, true] {
            let fault = Fault { at, is_full };
            if let Err(error) = one(plan, fault, &mut tally) {
                broken.push(format!("seed {}, {fault:?}: {error:#}", args.seed));
            }
        }
    }
    for fault in broken.iter().take(10) {
        println!("{fault}");
    }
    let line = json!({
        "places": places, "played": tally.played, "disk_full": tally.full, "ended": tally.ended,
        "refused_at_open": tally.refused_at_open, "faults": broken.len(), "seconds": begun.elapsed().as_secs(),
        "seed": args.seed,
    });
    println!("{line}");
    ensure!(broken.is_empty(), "a promise broke {} times", broken.len());
    ensure!(tally.ended > 0 && tally.full > 0, "blind: no fault was noticed");
    Ok(())
}

/// Works with one fault; the returned folder must be kept as long as the results.
fn play(plan: Plan, fault: Option<Fault>) -> anyhow::Result<(Done, Recorded, tempfile::TempDir)> {
    let folder = scratch::folder()?;
    let recording = tape::start(folder.path(), fault);
    let (done, store) = work::run(folder.path(), plan);
    let recorded = recording.stop();
    drop(store);
    Ok((done, recorded, folder))
}

fn one(plan: Plan, fault: Fault, tally: &mut Tally) -> anyhow::Result<()> {
    let (done, recorded, folder) = play(plan, Some(fault))?;
    let Some(call) = recorded.played else { return Ok(()) };
    tally.played += 1;
    behaves(&done, call, fault, tally)?;
    let mut promised = Promised::default();
    recorded.ops.iter().for_each(|op| promised.take(op));
    done.history.check(folder.path(), &promised, true)?;
    after_cut(&done, &recorded, &promised, Cut::Everything)?;
    after_cut(&done, &recorded, &promised, Cut::Shuffled(fault.at))
}

/// Checks whether the store reacted to the fault correctly.
fn behaves(done: &Done, call: Call, fault: Fault, tally: &mut Tally) -> anyhow::Result<()> {
    let codes: Vec<_> = done.failed.iter().map(|error| error.failure().code).collect();
    let is_known =
        |code: &String| ["io.disk-full", "io.denied", "store.fatal", "store.corrupt"].contains(&code.as_str());
    ensure!(codes.iter().all(is_known), "it says {codes:?} to a fault of {call:?}");
    if let Some(error) = &done.dead {
        tally.ended += 1;
        ensure!(matches!(error, Error::Fatal(_)), "it ended with {error}");
        // After the fault every commit is refused, whatever the disk does then.
        let first = codes.iter().position(|code| code == "store.fatal");
        ensure!(first.is_none_or(|first| codes[first..].iter().all(|code| code == "store.fatal")), "{codes:?}");
    }
    if fault.is_full && call == Call::Write && !codes.is_empty() {
        tally.full += 1;
        ensure!(done.dead.is_none(), "a full disk ended it: {:?}", done.dead);
    }
    tally.refused_at_open += u64::from(done.dead.is_none() && !fault.is_full && !codes.is_empty());
    Ok(())
}

/// Checks the same disk after a power cut that follows the fault.
fn after_cut(done: &Done, recorded: &Recorded, promised: &Promised, cut: Cut) -> anyhow::Result<()> {
    let folder = scratch::folder()?;
    let mut disk = Disk::default();
    recorded.ops.iter().for_each(|_| disk.step(&recorded.ops, true));
    disk.image(&recorded.ops, cut).lay(folder.path())?;
    check(done, folder.path(), promised)
}

fn check(done: &Done, folder: &Path, promised: &Promised) -> anyhow::Result<()> {
    done.history.check(folder, promised, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_disk_costs_nothing_that_was_answered() {
        // Fewer faults would sometimes hit none that matters: the position of a call depends on how commits are
        // grouped.
        run(&Args { faults: 40, seed: 3 }).unwrap();
    }
}
