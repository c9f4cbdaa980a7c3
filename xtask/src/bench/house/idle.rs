//! The cost of an idle daemon: context switches of all its threads, with waiting readers and sleeping workers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::daemon::{Running, Waiters};
use crate::bench::daemon::call;
use crate::bench::stats::{count, rounded};

/// Number of sleeping workers.
const WORKERS: usize = 50;
/// Time between two beats of a shim.
const BEAT: Duration = Duration::from_secs(5);
/// Time limit for the start of the workers.
const START: Duration = Duration::from_secs(120);
/// Quiet time before the count begins.
const SETTLE: Duration = Duration::from_secs(4);
/// Duration of the count: shorter than the maximum wait of a reader, so that none calls again meanwhile.
const COUNT: Duration = Duration::from_secs(20);

/// Results of the count.
pub(super) struct Idle {
    /// Wake-ups per second, less one for each beat: voluntary context switches, where a thread waits. An interrupted
    /// thread was awake.
    pub(super) per_second: f64,
    /// Counts by thread name, and the number of interruptions.
    pub(super) details: Value,
}

/// Counts the wake-ups. Each shim sends a beat every five seconds, for which the daemon must wake: one switch for each
/// is subtracted.
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

/// Returns the number of tasks whose worker is working.
fn working(client: &mut crate::bench::daemon::Client, run: &str) -> anyhow::Result<usize> {
    let reply = call(client, "get_run", json!({ "run": run }))?;
    let tasks = reply["list"].as_array().context("no list of tasks")?;
    Ok(tasks.iter().filter(|task| task["state"] == "working").count())
}

/// A thread and its context switches so far.
struct Thread {
    name: String,
    /// Voluntary switches, where the thread waits.
    woken: f64,
    interrupted: f64,
}

/// Returns every thread of a process.
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
