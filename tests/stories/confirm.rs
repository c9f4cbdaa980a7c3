//! Changes that a person must approve before they are merged into the run's branch.

use std::time::Duration;

use serde_json::{Value, json};

use super::sandbox::{Sandbox, within};

fn id(need: &Value) -> &str {
    need["id"].as_str().unwrap()
}

#[test]
fn a_change_waits_for_a_yes_is_done_differently_with_a_note_and_merged_once_it_is_confirmed() {
    let sandbox = Sandbox::new();
    let write = |attempt: u32, text: &str| json!({ "attempt": attempt, "steps": [{ "do": "write", "path": "GREETING.md", "content": text }] });
    sandbox.script("writer", &json!([write(1, "Hello.\n"), write(2, "Good morning.\n")]));
    let tasks = json!([
        { "id": "1.1", "phase": 1, "description": "greet",
          "x-switchboard": { "agent": "writer", "confirm": "Does the greeting read well?" } },
        { "id": "1.2", "phase": 1, "description": "note", "depends": ["1.1"],
          "x-switchboard": { "agent": "writer", "command": ["sh", "-c", "echo n > NOTE.md"], "confirm": false } }
    ]);
    let plan = sandbox.trusted_plan(&tasks);
    let run = sandbox.run_aside(&[&plan, "--yes"]);

    let first = sandbox.question();
    assert_eq!((&first["kind"], &first["title"]), (&json!("change"), &json!("Does the greeting read well?")));
    assert!(first["detail"].as_str().unwrap().contains("+Hello."), "{first}");
    let shown = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    assert_eq!((&shown["list"][0]["state"], &shown["merged"]), (&json!("waiting"), &json!(0)), "{shown}");
    sandbox.switchboard(&["restart"]).ends_with(0);
    sandbox.switchboard(&["answer", id(&first), "retry", "--note", "It is morning."]).ends_with(0);

    let is_next = || sandbox.question()["id"] != first["id"];
    assert!(within(Duration::from_secs(30), is_next), "the next change is asked about, too");
    let second = sandbox.question();
    assert!(second["detail"].as_str().unwrap().contains("+Good morning."), "{second}");
    sandbox.switchboard(&["approve", id(&second)]).ends_with(0);

    run.join().unwrap();
    sandbox.switchboard(&["run", "--resume"]).ends_with(0);
    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    assert_eq!((&report["merged"], &report["list"][0]["attempts"]), (&json!(2), &json!(2)), "{report}");
    let refusals = report["list"][0]["refusals"].to_string();
    assert!(
        refusals.contains("a person wants it done differently") && refusals.contains("It is morning."),
        "{refusals}"
    );
    let log = sandbox.switchboard(&["log", "1.1"]).ends_with(0);
    assert!(log.out.contains("waits for you") && log.out.contains("It is morning."), "{}", log.out);
}

#[test]
fn a_change_that_a_person_gives_up_is_not_merged_and_the_run_has_failed() {
    let sandbox = Sandbox::new();
    let task = json!({ "id": "1.1", "phase": 1, "description": "write",
        "x-switchboard": { "command": ["sh", "-c", "echo x > x.md"], "confirm": true } });
    let plan = sandbox.trusted_plan(&json!([task]));
    let run = sandbox.run_aside(&[&plan, "--yes"]);

    sandbox.switchboard(&["deny", id(&sandbox.question())]).ends_with(0);

    run.join().unwrap().ends_with(1);
    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    assert_eq!((&report["merged"], &report["list"][0]["state"]), (&json!(0), &json!("blocked")), "{report}");
}

/// Makes a task that leaves a weak password in a file that configures a running system.
fn weak_password(settings: &Value) -> Value {
    let script = "printf 'services:\n  db:\n    image: postgres\n    environment:\n      POSTGRES_PASSWORD: swordfish\n' > compose.yaml";
    let mut settings = settings.clone();
    settings["command"] = json!(["sh", "-c", script]);
    json!([{ "id": "1.1", "phase": 1, "description": "write", "x-switchboard": settings }])
}

#[test]
fn a_secret_that_is_too_unsure_to_refuse_a_change_is_shown_to_a_person_before_the_merge() {
    let sandbox = Sandbox::new();
    let plan = sandbox.trusted_plan(&weak_password(&json!({})));
    let run = sandbox.run_aside(&[&plan, "--yes"]);

    let need = sandbox.question();
    let title = need["title"].as_str().unwrap();
    assert!(title.contains("secretscan: compose.yaml:5"), "{need}");
    sandbox.switchboard(&["approve", id(&need)]).ends_with(0);

    run.join().unwrap().ends_with(0);
    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    assert_eq!((&report["merged"], &report["list"][0]["attempts"]), (&json!(1), &json!(1)), "{report}");
}

#[test]
fn where_a_plan_asks_nobody_such_a_finding_is_a_warning_and_the_run_says_so_at_its_start() {
    let sandbox = Sandbox::new();
    let plan = sandbox.trusted_plan(&weak_password(&json!({ "confirm": false })));

    let done = sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("1 of 1 tasks merged");

    assert!(done.out.contains("nobody is asked about findings of medium severity"), "{}", done.out);
    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    assert!(report["list"][0]["gates"].to_string().contains("compose.yaml:5"), "{report}");
}

#[test]
fn a_person_is_asked_about_files_that_a_task_did_not_declare_where_the_plan_says_pause() {
    let sandbox = Sandbox::new();
    let task = json!({ "id": "1.1", "phase": 1, "description": "write", "x-switchboard": {
        "command": ["sh", "-c", "echo a > a.txt; echo b > b.txt"], "scope": ["a.txt"], "on_violation": "pause" } });
    let plan = sandbox.trusted_plan(&json!([task]));
    let run = sandbox.run_aside(&[&plan, "--yes"]);

    let need = sandbox.question();
    assert!(need["title"].as_str().unwrap().contains("b.txt is not in the task's x-switchboard.scope"), "{need}");
    sandbox.switchboard(&["approve", id(&need)]).ends_with(0);

    run.join().unwrap().ends_with(0);
    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let scope = report["list"][0]["gates"].as_array().unwrap().iter().find(|gate| gate["gate"] == "scope").cloned();
    assert_eq!(scope.map(|gate| gate["verdict"].clone()), Some(json!("warn")), "{report}");
}
