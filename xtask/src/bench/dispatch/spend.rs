//! Four workers that report costs until their run's ceiling stops them: measures how much they spend beyond it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use fastrand::Rng;
use serde_json::{Value, json};

use crate::bench::daemon::{TestRepo, call};

/// Amount set aside for each worker, in millionths of a US dollar.
pub(super) const RESERVE: f64 = 100_000.0;
/// Ceiling of the run, in millionths of a US dollar.
const CEILING: u64 = 1_000_000;
const WORKERS: usize = 4;
const TASKS: usize = 24;
const LIMIT: Duration = Duration::from_secs(120);

/// Results of the measurement.
pub(super) struct Spend {
    pub(super) overspend: f64,
    pub(super) details: Value,
}

/// Measures the overspending.
///
/// # Errors
/// When the run does not end, or spends nothing.
pub(super) fn measure(binary: &Path, seed: u64) -> anyhow::Result<Spend> {
    let repo = TestRepo::new(binary)?;
    let script = repo.repo().with_file_name("spender.json");
    std::fs::write(&script, sections(seed).to_string())?;
    let (_daemon, _) = repo.start()?;
    let mut client = repo.connect("person")?;
    let tasks: Vec<_> = (1..=TASKS)
        .map(|number| json!({ "id": format!("1.{number}"), "phase": 1, "description": "spend", "files_touched": [format!("spent-1.{number}.txt")] }))
        .collect();
    let plan = json!({ "schema_version": "1.0.0", "title": "Spend", "swarm": "bench", "phases": [{ "id": 1, "name": "P", "tasks": tasks }] });
    let driver = json!({ "driver": "acp", "argv": [binary, "script-agent", script] });
    let request = json!({ "plan": plan.to_string(), "default_agent": "spender", "max_workers": WORKERS,
        "agents": [{ "name": "spender", "driver": driver, "scripted": true }],
        "budget": { "ceiling": CEILING, "reserve": 100_000, "at_ceiling": "halt" } });
    let reply = call(&mut client, "start_run", request)?;
    let run = reply["run"].as_str().context("no run")?.to_owned();
    let until = Instant::now() + LIMIT;
    let end = loop {
        let end = call(&mut client, "get_run", json!({ "run": run }))?;
        if end["state"] != "running" {
            break end;
        }
        ensure!(Instant::now() < until, "the run does not end: {}", end["state"]);
        std::thread::sleep(Duration::from_millis(100));
    };
    let spent = spent(&repo)?;
    ensure!(spent > CEILING / 2, "only {spent} were spent");
    #[expect(clippy::cast_precision_loss, reason = "a few dollars")]
    let overspend = spent.saturating_sub(CEILING) as f64;
    Ok(Spend { overspend, details: json!({ "spent": spent, "ceiling": CEILING, "state": end["state"] }) })
}

/// Returns the costs that the workers have reported, according to the log.
fn spent(repo: &TestRepo) -> anyhow::Result<u64> {
    let mut client = repo.connect("person")?;
    let (mut total, mut after) = (0, json!("start"));
    loop {
        let page =
            call(&mut client, "read_events", json!({ "after": after, "kinds": ["worker_reported"], "limit": 1000 }))?;
        let events = page["events"].as_array().context("no events")?;
        if events.is_empty() {
            return Ok(total);
        }
        total += events.iter().filter_map(|event| event["facts"]["what"]["micro_usd"].as_u64()).sum::<u64>();
        after = page["cursor"].clone();
    }
}

/// Makes scripts of workers that spend one to five cents about every second, at most twenty times each: some twenty
/// times as fast as real ones.
fn sections(seed: u64) -> Value {
    let mut rng = Rng::with_seed(seed);
    let section = |number: usize| {
        let mut total = 0;
        let mut steps = Vec::new();
        for _ in 0..5 + rng.usize(..15) {
            total += rng.u64(1..=5);
            #[expect(clippy::cast_precision_loss, reason = "cents")]
            let usd = total as f64 / 100.0;
            steps.push(json!({ "do": "cost", "usd": usd }));
            steps.push(json!({ "do": "sleep_ms", "ms": 500 + rng.u64(..1_000) }));
        }
        steps.push(json!({ "do": "write", "path": format!("spent-1.{number}.txt"), "content": "spent\n" }));
        json!({ "task": format!("1.{number}"), "steps": steps })
    };
    json!({ "sections": (1..=TASKS).map(section).collect::<Vec<_>>() })
}
