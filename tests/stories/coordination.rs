//! Managed runs: what the coordinator sends, and what it accepts.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::spawn::Spawn;

use super::sandbox::{BINARY, Sandbox, within};

/// Makes a step in which a worker sends something to the coordinator and keeps the answer in a file outside of its
/// tree.
fn to_coordinator(sandbox: &Sandbox, name: &str, body: &Value) -> Value {
    let file = sandbox.folder().join(name).display().to_string();
    let line = format!("{BINARY} call send_message recipient=coordinator 'payload={body}' > {file} 2>&1; true");
    json!({ "do": "shell", "argv": ["sh", "-c", line] })
}

fn heard(sandbox: &Sandbox, name: &str) -> String {
    std::fs::read_to_string(sandbox.folder().join(name)).unwrap_or_default()
}

/// Returns the coordinator's mail, oldest first: sender, recipient and body.
fn notes(sandbox: &Sandbox) -> Vec<(String, String, Value)> {
    let listed = sandbox.call(&["list_messages", "agent=coordinator"]);
    let messages = listed["messages"].as_array().unwrap();
    let part = |message: &Value, field: &str| message[field].as_str().unwrap().to_owned();
    let body = |message: &Value| serde_json::from_str(message["payload"].as_str().unwrap()).unwrap();
    messages.iter().map(|message| (part(message, "sender"), part(message, "recipient"), body(message))).collect()
}

#[test]
fn a_managed_run_tells_of_its_units_and_its_worker_completes_only_its_own() {
    let sandbox = Sandbox::new();
    let write = json!({ "do": "write", "path": "a.txt", "content": "a\n" });
    let steps = json!([
        to_coordinator(&sandbox, "foreign", &json!({ "type": "complete-task", "task": "1.2" })),
        to_coordinator(&sandbox, "slice", &json!({ "type": "block-slice", "slice": "web", "reason": "r" })),
        to_coordinator(&sandbox, "slip", &json!({ "type": "complete-tsk" })),
        { "do": "tokens", "input": 30, "output": 12 },
        write,
        to_coordinator(&sandbox, "own", &json!({ "type": "complete-task", "summary": "written" })),
    ]);
    sandbox.script("ada", &json!([{ "task": "1.1", "steps": steps }, { "task": "1.2", "steps": [] }]));
    let task = |id: &str, slice: &str, after: Value| {
        json!({ "id": id, "phase": 1, "description": "d", "depends": after,
        "x-switchboard": { "agent": "ada", "slice": slice, "attempts": 1 } })
    };
    let plan = sandbox.plan(&json!([task("1.1", "api", json!([])), task("1.2", "web", json!(["1.1"]))]));

    sandbox.switchboard(&["run", &plan, "--yes"]).ends_with(1).says("1 of 2 tasks merged");

    assert!(heard(&sandbox, "foreign").contains("policy.denied"), "{}", heard(&sandbox, "foreign"));
    assert!(heard(&sandbox, "slice").contains("is not in the slice web"), "{}", heard(&sandbox, "slice"));
    assert!(heard(&sandbox, "slip").contains("did you mean complete-task?"), "{}", heard(&sandbox, "slip"));
    assert!(heard(&sandbox, "own").contains("done"), "{}", heard(&sandbox, "own"));
    let all = notes(&sandbox);
    let of = |unit: &str, kind: &str| {
        let is_it = |(.., body): &&(String, String, Value)| body["unit"] == unit && body["type"] == kind;
        all.iter().filter(is_it).collect::<Vec<_>>()
    };
    let counts = |unit: &str| ["unit_started", "cost", "unit_completed", "error"].map(|kind| of(unit, kind).len());
    assert_eq!(counts("1.1"), [1, 1, 1, 0], "{all:?}");
    assert_eq!(
        (&of("1.1", "cost")[0].2["input_tokens"], &of("1.1", "cost")[0].2["output_tokens"]),
        (&json!(30), &json!(12))
    );
    assert_eq!(counts("1.2")[..3], [1, 0, 0], "{all:?}");
    assert!(!of("1.2", "error").is_empty(), "what goes wrong is told: {all:?}");
    assert!(
        all.iter().all(|(sender, to, _)| to == "coordinator" && sender == "ada" || sender == "coordinator"),
        "{all:?}"
    );
    assert_eq!(
        all.iter().filter(|(.., body)| body["type"] == "complete-task").count(),
        1,
        "what was refused is no message"
    );
    sandbox.switchboard(&["messages", "--agent", "coordinator"]).ends_with(0).says("unit_completed").says("done");
    assert_eq!(sandbox.call(&["check_inbox", "agent=coordinator"])["messages"], json!([]), "nothing of it waits");

    let to = |recipient: &str| {
        sandbox.switchboard(&["call", "send_message", &format!("recipient={recipient}"), "payload=x", "--json"])
    };
    assert_eq!(to("worker:1.1").ends_with(1).failure()["code"], "bus.recipient-closed");
    assert_eq!(to("worker:1.7").ends_with(2).failure()["code"], "dispatch.unknown-task");
    assert_eq!(to("worker:*").ends_with(2).failure()["code"], "request.bad-args");
    let named = sandbox.switchboard(&["call", "register_agent", "name=coordinator", "--json"]);
    assert_eq!(named.ends_with(2).failure()["code"], "bus.reserved-name");
}

