//! A daemon that is killed while an agent waits for a person: the next daemon adopts the worker with its question.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use switchboard_process::fingerprint::Fingerprint;

use super::sandbox::{Sandbox, within};

/// Maximum wait for an expected state.
const PATIENCE: Duration = Duration::from_secs(60);

/// Kills the daemon, as a crash would, and starts the next one.
fn crash(sandbox: &Sandbox) {
    let pid = sandbox.call(&["get_status"])["pid"].as_u64().unwrap();
    let daemon = Fingerprint::of(u32::try_from(pid).unwrap()).unwrap();
    assert!(daemon.signal(Signal::KILL));
    assert!(within(PATIENCE, || !daemon.is_alive()), "the daemon does not die");
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
}

fn open(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.call(&["list_needs"])["needs"].as_array().unwrap().clone()
}

fn events(sandbox: &Sandbox, kind: &str) -> usize {
    let kinds = format!("kinds:=[{kind:?}]");
    sandbox.call(&["read_events", "limit=1000", &kinds])["events"].as_array().unwrap().len()
}

/// Starts a run whose agent asks twice, and writes what it was allowed to do.
fn asking(sandbox: &Sandbox) -> String {
    let ask = |title: &str| json!({ "do": "ask_permission", "title": title, "path": "/elsewhere" });
    let write = |path: &str| json!({ "do": "write", "path": path, "content": "x\n" });
    let steps = json!([ask("first"), write("one"), ask("second"), write("two")]);
    sandbox.script("cautious", &json!([{ "steps": steps }]));
    let own = json!({ "agent": "cautious", "permissions": "ask" });
    sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": own }]))
}

#[test]
fn a_question_that_is_open_when_the_daemon_is_killed_is_asked_once_and_its_answer_reaches_the_worker() {
    let sandbox = Sandbox::new();
    let plan = asking(&sandbox);
    let run = sandbox.run_aside(&[&plan, "--yes"]);
    let first = sandbox.question();
    let worker = sandbox.call(&["show_task", "task=1.1"])["worker"].clone();

    crash(&sandbox);
    assert_eq!(open(&sandbox).iter().map(|need| &need["id"]).collect::<Vec<_>>(), [&first["id"]]);
    sandbox.switchboard(&["status"]).ends_with(0).says("1 question for you");
    sandbox.switchboard(&["approve", first["id"].as_str().unwrap()]).ends_with(0);
    let mut second = Value::Null;
    let asks_again = || {
        second = open(&sandbox).first().cloned().unwrap_or_default();
        second["title"].as_str().is_some_and(|title| title.contains("second"))
    };
    assert!(within(PATIENCE, asks_again), "the answer does not reach the worker: {second}");
    // The answer is given to a daemon that dies before the worker has received it, or right after.
    sandbox.switchboard(&["approve", second["id"].as_str().unwrap()]).ends_with(0);
    crash(&sandbox);

    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("1 of 1 tasks merged");
    run.join().unwrap();
    assert_eq!((events(&sandbox, "need_asked"), open(&sandbox).len()), (2, 0));
    assert_eq!((events(&sandbox, "worker_intended"), events(&sandbox, "worker_lost")), (1, 0));
    let after = sandbox.call(&["show_task", "task=1.1"])["worker"].clone();
    assert_eq!(after, worker, "another worker has done it");
    sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
}

#[test]
fn a_no_that_is_said_after_the_daemon_was_killed_reaches_the_worker() {
    let sandbox = Sandbox::new();
    let plan = asking(&sandbox);
    let run = sandbox.run_aside(&[&plan, "--yes"]);
    let first = sandbox.question();

    crash(&sandbox);
    sandbox.switchboard(&["deny", first["id"].as_str().unwrap()]).ends_with(0);

    let is_settled = || open(&sandbox).iter().all(|need| need["id"] != first["id"]);
    assert!(within(PATIENCE, is_settled), "{:?}", open(&sandbox));
    let log = || sandbox.switchboard(&["log", "1.1"]).out;
    assert!(within(PATIENCE, || log().contains("the permission is settled")), "{}", log());
    let id = sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned();
    sandbox.switchboard(&["stop", &id]).ends_with(0);
    run.join().unwrap();
}

#[test]
fn four_workers_are_taken_up_by_the_next_daemon_none_is_started_twice_and_their_costs_add_up() {
    let sandbox = Sandbox::new();
    let at = |name: &str| sandbox.folder().join(name).display().to_string();
    let line = format!(
        "echo x >> {}; while [ ! -e {} ]; do sleep 0.05; done; echo done > $SWITCHBOARD_TASK",
        at("begun"),
        at("go")
    );
    // An agent reports its total cost so far.
    let cost = |usd: f64| json!({ "do": "cost", "usd": usd });
    let steps = json!([cost(0.25), { "do": "shell", "argv": ["sh", "-c", line] }, cost(0.5)]);
    sandbox.script("ada", &json!([{ "steps": steps }]));
    let task = |n: usize| json!({ "id": format!("1.{n}"), "phase": 1, "description": "d" });
    let plan = sandbox.plan(&json!([task(1), task(2), task(3), task(4)]));
    let run = sandbox.run_aside(&[&plan, "--agent", "ada", "--max-workers", "4", "--yes"]);
    let begun = || std::fs::read_to_string(at("begun")).unwrap_or_default().lines().count();
    assert!(within(PATIENCE, || begun() == 4), "{} workers have begun", begun());

    crash(&sandbox);
    std::fs::write(at("go"), "").unwrap();

    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("4 of 4 tasks merged");
    run.join().unwrap();
    assert_eq!((begun(), events(&sandbox, "worker_intended"), events(&sandbox, "worker_lost")), (4, 4, 0));
    let counted = sandbox.call(&["read_events", "limit=1000", "kinds:=[\"cost_counted\"]"]);
    let mut totals = std::collections::BTreeMap::new();
    for event in counted["events"].as_array().unwrap() {
        let facts = &event["facts"];
        totals.insert(facts["worker"].to_string(), facts["total_micro_usd"].as_u64().unwrap());
    }
    assert_eq!(totals.values().collect::<Vec<_>>(), [&500_000; 4], "{counted}");
    assert_eq!(sandbox.call(&["get_run"])["total_micro_usd"], 2_000_000);
}

#[test]
fn a_chain_whose_daemon_is_killed_between_two_steps_goes_on_at_the_next_and_runs_none_again() {
    let sandbox = Sandbox::new();
    let at = |name: &str| sandbox.folder().join(name).display().to_string();
    let step = |name: &str, waits: &str| {
        let line = format!("echo {name} >> {}; {waits} echo {name} >> a.txt", at("ran"));
        json!({ "command": ["sh", "-c", line], "prompt": name })
    };
    let wait = format!("while [ ! -e {} ]; do sleep 0.05; done;", at("go"));
    let chain = json!([step("one", ""), step("two", &wait), step("three", "")]);
    let task = json!({ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "chain": chain } });
    let plan = sandbox.trusted_plan(&json!([task]));
    let run = sandbox.run_aside(&[&plan, "--yes"]);
    let ran = || std::fs::read_to_string(at("ran")).unwrap_or_default();
    assert!(within(PATIENCE, || ran() == "one\ntwo\n"), "{}", ran());

    crash(&sandbox);
    std::fs::write(at("go"), "").unwrap();

    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("1 of 1 tasks merged");
    run.join().unwrap();
    assert_eq!(ran(), "one\ntwo\nthree\n");
}
