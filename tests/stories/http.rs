//! The loopback HTTP server: which clients it accepts, and what it refuses.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::sandbox::Sandbox;

pub(super) struct Server {
    port: u64,
    token: String,
}

impl Server {
    pub(super) fn of(sandbox: &Sandbox) -> Self {
        sandbox.switchboard(&["status"]).ends_with(0);
        let info: Value = serde_json::from_str(&sandbox.read(".switchboard/server_info.json")).unwrap();
        Self { port: info["port"].as_u64().unwrap(), token: sandbox.read(".switchboard/auth_token").trim().to_owned() }
    }

    /// Sends a request; returns the status and the body.
    pub(super) fn ask(&self, line: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", u16::try_from(self.port).unwrap())).unwrap();
        let host = format!("127.0.0.1:{}", self.port);
        let own = [("Host", host.as_str()), ("Connection", "close")];
        let own = own.iter().filter(|(name, _)| headers.iter().all(|(other, _)| other != name));
        let lines: String = own.chain(headers).map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!("{line} HTTP/1.1\r\n{lines}Content-Length: {}\r\n\r\n{body}", body.len());
        // A server that refuses early may close before it has read all of a large body.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
    }

    /// Calls a verb with the repository's token.
    pub(super) fn call(&self, verb: &str, args: &Value) -> (u16, String) {
        self.call_as(&self.token, verb, args)
    }

    /// Calls a verb with this token.
    pub(super) fn call_as(&self, token: &str, verb: &str, args: &Value) -> (u16, String) {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        self.ask(&format!("POST /v1/{verb}"), &headers, &args.to_string())
    }

    /// Sends a message of MCP with the repository's token.
    pub(super) fn mcp(&self, message: &Value) -> (u16, String) {
        let bearer = format!("Bearer {}", self.token);
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2025-06-18"),
        ];
        self.ask("POST /mcp", &headers, &message.to_string())
    }

    /// Calls a tool of MCP as a client without a session, with additional headers; returns the tool's answer.
    fn tool(&self, more: &[(&str, &str)], name: &str, args: &Value) -> Value {
        let bearer = format!("Bearer {}", self.token);
        let own = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2025-06-18"),
        ];
        let params = json!({ "name": name, "arguments": args });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let (status, body) = self.ask("POST /mcp", &[&own, more].concat(), &message.to_string());
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()["result"].clone()
    }

    fn status_verb(&self, headers: &[(&str, &str)]) -> (u16, String) {
        let bearer = format!("Bearer {}", self.token);
        let own = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        let own: Vec<_> = own.into_iter().filter(|(name, _)| headers.iter().all(|(other, _)| other != name)).collect();
        self.ask("POST /v1/get_status", &[&own, headers].concat(), "{}")
    }
}

#[test]
fn health_is_for_anybody_here_and_verbs_are_for_who_has_the_token() {
    let sandbox = Sandbox::new();
    let server = Server::of(&sandbox);

    assert_eq!(server.ask("GET /health", &[], "").0, 200);
    assert_eq!(server.status_verb(&[]).0, 200);
    let (status, body) = server.status_verb(&[("Authorization", "Bearer wrong")]);
    assert_eq!(status, 401);
    assert!(body.contains("auth.bad-token") && !body.contains(&server.token), "{body}");
}

#[test]
fn a_foreign_host_or_origin_is_refused_on_every_route() {
    let sandbox = Sandbox::new();
    let server = Server::of(&sandbox);

    for line in ["GET /health", "POST /v1/get_status", "POST /mcp"] {
        let bearer = format!("Bearer {}", server.token);
        let (status, body) = server.ask(line, &[("Host", "evil.example"), ("Authorization", &bearer)], "{}");
        assert!(status == 403 && body.contains("auth.foreign-host"), "{line}: {status} {body}");
        let (status, body) = server.ask(line, &[("Origin", "https://evil.example"), ("Authorization", &bearer)], "{}");
        assert!(status == 403 && body.contains("auth.foreign-origin"), "{line}: {status} {body}");
    }
}