#[test]
fn a_standalone_run_writes_no_message() {
    let sandbox = Sandbox::new();
    sandbox.script(
        "lone",
        &json!([{ "steps": [{ "do": "tokens", "input": 3, "output": 1 }, { "do": "say", "text": "alone" }] }]),
    );

    let args = ["dispatch", "Speak.", "Speak too.", "--agent", "lone", "--coordination", "standalone", "--yes"];
    sandbox.switchboard(&args).ends_with(0);

    let events = sandbox.call(&["read_events", "kinds:=[\"message_sent\"]"]);
    assert_eq!(events["events"], json!([]), "{events}");
    let refused = sandbox.switchboard(&["call", "send_message", "recipient=worker:1.1", "payload=x", "--json"]);
    assert!(refused.ends_with(2).says("standalone").failure()["code"] == "bus.unknown-recipient");
}

#[test]
fn rounds_of_a_debate_and_steps_of_a_chain_are_told_to_the_worker_whose_turn_it_is() {
    let sandbox = Sandbox::new();
    let answer = json!([{ "steps": [{ "do": "say", "text": "my position" }] }]);
    sandbox.script("ann", &answer);
    sandbox.script("ben", &answer);

    let debate =
        ["dispatch", "--topic", "Tabs or spaces?", "--agent", "ann", "--agent", "ben", "--decides", "ben", "--yes"];
    sandbox.switchboard(&debate).ends_with(0);

    let rounds: Vec<_> = notes(&sandbox).into_iter().filter(|(.., body)| body["type"] == "debate").collect();
    let told = |unit: &str| {
        rounds.iter().filter(|(.., body)| body["unit"] == unit).map(|(.., body)| &body["round"]).collect::<Vec<_>>()
    };
    assert_eq!(rounds.len(), 4, "{rounds:?}");
    assert_eq!([told("1.1.r1.p1"), told("1.1.r1.p2")], [vec![&json!(1)], vec![&json!(1)]]);
    assert_eq!([told("1.1.r2.p1"), told("1.1.r2.p2")], [vec![&json!(2)], vec![&json!(2)]]);
    assert!(rounds.iter().all(|(from, to, _)| from == "coordinator" && to != "coordinator"), "{rounds:?}");
    let listed = sandbox.call(&["list_messages", "agent=coordinator"]);
    let seen = listed["messages"].as_array().unwrap().iter().filter(|message| message["kind"] == "debate");
    assert!(
        seen.clone().all(|message| message["state"] == "injected"),
        "each is seen in its worker's first turn: {listed}"
    );
    assert_eq!(seen.count(), 4);

    sandbox
        .switchboard(&["dispatch", "--mode", "chain", "One.", "<{previous}>", "--agent", "ann", "--yes"])
        .ends_with(0);

    let steps: Vec<_> = notes(&sandbox).into_iter().filter(|(.., body)| body["type"] == "chain").collect();
    let part = |step: &(String, String, Value)| json!([step.2["unit"], step.2["step"], step.2["after"]]);
    assert_eq!(steps.iter().map(part).collect::<Vec<_>>(), [json!(["1.1.s1", 1, null]), json!(["1.1", 2, "1.1.s1"])]);
}

