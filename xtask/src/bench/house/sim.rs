//! Whole runs through the engine with simulated ports.

use std::time::Instant;

use switchboard_dispatch::simulate::{SimSpec, simulate};

use crate::bench::stats::{count, median};
use crate::parallel;

/// Number of simulated histories.
const RUNS: usize = 1_000;
/// Number of tasks of the large run; its repetitions follow.
const TASKS: u64 = 1_000;
const LARGE_RUNS: u64 = 3;

/// Returns the histories per minute on all processors, a history on one, with all kinds of faults.
///
/// # Errors
/// When a promise is broken.
pub(super) fn runs_per_minute() -> anyhow::Result<f64> {
    let seeds: Vec<u64> = (0..RUNS as u64).collect();
    let began = Instant::now();
    parallel::each(parallel::processors(), &seeds, |_, seed| {
        simulate(*seed, SimSpec::rough()).map_err(|broken| anyhow::anyhow!("seed {seed}: {broken}"))
    })?;
    Ok(count(RUNS) / began.elapsed().as_secs_f64() * 60.0)
}

/// Returns the milliseconds of a run of 1,000 trivial tasks.
///
/// # Errors
/// When a promise is broken.
pub(super) fn run_1k_tasks_ms() -> anyhow::Result<f64> {
    let mut times = Vec::new();
    for seed in 0..LARGE_RUNS {
        let began = Instant::now();
        let report = simulate(seed, SimSpec::big(TASKS)).map_err(|broken| anyhow::anyhow!("{broken}"))?;
        anyhow::ensure!(report.merged == TASKS, "{} of {TASKS} tasks were merged", report.merged);
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(times))
}
