//! Questions of agents to a person.

use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::sandbox::{Done, Sandbox, within};

/// Starts a run in the background whose agent asks before it writes, and waits for its question.
fn asked(sandbox: &Sandbox) -> (JoinHandle<Done>, Value) {
    let steps =
        json!([{ "do": "ask_permission", "title": "rm -rf /tmp/x" }, { "do": "write", "path": "x", "content": "x\n" }]);
    sandbox.script("cautious", &json!([{ "steps": steps }]));
    let plan = sandbox
        .plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "agent": "cautious" } }]));
    sandbox.switchboard(&["run", &plan, "--dry-run"]).ends_with(0).says("SCRIPT");
    let run = sandbox.run_aside(&[&plan, "--yes"]);
    (run, sandbox.question())
}

#[test]
fn an_approved_question_lets_the_agent_go_on() {
    let sandbox = Sandbox::new();
    let (run, need) = asked(&sandbox);
    assert_eq!(need["title"], "rm -rf /tmp/x");
    sandbox.switchboard(&["needs"]).ends_with(0).says("switchboard approve");
    sandbox.switchboard(&["status"]).ends_with(0).says("1 question for you");

    sandbox.switchboard(&["approve", need["id"].as_str().unwrap()]).ends_with(0).says("approved");

    run.join().unwrap().ends_with(0);
    let again = sandbox.switchboard(&["approve", need["id"].as_str().unwrap(), "--json"]).ends_with(2);
    assert_eq!(again.failure()["code"], "need.settled");
}

/// Returns the open question about the task whose worker was denied something.
fn held(sandbox: &Sandbox) -> Value {
    let mut need = Value::Null;
    let is_asked = || {
        let needs = sandbox.call(&["list_needs"]);
        need = needs["needs"].as_array().unwrap().iter().find(|need| need["kind"] == "denied").cloned().into();
        !need.is_null()
    };
    assert!(within(Duration::from_secs(30), is_asked), "nobody asks what to do");
    need
}

/// Denies the first question of a run, and returns the one about its task.
fn deny(sandbox: &Sandbox, first: &Value) -> String {
    sandbox.switchboard(&["deny", first["id"].as_str().unwrap()]).ends_with(0);
    held(sandbox)["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_denied_question_makes_the_task_wait_for_the_person_who_allows_it_after_a_restart() {
    let sandbox = Sandbox::new();
    let (run, first) = asked(&sandbox);
    let need = deny(&sandbox, &first);
    sandbox.switchboard(&["status"]).ends_with(0).says("1 question for you");
    sandbox.switchboard(&["show"]).ends_with(0).says("waiting for you").says(&need);
    let shown = sandbox.switchboard(&["needs"]).ends_with(0).says("denied: rm -rf /tmp/x");
    let shown = shown.says(&format!("answer {need} retry")).says(&format!("answer {need} give-up"));
    assert!(!shown.out.contains("nothing waits"), "{}", shown.out);
    sandbox.switchboard(&["restart"]).ends_with(0);
    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let task = &report["list"][0];
    assert_eq!((&task["state"], &task["waits_for_you"]), (&json!("waiting"), &json!(true)), "{report}");

    sandbox.switchboard(&["approve", &need]).ends_with(0);

    run.join().unwrap();
    sandbox.switchboard(&["run", "--resume"]).ends_with(0);
    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    assert_eq!((&report["merged"], &report["list"][0]["attempts"]), (&json!(1), &json!(1)), "{report}");
    let needs = sandbox.call(&["list_needs", "include_settled=true"]);
    let outcomes: Vec<_> = needs["needs"].as_array().unwrap().iter().map(|need| need["outcome"].clone()).collect();
    assert_eq!(outcomes, ["denied", "approved", "granted"], "the same question is not asked again");
}

#[test]
fn a_denied_task_is_tried_again_with_a_note_or_given_up() {
    let sandbox = Sandbox::new();
    let (run, first) = asked(&sandbox);
    let need = deny(&sandbox, &first);
    let no_reader = ["answer", &need, "allow", "--note", "n", "--json"];
    assert_eq!(sandbox.switchboard(&no_reader).ends_with(2).failure()["code"], "request.bad-args");

    sandbox.switchboard(&["answer", &need, "retry", "--note", "Remove it with git clean."]).ends_with(0);

    let again = || sandbox.call(&["list_needs"])["needs"].as_array().unwrap().len() == 1;
    assert!(within(Duration::from_secs(30), again), "the next worker asks again");
    let second = sandbox.call(&["list_needs"])["needs"][0].clone();
    assert_eq!((&second["kind"], &second["title"]), (&json!("permission"), &json!("rm -rf /tmp/x")));
    let last = deny(&sandbox, &second);
    sandbox.switchboard(&["deny", &last]).ends_with(0);

    run.join().unwrap().ends_with(4);
    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    assert_eq!((&report["merged"], &report["list"][0]["attempts"]), (&json!(0), &json!(1)), "{report}");
    let why = report["list"][0]["refusals"].to_string();
    assert!(why.contains("denied: rm -rf /tmp/x") && why.contains("[agent.denied]"), "{why}");
    let prompts = prompts(sandbox.folder());
    assert!(prompts.contains("A note of the person who had the task tried again:\nRemove it with git clean.\n"));
}

#[test]
fn a_stopped_task_takes_its_question_back() {
    let sandbox = Sandbox::new();
    let (run, first) = asked(&sandbox);
    deny(&sandbox, &first);

    sandbox.switchboard(&["stop", first["run"].as_str().unwrap()]).ends_with(0);

    assert_ne!(run.join().unwrap().code, 0);
    assert_eq!(sandbox.call(&["list_needs"])["needs"], json!([]));
}

/// Returns the prompts of all workers.
fn prompts(folder: &Path) -> String {
    let mut prompts = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            prompts.push_str(&self::prompts(&path));
        } else if path.ends_with("spec.json") {
            let spec: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            prompts.push_str(spec["prompt"].as_str().unwrap());
        }
    }
    prompts
}
