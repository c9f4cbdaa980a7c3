//! Controls of running work: by messages in a managed run, by the verbs of the same names in every run.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::spawn::Spawn;

use super::sandbox::{BINARY, Done, MCP_CLIENT, Sandbox, within};

/// Time limit for an effect on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// Sends a control message as a person.
fn control(sandbox: &Sandbox, recipient: &str, body: &Value) -> Done {
    let (to, payload) = (format!("recipient={recipient}"), format!("payload={body}"));
    sandbox.switchboard(&["call", "send_message", &to, &payload, r#"options:={"kind":"control"}"#, "--json"])
}

/// Makes a step that waits until a file exists.
fn wait_for(file: &Path) -> Value {
    json!({ "do": "shell", "argv": ["sh", "-c", format!("while [ ! -e {} ]; do sleep 0.05; done", file.display())] })
}

fn of(sandbox: &Sandbox, task: usize, field: &str) -> Value {
    sandbox.call(&["get_run"])["list"][task][field].clone()
}

/// Returns whether a task's field reaches a value in time.
fn comes_to(sandbox: &Sandbox, task: usize, (field, value): (&str, &str)) -> bool {
    within(SOON, || of(sandbox, task, field) == value)
}

/// Makes a plan of tasks that write a file each.
fn plan(sandbox: &Sandbox, tasks: &[&str]) -> String {
    let task = |id: &&str| json!({ "id": id, "phase": 1, "description": "d", "files_touched": [format!("{id}.txt")] });
    sandbox.plan(&json!(tasks.iter().map(task).collect::<Vec<_>>()))
}

/// Starts a run of a plan with `ada` and returns its id once a worker of each of `tasks` tasks is using a tool.
fn started(sandbox: &Sandbox, plan: &str, tasks: usize, more: &[&str]) -> String {
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let argv = [&[BINARY, "run", plan, "--agent", "ada", "--max-workers", "4", "--yes"], more].concat();
    Spawn::new(argv).cwd(sandbox.root()).env_only(sandbox.environment()).detached(None).unwrap();
    let is_begun = || sandbox.call(&["get_status"])["runs"].as_array().is_some_and(|runs| !runs.is_empty());
    assert!(within(SOON, is_begun));
    let at_work = |task| of(sandbox, task, "state") == "working" && of(sandbox, task, "doing") != json!(null);
    assert!(within(SOON, || (0..tasks).all(at_work)), "{}", sandbox.call(&["get_run"]));
    sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned()
}

#[test]
fn control_messages_to_workers_and_to_the_coordinator_act_and_are_answered_with_how_the_unit_stood() {
    let sandbox = Sandbox::new();
    let (go, heard) = (sandbox.folder().join("go"), sandbox.folder().join("heard"));
    let write = json!({ "do": "write", "path": "{{task}}.txt", "content": "x\n" });
    let line = |body: Value| format!("{BINARY} call send_message recipient=coordinator 'payload={body}'");
    let asks = format!(
        "({}; {}) > {} 2>&1; true",
        line(json!({ "type": "pause", "unit": "1.2" })),
        line(json!({ "type": "status" })),
        heard.display()
    );
    let asks = json!({ "do": "shell", "argv": ["sh", "-c", asks] });
    let pause = json!({ "do": "sleep_ms", "ms": 300 });
    sandbox.script(
        "ada",
        &json!([{ "task": "1.1", "steps": [asks, wait_for(&go), pause, write] },
            { "task": "1.1", "turn": 2, "steps": [write] }, { "steps": [wait_for(&sandbox.folder().join("never"))] }]),
    );
    let run = started(&sandbox, &plan(&sandbox, &["1.1", "1.2", "1.3"]), 3, &[]);
    let unit = |task: &str| format!("worker:{run}/{task}");

    assert!(
        control(&sandbox, &unit("1.1"), &json!({ "type": "puase" })).ends_with(2).err.contains("did you mean pause?")
    );
    let unknown = control(&sandbox, &unit("1.9"), &json!({ "type": "pause" }));
    assert_eq!(unknown.ends_with(2).failure()["code"], "dispatch.unknown-task");
    let twice = control(&sandbox, &unit("1.1"), &json!({ "type": "pause", "unit": "1.2" }));
    assert!(twice.ends_with(2).err.contains("leave `unit` out"));
    assert!(within(SOON, || std::fs::read_to_string(&heard).unwrap_or_default().contains("\"control\"")));
    let said = std::fs::read_to_string(&heard).unwrap();
    assert!(said.contains("policy.denied") && said.contains("only a person decides this: pause"), "{said}");
    assert!(said.contains("\"working\""), "its own status is a worker's to see: {said}");

    let stood = control(&sandbox, &unit("1.1"), &json!({ "type": "pause" })).ends_with(0).json();
    let units = &stood["control"]["units"];
    assert_eq!(
        (&units[0]["unit"], &units[0]["state"], &stood["state"]),
        (&json!("1.1"), &json!("working"), &json!("done"))
    );
    std::fs::write(&go, "").unwrap();
    assert!(comes_to(&sandbox, 0, ("pause", "paused")), "{}", sandbox.call(&["get_run"]));
    let asked = json!({ "type": "status", "unit": format!("{run}/1.1") });
    let stood = control(&sandbox, "coordinator", &asked).ends_with(0).json();
    assert_eq!(stood["control"]["units"][0]["pause"], "paused", "{stood}");
    control(&sandbox, &unit("1.1"), &json!({ "type": "prompt", "text": "use the new parser" })).ends_with(0);
    control(&sandbox, &unit("1.1"), &json!({ "type": "resume" })).ends_with(0);
    assert!(comes_to(&sandbox, 0, ("state", "merged")), "{}", sandbox.call(&["get_run"]));
    assert_eq!(of(&sandbox, 0, "attempts"), 1, "a pause is no attempt");
    sandbox.switchboard(&["show", &format!("{run}/1.1")]).ends_with(0).says("seen: use the new parser");
    assert_eq!(
        control(&sandbox, &unit("1.1"), &json!({ "type": "prompt", "text": "late" })).ends_with(1).failure()["code"],
        "bus.recipient-closed"
    );

    control(&sandbox, &unit("1.2"), &json!({ "type": "budget", "ceiling": 0 })).ends_with(2);
    control(&sandbox, &unit("1.2"), &json!({ "type": "budget", "ceiling": 5_000_000 })).ends_with(0);
    control(&sandbox, &unit("1.2"), &json!({ "type": "cancel" })).ends_with(0);
    assert!(comes_to(&sandbox, 1, ("state", "stopped")), "{}", sandbox.call(&["get_run"]));
    control(&sandbox, "worker:*", &json!({ "type": "stop" })).ends_with(2);
    control(&sandbox, &format!("worker:{run}/*"), &json!({ "type": "stop", "grace_ms": 100 })).ends_with(0);
    assert!(comes_to(&sandbox, 2, ("state", "stopped")), "{}", sandbox.call(&["get_run"]));
    let listed = sandbox.call(&["list_messages", "agent=coordinator", "limit=1000"]);
    let kinds: Vec<_> =
        listed["messages"].as_array().unwrap().iter().filter(|message| message["kind"] == "control").collect();
    assert_eq!(kinds.len(), 7, "what was refused is no message: {kinds:?}");
}

#[test]
fn an_agent_that_is_no_person_may_ask_how_a_unit_stands_and_steer_none() {
    let sandbox = Sandbox::new();
    sandbox.script("ada", &json!([{ "steps": [wait_for(&sandbox.folder().join("never"))] }]));
    let run = started(&sandbox, &plan(&sandbox, &["1.1"]), 1, &[]);
    let call = |id: u32, body: Value| {
        let arguments = json!({ "recipient": "coordinator", "payload": body.to_string() });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "send_message", "arguments": arguments } })
    };
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "story", "version": "1" } } });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let calls = [
        call(1, json!({ "type": "status", "unit": format!("{run}/1.1") })),
        call(2, json!({ "type": "stop", "unit": format!("{run}/1.1") })),
        call(3, json!({ "type": "prompt", "unit": format!("{run}/1.1"), "text": "stop" })),
    ];
    let lines: Vec<_> = [hello, ready].iter().chain(&calls).map(Value::to_string).collect();

    let argv = MCP_CLIENT.iter().copied().chain([BINARY, "mcp"]);
    let answered = sandbox.run(argv, &sandbox.root(), &(lines.join("\n") + "\n")).out;

    let answer = |id: u32| answered.lines().find(|line| line.contains(&format!("\"id\":{id}"))).unwrap_or_default();
    assert!(answer(1).contains("working"), "{answered}");
    assert!(answer(2).contains("policy.denied") && answer(3).contains("policy.denied"), "{answered}");
    assert_eq!(of(&sandbox, 0, "state"), "working");
    sandbox.switchboard(&["stop", &run, "--grace", "0"]).ends_with(0);
    assert!(comes_to(&sandbox, 0, ("state", "stopped")), "{}", sandbox.call(&["get_run"]));
}

