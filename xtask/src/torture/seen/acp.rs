//! A worker whose session is prompted: each turn is a real tool call of random length, some processes end in the middle
//! of a turn, and a task that was given up is retried.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use fastrand::Rng;
use serde_json::{Value, json};
use switchboard_protocol::error::Failure;

use super::record::{Record, VisibleSpans};
use super::{Sender, ask, failure_text};
use crate::bench::daemon::{Client, TestRepo};

const AGENT: &str = "scout";

/// Number of attempts with their own script; later ones have the script without a number.
const ATTEMPTS: u32 = 200;

/// Number of prompts of one session: the first, and those that mail may open.
const TURNS: u32 = 9;

/// Maximum duration of a tool call, in milliseconds.
const CALL_MS: usize = 250;

/// Time limit for the run to stop.
const STOP: Duration = Duration::from_secs(10);

/// Interval at which the run is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Runs the agent while messages are sent to it.
pub(super) fn run(test_repo: &TestRepo, binary: &Path, messages: u64, seed: u64) -> anyhow::Result<Record> {
    let script = test_repo.repo().parent().context("a folder")?.join("scout.json");
    std::fs::write(&script, sections(seed).to_string())?;
    let mut sender = Sender::new(test_repo, AGENT, seed)?;
    let run = start(&mut sender.client, binary, &script)?;
    let mut looked = Instant::now();
    sender.send_all(messages, |client| {
        if looked.elapsed() > POLL_INTERVAL {
            looked = Instant::now();
            try_again(client, &run)?;
        }
        Ok(())
    })?;
    let record = sender.record()?;
    // Only at the end: a worker that a person stops is cancelled.
    unless_over(sender.client.call("stop_run", json!({ "what": run }), None)?)?;
    let began = Instant::now();
    while ask(&mut sender.client, "get_run", json!({ "run": run }))?["state"] == "running" && began.elapsed() < STOP {
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(record)
}

fn start(client: &mut Client, binary: &Path, script: &Path) -> anyhow::Result<String> {
    let plan = json!({ "schema_version": "1.0.0", "title": "Watch", "swarm": "torture", "phases": [{ "id": 1, "name": "P",
        "tasks": [{ "id": "1.1", "phase": 1, "description": "look around", "x-switchboard": { "agent": AGENT } }] }] });
    let driver = json!({ "driver": "acp", "argv": [binary, "script-agent", script] });
    let agents = json!([{ "name": AGENT, "driver": driver, "scripted": true }]);
    let reply = ask(client, "start_run", json!({ "plan": plan.to_string(), "agents": agents }))?;
    Ok(reply["run"].as_str().context("no run")?.to_owned())
}

/// Retries the task once it was given up.
fn try_again(client: &mut Client, run: &str) -> anyhow::Result<()> {
    let state = ask(client, "get_run", json!({ "run": run }))?;
    if state["state"] == "running" {
        return Ok(());
    }
    unless_over(client.call("retry_task", json!({ "what": format!("{run}/1.1") }), None)?)
}

/// Accepts a refusal because the run is ending or over: its agent dies at any moment.
fn unless_over(answer: Result<Value, Failure>) -> anyhow::Result<()> {
    match answer {
        Ok(_) => Ok(()),
        Err(failure) if failure.code == "request.conflict" || failure.code == "store.conflict" => Ok(()),
        Err(failure) => anyhow::bail!(failure_text(&failure)),
    }
}

/// Makes the script of each attempt.
fn sections(seed: u64) -> Value {
    let mut rng = Rng::with_seed(seed);
    let mut sections = Vec::new();
    for attempt in (1..=ATTEMPTS).map(Some).chain([None]) {
        // Some go on to the end, most die sooner.
        let last = 2 + u32::try_from(rng.usize(..12)).unwrap_or(0);
        for turn in 1..=TURNS.min(last) {
            let seconds = format!("0.{:03}", 10 + rng.usize(..CALL_MS));
            let mut steps = vec![json!({ "do": "shell", "argv": ["sleep", seconds] })];
            if turn == last {
                steps.push(if rng.usize(..2) == 0 {
                    json!({ "do": "die" })
                } else {
                    json!({ "do": "exit", "code": 7 })
                });
            }
            sections.push(json!({ "attempt": attempt, "turn": turn, "steps": steps }));
        }
    }
    json!({ "sections": sections })
}

/// Returns when the agent was between two turns, with a process that could take the next one.
pub(super) fn able(record: &Record) -> anyhow::Result<VisibleSpans> {
    let mut able = VisibleSpans::default();
    let (mut idle, mut born) = (None, None);
    for event in record.events.iter().filter(|event| event["kind"] == "worker_reported") {
        let at = Record::at(event)?;
        let what = &event["facts"]["what"];
        match what["kind"].as_str() {
            Some("turn_ended") if what["stop"] != "end_turn" => {}
            Some("session_opened") => (idle, born) = (Some(at), Some(at)),
            Some("turn_ended") => idle = Some(at),
            Some("turn_started") => able.spans.extend(idle.take().map(|since| (since, at))),
            Some("agent_exited" | "faulted" | "sealed") => {
                able.spans.extend(idle.take().map(|since| (since, at)));
                able.alive.extend(born.take().map(|since| (since, at)));
            }
            _ => {}
        }
    }
    Ok(able)
}
