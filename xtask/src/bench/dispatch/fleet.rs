//! A daemon with many live workers: its cost while they work, the time to stop one of them, and the time in which the
//! next daemon adopts them all.
//!
//! The workers are real processes, a shim and a scripted agent each, which sleep most of the time, like agents that
//! wait for a model.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::figure::Figure;
use crate::bench::daemon::{Client, Daemon, TestRepo, call};
use crate::bench::stats::{count, median, quantile, rounded};
use crate::processes;

/// Time limit for the start of all workers.
const START: Duration = Duration::from_secs(300);
/// Quiet time after the start.
const SETTLE: Duration = Duration::from_secs(10);
/// Duration over which processor time is counted.
const COUNT: Duration = Duration::from_secs(30);
/// Time limit of a stop.
const STOP: Duration = Duration::from_secs(20);
/// Number of tasks that are paused, and of tasks that are stopped.
const SAMPLES: usize = 100;
/// Milliseconds between two tool calls of a worker.
const CYCLE_MS: u64 = 6_000;
/// Number of tool calls of a worker: enough to outlast the measurement.
const CYCLES: u32 = 150;

/// Results of the measurement.
pub(super) struct Fleet {
    pub(super) rows: Vec<(Figure, f64)>,
    pub(super) details: Value,
}

/// Measures the figures that need many workers.
///
/// # Errors
/// When daemon or workers fail.
pub(super) fn measure(binary: &Path, workers: usize) -> anyhow::Result<Fleet> {
    let repo = TestRepo::new(binary)?;
    let (daemon, _) = repo.start()?;
    let mut client = repo.connect("person")?;
    let began = Instant::now();
    let run = start(&mut client, &repo, binary, workers)?;
    until_connected(&repo, workers, START)?;
    let start_s = began.elapsed().as_secs_f64();
    std::thread::sleep(SETTLE);
    let load = load(&daemon)?;
    let shims = shims(&repo)?;
    let (daemon, adopt_s) = adopt(&repo, daemon, workers)?;
    let mut client = repo.connect("person")?;
    let control = control(&mut client, &run, workers)?;
    // Ends the shims; otherwise they would outlive the daemon.
    call(&mut client, "stop_run", json!({ "what": run }))?;
    until_gone(&repo)?;
    drop(daemon);
    let rows = vec![
        (Figure::CoreShare, load.core_share),
        (Figure::Rss, load.rss_mb),
        (Figure::ShimRss, shims.median_mb),
        (Figure::Adopt, adopt_s),
        (Figure::Control, quantile(control.stops.clone(), 0.99)),
    ];
    let spread = |times: &[f64]| {
        json!({ "p50": rounded(quantile(times.to_vec(), 0.5)), "p99": rounded(quantile(times.to_vec(), 0.99)),
        "max": rounded(quantile(times.to_vec(), 1.0)), "samples": times.len() })
    };
    let details = json!({ "start_all_s": rounded(start_s), "shim_max_mb": rounded(shims.max_mb),
        "shims": shims.count, "stop_ms": spread(&control.stops), "pause_reply_ms": spread(&control.pauses) });
    Ok(Fleet { rows, details })
}

fn start(client: &mut Client, repo: &TestRepo, binary: &Path, workers: usize) -> anyhow::Result<String> {
    let script = repo.repo().with_file_name("sleeper.json");
    let cycle = |number: u32| {
        let usd = f64::from(number) / 1000.0;
        [
            json!({ "do": "write", "path": "file-{{task}}.txt", "content": format!("{number}\n") }),
            json!({ "do": "cost", "usd": usd }),
            json!({ "do": "sleep_ms", "ms": CYCLE_MS }),
        ]
    };
    let steps: Vec<_> = (1..=CYCLES).flat_map(cycle).collect();
    std::fs::write(&script, json!({ "sections": [{ "steps": steps }] }).to_string())?;
    let task = |number: usize| json!({ "id": format!("1.{number}"), "phase": 1, "description": "sleep", "files_touched": [format!("file-1.{number}.txt")] });
    let tasks: Vec<_> = (1..=workers).map(task).collect();
    let plan = json!({ "schema_version": "1.0.0", "title": "Many", "swarm": "bench", "phases": [{ "id": 1, "name": "P", "tasks": tasks }] });
    let driver = json!({ "driver": "acp", "argv": [binary, "script-agent", script] });
    let args = json!({ "plan": plan.to_string(), "agents": [{ "name": "sleeper", "driver": driver, "scripted": true }],
        "default_agent": "sleeper", "max_workers": workers });
    let reply = call(client, "start_run", args)?;
    Ok(reply["run"].as_str().context("no run")?.to_owned())
}

