//! Which agents do the work, and what happens when none can.

use serde_json::json;

use super::sandbox::{BINARY, Sandbox};

fn plan_for(sandbox: &Sandbox, agent: Option<&str>) -> String {
    let settings = agent.map_or(json!({}), |agent| json!({ "agent": agent }));
    sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": settings }]))
}

/// Makes a `PATH` with nothing on it but what git needs.
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

/// Puts fake agent programs on `PATH`.
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

    assert_eq!((&done.failure()["code"], &done.failure()["where"]), (&json!("agent.unknown"), &json!("task 1.1")));
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

    for argv in [["run", &plan, "--yes", "--json"], ["dispatch", "Say hello.", "--yes", "--json"]] {
        let failure = sandbox.switchboard(&argv).ends_with(5).failure();
        assert_eq!(failure["code"], "plan.no-agent", "{failure}");
        assert!(failure["hint"].as_str().unwrap().contains("switchboard doctor"), "{failure}");
    }

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

/// Makes a sandbox with only what a run needs on `PATH`, and a script in place of codex-acp in a folder of npm's
/// packages.
fn with_codex() -> (Sandbox, std::path::PathBuf) {
    let mut sandbox = Sandbox::new();
    let (bin, packages) = (sandbox.folder().join("bin"), sandbox.folder().join("lib/node_modules"));
    let script = sandbox.folder().join("codex.json");
    let steps = json!([{ "do": "write", "path": "x", "content": "x\n" }]);
    std::fs::write(&script, json!({ "sections": [{ "steps": steps }] }).to_string()).unwrap();
    let adapter = packages.join("@agentclientprotocol/codex-acp/dist/index.js");
    std::fs::create_dir_all(adapter.parent().unwrap()).unwrap();
    bare_path(&mut sandbox);
    executable(&adapter, &format!("#!/bin/sh\nexec {BINARY} script-agent {}\n", script.display()));
    std::os::unix::fs::symlink(&adapter, bin.join("codex-acp")).unwrap();
    (sandbox, packages)
}

fn executable(path: &std::path::Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn codex_without_bubblewrap_is_named_by_run_and_doctor_with_what_to_do() {
    if let Some(why) = switchboard_process::sandbox::supported().no_namespaces.as_ref() {
        return eprintln!("skipped: bubblewrap would not work here either: {why}");
    }
    let (mut sandbox, packages) = with_codex();
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
    let said = |sandbox: &Sandbox| {
        let run = sandbox.switchboard(&["run", &plan, "--agent", "codex", "--dry-run"]).ends_with(0).out;
        let looked = sandbox.switchboard(&["doctor", "--agents", "--json"]).json();
        let looks = looked["looks"].as_array().unwrap();
        let of_sandbox = looks
            .iter()
            .find(|look| look["about"] == "sandbox" && look["what"].as_str().unwrap().starts_with("codex: "));
        (run.contains("codex: bubblewrap is neither installed nor bundled"), of_sandbox.cloned())
    };

    let (run, doctor) = said(&sandbox);
    let doctor = doctor.expect("the doctor says nothing");
    assert!(run && doctor["what"].as_str().unwrap().contains("lets it write nothing"), "{doctor}");
    assert!(doctor["hint"].as_str().unwrap().contains("npm install -g @agentclientprotocol/codex-acp"), "{doctor}");

    let bundled = packages.join("@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/codex-resources/bwrap");
    std::fs::create_dir_all(bundled.parent().unwrap()).unwrap();
    executable(&bundled, "");
    assert_eq!(said(&sandbox), (false, None), "its packages bring it");
    std::fs::remove_file(bundled).unwrap();
    executable(&sandbox.folder().join("bin/bwrap"), "");
    assert_eq!(said(&sandbox), (false, None), "it is installed");
    std::fs::remove_file(sandbox.folder().join("bin/bwrap")).unwrap();
    sandbox.set("INITIAL_AGENT_MODE", "agent-full-access");
    assert_eq!(said(&sandbox), (false, None), "it works without its sandbox");
}
