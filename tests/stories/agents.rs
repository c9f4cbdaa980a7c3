//! Who does the work, and what happens when nobody can.

use serde_json::json;

use super::sandbox::{BINARY, Sandbox};

fn plan_for(sandbox: &Sandbox, agent: Option<&str>) -> String {
    let settings = agent.map_or(json!({}), |agent| json!({ "agent": agent }));
    sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": settings }]))
}

/// A path with nothing on it but what git needs.
fn bare_path(sandbox: &mut Sandbox) {
    let folder = sandbox.folder().join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    for program in ["git", "sh"] {
        let found = switchboard_process::spawn::which(program).unwrap();
        std::os::unix::fs::symlink(found, folder.join(program)).unwrap();
    }
    let folder = folder.display().to_string();
    sandbox.set("PATH", &folder);
}

/// Puts programs on the path that would be agents.
fn pretend(sandbox: &Sandbox, programs: &[&str]) {
    for program in programs {
        let path = sandbox.folder().join("bin").join(program);
        std::os::unix::fs::symlink(BINARY, path).unwrap();
    }
}

#[test]
fn an_unknown_agent_is_refused_with_a_near_name() {
    let sandbox = Sandbox::new();

    let done = sandbox.switchboard(&["run", &plan_for(&sandbox, Some("cluade")), "--yes", "--json"]).ends_with(5);

    assert_eq!(done.failure()["code"], "agent.unknown");
    assert!(done.failure()["hint"].as_str().unwrap().contains("claude"), "{}", done.err);
}

#[test]
fn an_agent_whose_program_is_not_there_is_missing() {
    let mut sandbox = Sandbox::new();
    bare_path(&mut sandbox);

    let done = sandbox.switchboard(&["run", &plan_for(&sandbox, Some("gemini")), "--yes", "--json"]).ends_with(5);

    assert_eq!(done.failure()["code"], "agent.missing");
    assert!(done.failure()["hint"].as_str().unwrap().contains("npm install"), "{}", done.err);
}

#[test]
fn an_agent_that_costs_money_is_never_taken_without_being_named() {
    let mut sandbox = Sandbox::new();
    bare_path(&mut sandbox);
    let plan = plan_for(&sandbox, None);

    assert_eq!(sandbox.switchboard(&["run", &plan, "--yes", "--json"]).ends_with(5).failure()["code"], "plan.no-agent");

    pretend(&sandbox, &["gemini"]);
    assert_eq!(
        sandbox.switchboard(&["run", &plan, "--yes", "--json"]).ends_with(4).failure()["code"],
        "agent.ambiguous"
    );

    pretend(&sandbox, &["qwen"]);
    let done = sandbox.switchboard(&["run", &plan, "--yes", "--json"]).ends_with(4);
    assert!(done.failure()["hint"].as_str().unwrap().contains("--agent gemini | --agent qwen"), "{}", done.err);
}

#[test]
fn the_one_agent_that_costs_nothing_is_taken() {
    let mut sandbox = Sandbox::new();
    bare_path(&mut sandbox);
    sandbox.script("free", &json!([{ "steps": [{ "do": "write", "path": "x", "content": "x\n" }] }]));

    sandbox.switchboard(&["run", &plan_for(&sandbox, None), "--yes"]).ends_with(0).says("free");
}

#[test]
fn settings_that_do_not_parse_are_named_with_their_line() {
    let sandbox = Sandbox::new();
    sandbox.settings("\n[agents.a]\ndriver = \"acp\"\ncomand = [\"x\"]\n");

    let done = sandbox.switchboard(&["run", &plan_for(&sandbox, Some("a")), "--yes", "--json"]).ends_with(2);

    assert_eq!(done.failure()["code"], "config.syntax");
    assert!(done.failure()["hint"].as_str().unwrap().contains("`command`"), "{}", done.err);
}

#[test]
fn a_worker_may_start_neither_a_daemon_nor_a_run() {
    let mut sandbox = Sandbox::new();
    sandbox.set("SWITCHBOARD_WORKER", "wrk_1");

    for args in [&["status", "--json"][..], &["up", "--json"], &["up", "--detach", "--json"]] {
        assert_eq!(sandbox.switchboard(args).ends_with(2).failure()["code"], "agent.unmanaged");
    }

    sandbox.unset("SWITCHBOARD_WORKER");
}
