//! The plan, and the scripts of its workers: they spend, write down what they spent, write their task's file, and some
//! of them misbehave.

use std::path::Path;

use anyhow::Context as _;
use fastrand::Rng;
use serde_json::{Value, json};

use super::stage::Args;
use crate::bench::daemon::{Client, call};

/// Milliseconds between two cost reports.
const CYCLE_MS: u64 = 6_000;

/// Number of agents, each with its own script: one script for all tasks would exceed the maximum length of a script.
const AGENTS: usize = 16;

/// Number of attempts with their own script; later ones have that of the last.
const ATTEMPTS: u32 = 2;

/// Misbehaviour of a worker.
#[derive(Debug, Clone, Copy)]
enum Trick {
    /// Prints 100,000 lines of output.
    Flood,
    /// Prints bytes that are no text, and a line of a megabyte.
    Garbage,
    /// Prints half a line and ends, in its first attempt.
    HalfLine,
    /// Leaves a process behind, in its own session and without the worker's variables.
    Grandchild,
}

/// Starts the run: two tasks for each worker, each of which takes about a third of the time.
pub(super) fn start(
    client: &mut Client,
    folder: &Path,
    binary: &Path,
    args: &Args,
    rng: &mut Rng,
) -> anyhow::Result<String> {
    let count = 2 * args.workers;
    let cycles = (args.seconds * 1_000 / CYCLE_MS / 3).max(2);
    let mut agents = Vec::new();
    for agent in 0..AGENTS {
        let script = folder.join(format!("worker-{agent}.json"));
        let of_agent = (1..=count).filter(|number| number % AGENTS == agent);
        let sections: Vec<_> = of_agent.flat_map(|number| sections(number, folder, cycles, rng)).collect();
        std::fs::write(&script, json!({ "sections": sections }).to_string())?;
        let driver = json!({ "driver": "acp", "argv": [binary, "script-agent", script] });
        agents.push(json!({ "name": format!("agent-{agent}"), "driver": driver, "scripted": true }));
    }
    let task = |number: usize| {
        json!({ "id": format!("1.{number}"), "phase": 1, "description": "work", "files_touched": [file(number)],
                "x-switchboard": { "agent": format!("agent-{}", number % AGENTS) } })
    };
    let tasks: Vec<_> = (1..=count).map(task).collect();
    let plan = json!({ "schema_version": "1.0.0", "title": "Soak", "swarm": "torture", "phases": [{ "id": 1, "name": "P", "tasks": tasks }] });
    let request = json!({ "plan": plan.to_string(), "agents": agents, "max_workers": args.workers, "coordination": "standalone" });
    Ok(call(client, "start_run", request)?["run"].as_str().context("no run")?.to_owned())
}

/// Returns the file that a task writes.
pub(super) fn file(number: usize) -> String {
    format!("work/{}/task-{number}.txt", number % 20)
}

fn sections(number: usize, folder: &Path, cycles: u64, rng: &mut Rng) -> Vec<Value> {
    let trick = match rng.u32(..40) {
        0 => Some(Trick::Flood),
        1 => Some(Trick::Garbage),
        2 => Some(Trick::HalfLine),
        3 => Some(Trick::Grandchild),
        _ => None,
    };
    let cycles = cycles + rng.u64(..=cycles / 2);
    let section = |attempt: u32| {
        let is_last = attempt == ATTEMPTS;
        let trick = trick.filter(|trick| !is_last || !matches!(trick, Trick::HalfLine));
        json!({ "task": format!("1.{number}"), "attempt": (!is_last).then_some(attempt), "steps": steps(number, folder, cycles, trick, rng) })
    };
    (1..=ATTEMPTS).map(section).collect()
}

fn steps(number: usize, folder: &Path, cycles: u64, trick: Option<Trick>, rng: &mut Rng) -> Vec<Value> {
    let (mut steps, mut total) = (Vec::new(), 0);
    let at = rng.u64(..cycles);
    for cycle in 0..cycles {
        let cents = rng.u64(1..=9);
        total += cents;
        #[expect(clippy::cast_precision_loss, reason = "cents")]
        let usd = total as f64 / 100.0;
        let note = format!("echo {} >> {}/ledger/$SWITCHBOARD_WORKER", cents * 10_000, folder.display());
        steps.push(json!({ "do": "cost", "usd": usd }));
        steps.push(json!({ "do": "shell", "argv": ["sh", "-c", note] }));
        if cycle == at {
            steps.extend(trick.into_iter().flat_map(played));
        }
        steps.push(json!({ "do": "sleep_ms", "ms": CYCLE_MS - 500 + rng.u64(..1_000) }));
    }
    steps.push(json!({ "do": "write", "path": file(number), "content": format!("task {number} is done\n") }));
    steps
}

fn played(trick: Trick) -> Vec<Value> {
    match trick {
        Trick::Flood => vec![json!({ "do": "flood", "lines": 100_000 })],
        Trick::Garbage => vec![json!({ "do": "garbage" }), json!({ "do": "long_line", "bytes": 1 << 20 })],
        Trick::HalfLine => vec![json!({ "do": "half_line" })],
        Trick::Grandchild => {
            vec![
                json!({ "do": "shell", "argv": ["sh", "-c", "env -i setsid sleep 3600 >/dev/null 2>&1 </dev/null & true"] }),
            ]
        }
    }
}
