//! `cargo xtask torture workers`: hundreds of real workers, with a fault every ten seconds. No work may be lost or done
//! twice, the recorded costs must equal those that the workers wrote down, and nothing may be left over: no process, no
//! descriptor, no work tree, no memory.

mod fault;
mod ledger;
mod script;
mod stage;
mod verdict;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use fastrand::Rng;
use serde_json::{Value, json};

pub(crate) use self::stage::Args;

use fault::Faults;
use stage::{DRAIN, HEARTBEAT_MS, Peaks, Stage};

/// Memory limits of a daemon and of a shim, in megabytes.
const DAEMON_MB: f64 = 200.0;
const SHIM_MB: f64 = 40.0;

/// Injects the faults, and prints the results.
///
/// # Errors
/// When a promise is broken, or nothing could be tried.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let binary = args.binary.clone().unwrap_or_else(|| root.join("target/debug/switchboard"));
    let binary = binary.canonicalize().with_context(|| format!("{}: build it first", binary.display()))?;
    let began = Instant::now();
    let mut rng = Rng::with_seed(args.seed);
    let (mut stage, baseline) = Stage::begin(&binary, args, &mut rng)?;
    let mut faults = Faults::new(rng);
    let mut peaks = Peaks::default();
    let until = Instant::now() + Duration::from_secs(args.seconds);
    stage.warm_up(args)?;
    while Instant::now() < until && stage.is_running()? {
        faults.make(&mut stage)?;
        stage.look(&mut peaks)?;
        std::thread::sleep(Duration::from_secs(args.every));
    }
    let end = drain(&mut stage, &mut faults, &mut peaks)?;
    let verdict = verdict::judge(&mut stage, &end, &faults, baseline)?;
    ensure!(peaks.daemon_mb <= DAEMON_MB, "a daemon had {} MB", peaks.daemon_mb);
    ensure!(peaks.shim_mb <= SHIM_MB, "a shim had {} MB", peaks.shim_mb);
    println!(
        "{}",
        json!({
            "workers": args.workers, "seconds": args.seconds, "seed": args.seed, "took_s": began.elapsed().as_secs(),
            "heartbeat_ms": HEARTBEAT_MS, "faults": faults.made, "most_at_once": peaks.workers,
            "daemon_mb": rounded(peaks.daemon_mb), "shim_mb": rounded(peaks.shim_mb), "verdict": verdict,
        })
    );
    Ok(())
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Waits until the run is over; returns it.
fn drain(stage: &mut Stage, faults: &mut Faults, peaks: &mut Peaks) -> anyhow::Result<Value> {
    let until = Instant::now() + DRAIN;
    loop {
        let end = stage.show()?;
        let has_retried = faults.has_retried(stage)?;
        if end["state"] != "running" && has_retried {
            return Ok(end);
        }
        ensure!(Instant::now() < until, "the run does not end: {}", verdict::states(&end));
        stage.look(peaks)?;
        std::thread::sleep(Duration::from_secs(2));
    }
}
