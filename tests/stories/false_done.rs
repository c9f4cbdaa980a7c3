//! Agents that say that they are done and are not.

use serde_json::json;

use super::sandbox::Sandbox;

#[test]
fn an_agent_that_says_done_and_changed_nothing_is_not_done() {
    let sandbox = Sandbox::new();
    sandbox.script("liar", &json!([{ "steps": [{ "do": "lie", "text": "All done." }] }]));
    let plan =
        sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "agent": "liar" } }]));

    let done = sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1);

    let done = done.says("changed nothing, so it is not done").says("0 of 1 tasks merged");
    let done = done.says("the same refusal twice: nothing changed");
    assert_eq!(done.out.matches("starts (a script)").count(), 2, "{}", done.out);
}

#[test]
fn a_command_that_ends_with_0_after_a_refused_write_is_not_done() {
    let sandbox = Sandbox::new();
    let plan = sandbox.trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d",
        "x-switchboard": { "command": ["sh", "-c", "echo x > /proc/version || true"] } }]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1).says("changed nothing, so it is not done");
}

#[test]
fn a_blocked_task_takes_its_dependents_along_and_nobody_else() {
    let sandbox = Sandbox::new();
    let task = |id: &str, depends: &[&str], line: &str| {
        json!({ "id": id, "phase": 1, "description": "d",
        "depends": depends, "x-switchboard": { "command": ["sh", "-c", line] } })
    };
    let plan = sandbox.trusted_plan(&json!([
        task("1.1", &[], "exit 3"),
        task("1.2", &["1.1"], "echo 2 > two"),
        task("1.3", &[], "echo 3 > three"),
    ]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1);

    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let states: Vec<_> = run["list"].as_array().unwrap().iter().map(|task| task["state"].clone()).collect();
    assert_eq!(states, ["blocked", "dep_failed", "merged"]);
}

#[test]
fn a_change_with_a_secret_in_it_is_refused_without_showing_the_secret() {
    let sandbox = Sandbox::new();
    let secret = ["AKIA", "Q3EGXWRDZ5MHT2LN"].concat();
    let steps =
        json!([{ "do": "write", "path": "key.txt", "content": format!("{{{{attempt}}}}: key = \"{secret}\"\n") }]);
    sandbox.script("leaky", &json!([{ "steps": steps }]));
    let plan =
        sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "agent": "leaky" } }]));

    let done = sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(3).says("secretscan failed");

    let shown = sandbox.switchboard(&["show", "1.1", "--json"]).ends_with(0).out;
    let events = sandbox.switchboard(&["call", "read_events", "limit=1000", "with_bodies=true"]).ends_with(0).out;
    for text in [done.out, done.err, shown, events] {
        assert!(!text.contains(&secret), "{text}");
    }
}
