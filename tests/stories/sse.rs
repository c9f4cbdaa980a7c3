//! The older HTTP transport of MCP, as the protocol describes it: found by `server_info.json`, opened with a token, and
//! used by the public client library.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::env::{Env, var};
use switchboard_process::spawn::{Spawn, which};

use super::sandbox::Sandbox;

/// Time limit of an answer.
const ANSWER: Duration = Duration::from_secs(30);

struct Server {
    info: Value,
    token: String,
}

impl Server {
    /// Reads the two files as any client would.
    fn of(sandbox: &Sandbox) -> Self {
        sandbox.switchboard(&["up", "--detach"]).ends_with(0);
        let info = serde_json::from_str(&sandbox.read(".switchboard/server_info.json")).unwrap();
        Self { info, token: sandbox.read(".switchboard/auth_token").trim().to_owned() }
    }

    fn address(&self) -> String {
        format!("{}:{}", self.info["host"].as_str().unwrap(), self.info["port"])
    }

    fn ask(&self, line: &str, headers: &str, body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(ANSWER)).unwrap();
        let length = body.len();
        let head =
            format!("{line} HTTP/1.1\r\nHost: {}\r\n{headers}Content-Length: {length}\r\n\r\n{body}", self.address());
        stream.write_all(head.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    fn status(&self, line: &str, headers: &str, body: &str) -> String {
        let mut first = String::new();
        self.ask(line, headers, body).read_line(&mut first).unwrap();
        first.split(' ').nth(1).unwrap().to_owned()
    }
}

/// Returns the data of the next event.
fn event(stream: &mut impl std::io::BufRead) -> String {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the stream has ended");
        if let Some(data) = line.strip_prefix("data: ") {
            return data.trim_end().to_owned();
        }
    }
}

#[test]
fn a_client_finds_the_server_opens_a_session_and_calls_a_tool() {
    let sandbox = Sandbox::new();
    let server = Server::of(&sandbox);
    assert_eq!(server.info["transport"], "sse");
    let endpoint = |name: &str| server.info[name].as_str().unwrap().to_owned();

    assert_eq!(server.status(&format!("GET {}", endpoint("healthEndpoint")), "", ""), "200");
    let mut stream = server.ask(&format!("GET {}?token={}", endpoint("sseEndpoint"), server.token), "", "");
    let post = event(&mut stream);
    assert!(post.starts_with(&format!("{}?sessionId=", endpoint("messagesEndpoint"))), "{post}");
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "old", "version": "1" } } });
    assert_eq!(server.status(&format!("POST {post}"), "", &initialize.to_string()), "202");
    let hello: Value = serde_json::from_str(&event(&mut stream)).unwrap();
    assert_eq!(hello["result"]["serverInfo"]["name"], "switchboard");
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "register_agent", "arguments": { "name": "old client" } } });
    assert_eq!(server.status(&format!("POST {post}"), "", &call.to_string()), "202");
    let answer: Value = serde_json::from_str(&event(&mut stream)).unwrap();
    assert_eq!(answer["result"]["structuredContent"]["agent"]["name"], "old client");

    // The name belongs to the session, and is free once that has ended.
    let register = || {
        let mut other = server.ask(&format!("GET /sse?token={}", server.token), "", "");
        let post = event(&mut other);
        for message in [&initialize, &call] {
            assert_eq!(server.status(&format!("POST {post}"), "", &message.to_string()), "202");
        }
        event(&mut other);
        event(&mut other)
    };
    let refused = register();
    assert!(refused.contains("bus.name-taken"), "{refused}");
    stream.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
    let is_free = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        !register().contains("bus.name-taken")
    });
    assert!(is_free, "the name of a session that has ended is taken");
    let mut stream = server.ask(&format!("GET /sse?token={}", server.token), "", "");
    event(&mut stream);

    // The token is accepted in a URL only here, and no log has it.
    assert_eq!(server.status(&format!("POST /v1/get_status?token={}", server.token), "", "{}"), "401");
    sandbox.switchboard(&["down"]).ends_with(0);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    let states = fs::read_dir(sandbox.folder().join("state/switchboard")).unwrap();
    let logs: Vec<_> =
        states.filter_map(|state| fs::read_to_string(state.unwrap().path().join("daemon.log")).ok()).collect();
    assert_eq!(logs.len(), 1);
    assert!(!logs[0].contains(&server.token), "{}", logs[0]);
}

