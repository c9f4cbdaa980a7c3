//! Commands that come with a repository are off until a person has seen them.

use serde_json::json;

use super::sandbox::Sandbox;

fn plan_with(sandbox: &Sandbox, line: &str) -> String {
    sandbox.plan(
        &json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "command": ["sh", "-c", line] } }]),
    )
}

#[test]
fn commands_of_a_plan_are_listed_and_refused_until_they_are_trusted() {
    let sandbox = Sandbox::new();
    let plan = plan_with(&sandbox, "echo hello > hello");

    let done = sandbox.switchboard(&["run", &plan, "--yes", "--json"]).ends_with(4);
    let failure = done.failure();
    assert_eq!(failure["code"], "config.untrusted");
    assert!(failure["cause"][0].as_str().unwrap().contains("echo hello > hello"), "{failure}");
    assert!(failure["hint"].as_str().unwrap().contains("switchboard trust"), "{failure}");

    sandbox.switchboard(&["trust", &plan]).ends_with(4);
    sandbox.switchboard(&["trust", &plan, "--yes"]).ends_with(0).says("echo hello > hello");
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);
}

#[test]
fn a_changed_command_asks_again_and_trust_can_be_taken_back() {
    let sandbox = Sandbox::new();
    let plan = plan_with(&sandbox, "echo one > one");
    let trusted = sandbox.switchboard(&["trust", &plan, "--yes", "--json"]).ends_with(0).json();

    plan_with(&sandbox, "echo two > two");
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(4);

    plan_with(&sandbox, "echo one > one");
    sandbox.switchboard(&["trust", "--revoke", trusted["digest"].as_str().unwrap()]).ends_with(0);
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(4);
    sandbox.switchboard(&["trust", "--list"]).ends_with(0).says("you trust nothing yet");
}

#[test]
fn an_agent_that_only_the_repository_describes_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".switchboard/config.toml",
        "[agents.theirs]\ndriver = \"exec\"\ncommand = [\"sh\", \"-c\", \"echo x > x\"]\n",
    );
    let plan =
        sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "agent": "theirs" } }]));

    let done = sandbox.switchboard(&["run", &plan, "--yes", "--json"]).ends_with(4);
    assert_eq!(done.failure()["code"], "config.untrusted");

    sandbox.switchboard(&["trust", "--yes"]).ends_with(0).says("agent theirs");
    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(0);
}