#[test]
fn the_verbs_steer_a_standalone_run_and_its_worker_is_told_something_without_mail() {
    let sandbox = Sandbox::new();
    let go = sandbox.folder().join("go");
    let write = json!({ "do": "write", "path": "{{task}}.txt", "content": "x\n" });
    // Costs inside a turn are reported once a second.
    let slow = json!({ "do": "sleep_ms", "ms": 1500 });
    sandbox.script(
        "ada",
        &json!([{ "task": "1.1", "steps": [wait_for(&go)] }, { "task": "1.1", "turn": 2, "steps": [write] },
            { "task": "1.2", "steps": [slow, { "do": "cost", "usd": 0.5 }, wait_for(&sandbox.folder().join("never"))] }]),
    );
    let run = started(&sandbox, &plan(&sandbox, &["1.1", "1.2"]), 2, &["--coordination", "standalone"]);
    let unit = |task: &str| format!("{run}/{task}");

    let refused = control(&sandbox, &format!("worker:{}", unit("1.1")), &json!({ "type": "pause" }));
    assert!(refused.ends_with(2).err.contains("standalone"));
    sandbox.switchboard(&["tell", &unit("1.1"), "use the new parser"]).ends_with(0).says("ada has it waiting");
    sandbox.switchboard(&["show", &unit("1.1")]).ends_with(0).says("accepted: use the new parser");
    sandbox.switchboard(&["restart"]).ends_with(0);
    sandbox.switchboard(&["budget", &unit("1.2"), "--budget", "0.4", "--yes"]).ends_with(0).says("may cost $0.40");
    assert!(comes_to(&sandbox, 1, ("state", "paused")), "{}", sandbox.call(&["get_run"]));
    sandbox.switchboard(&["resume", &unit("1.2")]).ends_with(2).says("budget RUN/1.2 --budget USD");
    std::fs::write(&go, "").unwrap();

    assert!(comes_to(&sandbox, 0, ("state", "merged")), "{}", sandbox.call(&["get_run"]));
    sandbox.switchboard(&["show", &unit("1.1")]).ends_with(0).says("seen: use the new parser");
    sandbox.switchboard(&["tell", &unit("1.1"), "too late"]).ends_with(1).says("bus.recipient-closed");
    sandbox.switchboard(&["stop", &unit("1.2")]).ends_with(0).says("1.2 of").says("is stopping");
    assert!(comes_to(&sandbox, 1, ("state", "stopped")), "{}", sandbox.call(&["get_run"]));
    assert_eq!(sandbox.call(&["read_events", "kinds:=[\"message_sent\"]"])["events"], json!([]));
}

