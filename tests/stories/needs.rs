//! Questions of agents to a person.

use std::time::Duration;

use serde_json::{Value, json};

use super::sandbox::{Sandbox, within};

/// Starts a run whose agent asks before it writes, in the background, and waits for its question.
fn asked(sandbox: &Sandbox) -> (std::thread::JoinHandle<i32>, Value) {
    let steps =
        json!([{ "do": "ask_permission", "title": "rm -rf /tmp/x" }, { "do": "write", "path": "x", "content": "x\n" }]);
    sandbox.script("cautious", &json!([{ "steps": steps }]));
    let plan = sandbox
        .plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "agent": "cautious" } }]));
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let started = sandbox.switchboard(&["run", &plan, "--dry-run"]).ends_with(0);
    assert!(started.out.contains("SCRIPT"), "{}", started.out);
    let spawn = switchboard_process::spawn::Spawn::new([super::sandbox::BINARY, "run", &plan, "--yes"]);
    let spawn = spawn.cwd(sandbox.root()).env_only(sandbox.environment()).wall(Duration::from_secs(60));
    let run = std::thread::spawn(move || spawn.output().unwrap().exit.code().unwrap_or(-1));
    let mut need = Value::Null;
    let found = within(Duration::from_secs(30), || {
        need = sandbox.call(&["list_needs"])["needs"][0].clone();
        !need.is_null()
    });
    assert!(found, "nobody asked");
    (run, need)
}

#[test]
fn an_approved_question_lets_the_agent_go_on() {
    let sandbox = Sandbox::new();
    let (run, need) = asked(&sandbox);
    assert_eq!(need["title"], "rm -rf /tmp/x");
    sandbox.switchboard(&["needs"]).ends_with(0).says("switchboard approve");
    sandbox.switchboard(&["status"]).ends_with(0).says("1 question for you");

    sandbox.switchboard(&["approve", need["id"].as_str().unwrap()]).ends_with(0).says("approved");

    assert_eq!(run.join().unwrap(), 0);
    let again = sandbox.switchboard(&["approve", need["id"].as_str().unwrap(), "--json"]).ends_with(2);
    assert_eq!(again.failure()["code"], "need.settled");
}

#[test]
fn a_denied_question_makes_the_task_wait_for_the_person_and_is_not_asked_again() {
    let sandbox = Sandbox::new();
    let (run, need) = asked(&sandbox);

    sandbox.switchboard(&["deny", need["id"].as_str().unwrap()]).ends_with(0);

    assert_eq!(run.join().unwrap(), 4, "it needs a person");
    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    assert_eq!((&report["merged"], &report["list"][0]["attempts"]), (&json!(0), &json!(1)), "{report}");
    let why = report["list"][0]["refusals"].to_string();
    assert!(why.contains("denied: rm -rf /tmp/x") && why.contains("[agent.denied]"), "{why}");
}
