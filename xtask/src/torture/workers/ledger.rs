//! Compares the costs that the workers wrote down with those in the record.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::stage::Stage;

/// Maximum difference for a worker that was cut short, in millionths of a US dollar: one report, and what a shim
/// collects in a second.
const AT_MOST: u64 = 2 * 90_000;

/// Result of the comparison.
pub(super) struct CostComparison {
    pub(super) workers: usize,
    pub(super) total: u64,
    /// Differences of workers that were cut short, in millionths of a US dollar.
    pub(super) apart: u64,
}

/// Compares both, worker by worker.
///
/// # Errors
/// When the costs of a worker that was not cut short differ, or those of another by more than a killed process can have
/// had pending.
pub(super) fn compare(stage: &mut Stage, cut_short: &BTreeSet<String>) -> anyhow::Result<CostComparison> {
    let written = written(&stage.folder.join("ledger"))?;
    let recorded = recorded(stage)?;
    let mut books = CostComparison { workers: written.len(), total: recorded.values().sum(), apart: 0 };
    let workers: BTreeSet<_> = written.keys().chain(recorded.keys()).collect();
    for worker in workers {
        let of = |books: &BTreeMap<String, u64>| books.get(worker).copied().unwrap_or(0);
        let apart = of(&written).abs_diff(of(&recorded));
        let allowed = if cut_short.contains(worker) { AT_MOST } else { 0 };
        ensure!(apart <= allowed, "{worker} wrote down {} and the record says {}", of(&written), of(&recorded));
        books.apart += apart;
    }
    Ok(books)
}

fn written(folder: &Path) -> anyhow::Result<BTreeMap<String, u64>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let text = std::fs::read_to_string(entry.path())?;
        let sum =
            text.lines().map(|line| line.parse::<u64>().context("a line of a ledger")).sum::<anyhow::Result<u64>>()?;
        all.insert(entry.file_name().to_string_lossy().into_owned(), sum);
    }
    Ok(all)
}

/// Returns the costs by worker from the log; a report that is there twice is a broken promise.
fn recorded(stage: &mut Stage) -> anyhow::Result<BTreeMap<String, u64>> {
    let mut all = BTreeMap::new();
    let mut reports = BTreeSet::new();
    let mut after = json!("start");
    loop {
        let page = stage.ask("read_events", json!({ "after": after, "kinds": ["worker_reported"], "limit": 1000 }))?;
        let events = page["events"].as_array().context("no events")?;
        if events.is_empty() {
            return Ok(all);
        }
        for event in events {
            let facts = &event["facts"];
            let worker = facts["worker"].as_str().context("no worker")?.to_owned();
            let number = |field: &Value| field.as_u64().unwrap_or(0);
            ensure!(
                reports.insert((worker.clone(), number(&facts["epoch"]), number(&facts["seq"]))),
                "a report of {worker} is there twice: {facts}"
            );
            *all.entry(worker).or_default() += number(&facts["what"]["micro_usd"]);
        }
        after = page["cursor"].clone();
    }
}
