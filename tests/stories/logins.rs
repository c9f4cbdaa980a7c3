//! Agents without a login, and agents that never use our tools: what is reported, and with which remedy.

use std::fs;

use serde_json::{Value, json};

use super::sandbox::{Done, Sandbox};

/// Configures an agent that answers `session/new` and the prompt with these, below `program`, and runs a task with it.
fn run_with(sandbox: &Sandbox, program: &str, session: &Value, prompt: &Value) -> Done {
    run_that_tells(sandbox, program, session, &[], prompt)
}

/// The same, where the agent sends these updates of its session before it answers the prompt.
fn run_that_tells(sandbox: &Sandbox, program: &str, session: &Value, updates: &[Value], prompt: &Value) -> Done {
    let file = sandbox.folder().join(program);
    let answer = |id: u32, more: &Value| {
        let mut answer = json!({ "jsonrpc": "2.0", "id": id });
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        format!("read -r line && printf '%s\\n' '{answer}'\n")
    };
    let hello = json!({ "result": { "protocolVersion": 1, "authMethods": [{ "id": "key", "name": "An API key" }] } });
    let update = |update: &Value| {
        let params = json!({ "sessionId": "s", "update": update });
        let line = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
        format!("printf '%s\\n' '{line}'\n")
    };
    let updates: String = updates.iter().map(update).collect();
    let turn = answer(3, prompt).replacen(" && ", &format!("\n{updates}"), 1);
    let script = ["#!/bin/sh\n".to_owned(), answer(1, &hello), answer(2, session), turn].concat();
    // It keeps running and prints noise in colours, as real ones do.
    fs::write(&file, script + "printf '\\033[31mred\\033[0m noise\\n' >&2\nread -r line; sleep 30\n").unwrap();
    let command = json!(["sh", file]);
    sandbox.settings(&format!("[agents.one]\ndriver = \"acp\"\ncommand = {command}\nspends = false\n"));
    let task = json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "agent": "one" } }]);
    sandbox.switchboard(&["run", &sandbox.plan(&task), "--yes"]).ends_with(1)
}

fn opened() -> Value {
    json!({ "result": { "sessionId": "s" } })
}

#[track_caller]
fn is_blocked_at_once(sandbox: &Sandbox, done: Done) {
    let done = done.says("[agent.login]");
    assert_eq!(done.out.matches(" starts, attempt").count(), 1, "{}", done.out);
    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    assert_eq!((&report["list"][0]["state"], &report["list"][0]["attempts"]), (&json!("blocked"), &json!(1)));
}

#[test]
fn an_agent_whose_service_refuses_its_key_is_asked_once() {
    let sandbox = Sandbox::new();
    let refused = json!({ "error": { "code": -32603, "message": "Internal error",
        "data": { "details": "401 Incorrect API key" } } });

    let done = run_with(&sandbox, "some-agent", &opened(), &refused);

    is_blocked_at_once(&sandbox, done.says("it offers: An API key").says("401 Incorrect API key"));
}

#[test]
fn an_agent_that_wants_a_login_before_it_opens_a_session_is_asked_once_and_its_own_command_named() {
    let sandbox = Sandbox::new();
    let refused = json!({ "error": { "code": -32000, "message": "Authentication required" } });

    let done = run_with(&sandbox, "codex-acp", &refused, &json!({}));

    is_blocked_at_once(&sandbox, done.says("log in first: codex-acp cli login"));
}