#[test]
fn a_blocked_unit_waits_for_a_person_and_mail_to_all_workers_is_one_commit() {
    let sandbox = Sandbox::new();
    let go = sandbox.folder().join("go").display().to_string();
    let wait = json!({ "do": "shell", "argv": ["sh", "-c", format!("while [ ! -e {go} ]; do sleep 0.05; done")] });
    let write = json!({ "do": "write", "path": "{{task}}.txt", "content": "x\n" });
    let block = to_coordinator(&sandbox, "blocked", &json!({ "type": "block-slice", "reason": "no schema" }));
    sandbox.script(
        "ada",
        &json!([{ "task": "1.1", "steps": [block, wait, write] }, { "task": "1.1", "turn": 2, "steps": [write] },
            { "task": "1.2", "steps": [wait, write] }, { "task": "1.2", "turn": 2, "steps": [] }]),
    );
    let task = |id: &str| {
        json!({ "id": id, "phase": 1, "description": "d", "files_touched": [format!("{id}.txt")],
        "x-switchboard": { "agent": "ada", "slice": "api" } })
    };
    let run = started(&sandbox, &sandbox.plan(&json!([task("1.1"), task("1.2")])));
    let of = |task: usize, field: &str| sandbox.call(&["get_run"])["list"][task][field].clone();
    assert!(
        within(Duration::from_secs(60), || heard(&sandbox, "blocked").contains("done")),
        "{}",
        heard(&sandbox, "blocked")
    );
    assert!(within(Duration::from_secs(60), || of(1, "state") == "working"), "{}", of(1, "state"));

    let sent = sandbox.call(&["send_team_message", "recipients:=[\"worker:*\"]", "payload=hello"]);
    assert_eq!(sent["messages"].as_array().unwrap().len(), 2, "{sent}");
    let one = sandbox.call(&["send_message", &format!("recipient=worker:{run}/1.2"), "payload=you"]);
    assert_eq!(one["recipient"], sent["messages"][1]["recipient"], "{one}");
    std::fs::write(&go, "").unwrap();

    assert!(within(Duration::from_secs(60), || of(0, "pause") == "paused"), "{}", of(0, "pause"));
    assert!(
        within(Duration::from_secs(60), || of(1, "state") == "merged"),
        "only the worker's own task waits: {}",
        of(1, "state")
    );
    sandbox.switchboard(&["resume", &format!("{run}/1.1")]).ends_with(0);
    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("2 of 2 tasks merged");
}

#[test]
fn what_a_person_tells_a_worker_is_shown_with_its_delivery_and_seen_in_the_next_turn() {
    let sandbox = Sandbox::new();
    let go = sandbox.folder().join("go").display().to_string();
    let wait = json!({ "do": "shell", "argv": ["sh", "-c", format!("while [ ! -e {go} ]; do sleep 0.05; done")] });
    let write = json!({ "do": "write", "path": "a.txt", "content": "a\n" });
    sandbox.script("ada", &json!([{ "steps": [wait] }, { "turn": 2, "steps": [write] }]));
    let run = started(&sandbox, &sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }])));

    let told = sandbox.switchboard(&["tell", &format!("{run}/1.1"), "use", "the", "new", "parser"]).ends_with(0);
    told.says("ada has it waiting");
    sandbox.switchboard(&["show", &format!("{run}/1.1")]).ends_with(0).says("accepted: use the new parser");
    std::fs::write(&go, "").unwrap();

    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("1 of 1 tasks merged");
    sandbox.switchboard(&["show", &format!("{run}/1.1")]).ends_with(0).says("seen: use the new parser");
    sandbox.switchboard(&["tell", &format!("{run}/1.1"), "too late"]).ends_with(1).says("bus.recipient-closed");
}

#[test]
fn a_stop_is_acted_on_while_a_hundred_messages_wait_for_the_worker() {
    let sandbox = Sandbox::new();
    let wait = json!({ "do": "shell", "argv": ["sh", "-c", "sleep 1000"] });
    sandbox.script("ada", &json!([{ "steps": [wait] }]));
    let run = started(&sandbox, &sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }])));
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "story", "version": "1" } } });
    let send = |id: u32| {
        let arguments = json!({ "recipient": "worker:1.1", "payload": "work" });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "send_message", "arguments": arguments } })
    };
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let lines: Vec<String> =
        [hello, ready].into_iter().chain((1..=100).map(send)).map(|line| line.to_string()).collect();
    sandbox.switchboard_with(&["mcp"], &(lines.join("\n") + "\n")).ends_with(0);

    sandbox.switchboard(&["stop", &run]).ends_with(0);

    let state = || sandbox.call(&["get_run"])["state"].as_str().unwrap().to_owned();
    assert!(within(Duration::from_secs(60), || state() == "stopped"), "{}", state());
    let unseen = sandbox.call(&["list_messages", "agent=ada", "limit=1000"]);
    let seen = unseen["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["recipient"] == "ada" && message["state"] != "accepted");
    assert_eq!(seen.count(), 0, "nothing of the queue was drained before");
}

/// Starts a run of a plan with `ada`, and returns its id once its first task is at work.
fn started(sandbox: &Sandbox, plan: &str) -> String {
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let run = Spawn::new([BINARY, "run", plan, "--agent", "ada", "--yes"]);
    run.cwd(sandbox.root()).env_only(sandbox.environment()).detached(None).unwrap();
    let is_at_work = || {
        let status = sandbox.call(&["get_status"]);
        status["runs"].as_array().is_some_and(|runs| !runs.is_empty())
            && sandbox.call(&["get_run"])["list"][0]["state"] == "working"
    };
    assert!(within(Duration::from_secs(60), is_at_work), "{}", sandbox.call(&["get_status"]));
    sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned()
}
