//! The events of a run, with their causes.

use std::time::Duration;

use serde_json::{Value, json};

use super::sandbox::{Sandbox, within};

/// Returns the entries of the newest run, an object a line.
fn entries(sandbox: &Sandbox, more: &[&str]) -> Vec<Value> {
    let out = sandbox.switchboard(&[&["timeline", "--json"], more].concat()).ends_with(0).out;
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the last entry of a kind about a task.
#[track_caller]
fn last<'a>(entries: &'a [Value], what: &str, task: &str) -> &'a Value {
    let found = entries.iter().rev().find(|entry| entry["what"] == what && entry["task"] == task);
    found.unwrap_or_else(|| panic!("no {what} of {task} in {entries:#?}"))
}

#[test]
fn dispatch_leads_to_workers_turns_gates_and_merges_and_each_entry_names_its_cause() {
    let sandbox = Sandbox::new();
    let command = |line: &str| json!({ "command": ["sh", "-c", line] });
    let plan = sandbox.trusted_plan(&json!([
        { "id": "1.1", "phase": 1, "description": "first", "x-switchboard": command("echo one > one") },
        { "id": "1.2", "phase": 1, "description": "second", "depends": ["1.1"],
          "x-switchboard": { "command": ["sh", "-c", "echo two > two; exit 3"], "attempts": 1 } }]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1);

    let all = entries(&sandbox, &[]);
    let run = &all[0];
    assert_eq!((&run["what"], &run["state"]), (&json!("run"), &json!("failed")), "{run}");
    assert!(run["caused_by"]["by"].is_string() && run["ended_at"].as_i64() >= run["at"].as_i64(), "{run}");
    let caused_by = |entry: &Value| entry["caused_by"]["entry"].clone();
    let worker = last(&all, "worker", "1.1");
    assert_eq!(caused_by(worker), run["id"], "{worker}");
    let turn = last(&all, "turn", "1.1");
    assert_eq!((caused_by(turn), &turn["worker"], &turn["turn"]), (worker["id"].clone(), &worker["worker"], &json!(1)));
    assert_eq!(caused_by(last(&all, "gate", "1.1")), worker["id"]);
    let merge = last(&all, "merge", "1.1");
    assert_eq!(caused_by(merge), last(&all, "gate", "1.1")["id"], "{all:#?}");
    let second = last(&all, "worker", "1.2");
    assert_eq!((caused_by(second), &second["state"]), (merge["id"].clone(), &json!("failed")), "{second}");
    assert_eq!(caused_by(last(&all, "task", "1.2")), second["id"]);

    let text = sandbox.switchboard(&["timeline"]).ends_with(0).out;
    assert!(text.contains("1.1 merged") && text.contains("CAUSE"), "{text}");
    let first = entries(&sandbox, &["--limit", "1"]);
    assert_eq!(first[..], all[..1]);
    let rest = entries(&sandbox, &["--after", &first[0]["id"].to_string()]);
    assert_eq!(rest[..], all[1..]);
    sandbox.switchboard(&["timeline", "run_nothing"]).ends_with(2).says("dispatch.unknown-run");
    let wrong = sandbox.switchboard(&["call", "get_timeline", "limit=0", "--json"]).ends_with(2).failure();
    assert_eq!((&wrong["code"], &wrong["where"]), (&json!("request.bad-args"), &json!("limit")));
}

#[test]
fn a_run_that_goes_on_is_shown_as_far_as_it_is_and_what_a_person_does_bears_the_persons_name() {
    let sandbox = Sandbox::new();
    let go = sandbox.folder().join("go").display().to_string();
    let waits = format!("while [ ! -e {go} ]; do sleep 0.05; done; echo done > done");
    let plan = sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d",
        "x-switchboard": { "command": ["sh", "-c", waits] } }]));
    let text = std::fs::read_to_string(plan).unwrap();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let run = sandbox.call(&["start_run", &format!("plan={text}")])["run"].as_str().unwrap().to_owned();
    let begun = || entries(&sandbox, &[]).iter().any(|entry| entry["what"] == "turn");
    assert!(within(Duration::from_secs(60), begun));

    sandbox.switchboard(&["pause", &run]).ends_with(0);

    let now = entries(&sandbox, &[]);
    let states: Vec<_> = now.iter().map(|entry| (&entry["what"], &entry["state"], entry.get("ended_at"))).collect();
    assert!(states.iter().all(|(_, state, end)| *state == "running" && end.is_none()), "{now:#?}");
    let pause = now.iter().find(|entry| entry["what"] == "control").unwrap();
    assert_eq!((&pause["name"], &pause["caused_by"]["by"]), (&json!("pause"), &now[0]["caused_by"]["by"]), "{pause}");
    std::fs::write(&go, "").unwrap();
    sandbox.switchboard(&["resume", &run]).ends_with(0);
    sandbox.switchboard(&["run", "--resume"]).ends_with(0);
    let all = entries(&sandbox, &[]);
    let (skipped, done): (Vec<_>, Vec<_>) = all.iter().partition(|entry| entry["state"] == "skipped");
    // The new file is in no known language.
    assert_eq!(skipped.iter().map(|entry| &entry["name"]).collect::<Vec<_>>(), ["syntax_check"], "{all:#?}");
    assert!(done.iter().all(|entry| entry["state"] == "done"), "{all:#?}");
}