#[test]
fn a_body_over_the_limit_is_refused_and_the_daemon_goes_on() {
    let sandbox = Sandbox::new();
    let server = Server::of(&sandbox);
    let bearer = format!("Bearer {}", server.token);
    let huge = json!({ "recipient": "ada", "payload": "x".repeat(6 << 20) }).to_string();

    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let (status, body) = server.ask("POST /v1/send_message", &headers, &huge);

    assert!(status == 413 || body.contains("request.too-large"), "{status} {body}");
    assert_eq!(server.status_verb(&[]).0, 200);
}

#[test]
fn a_rotated_token_shuts_the_old_one_out() {
    let sandbox = Sandbox::new();
    let server = Server::of(&sandbox);

    sandbox.switchboard(&["token", "rotate"]).ends_with(0);

    assert_eq!(server.status_verb(&[]).0, 401);
    assert_eq!(Server::of(&sandbox).status_verb(&[]).0, 200);
}

#[test]
fn a_stateless_client_lists_and_calls_tools() {
    let sandbox = Sandbox::new();
    let server = Server::of(&sandbox);
    let bearer = format!("Bearer {}", server.token);
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "story", "version": "1" } } });

    let (status, body) = server.ask("POST /mcp", &headers, &initialize.to_string());

    assert_eq!(status, 200, "{body}");
    assert!(body.contains("switchboard"), "{body}");
}

#[test]
fn an_agent_over_http_has_its_name_by_a_token_and_nobody_else_takes_it() {
    let sandbox = Sandbox::new();
    let server = Server::of(&sandbox);

    let ada = server.tool(&[], "register_agent", &json!({ "name": "ada" }))["structuredContent"].clone();
    let token = ada["token"].as_str().unwrap();
    let as_ada = [("Mcp-Session-Id", token)];
    let taken = server.tool(&[], "register_agent", &json!({ "name": "ada", "role": "hijack" }));
    let ben = server.tool(&[], "register_agent", &json!({ "name": "ben" }))["structuredContent"].clone();
    let as_ben = [("Mcp-Session-Id", ben["token"].as_str().unwrap())];
    server.tool(&as_ben, "send_message", &json!({ "recipient": "ada", "payload": "for ada alone" }));

    assert_eq!(taken["isError"], true, "{taken}");
    assert!(taken.to_string().contains("bus.name-taken"), "{taken}");
    let mail = server.tool(&as_ada, "check_inbox", &json!({}))["structuredContent"].clone();
    assert!(mail.to_string().contains("for ada alone") && mail.to_string().contains("\"ben\""), "{mail}");
    assert!(!server.tool(&as_ben, "check_inbox", &json!({})).to_string().contains("for ada alone"));
    let again = server.tool(&as_ada, "register_agent", &json!({ "name": "ada", "role": "lead" }));
    assert_eq!(again["structuredContent"]["agent"]["role"], "lead", "{again}");
    assert!(again["structuredContent"]["token"].is_null(), "it has one");

    sandbox.switchboard(&["restart"]).ends_with(0);
    let server = Server::of(&sandbox);
    server.tool(&as_ben, "send_message", &json!({ "recipient": "ada", "payload": "after the restart" }));
    let mail = server.tool(&as_ada, "check_inbox", &json!({}));
    assert!(mail.to_string().contains("after the restart"), "{mail}");

    sandbox.call(&["register_agent", "name=ada"]);
    let other = server.tool(&[], "register_agent", &json!({ "name": "ada" }));
    assert!(other["structuredContent"]["token"].is_string(), "a person has freed the name: {other}");
}

#[test]
fn a_name_is_free_once_its_client_has_ended_its_session() {
    let sandbox = Sandbox::new();
    let server = Server::of(&sandbox);
    let ada = server.tool(&[], "register_agent", &json!({ "name": "ada" }))["structuredContent"].clone();
    let bearer = format!("Bearer {}", server.token);
    let headers = [("Authorization", bearer.as_str()), ("Mcp-Session-Id", ada["token"].as_str().unwrap())];

    assert_eq!(server.ask("DELETE /mcp", &headers, "").0, 204);

    let other = server.tool(&[], "register_agent", &json!({ "name": "ada" }));
    assert!(other["structuredContent"]["token"].is_string(), "{other}");
}
