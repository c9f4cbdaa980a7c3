//! Kills the daemon with `kill -9` at random moments, under senders, receivers and holders of leases who all keep a
//! log; at the end compares their logs with the record.

mod actors;
mod history;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::Args as ClapArgs;
use fastrand::Rng;
use serde_json::json;

use crate::bench::daemon::TestRepo;
use actors::{CallLog, Target};

/// Options of the torture.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Number of kills
    #[arg(long, default_value_t = 1_000)]
    kills: u64,
    /// Seed for the moments of the kills
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Path of the binary; default `target/debug/switchboard`
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

const SENDERS: usize = 16;
const RECEIVERS: usize = 4;
const HOLDERS: usize = 3;

/// Maximum life of a daemon, in milliseconds.
const LIFE_MS: usize = 120;

/// Time limit for the receivers to empty their inboxes at the end.
const DRAIN: Duration = Duration::from_secs(120);

/// Kills the daemon, and compares the results.
///
/// # Errors
/// When a promise is broken, or a daemon does not start again.
pub(crate) fn run(root: &std::path::Path, args: &Args) -> anyhow::Result<()> {
    let binary = args.binary.clone().unwrap_or_else(|| root.join("target/debug/switchboard"));
    let binary = binary.canonicalize().with_context(|| format!("{}: build it first", binary.display()))?;
    let test_repo = TestRepo::new(&binary)?;
    let (first, cold) = test_repo.start()?;
    let mut daemon = Some(first);
    let post = Arc::new(Target::new(test_repo.repo(), RECEIVERS)?);
    let (sending, receiving) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(true)));
    let spawn = |role: fn(&Target, usize, &AtomicBool) -> anyhow::Result<CallLog>, number, goes: &Arc<AtomicBool>| {
        let (post, goes) = (Arc::clone(&post), Arc::clone(goes));
        std::thread::spawn(move || role(&post, number, &goes))
    };
    let senders: Vec<_> = (0..SENDERS).map(|number| spawn(actors::send, number, &sending)).collect();
    let holders: Vec<_> = (0..HOLDERS).map(|number| spawn(actors::hold, number, &sending)).collect();
    let receivers: Vec<_> = (0..RECEIVERS).map(|number| spawn(actors::receive, number, &receiving)).collect();

    let mut rng = Rng::with_seed(args.seed);
    let mut ready = Vec::new();
    for _ in 0..args.kills {
        std::thread::sleep(Duration::from_millis(rng.usize(..LIFE_MS) as u64));
        if let Some(daemon) = daemon.take() {
            daemon.kill()?;
        }
        let (again, took) = test_repo.start()?;
        ready.push(took);
        daemon = Some(again);
    }
    sending.store(false, Ordering::SeqCst);
    let mut logs = CallLog::default();
    for actor in senders.into_iter().chain(holders) {
        logs.add(join(actor)?);
    }
    drain(&post)?;
    receiving.store(false, Ordering::SeqCst);
    for actor in receivers {
        logs.add(join(actor)?);
    }
    let verdict = history::compare(&post, logs)?;
    if verdict.sent == 0 || verdict.acked == 0 || verdict.leases == 0 || (args.kills > 0 && verdict.retried == 0) {
        bail!("nothing was proven: {verdict:?}");
    }
    ready.sort();
    let p99 = ready.get((ready.len() * 99 / 100).min(ready.len().saturating_sub(1))).copied().unwrap_or(cold);
    println!(
        "{}",
        json!({
            "kills": args.kills, "senders": SENDERS, "receivers": RECEIVERS,
            "sent": verdict.sent, "acked": verdict.acked, "retried": verdict.retried, "redelivered": verdict.redelivered,
            "leases": verdict.leases, "events": verdict.events,
            "lost": 0, "doubled": 0, "out_of_order": 0, "phantoms": 0,
            "cold_ms": cold.as_millis(), "restart_p99_ms": p99.as_millis(),
            "restart_p99_over_cold": (p99.as_secs_f64() / cold.as_secs_f64() * 100.0).round() / 100.0,
        })
    );
    Ok(())
}

fn join(actor: std::thread::JoinHandle<anyhow::Result<CallLog>>) -> anyhow::Result<CallLog> {
    actor.join().map_err(|_| anyhow::anyhow!("an actor panicked"))?
}

/// Waits until all messages are received.
fn drain(post: &Target) -> anyhow::Result<()> {
    let began = Instant::now();
    while began.elapsed() < DRAIN {
        if post.unread()? == 0 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("{} messages are left after {} s", post.unread()?, DRAIN.as_secs())
}