/// Waits until all workers are connected to a daemon.
fn until_connected(repo: &TestRepo, workers: usize, limit: Duration) -> anyhow::Result<()> {
    let mut client = repo.connect("watcher")?;
    let until = Instant::now() + limit;
    loop {
        let status = call(&mut client, "get_status", json!({}))?;
        if status["connected"].as_u64() == Some(workers as u64) {
            return Ok(());
        }
        ensure!(Instant::now() < until, "{} of {workers} workers are connected", status["connected"]);
        std::thread::sleep(Duration::from_millis(20));
    }
}

struct Load {
    core_share: f64,
    rss_mb: f64,
}

fn load(daemon: &Daemon) -> anyhow::Result<Load> {
    let cpu = || processes::cpu_seconds(daemon.pid()).context("the daemon is gone");
    let (before, began) = (cpu()?, Instant::now());
    let mut rss_mb: f64 = 0.0;
    while began.elapsed() < COUNT {
        rss_mb = rss_mb.max(daemon.resident_mb()?);
        std::thread::sleep(Duration::from_secs(1));
    }
    let took = began.elapsed().as_secs_f64();
    Ok(Load { core_share: (cpu()? - before) / took, rss_mb })
}

struct Shims {
    count: usize,
    median_mb: f64,
    max_mb: f64,
}

fn shims(repo: &TestRepo) -> anyhow::Result<Shims> {
    let folder = repo.repo().parent().context("a folder")?.to_owned();
    let sizes: Vec<_> =
        processes::workers(&folder).iter().filter_map(|worker| processes::resident_mb(worker.shim.pid)).collect();
    ensure!(!sizes.is_empty(), "no shim runs");
    Ok(Shims { count: sizes.len(), median_mb: median(sizes.clone()), max_mb: quantile(sizes, 1.0) })
}

/// Kills the daemon; returns the seconds from the start of the next one until all workers are connected to it.
fn adopt(repo: &TestRepo, daemon: Daemon, workers: usize) -> anyhow::Result<(Daemon, f64)> {
    daemon.kill()?;
    let began = Instant::now();
    let (daemon, _) = repo.start()?;
    until_connected(repo, workers, START)?;
    Ok((daemon, began.elapsed().as_secs_f64()))
}

struct Control {
    /// Milliseconds until a pause of a task was recorded.
    pauses: Vec<f64>,
    /// Milliseconds until the worker of a stopped task has ended its turn, by its own report.
    stops: Vec<f64>,
}

fn control(client: &mut Client, run: &str, workers: usize) -> anyhow::Result<Control> {
    let (mut pauses, mut stops) = (Vec::new(), Vec::new());
    for number in 1..=SAMPLES.min(workers) {
        let task = format!("{run}/1.{number}");
        let began = Instant::now();
        call(client, "pause_run", json!({ "what": task }))?;
        pauses.push(began.elapsed().as_secs_f64() * 1e3);
        call(client, "resume_run", json!({ "run": task }))?;
    }
    for number in (1..=workers).rev().take(SAMPLES) {
        let mut after = call(client, "read_events", json!({ "after": "now", "limit": 1 }))?["cursor"].clone();
        let began = Instant::now();
        call(client, "stop_run", json!({ "what": format!("{run}/1.{number}") }))?;
        loop {
            let request = json!({ "after": after, "kinds": ["worker_reported"], "wait_ms": 2_000, "limit": 200 });
            let page = call(client, "read_events", request)?;
            after = page["cursor"].clone();
            let is_end = |event: &Value| event["facts"]["what"]["kind"] == "turn_ended";
            if page["events"].as_array().into_iter().flatten().any(is_end) {
                break;
            }
            ensure!(began.elapsed() < STOP, "1.{number} is not stopped");
        }
        stops.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(Control { pauses, stops })
}

fn until_gone(repo: &TestRepo) -> anyhow::Result<()> {
    let folder = repo.repo().parent().context("a folder")?.to_owned();
    let until = Instant::now() + START;
    loop {
        let left = processes::workers(&folder).len();
        if left == 0 {
            return Ok(());
        }
        ensure!(Instant::now() < until, "{} workers are left", count(left));
        std::thread::sleep(Duration::from_millis(250));
    }
}
