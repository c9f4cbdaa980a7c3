//! Leases of files, terminals, and teams.

use std::time::Duration;

use serde_json::{Value, json};

use super::sandbox::{Sandbox, within};

/// Returns the answer to an agent of this name that calls a tool in a new session.
#[track_caller]
fn tool(sandbox: &mut Sandbox, who: &str, tool: &str, arguments: &Value) -> Value {
    sandbox.set("SWITCHBOARD_AGENT", who);
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "s", "version": "1" } });
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } }),
    ];
    let input = lines.map(|line| format!("{line}\n")).concat();
    let done = sandbox.switchboard_with(&["mcp"], &input).ends_with(0);
    sandbox.unset("SWITCHBOARD_AGENT");
    let answers = done.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    answers.into_iter().find(|answer| answer["id"] == 1).unwrap_or_else(|| panic!("no answer: {}", done.out))["result"]
        .clone()
}

/// Returns the reply of a tool call that succeeded.
#[track_caller]
fn reply(answer: &Value) -> Value {
    assert_ne!(answer["isError"], true, "{answer}");
    serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap()
}

fn kill_daemon(sandbox: &Sandbox) {
    let pid = sandbox.call(&["get_status"])["pid"].as_i64().unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn files_are_one_agents_until_it_gives_them_back_also_over_a_daemon_that_is_killed() {
    let mut sandbox = Sandbox::new();
    let src = json!({ "globs": ["src/**"], "reason": "parser" });
    let early = tool(&mut sandbox, "", "reserve_files", &src).to_string();
    for who in ["ada", "ben"] {
        reply(&tool(&mut sandbox, who, "register_agent", &json!({ "name": who })));
    }

    let held = reply(&tool(&mut sandbox, "ada", "reserve_files", &src))["lease"].clone();
    kill_daemon(&sandbox);
    let refused = tool(&mut sandbox, "ben", "reserve_files", &json!({ "globs": ["src/lib.rs"] })).to_string();
    let shown = sandbox.switchboard(&["leases"]).ends_with(0).out;
    let keep = json!({ "lease": held["id"], "token": held["token"] });
    let stale = json!({ "lease": held["id"], "token": 1 });
    let lost = tool(&mut sandbox, "ada", "renew_lease", &stale).to_string();
    reply(&tool(&mut sandbox, "ada", "renew_lease", &keep));
    let released = reply(&tool(&mut sandbox, "ada", "release_files", &json!({})));
    let next = reply(&tool(&mut sandbox, "ben", "reserve_files", &json!({ "globs": ["src/lib.rs"] })))["lease"].clone();

    assert!(early.contains("bus.not-registered"), "{early}");
    for word in ["lease.conflict", "held by ada", "src/**", "parser"] {
        assert!(refused.contains(word), "no {word:?} in {refused}");
    }
    assert!(shown.contains("ada") && shown.contains("exclusive") && shown.contains("src/**"), "{shown}");
    assert!(lost.contains("lease.lost"), "{lost}");
    assert_eq!(released["released"], json!([held["id"]]));
    assert!(next["token"].as_u64() > held["token"].as_u64(), "{next} after {held}");
    sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
}

#[test]
fn paths_of_the_work_tree_may_be_absolute_and_others_are_refused() {
    let sandbox = Sandbox::new();
    let reserve =
        |glob: &str| sandbox.switchboard(&["call", "reserve_files", &format!("globs={}", json!([glob])), "--json"]);
    let inside = sandbox.root().join("src/lib.rs").display().to_string();
    let beside = format!("{}-other/x", sandbox.root().display());

    let lease = reserve(&inside).ends_with(0).json();

    assert_eq!(lease["lease"]["resource"]["files"], json!(["src/lib.rs"]));
    for bad in [beside.as_str(), "/etc/passwd", "../x"] {
        assert_eq!(reserve(bad).ends_with(2).failure()["code"], "lease.unsafe-glob", "{bad}");
    }
}

#[test]
fn a_terminal_is_registered_while_its_process_runs() {
    let sandbox = Sandbox::new();
    let own = format!("pid={}", std::process::id());
    let agent = sandbox.call(&["register_terminal", "name=shell", &own, "purpose=coding", "friendlyName=Big screen"]);
    assert_eq!((&agent["agent"]["icon"], &agent["epoch"]), (&json!("code"), &json!(1)));

    // No process has a pid this large.
    let dead = ["call", "register_terminal", "name=ghost", "pid=4194305", "--json"];
    assert_eq!(sandbox.switchboard(&dead).ends_with(2).failure()["code"], "bus.dead-process");
    sandbox.switchboard(&["agents"]).ends_with(0).says("shell");
}

#[test]
fn teams_are_listed_with_the_agents() {
    let sandbox = Sandbox::new();
    for who in ["name=ada", "name=ben"] {
        sandbox.call(&["register_agent", who, "role=coder"]);
    }

    sandbox.call(&["set_team", "team=backend", r#"members=["ada","ben"]"#]);

    let shown = sandbox.switchboard(&["agents"]).ends_with(0).says("backend").out;
    assert!(shown.contains("manual") && shown.contains("ada, ben"), "{shown}");
    let lone = ["call", "set_team", "team=pair", r#"members=["ada","ben"]"#, "is_composite=true", "--json"];
    assert_eq!(sandbox.switchboard(&lone).ends_with(2).failure()["code"], "request.bad-args");
    sandbox.call(&["remove_team", "team=backend"]);
    assert_eq!(sandbox.call(&["get_team_roster"])["teams"], Value::Null);
}

/// Starts a run whose first task changes a file that ada has reserved, and whose second one doesn't.
fn beside_ada(sandbox: &mut Sandbox) -> (String, Value) {
    reply(&tool(sandbox, "ada", "register_agent", &json!({ "name": "ada" })));
    let lease = reply(&tool(sandbox, "ada", "reserve_files", &json!({ "globs": ["notes/**"] })))["lease"].clone();
    let task = |id: &str, command: &str| json!({ "id": id, "phase": 1, "description": format!("do {id}"), "x-switchboard": { "command": ["sh", "-c", command] } });
    let first = task("1.1", "mkdir -p notes && echo a > notes/a.txt");
    (sandbox.trusted_plan(&json!([first, task("1.2", "echo b > b.txt")])), lease)
}

fn state(sandbox: &Sandbox, task: usize) -> Value {
    sandbox.call(&["get_run"])["list"][task].clone()
}

#[test]
fn files_that_another_agent_has_reserved_hold_a_merge_and_spend_no_attempt() {
    let mut sandbox = Sandbox::new();
    let (plan, lease) = beside_ada(&mut sandbox);

    std::thread::scope(|scope| {
        let run = scope.spawn(|| sandbox.switchboard(&["run", &plan, "--yes"]));
        let is_held = || {
            let run = sandbox.call(&["get_status"])["runs"][0].clone();
            !run.is_null() && state(&sandbox, 0)["state"] == "held" && state(&sandbox, 1)["state"] == "merged"
        };
        assert!(within(Duration::from_secs(60), is_held), "the first task waits, the second one does not");
        assert_eq!(state(&sandbox, 0)["held_by"]["holder"], "ada");
        let shown = sandbox.switchboard(&["show", "1.1"]).ends_with(0).out;
        let until = shown.split("ada has reserved notes/a.txt until ").nth(1).unwrap_or_else(|| panic!("{shown}"));
        let until = until.lines().next().unwrap();
        assert!(!until.contains('Z') && until.contains(':'), "no time of this place: {until}");

        let id = format!("lease={}", lease["id"].as_str().unwrap());
        sandbox.call(&["release_files", &id]);
        run.join().unwrap().ends_with(0).says("is held: ada has reserved").says("2 of 2 tasks merged");
    });

    assert_eq!(state(&sandbox, 0)["attempts"], 1);
    sandbox.switchboard(&["verify"]).ends_with(0);
}

#[test]
fn a_held_task_can_be_stopped_and_a_reserved_file_keeps_a_run_out_of_the_users_branch() {
    let mut sandbox = Sandbox::new();
    let (plan, _) = beside_ada(&mut sandbox);

    std::thread::scope(|scope| {
        let run = scope.spawn(|| sandbox.switchboard(&["run", &plan, "--yes"]));
        let runs = || sandbox.call(&["get_status"])["runs"][0].clone();
        let is_held = || !runs().is_null() && state(&sandbox, 0)["state"] == "held";
        assert!(within(Duration::from_secs(60), is_held));
        let first = format!("{}/1.1", runs()["run"].as_str().unwrap());
        sandbox.switchboard(&["stop", &first]).ends_with(0).says("1.1 (held): do 1.1");
        run.join().unwrap().says("1 of 2 tasks merged");
    });

    reply(&tool(&mut sandbox, "ada", "reserve_files", &json!({ "globs": ["b.txt"] })));
    let refused = sandbox.switchboard(&["merge", "--partial", "--json"]).ends_with(1).failure();
    assert_eq!(refused["code"], "lease.conflict");
    assert!(refused["what"].as_str().unwrap().contains("ada has reserved b.txt"), "{refused}");
}