#[test]
fn a_tree_at_work_is_put_on_what_was_merged_meanwhile_and_a_conflict_is_told_and_loses_nothing() {
    let sandbox = Sandbox::new();
    let go = sandbox.folder().join("go");
    let (first, pause) = (wait_for(&sandbox.folder().join("first")), json!({ "do": "sleep_ms", "ms": 500 }));
    let write = |path: &str, text: &str| json!({ "do": "write", "path": path, "content": text });
    let shell = |line: &str| json!({ "do": "shell", "argv": ["sh", "-c", line] });
    let late = write("late.txt", "not rebased\n");
    sandbox.script(
        "ada",
        &json!([
            { "task": "1.1", "steps": [write("a.txt", "kept\n"), wait_for(&go), pause, late] },
            { "task": "1.1", "turn": 2, "steps": [shell("cat b.txt > seen.txt")] },
            { "task": "1.2", "steps": [first, write("b.txt", "merged\n")] },
            { "task": "1.3", "steps": [write("b.txt", "another\n"), wait_for(&go), pause, late] },
            { "task": "1.3", "turn": 2, "steps": [shell("mv b.txt c.txt")] },
        ]),
    );
    let task = |id: &str| json!({ "id": id, "phase": 1, "description": "d" });
    let plan = sandbox.plan(&json!([task("1.1"), task("1.2"), task("1.3")]));
    let run = started(&sandbox, &plan, 3, &[]);
    std::fs::write(sandbox.folder().join("first"), "").unwrap();
    assert!(comes_to(&sandbox, 1, ("state", "merged")), "{}", sandbox.call(&["get_run"]));

    sandbox.switchboard(&["rebase", &format!("{run}/1.2")]).ends_with(1).says("no tree that a rebase would change");
    sandbox.switchboard(&["stop", &format!("{run}/1.2")]).ends_with(1).says("1.2 of").says("there is nothing to stop");
    let asked = sandbox.call(&["read_events", "kinds:=[\"task_stop_requested\"]"]);
    assert_eq!(asked["events"], json!([]), "what is merged can't be stopped");
    sandbox.switchboard(&["rebase", &format!("{run}/1.1")]).ends_with(0).says("between two tools");
    control(&sandbox, &format!("worker:{run}/1.3"), &json!({ "type": "rebase" })).ends_with(0);
    std::fs::write(&go, "").unwrap();

    sandbox.switchboard(&["run", "--resume", &run]).ends_with(0).says("3 of 3 tasks merged");
    let log = |task: &str| sandbox.switchboard(&["log", &format!("{run}/{task}")]).ends_with(0).out;
    assert!(log("1.1").contains("its tree is based on"), "{}", log("1.1"));
    assert!(log("1.3").contains("was not rebased") && log("1.3").contains("b.txt"), "{}", log("1.3"));
    let merged = |path: &str| sandbox.git(&["show", &format!("switchboard/{run}:{path}")]);
    assert_eq!([merged("a.txt"), merged("seen.txt")], ["kept\n", "merged\n"], "it had both in its tree");
    assert_eq!([merged("b.txt"), merged("c.txt")], ["merged\n", "another\n"]);
    assert_eq!([of(&sandbox, 0, "attempts"), of(&sandbox, 2, "attempts")], [1, 1], "a rebase is no attempt");
    sandbox.switchboard(&["rebase", &run]).ends_with(1);
}
