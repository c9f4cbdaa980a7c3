//! Roles that this binary plays when a test starts it again.

use std::io::{BufRead, Write};
use std::path::Path;

use serde_json::{Value, json};
use switchboard_process::env::{Env, var};

/// Environment variable with the name of the role.
const ROLE: &str = "AGENTS_TEST_ROLE";

/// Environment variable with the role's file.
const FILE: &str = "AGENTS_TEST_FILE";

/// Entry point of every role; does nothing without one. The harness prints its own lines first, as npm wrappers do.
#[test]
fn plays_a_role() {
    let Some(role) = var(ROLE) else { return };
    let file = var(FILE).unwrap_or_default();
    println!();
    let code = match role.as_str() {
        "shim" => switchboard_agents::shim::run(Path::new(&file)),
        "script" => switchboard_agents::script::run(Path::new(&file)),
        "mcp" => mcp(&file),
        "quirky" => quirky(&file),
        other => panic!("no role {other}"),
    };
    std::process::exit(i32::from(code != std::process::ExitCode::SUCCESS) * exit_number(code));
}

/// Returns the number of an [`std::process::ExitCode`], which only its debug form shows.
fn exit_number(code: std::process::ExitCode) -> i32 {
    let digits: String = format!("{code:?}").chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(1)
}

pub(crate) fn argv() -> Vec<String> {
    let exe = std::env::current_exe().unwrap();
    [exe.to_str().unwrap(), "--exact", "roles::plays_a_role", "--nocapture", "--test-threads=1"]
        .map(str::to_owned)
        .to_vec()
}

pub(crate) fn env(role: &str, file: &Path) -> Env {
    Env::plain().set(ROLE, role).set(FILE, file.to_str().unwrap())
}

/// Plays an MCP server with one message in the inbox; appends what it receives to `file`.
fn mcp(file: &str) -> std::process::ExitCode {
    let mail = json!({ "id": "msg_1", "sender": "Bea", "payload": "42", "action": "submit_result" });
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else { continue };
        let (tool, args) = (message["params"]["name"].as_str().unwrap_or_default(), &message["params"]["arguments"]);
        let result = match (message["method"].as_str().unwrap_or_default(), tool) {
            ("initialize", _) => json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {} }),
            ("tools/list", _) => json!({ "tools": [] }),
            ("tools/call", "check_inbox") => json!({ "structuredContent": { "messages": [mail] }, "content": [] }),
            ("tools/call", "fail") => json!({ "isError": true, "content": [{ "type": "text", "text": "no" }] }),
            ("tools/call", _) => {
                let mut log = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
                writeln!(log, "{tool} {args}").unwrap();
                json!({ "content": [{ "type": "text", "text": "{\"ok\":true}" }] })
            }
            _ => continue,
        };
        println!("{}", json!({ "jsonrpc": "2.0", "method": "ping", "id": "p" }));
        println!("{}", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
    }
    std::process::ExitCode::SUCCESS
}

/// Plays an agent with the peculiarities of real ones; writes the answers it gets to `file`.
fn quirky(file: &str) -> std::process::ExitCode {
    let mut log = std::fs::File::create(file).unwrap();
    let mut prompt_id = Value::Null;
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        let id = message["id"].clone();
        let say = |message: Value| println!("{message}");
        match message["method"].as_str() {
            Some("initialize") => say(json!({ "id": id.to_string(), "result": { "protocolVersion": 1 } })),
            Some("session/new") => say(json!({ "jsonrpc": "2.0", "id": id, "result": { "sessionId": "s" } })),
            Some("session/prompt") => {
                prompt_id = id;
                let cwd = var("CWD").unwrap();
                let write = |path: &str| json!({ "sessionId": "s", "path": path, "content": "from the agent" });
                say(
                    json!({ "id": "req-0", "method": "fs/write_text_file", "params": write(&format!("{cwd}/by-request.txt")) }),
                );
                say(json!({ "id": 0, "method": "fs/write_text_file", "params": write("/tmp/../etc/by-request.txt") }));
                say(
                    json!({ "id": "req-1", "method": "fs/read_text_file", "params": { "path": format!("{cwd}/by-request.txt") } }),
                );
                say(json!({ "id": "req-2", "method": "terminal/create", "params": {} }));
                say(
                    json!({ "method": "session/update", "params": { "update": { "sessionUpdate": "tool_call", "toolCallId": "t", "title": "T" } } }),
                );
            }
            Some("session/cancel") => {
                say(json!({ "id": prompt_id, "error": { "code": -32603, "message": "Request was aborted." } }));
            }
            Some(_) | None => writeln!(log, "{line}").unwrap(),
        }
    }
    std::process::ExitCode::SUCCESS
}
