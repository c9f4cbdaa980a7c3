//! Reads the processes of the machine from `/proc`: the workers of a repository, and other processes that belong to it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use switchboard_process::fingerprint::Fingerprint;

/// Processes of a worker: its shim, and the agent below it once that runs.
#[derive(Debug, Clone)]
pub(crate) struct WorkerProcesses {
    /// Id of the worker.
    pub(crate) worker: String,
    /// Id of its task.
    pub(crate) task: String,
    /// Process of its shim.
    pub(crate) shim: Fingerprint,
    /// Process of its agent.
    pub(crate) agent: Option<Fingerprint>,
}

struct Process {
    pid: u32,
    parent: u32,
    argv: Vec<String>,
}

/// Lists the live workers whose state lies below a folder.
pub(crate) fn workers(folder: &Path) -> Vec<WorkerProcesses> {
    let all = all();
    let mut children: BTreeMap<u32, Vec<&Process>> = BTreeMap::new();
    all.iter().for_each(|process| children.entry(process.parent).or_default().push(process));
    let worker = |process: &Process| {
        let spec = PathBuf::from(process.argv.get(2).filter(|_| process.argv.get(1).is_some_and(|arg| arg == "shim"))?);
        if !spec.starts_with(folder) {
            return None;
        }
        let text = fs::read(&spec).ok()?;
        let spec: serde_json::Value = serde_json::from_slice(&text).ok()?;
        let agent = children.get(&process.pid).into_iter().flatten().next();
        Some(WorkerProcesses {
            worker: spec["worker"].as_str()?.to_owned(),
            task: spec["task"].as_str()?.to_owned(),
            shim: Fingerprint::of(process.pid)?,
            agent: agent.and_then(|agent| Fingerprint::of(agent.pid)),
        })
    };
    all.iter().filter_map(worker).collect()
}

/// Lists processes that belong to a folder by an argument, a variable or their working folder, except a daemon and its
/// children that run checks.
pub(crate) fn of_folder(folder: &Path, daemon: u32) -> Vec<(u32, String)> {
    let name = folder.display().to_string();
    let names = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(&name);
    let belongs = |process: &Process| {
        let read = |file: &str| fs::read(format!("/proc/{}/{file}", process.pid)).unwrap_or_default();
        let is_inside = fs::read_link(format!("/proc/{}/cwd", process.pid)).is_ok_and(|cwd| cwd.starts_with(folder));
        is_inside || names(&read("cmdline")) || names(&read("environ"))
    };
    let own = std::process::id();
    let checks = |process: &Process| process.parent == daemon && process.argv.get(1).is_some_and(|arg| arg == "check");
    let others = all().into_iter().filter(|process| process.pid != own && process.pid != daemon && !checks(process));
    others.filter(belongs).map(|process| (process.pid, process.argv.join(" "))).collect()
}

/// Lists processes whose environment has a variable with this value.
pub(crate) fn with_variable(name: &str, value: &str) -> Vec<u32> {
    let wanted = format!("{name}={value}");
    let has = |process: &Process| {
        let variables = fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    all().into_iter().filter(has).map(|process| process.pid).collect()
}

/// Returns the resident memory of a process in megabytes of a million bytes.
pub(crate) fn resident_mb(pid: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

/// Returns the processor time of a process in seconds, in user and system mode.
pub(crate) fn cpu_seconds(pid: u32) -> Option<f64> {
    /// Clock ticks per second, a constant in Linux's interface to programs.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks = rest.split_whitespace().skip(11).take(2).map(|field| field.parse::<f64>().unwrap_or(0.0));
    Some(ticks.sum::<f64>() / TICKS)
}

/// Returns the number of open descriptors of a process.
pub(crate) fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        // A zombie has ended; only its parent has not collected it yet.
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let argv = line.split(|byte| *byte == 0).filter(|arg| !arg.is_empty());
        let argv = argv.map(|arg| String::from_utf8_lossy(arg).into_owned()).collect();
        (state != "Z").then_some(Process { pid, parent, argv })
    })
    .collect()
}