#[test]
fn codex_whose_service_refuses_it_is_asked_once_although_its_turn_ends_like_any_other() {
    let sandbox = Sandbox::new();
    let codex = |meta: Value| json!({ "sessionUpdate": "session_info_update", "_meta": { "codex": meta } });
    let info = json!({ "responseStreamDisconnected": { "httpStatusCode": 403 } });
    let text = json!({ "type": "text", "text": "unexpected status 403 Forbidden: no" });
    let updates = [
        codex(json!({ "threadStatus": { "type": "active" } })),
        codex(json!({ "error": { "message": "Reconnecting... 5/5", "codexErrorInfo": info, "willRetry": true } })),
        codex(json!({ "threadStatus": { "type": "systemError" } })),
        json!({ "sessionUpdate": "agent_message_chunk", "content": text }),
    ];
    let ended = json!({ "result": { "stopReason": "end_turn" } });
    let refused = json!({ "error": { "code": -32000, "message": "Authentication required" } });

    let done = run_that_tells(&sandbox, "codex-acp", &opened(), &updates, &ended);
    is_blocked_at_once(&sandbox, done.says("The agent says: unexpected status 403 Forbidden: no"));

    // The error of the turn itself counts first.
    let sandbox = Sandbox::new();
    let done = run_that_tells(&sandbox, "codex-acp", &opened(), &updates[..3], &refused);
    is_blocked_at_once(&sandbox, done.says("The agent says: Authentication required"));
}

#[test]
fn the_agents_own_error_is_told_without_colours_and_without_the_signal_that_we_sent() {
    let sandbox = Sandbox::new();
    let failed = json!({ "error": { "code": -32603, "message": "Internal error", "data": "the model is overloaded" } });

    let done = run_with(&sandbox, "some-agent", &opened(), &failed).says("the model is overloaded");

    assert!(!done.out.contains("[31m") && !done.out.contains("signal"), "{}", done.out);
}

#[test]
fn an_agent_that_never_asks_for_our_tools_is_named_after_its_first_turn() {
    let sandbox = Sandbox::new();

    let done = run_with(&sandbox, "one.sh", &opened(), &json!({ "result": { "stopReason": "end_turn" } }));

    done.says("does not know Switchboard's tools");
    sandbox.switchboard(&["log", "1.1"]).ends_with(0).says("the agent does not see Switchboard's tools");
}

#[test]
fn a_key_that_is_set_after_the_start_reaches_the_agent_by_retry_and_resume_and_no_other_variable_does() {
    let mut sandbox = Sandbox::new();
    let line = r#"test -n "$OWN_KEY" && echo "${#OWN_KEY} [$OTHER_KEY]" > "$SWITCHBOARD_TASK.txt""#;
    let command = json!(["sh", "-c", line]);
    sandbox.settings(&format!(
        "[agents.ada]\ndriver = \"exec\"\ncommand = {command}\nenv = [\"OWN_KEY\"]\nspends = false\nattempts = 1\n"
    ));
    let task = |id: &str, depends: &[&str]| json!({ "id": id, "phase": 1, "description": "d", "depends": depends });
    let plan = sandbox.plan(&json!([task("1.1", &[]), task("1.2", &["1.1"])]));
    sandbox.switchboard(&["run", &plan, "--agent", "ada", "--yes"]).ends_with(1);
    let run = sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned();
    sandbox.switchboard(&["retry", &run]).ends_with(0);
    sandbox.switchboard(&["run", "--resume", &run]).ends_with(1);

    sandbox.set("OWN_KEY", "letmein");
    sandbox.set("OTHER_KEY", "no business of an agent");
    sandbox.switchboard(&["up", "--detach"]);
    sandbox.switchboard(&["retry", &run]).ends_with(0);
    sandbox.switchboard(&["run", "--resume", &run]).ends_with(0).says("2 of 2 tasks merged");

    let branch = sandbox.call(&["get_run"])["branch"].as_str().unwrap().to_owned();
    for file in ["1.1.txt", "1.2.txt"] {
        assert_eq!(sandbox.git(&["show", &format!("{branch}:{file}")]), "7 []\n", "{file}");
    }
    let log = sandbox.call(&["read_events", "limit:=1000", "with_bodies:=true"]).to_string();
    assert!(!log.contains("letmein") && !log.contains("no business"), "{log}");
}