#[test]
fn a_delegation_waits_for_a_yes_and_its_answer_comes_over_the_stream() {
    let sandbox = Sandbox::new();
    let server = Server::of(&sandbox);
    sandbox.call(&["register_agent", "name=ben"]);
    let mut stream = server.ask(&format!("GET /sse?token={}", server.token), "", "");
    let post = event(&mut stream);
    let say = |message: &Value| {
        assert_eq!(server.status(&format!("POST {post}"), "", &message.to_string()), "202");
    };
    say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "old", "version": "1" } } }));
    event(&mut stream);
    let delegation = |id: u32, payload: &str| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "send_message", "arguments": {
            "recipient": "ben", "payload": payload, "action": "delegate_task",
            "metadata": { "no_cooldown": true, "queue_mode": "keep" } } } })
    };
    let payloads = || {
        let mail = sandbox.call(&["check_inbox", "agent=ben"]);
        mail["messages"].as_array().unwrap().iter().map(|mail| mail["payload"].clone()).collect::<Vec<_>>()
    };

    say(&delegation(2, "paint the shed"));
    let need = sandbox.question();
    assert_eq!((&need["kind"], payloads().len()), (&json!("call"), 0), "{need}");
    sandbox.switchboard(&["approve", need["id"].as_str().unwrap()]).ends_with(0);
    let answer: Value = serde_json::from_str(&event(&mut stream)).unwrap();
    assert_eq!(answer["id"], 2, "{answer}");
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(payloads(), ["paint the shed"]);

    say(&delegation(3, "sell the shed"));
    sandbox.switchboard(&["deny", sandbox.question()["id"].as_str().unwrap()]).ends_with(0);
    let answer = event(&mut stream);
    assert!(answer.contains("policy.denied"), "{answer}");
    assert_eq!(payloads(), ["paint the shed"]);
}

#[test]
fn the_public_client_library_speaks_it() {
    let client = match install() {
        Ok(client) => client,
        Err(why) => {
            writeln!(std::io::stderr(), "skipped the public MCP client: {why}").unwrap();
            return;
        }
    };
    let sandbox = Sandbox::new();
    let server = Server::of(&sandbox);
    let url = format!("http://{}", server.address());

    let done = sandbox.run(["node", client.to_str().unwrap(), &url, &server.token], sandbox.folder(), "").ends_with(0);

    let said = done.json();
    assert!(said["tools"].as_array().unwrap().contains(&json!("send_message")), "{said}");
    assert_eq!(said["sent"]["state"], "accepted");
    let message = &said["inbox"]["messages"][0];
    assert_eq!((&message["payload"], &message["sender"]), (&json!("a\nb"), &json!("ada")));
    assert_eq!(said["refused"], true);
}

/// Installs what the lock file pins, unless that was done before; returns the client.
fn install() -> Result<PathBuf, String> {
    if var("CI").as_deref() != Some("true") && var("SWITCHBOARD_SSE_CLIENT").is_none() {
        return Err("CI=true or SWITCHBOARD_SSE_CLIENT=1 runs it".to_owned());
    }
    if which("node").is_none() || which("npm").is_none() {
        return Err("node and npm are not on PATH".to_owned());
    }
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sse");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sse");
    fs::create_dir_all(&folder).unwrap();
    for name in ["package.json", "client.mjs"] {
        fs::copy(from.join(name), folder.join(name)).unwrap();
    }
    let lock = fs::read(from.join("package-lock.json")).unwrap();
    if fs::read(folder.join("installed")).is_ok_and(|installed| installed == lock) {
        return Ok(folder.join("client.mjs"));
    }
    fs::write(folder.join("package-lock.json"), &lock).unwrap();
    let env = Env::plain().inherit(["HTTPS_PROXY", "NO_PROXY", "npm_config_registry", "npm_config_userconfig"]);
    let argv = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    let output = Spawn::new(argv).cwd(&folder).env_only(env).wall(Duration::from_secs(300)).output();
    let output = output.map_err(|error| format!("npm: {error}"))?;
    if output.exit.code() != Some(0) {
        return Err(format!("npm failed: {}", output.stderr.text()));
    }
    fs::write(folder.join("installed"), lock).unwrap();
    Ok(folder.join("client.mjs"))
}
