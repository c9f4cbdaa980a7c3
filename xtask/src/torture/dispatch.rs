//! Runs under simulated time: the real engine with simulated git, shims, checks and commits that fail by a seed. A seed
//! repeats exactly.

use std::time::Instant;

use anyhow::{anyhow, bail};
use clap::Args as ClapArgs;
use serde_json::json;
use switchboard_dispatch::simulate::{SimReport, SimSpec, die_at_each_step, simulate};

use crate::parallel;

/// One of this many seeds is played twice.
const REPEATED: u64 = 20;

/// Options of the simulation.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Number of histories
    #[arg(long, default_value_t = 5_000)]
    seeds: u64,
    /// First seed; a failure names the one to repeat
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of tasks of a separate timed run; 0 leaves it out
    #[arg(long, default_value_t = 1_000)]
    tasks: u64,
    /// Number of workers of several runs that are live at once, in separate histories; 0 leaves them out
    #[arg(long, default_value_t = 0)]
    workers: u64,
    /// Number of these histories
    #[arg(long, default_value_t = 1)]
    fleets: u64,
    /// Also kill the daemon at each step of a run that a team leads
    #[arg(long)]
    led: bool,
}

/// Simulates the histories, one on each processor, and stops at the first broken promise.
///
/// # Errors
/// When a promise is broken, with the seed; when a seed does not repeat; when the histories have too few faults to
/// prove anything.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let began = Instant::now();
    let mut total = SimReport::default();
    let spec = SimSpec { afterwards: true, ..SimSpec::rough() };
    let seeds: Vec<u64> = (args.seed..args.seed + args.seeds).collect();
    let reports = parallel::each(parallel::processors(), &seeds, |_, &seed| {
        let report = play(seed, spec)?;
        if seed % REPEATED == 0 && play(seed, spec)? != report {
            bail!("seed {seed} does not repeat");
        }
        Ok(report)
    })?;
    reports.iter().for_each(|report| add(&mut total, report));
    // Without histories there is no rate.
    let seconds = began.elapsed().as_secs_f64().max(1e-3);
    if args.seeds >= 100
        && (total.crashes == 0 || total.refused == 0 || total.lost == 0 || total.calls == 0 || total.waited == 0)
    {
        bail!("the histories are too tame to prove anything: {total:?}");
    }
    let began = Instant::now();
    if args.tasks > 0 {
        play(1, SimSpec::big(args.tasks))?;
    }
    let run_tasks_ms = began.elapsed().as_millis();
    let (fleets, fleet_ms) = play_fleets(args)?;
    let led_steps = match args.led {
        true => die_at_each_step(args.seed, SimSpec::kind(), 1).map_err(|broken| anyhow!("{broken}"))?,
        false => 0,
    };
    let report = json!({
        "seeds": args.seeds,
        "runs_per_minute": (args.seeds as f64 / seconds * 60.0).round(),
        "simulated_over_wall": (total.simulated_ms as f64 / 1000.0 / seconds).round(),
        "tasks": total.tasks, "merged": total.merged, "workers": total.workers, "lost": total.lost, "waited": total.waited,
        "commits": total.commits, "refused": total.refused, "crashes": total.crashes, "calls": total.calls,
        "run_tasks": args.tasks, "run_tasks_ms": run_tasks_ms, "fleets": args.fleets.min(args.workers),
        "most_live": fleets.most_live, "fleet_workers": fleets.workers, "fleet_merged": fleets.merged, "fleet_lost": fleets.lost,
        "fleet_crashes": fleets.crashes, "fleet_calls": fleets.calls, "fleet_ms": fleet_ms, "led_steps": led_steps, "broken": 0,
    });
    println!("{report}");
    Ok(())
}

/// Simulates histories in which this many workers of several runs are live at once; returns their sums and the time
/// they took.
fn play_fleets(args: &Args) -> anyhow::Result<(SimReport, u128)> {
    let began = Instant::now();
    let mut total = SimReport::default();
    let fleets = if args.workers > 0 { args.fleets } else { 0 };
    for seed in args.seed..args.seed + fleets {
        let report = simulate(seed, SimSpec::fleet(args.workers)).map_err(|broken| {
            let workers = args.workers;
            anyhow!("{broken}: cargo xtask torture dispatch --seeds 0 --tasks 0 --workers {workers} --seed {seed}")
        })?;
        if report.most_live < args.workers {
            bail!("seed {seed}: only {} of {} workers were live at once", report.most_live, args.workers);
        }
        if report.lost == 0 || report.calls == 0 || report.crashes == 0 {
            bail!("seed {seed}: the history is too tame to prove anything: {report:?}");
        }
        add(&mut total, &report);
        total.most_live = total.most_live.max(report.most_live);
    }
    Ok((total, began.elapsed().as_millis()))
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
