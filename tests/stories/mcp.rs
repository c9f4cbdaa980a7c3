//! MCP over standard input and output.

use serde_json::{Value, json};

use super::held_calls::{Client, runtime};
use super::sandbox::{Done, Sandbox};

fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "story", "version": "1" } } })
}

fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

fn call(id: u32, tool: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
}

fn session(sandbox: &Sandbox, lines: &[String]) -> Done {
    sandbox.switchboard_with(&["mcp"], &(lines.join("\n") + "\n")).ends_with(0)
}

fn answers(done: &Done) -> Vec<Value> {
    done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn answer(done: &Done, id: u32) -> Value {
    answers(done)
        .into_iter()
        .find(|answer| answer["id"] == id)
        .unwrap_or_else(|| panic!("no answer to {id}: {}", done.out))
}

#[test]
fn an_agent_registers_and_two_of_them_write_to_each_other() {
    let sandbox = Sandbox::new();
    let register = |name: &str| call(1, "register_agent", &json!({ "name": name }));
    let lines = [initialize(), initialized(), register("ada")].map(|line| line.to_string());
    session(&sandbox, &lines);
    let send = call(2, "send_message", &json!({ "recipient": "ada", "payload": "hello" }));
    let lines = [initialize(), initialized(), register("ben"), send].map(|line| line.to_string());

    let done = session(&sandbox, &lines);

    assert_ne!(answer(&done, 2)["result"]["isError"], true, "{}", done.out);
    assert_eq!(sandbox.call(&["check_inbox", "agent=ada"])["messages"][0]["payload"], "hello");
}

#[test]
fn what_an_agent_registers_is_who_it_is_for_mail_status_and_files() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ben"]);
    sandbox.call(&["send_message", "recipient=ben", "payload=x", "id=msg_0"]);
    let lines = [
        initialize(),
        initialized(),
        call(1, "register_agent", &json!({ "name": "ada" })),
        call(2, "send_message", &json!({ "recipient": "ben", "payload": "hello", "id": "msg_1" })),
        call(3, "set_agent_status", &json!({ "status": "planning" })),
        call(4, "send_message", &json!({ "recipient": "ada", "payload": "to myself", "id": "msg_2" })),
        call(5, "reserve_files", &json!({ "paths": ["src/*"] })),
        call(6, "check_inbox", &json!({})),
    ];

    // One after the other, as a client that waits for each answer.
    let done = session_in_order(&sandbox, &lines);

    for id in 1..=6 {
        assert_ne!(answer(&done, id)["result"]["isError"], true, "{id}: {}", done.out);
    }
    assert!(answer(&done, 6).to_string().contains("to myself"), "{}", answer(&done, 6));
    assert_eq!(sandbox.call(&["check_inbox", "agent=ben", "since=0"])["messages"][1]["sender"], "ada");
    let roster = sandbox.call(&["get_team_roster"]);
    let ada = roster["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "ada").unwrap().clone();
    assert_eq!(ada["status"], "planning");
    assert!(sandbox.call(&["list_leases"]).to_string().contains("\"ada\""));
}

#[test]
fn an_agent_that_nobody_has_named_is_not_taken_for_its_user() {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ben"]);
    let send = call(1, "send_message", &json!({ "recipient": "ben", "payload": "hello" }));

    session_in_order(&sandbox, &[initialize(), initialized(), send]);

    let sender = sandbox.call(&["check_inbox", "agent=ben"])["messages"][0]["sender"].clone();
    assert!(sender.as_str().unwrap().starts_with("agent-"), "{sender}");
}

#[test]
fn a_name_from_the_settings_joins_the_team_when_the_client_connects() {
    let mut sandbox = Sandbox::new();
    sandbox.set("SWITCHBOARD_AGENT", "ada");
    let send = call(1, "send_message", &json!({ "recipient": "ada", "payload": "hello" }));

    let done = session_in_order(&sandbox, &[initialize(), initialized(), send]);

    assert_ne!(answer(&done, 1)["result"]["isError"], true, "{}", done.out);
    assert!(sandbox.call(&["get_team_roster"]).to_string().contains("\"ada\""));
}

/// Runs a session that sends each line when the one before has been answered.
fn session_in_order(sandbox: &Sandbox, lines: &[Value]) -> Done {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let argv = super::sandbox::MCP_CLIENT.iter().copied().chain([super::sandbox::BINARY, "mcp"]);
    let spawn = switchboard_process::spawn::Spawn::new(argv);
    let spawn = spawn.cwd(sandbox.root()).env_only(sandbox.environment());
    let out = runtime.block_on(async {
        let mut child = spawn.piped().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut answered = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut out = String::new();
        for line in lines {
            stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
            if line["id"].is_number() {
                out += &(answered.next_line().await.unwrap().unwrap() + "\n");
            }
        }
        drop(stdin);
        child.wait().await;
        out
    });
    Done { code: 0, out, err: String::new() }
}

#[test]
fn a_name_in_use_is_its_programs_until_a_person_takes_it_away() {
    let sandbox = Sandbox::new();
    let input = [initialize(), initialized(), call(1, "register_agent", &json!({ "name": "ada", "role": "coder" }))];
    let lines: String = input.iter().map(|line| format!("{line}\n")).collect();
    let file = sandbox.folder().join("in").display().to_string();
    std::fs::write(&file, &lines).unwrap();
    let hold = format!("(cat {file}; sleep 30) | {} mcp > {file}.out; true", super::sandbox::BINARY);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let guard = runtime.enter();
    let holder = switchboard_process::spawn::Spawn::new(["timeout", "60", "sh", "-c", &hold]);
    let mut holder = holder.cwd(sandbox.root()).env_only(sandbox.environment()).piped().unwrap();
    let answered = super::sandbox::within(std::time::Duration::from_secs(30), || {
        std::fs::read_to_string(format!("{file}.out")).is_ok_and(|out| out.contains("\"id\":1"))
    });
    assert!(answered);
    let hijack = || {
        let register = call(1, "register_agent", &json!({ "name": "Ada", "role": "hijack" }));
        let lines = [initialize(), initialized(), register].map(|line| line.to_string());
        session(&sandbox, &lines)
    };

    assert!(hijack().out.contains("bus.name-taken"));
    sandbox.call(&["register_agent", "name=ada"]);
    let done = hijack();

    assert_ne!(answer(&done, 1)["result"]["isError"], true, "{}", done.out);
    drop(guard);
    runtime.block_on(holder.terminate(std::time::Duration::from_secs(2)));
}

#[test]
fn a_name_that_a_person_took_away_is_one_agents_only() {
    let sandbox = Sandbox::new();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    runtime().block_on(async {
        let mut ada = Client::open_as(&sandbox, "ada").await;
        sandbox.call(&["register_agent", "name=ada"]);
        let eve = Client::open_as(&sandbox, "ada").await;
        let mail = json!({ "recipient": "ada", "payload": "from the first" });

        ada.ask(2, "send_message", &mail).await;
        let refused = ada.line().await.to_string();
        assert!(refused.contains("bus.name-taken"), "two agents have one name: {refused}");
        ada.ask(3, "check_inbox", &json!({})).await;
        assert!(ada.line().await.to_string().contains("bus.name-taken"));

        ada.ask(4, "register_agent", &json!({ "name": "ada two" })).await;
        assert_ne!(ada.line().await["result"]["isError"], true);
        ada.ask(5, "send_message", &mail).await;
        assert_ne!(ada.line().await["result"]["isError"], true);
        ada.close().await;
        eve.close().await;
    });
}

#[test]
fn a_session_goes_on_when_its_daemon_is_killed() {
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    let sandbox = Sandbox::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let spawn = switchboard_process::spawn::Spawn::new(["timeout", "120", super::sandbox::BINARY, "mcp"]);
    let spawn = spawn.cwd(sandbox.root()).env_only(sandbox.environment());

    runtime.block_on(async {
        let mut child = spawn.piped().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut pids = Vec::new();
        stdin.write_all(format!("{}\n{}\n", initialize(), initialized()).as_bytes()).await.unwrap();
        lines.next_line().await.unwrap();
        for id in [1, 2] {
            stdin.write_all(format!("{}\n", call(id, "get_status", &json!({}))).as_bytes()).await.unwrap();
            let answer: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
            assert_eq!(answer["id"], id, "{answer}");
            let status: Value = serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
            let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
            pids.push(pid);
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        assert_ne!(pids[0], pids[1]);
        drop(stdin);
        child.wait().await;
    });
}

#[test]
fn tools_are_few_and_their_list_is_small() {
    let sandbox = Sandbox::new();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });

    let done = session(&sandbox, &[initialize(), initialized(), list].map(|line| line.to_string()));

    let tools = answer(&done, 1)["result"]["tools"].clone();
    assert!((1..=14).contains(&tools.as_array().unwrap().len()), "{tools}");
    assert!(tools.to_string().len() <= 7_000, "{} bytes", tools.to_string().len());
}

