//! The bus under simulated time: agents that send, receive, acknowledge, give back, forget and take back at random,
//! several calls at once, in an order that a seed decides. The code is the real one, on the store in memory; only the
//! clock and the scheduler are simulated. A seed repeats exactly.

mod check;
mod world;

use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::Args as ClapArgs;
use serde_json::json;

use crate::parallel;

/// Options of the simulation.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Number of histories
    #[arg(long, default_value_t = 10_000)]
    seeds: u64,
    /// First seed; a failure names the one to repeat
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of decisions in a history
    #[arg(long, default_value_t = 160)]
    steps: usize,
}

/// Simulates the histories, one on each processor, and stops at the first broken promise.
///
/// # Errors
/// When a promise is broken, with the seed; when a seed does not repeat.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut total = world::Tally::default();
    let mut simulated_ms = 0;
    let seeds: Vec<u64> = (args.seed..args.seed + args.seeds).collect();
    let histories = parallel::each(parallel::processors(), &seeds, |_, &seed| {
        let history = world::play(seed, args.steps).with_context(|| {
            format!("seed {seed}: cargo xtask torture sim --seed {seed} --seeds 1 --steps {}", args.steps)
        })?;
        if seed % 100 == 0 && world::play(seed, args.steps)?.digest != history.digest {
            bail!("seed {seed} does not repeat");
        }
        Ok(history)
    })?;
    for history in &histories {
        simulated_ms += history.simulated_ms;
        total.add(&history.tally);
    }
    if total.delivered == 0 || total.acked == 0 || total.dead == 0 || total.expired == 0 || total.races == 0 {
        bail!("the histories are too tame to prove anything: {total:?}");
    }
    let seconds = began.elapsed().as_secs_f64();
    let report = json!({
        "seeds": args.seeds,
        "seeds_per_minute": (args.seeds as f64 / seconds * 60.0).round(),
        "simulated_over_wall": (simulated_ms as f64 / 1000.0 / seconds).round(),
        "sent": total.sent, "refused": total.refused, "delivered": total.delivered, "acked": total.acked,
        "redelivered": total.redelivered, "dead": total.dead, "expired": total.expired, "cancelled": total.cancelled,
        "calls_that_met": total.races, "broken": 0,
    });
    println!("{report}");
    Ok(())
}
