//! What an idle daemon costs: context switches of all its threads, with readers that wait and workers that sleep.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::daemon::{Running, Waiters};
use crate::bench::daemon::call;
use crate::bench::stats::{count, rounded};

/// Workers that sleep.
const WORKERS: usize = 50;
/// Between two beats of a shim.
const BEAT: Duration = Duration::from_secs(5);
/// How long they may take to start.
const START: Duration = Duration::from_secs(120);
/// Quiet before the count begins.
const SETTLE: Duration = Duration::from_secs(4);
/// How long switches are counted: shorter than the longest wait of a reader, so that none asks again meanwhile.
const COUNT: Duration = Duration::from_secs(20);

/// What was counted.
pub(super) struct Idle {
    /// Wake-ups in a second beyond one for each beat: the context switches that a thread makes itself, to wait. One that is interrupted was awake.
    pub(super) per_second: f64,
    /// By thread's name, and how many interruptions there were.
    pub(super) details: Value,
}

/// Counts. Each shim says every five seconds that it lives, which the daemon must wake for: one switch for each of these beats is taken off.
///
/// # Errors
/// When the daemon or a worker does not start.
pub(super) fn measure(binary: &Path) -> anyhow::Result<Idle> {
    let running = Running::start(binary)?;
    let mut client = running.repo.connect("person")?;
    let run = start_run(&mut client)?;
    let began = Instant::now();
    while working(&mut client, &run)? < WORKERS {
        ensure!(began.elapsed() < START, "the workers have not started after {} s", START.as_secs());
        std::thread::sleep(Duration::from_millis(250));
    }
    let waiters = Waiters::start(&running)?;
    std::thread::sleep(SETTLE);
    let before = switches(running.daemon.pid())?;
    std::thread::sleep(COUNT);
    let after = switches(running.daemon.pid())?;
    waiters.end();
    call(&mut client, "stop_run", json!({ "what": run }))?;
    let mut threads = BTreeMap::new();
    let mut interrupted = 0.0;
    for (thread, now) in after {
        let (woken, cut_off) = before.get(&thread).map_or((0.0, 0.0), |earlier| (earlier.woken, earlier.interrupted));
        *threads.entry(now.name).or_insert(0.0) += (now.woken - woken) / COUNT.as_secs_f64();
        interrupted += (now.interrupted - cut_off) / COUNT.as_secs_f64();
    }
    let all: f64 = threads.values().sum();
    let beats = count(WORKERS) / BEAT.as_secs_f64();
    threads.extend([("all".to_owned(), all), ("beats".to_owned(), beats), ("interrupted".to_owned(), interrupted)]);
    let per_second = all - beats;
    let details = threads.into_iter().map(|(name, rate)| (name, json!(rounded(rate)))).collect();
    Ok(Idle { per_second, details: Value::Object(details) })
}

fn start_run(client: &mut crate::bench::daemon::Client) -> anyhow::Result<String> {
    let task = |number: usize| {
        json!({ "id": format!("1.{number}"), "phase": 1, "description": "sleep",
                "files_touched": [format!("file-{number}.txt")] })
    };
    let tasks: Vec<_> = (1..=WORKERS).map(task).collect();
    let plan = json!({ "schema_version": "1.0.0", "title": "Sleep", "swarm": "bench",
                       "phases": [{ "id": 1, "name": "P", "tasks": tasks }] });
    let driver = json!({ "driver": "exec", "argv": ["sleep", "600"] });
    let args = json!({ "plan": plan.to_string(), "agents": [{ "name": "sleeper", "driver": driver }],
                       "default_agent": "sleeper", "max_workers": WORKERS });
    let reply = call(client, "start_run", args)?;
    Ok(reply["run"].as_str().context("no run")?.to_owned())
}

/// Tasks whose worker works.
fn working(client: &mut crate::bench::daemon::Client, run: &str) -> anyhow::Result<usize> {
    let reply = call(client, "get_run", json!({ "run": run }))?;
    let tasks = reply["list"].as_array().context("no list of tasks")?;
    Ok(tasks.iter().filter(|task| task["state"] == "working").count())
}

/// A thread and its context switches so far.
struct Thread {
    name: String,
    /// Those that it made itself, to wait.
    woken: f64,
    interrupted: f64,
}

/// Every thread of a process.
fn switches(pid: u32) -> anyhow::Result<BTreeMap<String, Thread>> {
    let mut counts = BTreeMap::new();
    for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
        let entry = entry?;
        // A thread may end meanwhile.
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else { continue };
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
        let number = |name: &str| field(name).parse::<f64>().unwrap_or_default();
        let (woken, interrupted) = (number("voluntary_ctxt_switches:"), number("nonvoluntary_ctxt_switches:"));
        let thread = Thread { name: field("Name:").to_owned(), woken, interrupted };
        counts.insert(entry.file_name().to_string_lossy().into_owned(), thread);
    }
    Ok(counts)
}