#[test]
fn a_malformed_line_gets_an_error_and_the_next_one_an_answer() {
    let sandbox = Sandbox::new();
    let lines = [initialize().to_string(), initialized().to_string(), "{nonsense".to_owned()];
    let lines = [&lines[..], &[call(5, "get_status", &json!({})).to_string()]].concat();

    let done = session(&sandbox, &lines);

    assert!(answers(&done).iter().any(|line| line["error"]["code"] == -32700), "{}", done.out);
    assert!(answer(&done, 5)["result"].is_object());
}

#[test]
fn a_verb_that_refuses_says_why_by_its_code() {
    let sandbox = Sandbox::new();
    let send = call(1, "send_message", &json!({ "recipient": "nobody", "payload": "x" }));

    let look = call(2, "check_inbox", &json!({}));
    let approve = call(3, "approve", &json!({}));

    let done = session(&sandbox, &[initialize(), initialized(), send, look, approve].map(|line| line.to_string()));

    assert!(answer(&done, 1).to_string().contains("bus.unknown-recipient"), "{}", done.out);
    let unregistered = answer(&done, 2).to_string();
    assert!(unregistered.contains("bus.not-registered") && unregistered.contains("register_agent"), "{unregistered}");
    let not_for_agents = answer(&done, 3)["error"]["message"].to_string();
    assert!(not_for_agents.contains("approve is no tool for agents"), "{not_for_agents}");
    assert!(!not_for_agents.contains("did you mean"), "{not_for_agents}");
}

#[test]
fn a_line_that_is_no_json_is_answered_though_the_client_ends_at_once() {
    let sandbox = Sandbox::new();

    for input in ["{oops\n".to_owned(), "{oops".to_owned(), format!("{}\n{{oops\n", initialize())] {
        let said = sandbox.switchboard_with(&["mcp"], &input).ends_with(0).out;

        assert!(said.lines().any(|line| line.contains("-32700")), "{input}: {said}");
    }
}
