//! Runs under simulated time: the real engine with simulated git, shims, checks and commits that go wrong as a seed decides. A seed repeats
//! exactly.

use std::time::Instant;

use anyhow::{anyhow, bail};
use clap::Args as ClapArgs;
use serde_json::json;
use switchboard_dispatch::simulate::{SimReport, SimSpec, simulate};

/// What to simulate.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// How many histories
    #[arg(long, default_value_t = 5_000)]
    seeds: u64,
    /// The first seed; a failure names the one to repeat
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Tasks of the run that is timed by itself; 0 leaves it out
    #[arg(long, default_value_t = 1_000)]
    tasks: u64,
}

/// Simulates, and stops at the first broken promise.
///
/// # Errors
/// When a promise is broken, with the seed; when a seed does not repeat; when the histories are too tame to prove anything.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut total = SimReport::default();
    for seed in args.seed..args.seed + args.seeds {
        let report = play(seed, SimSpec::rough())?;
        if seed % 100 == 0 && play(seed, SimSpec::rough())? != report {
            bail!("seed {seed} does not repeat");
        }
        add(&mut total, &report);
    }
    let seconds = began.elapsed().as_secs_f64();
    if args.seeds >= 100
        && (total.crashes == 0 || total.refused == 0 || total.lost == 0 || total.calls == 0 || total.waited == 0)
    {
        bail!("the histories are too tame to prove anything: {total:?}");
    }
    let began = Instant::now();
    if args.tasks > 0 {
        play(1, SimSpec::big(args.tasks))?;
    }
    let report = json!({
        "seeds": args.seeds,
        "runs_per_minute": (args.seeds as f64 / seconds * 60.0).round(),
        "simulated_over_wall": (total.simulated_ms as f64 / 1000.0 / seconds).round(),
        "tasks": total.tasks, "merged": total.merged, "workers": total.workers, "lost": total.lost, "waited": total.waited,
        "commits": total.commits, "refused": total.refused, "crashes": total.crashes, "calls": total.calls,
        "run_tasks": args.tasks, "run_tasks_ms": began.elapsed().as_millis(), "broken": 0,
    });
    println!("{report}");
    Ok(())
}

fn play(seed: u64, spec: SimSpec) -> anyhow::Result<SimReport> {
    simulate(seed, spec)
        .map_err(|broken| anyhow!("seed {seed}: {broken}: cargo xtask torture dispatch --seed {seed} --seeds 1"))
}

fn add(total: &mut SimReport, report: &SimReport) {
    for (sum, more) in [
        (&mut total.crashes, report.crashes),
        (&mut total.commits, report.commits),
        (&mut total.refused, report.refused),
        (&mut total.tasks, report.tasks),
        (&mut total.merged, report.merged),
        (&mut total.workers, report.workers),
        (&mut total.lost, report.lost),
        (&mut total.waited, report.waited),
        (&mut total.calls, report.calls),
        (&mut total.simulated_ms, report.simulated_ms),
    ] {
        *sum += more;
    }
}
