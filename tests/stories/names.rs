//! Names of workers: two workers of one agent are two agents.

use std::time::Duration;

use serde_json::json;

use super::sandbox::{Sandbox, within};

#[test]
fn two_workers_of_one_agent_have_a_name_and_an_inbox_each() {
    let sandbox = Sandbox::new();
    let steps = json!([
        { "do": "wait_mail", "timeout_s": 60, "save_as": "told" },
        { "do": "shell", "argv": ["sh", "-c", "echo \"$1\" > $SWITCHBOARD_TASK.txt", "sh", "{{told.payload}}"] },
    ]);
    sandbox.script("ada", &json!([{ "steps": steps }]));
    let task = |id: &str| json!({ "id": id, "phase": 1, "description": "d", "x-switchboard": { "agent": "ada" } });
    let plan = sandbox.plan(&json!([task("1.1"), task("1.2")]));
    let run = sandbox.run_aside(&[&plan, "--yes"]);
    let works = || {
        let shown = sandbox.switchboard(&["show", "--json"]);
        shown.code == 0 && shown.out.matches("\"working\"").count() == 2
    };
    assert!(within(Duration::from_secs(60), works), "{:?}", sandbox.switchboard(&["show"]));
    let list = sandbox.call(&["get_run"])["list"].clone();
    let names: Vec<_> = list.as_array().unwrap().iter().map(|task| task["agent"].as_str().unwrap()).collect();
    assert_eq!(names, ["ada", "ada-2"], "in the order of the tasks");

    sandbox.call(&["send_message", "recipient=ada-2", "payload=for the second"]);
    sandbox.call(&["send_message", "recipient=ada", "payload=for the first"]);

    run.join().unwrap().ends_with(0);
    sandbox.switchboard(&["merge"]).ends_with(0);
    for task in list.as_array().unwrap() {
        let text = if task["agent"] == "ada" { "for the first" } else { "for the second" };
        let told = sandbox.read(&format!("{}.txt", task["id"].as_str().unwrap()));
        assert!(told.contains(text), "{task}: {told}");
    }
}

#[test]
fn an_agent_that_was_started_by_hand_keeps_its_name_and_its_mail() {
    let sandbox = Sandbox::new();
    let steps = json!([{ "do": "write", "path": "done", "content": "x\n" }]);
    sandbox.script("ada", &json!([{ "steps": steps }]));
    let own = json!({ "agent": "ada" });
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": own }]));
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    sandbox.call(&["register_agent", "name=ada", "role=mine"]);
    sandbox.call(&["send_message", "recipient=ada", "payload=for the one at the keyboard"]);

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0).says("1 of 1 tasks merged");

    assert_eq!(sandbox.call(&["get_run"])["list"][0]["agent"], "ada-2");
    let roster = sandbox.call(&["get_team_roster"]);
    let ada = roster["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "ada").unwrap().clone();
    assert_eq!((&ada["kind"], &ada["role"]), (&json!("chat"), &json!("mine")), "{roster}");
    let mail = sandbox.call(&["check_inbox", "agent=ada"]);
    assert!(mail.to_string().contains("for the one at the keyboard"), "{mail}");
}
