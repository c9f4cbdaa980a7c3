//! Control by polled files, rebuilt for comparison after an earlier orchestrator: one signal slot for each worker,
//! checked once for each unit of work, read and then removed; a heartbeat that the coordinator writes when a message of
//! the worker ends; a worker whose heartbeat is older than thirty seconds is stale.
//!
//! Real files and threads, with time scaled: a second is a millisecond.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use fastrand::Rng;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::figure::Figure;
use crate::bench::stats::{count, quantile, rounded};

/// Factor by which time is accelerated.
const SCALE: u32 = 1_000;
const WORKERS: usize = 20;
/// Duration of the simulation, in unscaled seconds: six hours.
const LASTS_S: u64 = 6 * 3_600;
/// Minimum and maximum duration of a unit of work, in seconds: 3 to 30 minutes.
const UNIT_S: (u64, u64) = (180, 1_800);
/// Minimum and maximum time between two signals to a worker, in seconds.
const SIGNAL_S: (u64, u64) = (120, 1_800);
/// Minimum and maximum duration of a message of the model, in seconds.
const MESSAGE_S: (u64, u64) = (2, 20);
/// Number of messages of which one ends with a tool call, and the maximum seconds of that call: tools take up to 15
/// minutes.
const TOOL: (u64, u64) = (10, 900);
/// Age in seconds above which a heartbeat is stale.
const STALE_S: f64 = 30.0;
/// Time of a reader between reading and removing, not scaled: what such a script takes.
const GAP: Duration = Duration::from_micros(50);

/// Results of the measurement.
pub(super) struct Polling {
    pub(super) rows: Vec<(Figure, f64)>,
    pub(super) details: Value,
}

/// Results for one worker.
#[derive(Default)]
struct WorkerResult {
    sent: usize,
    lost: usize,
    stale: usize,
    waits_ms: Vec<f64>,
}

/// Runs the simulation.
///
/// # Errors
/// When a file can't be written.
pub(super) fn measure(seed: u64) -> anyhow::Result<Polling> {
    let folder = TempDir::new()?;
    let began = Instant::now();
    let threads: Vec<_> = (0..WORKERS)
        .map(|number| {
            let slot = folder.path().join(format!("worker-{number}.signal.json"));
            std::thread::spawn(move || play(began, &slot, Rng::with_seed(seed.wrapping_add(number as u64))))
        })
        .collect();
    let mut all = WorkerResult::default();
    for thread in threads {
        let told = thread.join().map_err(|_| anyhow::anyhow!("a worker panicked"))??;
        all.sent += told.sent;
        all.lost += told.lost;
        all.stale += told.stale;
        all.waits_ms.extend(told.waits_ms);
    }
    let details = json!({ "scale": SCALE, "workers": WORKERS, "hours": LASTS_S / 3_600, "signals": all.sent,
        "control_p50_ms": rounded(quantile(all.waits_ms.clone(), 0.5)) });
    let rows = vec![
        (Figure::PollingControl, quantile(all.waits_ms, 0.99)),
        (Figure::PollingLost, count(all.lost)),
        (Figure::PollingStale, count(all.stale)),
    ];
    Ok(Polling { rows, details })
}

/// Runs one worker with its coordinator, which writes signals at the same time.
fn play(began: Instant, slot: &Path, mut rng: Rng) -> anyhow::Result<WorkerResult> {
    let until = Instant::now() + scaled(LASTS_S);
    let coordinator = {
        let (slot, rng) = (slot.to_owned(), rng.fork());
        std::thread::spawn(move || signal((began, until), &slot, rng))
    };
    let mut told = WorkerResult::default();
    let mut read = 0;
    while Instant::now() < until {
        told.stale += work(&mut rng);
        if let Some(since) = take(began, slot)? {
            read += 1;
            told.waits_ms.push(since.as_secs_f64() * 1e3 * f64::from(SCALE));
        }
    }
    told.sent = coordinator.join().map_err(|_| anyhow::anyhow!("a coordinator panicked"))??;
    // One unread signal may be left.
    let waits = usize::from(slot.exists());
    told.lost = told.sent.saturating_sub(read + waits);
    Ok(told)
}

/// Works on one unit; returns how often the heartbeat was stale meanwhile, though the worker was alive all the time.
fn work(rng: &mut Rng) -> usize {
    let mut left = rng.u64(UNIT_S.0..=UNIT_S.1);
    let mut stale = 0;
    while left > 0 {
        let tool = if rng.u64(..TOOL.0) == 0 { rng.u64(..TOOL.1) } else { 0 };
        let message = (rng.u64(MESSAGE_S.0..=MESSAGE_S.1) + tool).min(left);
        std::thread::sleep(scaled(message));
        #[expect(clippy::cast_precision_loss, reason = "seconds of a message")]
        let is_stale = message as f64 > STALE_S;
        stale += usize::from(is_stale);
        left -= message;
    }
    stale
}

/// Reads the slot and removes it; returns the age of the signal.
fn take(began: Instant, slot: &Path) -> anyhow::Result<Option<Duration>> {
    let Ok(text) = fs::read(slot) else { return Ok(None) };
    let signal: Value = serde_json::from_slice(&text).context("a signal")?;
    std::thread::sleep(GAP);
    // A signal written since the read is removed with it.
    fs::remove_file(slot)?;
    let sent = Duration::from_nanos(signal["sentAt"].as_u64().context("no time")?);
    Ok(Some(began.elapsed().saturating_sub(sent)))
}

/// Writes pause, resume, stop or rebase at random intervals, overwriting any unread signal.
fn signal((began, until): (Instant, Instant), slot: &Path, mut rng: Rng) -> anyhow::Result<usize> {
    let mut sent = 0;
    loop {
        std::thread::sleep(scaled(rng.u64(SIGNAL_S.0..=SIGNAL_S.1)));
        if Instant::now() >= until {
            return Ok(sent);
        }
        let signal = ["pause", "resume", "stop", "rebase"][rng.usize(..4)];
        let at = u64::try_from(began.elapsed().as_nanos())?;
        let draft: PathBuf = slot.with_extension("draft");
        fs::write(&draft, json!({ "signal": signal, "sentAt": at, "from": "coordinator" }).to_string())?;
        fs::rename(&draft, slot)?;
        sent += 1;
    }
}

fn scaled(seconds: u64) -> Duration {
    Duration::from_secs(seconds) / SCALE
}
