//! A plan of 10,000 tasks: the time to compute its schedule and its conflicts.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchboard_pipeline::plan_json;
use switchboard_pipeline::prepare::prepare;

use crate::bench::stats::median;

const TASKS: usize = 10_000;
const ROUNDS: usize = 5;

/// Returns the milliseconds of preparing the plan, median of five. Parsing it is not included.
///
/// # Errors
/// When the plan is refused, or has no conflict.
pub(super) fn prepare_10k_ms() -> anyhow::Result<f64> {
    let plan =
        plan_json::parse(&plan().to_string()).map_err(|errors| anyhow::anyhow!("{errors:?}")).context("the plan")?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let prepared = prepare(&plan, &BTreeSet::new(), Some(200));
        times.push(began.elapsed().as_secs_f64() * 1e3);
        ensure!(prepared.eligible.len() == TASKS, "{} of {TASKS} tasks are eligible", prepared.eligible.len());
        ensure!(!prepared.conflicts.is_empty(), "no tasks write the same file");
    }
    Ok(median(times))
}

/// Makes a plan in which each task depends on up to two earlier ones and writes two files, one of which some others
/// write, too.
fn plan() -> Value {
    let task = |number: usize| {
        let depends: BTreeSet<_> =
            [number / 2, number.saturating_sub(97)].into_iter().filter(|on| *on > 0 && *on < number).collect();
        let depends: Vec<_> = depends.into_iter().map(|on| format!("1.{on}")).collect();
        json!({ "id": format!("1.{number}"), "phase": 1, "description": "work", "depends": depends,
                "files_touched": [format!("src/part-{}/file-{number}.rs", number % 100), format!("src/shared-{}.rs", number % 2_500)] })
    };
    let tasks: Vec<_> = (1..=TASKS).map(task).collect();
    json!({ "schema_version": "1.0.0", "title": "Large", "swarm": "bench", "phases": [{ "id": 1, "name": "P", "tasks": tasks }] })
}
