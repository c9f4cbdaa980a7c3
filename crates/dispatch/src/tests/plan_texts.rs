//! Tests texts about a plan: its commands, as `switchboard trust` shows them, and ignored fields.

use serde_json::json;
use switchboard_protocol::plan::Plan;

use crate::plan::{commands, commands_digest, ignored, read};

fn plan(value: serde_json::Value) -> Plan {
    read(&value.to_string(), "plan.json").unwrap()
}

/// Returns one phase with a task without commands.
fn phases() -> serde_json::Value {
    json!([{ "id": 1, "name": "one", "tasks": [{ "id": "1.1", "phase": 1, "description": "d" }] }])
}

#[test]
fn every_command_of_a_plan_is_listed_with_what_it_is_for() {
    let step = json!({ "prompt": "p", "command": ["step"] });
    let debate = |commands: [&str; 2]| {
        let participants = commands.map(|command| json!({ "command": [command] }));
        json!({ "participants": [participants[0], { "agent": "ben" }, participants[1]] })
    };
    let plan = plan(json!({
        "schema_version": "1.0.0", "title": "t", "swarm": "s",
        "x-switchboard": { "setup": ["make", "deps"], "build": ["build"], "lint": ["lint"],
            "lint_fix": ["fix"], "test": ["test"], "permissions": "all", "auto_merge": "auto", "debate": debate(["p", "q"]) },
        "phases": [{
            "id": 1, "name": "one",
            "x-switchboard": { "test": ["phase"], "permissions": "all", "debate": debate(["r", "s"]) },
            "tasks": [
                { "id": "1.1", "phase": 1, "description": "d",
                  "x-switchboard": { "command": ["do"], "test": ["try"], "permissions": "all" } },
                { "id": "1.2", "phase": 1, "description": "d", "x-switchboard": { "chain": [step, step] } },
                { "id": "1.3", "phase": 1, "description": "d", "x-switchboard": { "debate": debate(["a", "b"]) } },
                { "id": "1.4", "phase": 1, "description": "d" },
            ],
        }],
    }));

    let found = commands(&plan);

    let told: Vec<_> = found.iter().map(|(what, argv)| format!("{what}: {}", argv.join(" "))).collect();
    let participant = "command of a participant in a debate about a part of the plan";
    let expected = [
        "set-up of each work tree: make deps",
        "agents of the plan: permissions all",
        "merge into your branch at the end: auto_merge auto",
        "build: build",
        "lint: lint",
        "lint_fix: fix",
        "test: test",
        &format!("{participant}: p"),
        &format!("{participant}: q"),
        &format!("{participant}: r"),
        &format!("{participant}: s"),
        "test of phase 1: phase",
        "agents of phase 1: permissions all",
        "agent of task 1.1: permissions all",
        "command of task 1.1: do",
        "test of task 1.1: try",
        "command of step 1 of task 1.2: step",
        "command of step 2 of task 1.2: step",
        "command of participant 1 of task 1.3: a",
        "command of participant 3 of task 1.3: b",
    ];
    assert_eq!(told, expected);
    assert_ne!(commands_digest(&found), commands_digest(&found[1..]));
}

#[test]
fn a_plan_without_commands_pins_nothing() {
    let plan = plan(json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": phases() }));

    assert!(commands(&plan).is_empty() && ignored(&plan).is_empty());
}

#[test]
fn fields_that_no_run_knows_are_told_the_first_of_them_one_by_one() {
    let mut value = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": phases() });
    for n in 0..23 {
        value[format!("other{n:02}")] = json!(1);
    }

    let told = ignored(&plan(value));

    assert_eq!(told.len(), 21, "{told:?}");
    assert_eq!(told[0], "\"/other00\" in the plan is no field that a run knows, and is ignored");
    assert_eq!(told[20], "3 more fields of the plan are ignored");
}

#[test]
fn the_form_of_a_plan_follows_from_its_name_or_its_first_sign() {
    let json = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "phases": phases() }).to_string();

    assert_eq!(read(&json, "plan.txt").unwrap().title, "t");
    assert_eq!(read(&format!("\u{feff} {json}"), "").unwrap().title, "t");
    assert_eq!(read("no plan", "plan.md").unwrap_err().code, "plan.syntax");
    assert!(read("## Phase 1: One", "plan.JSON").unwrap_err().place.contains("plan.JSON"));
}
