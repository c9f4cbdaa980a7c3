//! Checks the promises at the end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::fault::Faults;
use super::stage::Stage;
use super::{ledger, script};
use crate::command::{command, output};
use crate::processes;

/// Time limit for processes to end after that.
const END: Duration = Duration::from_secs(30);

/// Maximum number of additional descriptors of a daemon at the end: connections to its store's files come and go.
const MORE_DESCRIPTORS: usize = 8;

/// Time limit for the removal of the work trees of merged tasks.
const TIDY: Duration = Duration::from_secs(120);

/// Checks the results against the promises.
///
/// # Errors
/// The promise that is broken.
pub(super) fn judge(stage: &mut Stage, end: &Value, faults: &Faults, baseline: usize) -> anyhow::Result<Value> {
    ensure!(end["state"] == "succeeded", "the run ended {}: {}", end["state"], states(end));
    let tasks = end["list"].as_array().context("no tasks")?.len();
    effects(stage, end, tasks)?;
    let books = ledger::compare(stage, &faults.cut_short)?;
    ensure!(
        end["micro_usd"].as_u64() == Some(books.total),
        "the run cost {} and its workers {}",
        end["micro_usd"],
        books.total
    );
    ensure!(stage.ask("verify_log", json!({}))?["is_intact"] == true, "the record is damaged");
    let descriptors = descriptors(stage, baseline)?;
    let trees = trees(stage)?;
    processes_are_gone(stage)?;
    Ok(json!({ "tasks": tasks, "workers": books.workers, "micro_usd": books.total, "micro_usd_apart": books.apart,
        "lost": 0, "doubled": 0, "orphans": 0, "descriptors": [baseline, descriptors], "work_trees": trees }))
}

/// Returns how many tasks are in which state, with the reasons for those that are not merged.
pub(super) fn states(end: &Value) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut told = Vec::new();
    for task in end["list"].as_array().into_iter().flatten() {
        let state = task["state"].as_str().unwrap_or_default();
        *counts.entry(state).or_default() += 1;
        if state != "merged" && told.len() < 5 {
            told.push(task.to_string());
        }
    }
    format!("{counts:?} {told:?}")
}

/// Checks that each task's change is in the run's branch once.
fn effects(stage: &Stage, end: &Value, tasks: usize) -> anyhow::Result<()> {
    let branch = end["branch"].as_str().context("no branch")?;
    let git = |args: &[&str]| {
        output(command("git", &stage.repo.repo()).args(args)).map(|text| String::from_utf8_lossy(&text).into_owned())
    };
    let log = git(&["log", "--format=%(trailers:key=Switchboard-Task,valueonly)", &format!("main..{branch}")])?;
    let mut merged: BTreeMap<&str, usize> = BTreeMap::new();
    log.lines().map(str::trim).filter(|line| !line.is_empty()).for_each(|task| *merged.entry(task).or_default() += 1);
    for number in 1..=tasks {
        let count = merged.get(format!("1.{number}").as_str()).copied().unwrap_or(0);
        ensure!(count == 1, "1.{number} is in the branch {count} times");
        let content = git(&["show", &format!("{branch}:{}", script::file(number))])?;
        ensure!(content == format!("task {number} is done\n"), "1.{number} left {content:?}");
    }
    Ok(())
}

/// Returns the number of the daemon's descriptors, once connections have ended.
fn descriptors(stage: &Stage, baseline: usize) -> anyhow::Result<usize> {
    let until = Instant::now() + END;
    loop {
        let open = processes::descriptors(stage.daemon()?.pid());
        if open <= baseline + MORE_DESCRIPTORS {
            return Ok(open);
        }
        ensure!(Instant::now() < until, "the daemon has {open} descriptors open, {baseline} at first");
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Returns the number of git work trees besides the user's own. Those of merged tasks are removed when the run is over.
fn trees(stage: &Stage) -> anyhow::Result<usize> {
    let until = Instant::now() + TIDY;
    loop {
        let listed = output(command("git", &stage.repo.repo()).args(["worktree", "list", "--porcelain"]))?;
        let listed = String::from_utf8_lossy(&listed).lines().filter(|line| line.starts_with("worktree ")).count();
        if listed <= 1 {
            return Ok(listed.saturating_sub(1));
        }
        ensure!(Instant::now() < until, "{} work trees are left", listed - 1);
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Checks that only the daemon still runs.
fn processes_are_gone(stage: &Stage) -> anyhow::Result<()> {
    let daemon = stage.daemon()?.pid();
    let until = Instant::now() + END;
    loop {
        let left = processes::of_folder(&stage.folder, daemon);
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() >= until {
            bail!("{} processes are left: {:?}", left.len(), left.iter().take(5).collect::<Vec<_>>());
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}
