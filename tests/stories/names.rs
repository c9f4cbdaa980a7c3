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
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let spawn = switchboard_process::spawn::Spawn::new([super::sandbox::BINARY, "run", &plan, "--yes"]);
    let spawn = spawn.cwd(sandbox.root()).env_only(sandbox.environment()).wall(Duration::from_secs(90));
    let run = std::thread::spawn(move || spawn.output().unwrap());
    let works = || {
        let shown = sandbox.switchboard(&["show", "--json"]);
        shown.code == 0 && shown.out.matches("\"working\"").count() == 2
    };
    assert!(within(Duration::from_secs(60), works), "{:?}", sandbox.switchboard(&["show"]));
    let list = sandbox.call(&["get_run"])["list"].clone();
    let mut names: Vec<_> = list.as_array().unwrap().iter().map(|task| task["agent"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["ada", "ada-2"]);

    sandbox.call(&["send_message", "recipient=ada-2", "payload=for the second"]);
    sandbox.call(&["send_message", "recipient=ada", "payload=for the first"]);

    let output = run.join().unwrap();
    assert!(output.succeeded(), "{}", output.stdout.text());
    sandbox.switchboard(&["merge"]).ends_with(0);
    for task in list.as_array().unwrap() {
        let text = if task["agent"] == "ada" { "for the first" } else { "for the second" };
        let told = sandbox.read(&format!("{}.txt", task["id"].as_str().unwrap()));
        assert!(told.contains(text), "{task}: {told}");
    }
}
