//! Tests over real sockets, with hand-written requests.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_protocol::caller::Face;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::*;
use crate::face::tests::{Echo, TOKEN};

const MAX_BODY_BYTES: usize = switchboard_protocol::wire::MAX_LINE_BYTES;

struct Served {
    echo: Arc<Echo>,
    port: u16,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

async fn served() -> Served {
    served_within(Limits::default()).await
}

async fn served_within(limits: Limits) -> Served {
    let echo = Arc::new(Echo::default());
    let http = Http::bind(0).await.unwrap().with_limits(limits);
    let port = http.address().port();
    let stop = CancellationToken::new();
    let task = tokio::spawn(http.serve(echo.clone(), stop.clone()));
    Served { echo, port, stop, task }
}

impl Served {
    /// Sends a request with our Host and token unless `headers` has its own `host` or `authorization` (empty = leave out).
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
        let has = |name: &str| headers.iter().any(|(given, _)| *given == name);
        if !has("host") {
            head += &format!("host: 127.0.0.1:{}\r\n", self.port);
        }
        if !has("authorization") {
            head += &format!("authorization: Bearer {TOKEN}\r\n");
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        self.send(&[head.as_bytes(), body].concat()).await
    }

    async fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        parse(&answer)
    }

    async fn mcp(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        let mut all = vec![("accept", "application/json, text/event-stream"), ("content-type", "application/json")];
        all.extend_from_slice(headers);
        self.ask("POST", "/mcp", &all, body.to_string().as_bytes()).await
    }

    /// Sends a stateless request of 2026-07-28 with the headers that repeat its body.
    async fn modern(&self, method: &str, name: Option<&str>, mut params: Value) -> Answer {
        let own = params["_meta"].take();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        params["_meta"].as_object_mut().unwrap().extend(own.as_object().cloned().unwrap_or_default());
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        headers.extend(name.map(|name| ("mcp-name", name)));
        self.mcp(&headers, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await
    }
}

fn parse(bytes: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

#[tokio::test]
async fn health_needs_no_token() {
    let served = served().await;

    let answer = served.ask("GET", "/health", &[("authorization", "")], b"").await;

    assert_eq!(answer.status, 200);
    assert_eq!(answer.json(), json!({ "status": "ok" }));
}

#[tokio::test]
async fn a_verb_gets_its_body_key_and_caller() {
    let served = served().await;
    let headers = [("idempotency-key", "k1"), ("switchboard-agent", "berta")];

    let answer = served.ask("POST", "/v1/send_message", &headers, br#"{"recipient":"carl"}"#).await;

    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.json(), json!({ "verb": "send_message", "args": { "recipient": "carl" }, "key": "k1" }));
    let arrived = &served.echo.arrived()[0];
    assert_eq!((arrived.caller.name.as_str(), arrived.caller.face), ("berta", Face::Http));
}

#[tokio::test]
async fn an_empty_body_is_an_empty_request() {
    let served = served().await;

    let answer = served.ask("POST", "/v1/get_status", &[], b"").await;

    assert_eq!(answer.json()["args"], json!({}));
}

#[tokio::test]
async fn every_route_refuses_a_foreign_host() {
    let served = served().await;
    let other_port = format!("127.0.0.1:{}", served.port ^ 1);

    for host in ["evil.example", "evil.example:80", "127.0.0.1", &other_port, ""] {
        for (method, path) in [("GET", "/health"), ("POST", "/v1/get_status"), ("POST", "/mcp"), ("GET", "/nowhere")] {
            let answer = served.ask(method, path, &[("host", host)], b"{}").await;
            assert_eq!((answer.status, answer.code().as_str()), (403, "auth.foreign-host"), "{host} {path}");
        }
    }
    assert!(served.echo.arrived().is_empty());
}

#[tokio::test]
async fn a_foreign_host_in_the_request_line_or_a_second_header_is_refused() {
    let served = served().await;
    let port = served.port;

    for head in [
        format!("GET http://evil.example/health HTTP/1.1\r\nhost: 127.0.0.1:{port}"),
        format!("GET /health HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nhost: evil.example"),
        format!("GET /health HTTP/1.1\r\nhost: evil.example\r\nhost: 127.0.0.1:{port}"),
    ] {
        let answer = served.send(format!("{head}\r\nconnection: close\r\n\r\n").as_bytes()).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "auth.foreign-host"), "{head}");
    }
}

#[tokio::test]
async fn every_route_refuses_a_foreign_origin_and_takes_its_own() {
    let served = served().await;
    let own = format!("http://localhost:{}", served.port);
    let other_scheme = format!("https://localhost:{}", served.port);

    for origin in ["http://evil.example", "null", "http://localhost", &other_scheme] {
        for (method, path) in [("GET", "/health"), ("POST", "/v1/get_status"), ("POST", "/mcp"), ("OPTIONS", "/mcp")] {
            let answer = served.ask(method, path, &[("origin", origin)], b"{}").await;
            assert_eq!((answer.status, answer.code().as_str()), (403, "auth.foreign-origin"), "{origin} {path}");
        }
    }

    assert_eq!(served.ask("GET", "/health", &[("origin", &own)], b"").await.status, 200);
    assert!(served.echo.arrived().is_empty());
}

#[tokio::test]
async fn a_wrong_or_missing_token_is_refused_on_all_other_routes() {
    let served = served().await;

    for token in ["", "Bearer guess-7f3a", "Basic right-token", "right-token", "Bearer right-token x"] {
        for path in ["/v1/get_status", "/v1/no_such_verb", "/mcp", "/nowhere"] {
            let answer = served.ask("POST", path, &[("authorization", token)], b"{}").await;
            assert_eq!((answer.status, answer.code().as_str()), (401, "auth.bad-token"), "{token} {path}");
            assert!(answer.head.contains("www-authenticate: bearer"), "{}", answer.head);
            assert!(!answer.body.contains("7f3a"), "the answer repeats the token");
        }
    }
    assert!(served.echo.arrived().is_empty());
}

#[tokio::test]
async fn a_token_in_the_address_is_worth_nothing() {
    let served = served().await;

    let answer = served.ask("POST", &format!("/v1/get_status?token={TOKEN}"), &[("authorization", "")], b"{}").await;

    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_and_the_answer_arrives() {
    let served = served().await;
    let big = vec![b' '; MAX_BODY_BYTES + 1];

    for path in ["/v1/send_message", "/mcp"] {
        let answer = served.ask("POST", path, &[], &big).await;
        assert_eq!((answer.status, answer.code().as_str()), (413, "request.too-large"), "{path}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_without_a_length_is_refused_too() {
    let served = served().await;
    let head = format!(
        "POST /v1/send_message HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {TOKEN}\r\n\
         transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        served.port
    );
    let chunk = [format!("{:x}\r\n", 1 << 20).into_bytes(), vec![b' '; 1 << 20], b"\r\n".to_vec()].concat();

    let answer = served.send(&[head.into_bytes(), chunk.repeat(5), b"0\r\n\r\n".to_vec()].concat()).await;

    assert_eq!((answer.status, answer.code().as_str()), (413, "request.too-large"));
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_taken() {
    let served = served().await;
    let body = format!("{{\"payload\":\"{}\"}}", "x".repeat(MAX_BODY_BYTES - 14));

    let answer = served.ask("POST", "/v1/send_message", &[], body.as_bytes()).await;

    assert_eq!((body.len(), answer.status), (MAX_BODY_BYTES, 200));
}

#[tokio::test]
async fn a_body_that_is_not_json_says_where() {
    let served = served().await;

    let answer = served.ask("POST", "/v1/get_status", &[], b"{\"a\":\n oops}").await;

    assert_eq!((answer.status, answer.code().as_str()), (400, "request.malformed"));
    assert_eq!(answer.json()["where"], "line 2, column 2");
}

#[tokio::test]
async fn failures_are_problems_with_all_that_they_say() {
    let served = served().await;

    let answer = served.ask("POST", "/v1/get_run", &[], b"{}").await;

    assert_eq!(answer.status, 404);
    assert!(answer.head.contains("content-type: application/problem+json"), "{}", answer.head);
    assert_eq!(
        answer.json(),
        json!({
            "type": "urn:switchboard:error:dispatch.unknown-run", "title": "there is no such run", "status": 404,
            "detail": "there is no run run_x", "code": "dispatch.unknown-run", "what": "there is no run run_x",
        })
    );
}

#[tokio::test]
async fn unknown_verbs_routes_methods_and_keys_say_so() {
    let served = served().await;

    let verb = served.ask("POST", "/v1/send_mesage", &[], b"{}").await;
    let route = served.ask("GET", "/v2", &[], b"").await;
    let method = served.ask("GET", "/v1/get_status", &[], b"").await;
    let key = served.ask("POST", "/v1/send_message", &[("idempotency-key", "a b")], b"{}").await;

    assert_eq!((verb.status, verb.code().as_str()), (404, "request.unknown-verb"));
    assert!(verb.json()["hint"].as_str().unwrap().contains("send_message"));
    assert_eq!((route.status, route.code().as_str()), (404, "request.unknown-verb"));
    assert_eq!((method.status, method.code().as_str()), (405, "request.bad-args"));
    assert_eq!((key.status, key.code().as_str()), (400, "request.bad-args"));
}

#[tokio::test]
async fn what_is_no_http_ends_only_its_own_connection() {
    let served = served().await;

    let broken = served.send(b"\x16\x03\x01 hello\r\n\r\n").await;
    let next = served.ask("GET", "/health", &[], b"").await;

    assert_eq!((broken.status, next.status), (400, 200));
}

#[tokio::test]
async fn mcp_serves_clients_that_open_with_initialize() {
    let served = served().await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        }});
        let call = json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {
            "name": "get_status", "arguments": {}, "_meta": { "switchboard/idempotencyKey": "k" },
        }});

        let hello = served.mcp(&[], &hello).await;
        let ready = served.mcp(&[], &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        let called = served.mcp(&[("mcp-protocol-version", version)], &call).await;

        assert!(hello.head.contains("content-type: application/json"), "{}", hello.head);
        assert_eq!(hello.json()["result"]["protocolVersion"], version);
        assert!(hello.json()["result"]["instructions"].as_str().unwrap().contains("register_agent"));
        assert_eq!(ready.status, 202);
        assert_eq!(called.json()["id"], "a");
        assert_eq!(called.json()["result"]["structuredContent"]["verb"], "get_status");
        assert_eq!(called.json()["result"]["structuredContent"]["key"], "k");
        assert!(called.json()["result"].get("resultType").is_none(), "old clients don't know it");
    }
}

#[tokio::test]
async fn mcp_serves_stateless_clients() {
    let served = served().await;

    let discovered = served.modern("server/discover", None, json!({})).await;
    let listed = served.modern("tools/list", None, json!({})).await;
    let called = served.modern("tools/call", Some("send_message"), json!({ "name": "send_message" })).await;

    let versions = discovered.json()["result"]["supportedVersions"].clone();
    assert!(versions.as_array().unwrap().contains(&json!("2026-07-28")), "{versions}");
    assert_eq!(listed.json()["result"]["cacheScope"], "public");
    assert_eq!(called.json()["result"]["resultType"], "complete", "{}", called.body);
    assert_eq!(called.json()["result"]["structuredContent"]["verb"], "send_message");
    let arrived = &served.echo.arrived()[0];
    assert_eq!((arrived.caller.face, arrived.key.as_deref()), (Face::McpHttp, None));
}

#[tokio::test]
async fn a_client_without_a_session_gets_a_token_with_its_name_and_is_that_agent_with_it() {
    let served = served().await;
    let params = json!({ "name": "register_agent", "arguments": { "name": "ada" } });

    let answer = served.modern("tools/call", Some("register_agent"), params).await;
    let token = answer.json()["result"]["structuredContent"]["token"].as_str().unwrap().to_owned();
    let meta = json!({ "name": "check_inbox", "arguments": {}, "_meta": { "switchboard/agentToken": token } });
    let by_meta = served.modern("tools/call", Some("check_inbox"), meta).await;
    served.ask("POST", "/v1/get_status", &[("mcp-session-id", &token)], b"{}").await;
    let wrong = served.ask("POST", "/v1/get_status", &[("mcp-session-id", "guessed")], b"{}").await;

    assert!(by_meta.json()["result"]["isError"] != true, "{}", by_meta.body);
    let arrived = served.echo.arrived();
    let programs: Vec<_> = arrived.iter().map(|arrived| arrived.caller.program.clone().unwrap()).collect();
    assert_eq!(programs.len(), 3);
    assert!(programs.iter().all(|program| program.is_token() && *program == programs[0]), "{programs:?}");
    assert_eq!(wrong.status, 401, "{}", wrong.body);
}

#[tokio::test]
async fn a_client_that_opens_with_initialize_is_given_a_session_and_may_end_it() {
    let served = served().await;
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    }});

    let hello = served.mcp(&[], &hello).await;
    let id = |head: &str| {
        let lines = head.lines().filter_map(|line| line.strip_prefix("mcp-session-id: "));
        lines.map(str::to_owned).next()
    };
    let session = id(&hello.head).unwrap();
    let listed = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let listed = served.mcp(&[("mcp-session-id", &session), ("mcp-protocol-version", "2025-06-18")], &listed).await;
    let ended = served.ask("DELETE", "/mcp", &[("mcp-session-id", &session)], b"").await;

    assert_eq!((session.len(), listed.status, ended.status), (64, 200, 204), "{}", listed.body);
    assert_eq!(id(&listed.head), None);
}

#[tokio::test]
async fn mcp_refuses_headers_that_contradict_the_body() {
    let served = served().await;

    let answer = served.modern("tools/call", Some("get_status"), json!({ "name": "shutdown" })).await;

    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["code"], -32020);
    assert!(served.echo.arrived().is_empty());
}

#[tokio::test]
async fn mcp_answers_broken_json_unknown_versions_and_get() {
    let served = served().await;
    let accept = [("accept", "application/json, text/event-stream"), ("content-type", "application/json")];

    let broken = served.ask("POST", "/mcp", &accept, b"{oops").await;
    let get = served.ask("GET", "/mcp", &accept, b"").await;
    let version = served
        .mcp(&[("mcp-protocol-version", "1999-01-01")], &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }))
        .await;

    assert_eq!((broken.status, &broken.json()["error"]["code"]), (400, &json!(-32700)));
    assert_eq!(broken.json()["error"]["data"]["code"], "request.malformed");
    assert_eq!(get.status, 405);
    assert_eq!(version.status, 400);
}

#[tokio::test]
async fn answers_under_way_are_given_when_the_daemon_ends() {
    let served = served().await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "merge_run" } });
    let headers = [("accept", "application/json, text/event-stream"), ("content-type", "application/json")];
    let verb = served.ask("POST", "/v1/merge_run", &[], b"{}");
    let call = call.to_string();
    let tool = served.ask("POST", "/mcp", &headers, call.as_bytes());

    let stopped = async {
        while served.echo.arrived().len() < 2 {
            tokio::task::yield_now().await;
        }
        served.stop.cancel();
    };
    let (verb, tool, ()) = tokio::join!(verb, tool, stopped);

    assert_eq!((verb.status, tool.status), (200, 200));
    assert!(tool.json()["result"].is_object(), "{}", tool.body);
    served.task.await.unwrap();
    assert!(TcpStream::connect(("127.0.0.1", served.port)).await.is_err());
}

#[tokio::test]
async fn a_head_that_never_ends_closes_its_connection() {
    let served = served_within(Limits { head: Duration::from_millis(20), ..Limits::default() }).await;
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).await.unwrap();

    stream.write_all(b"GET /health HTTP/1.1\r\nx: ").await.unwrap();
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer).await;

    assert!(read.is_ok(), "the daemon is to close, not to reset: {read:?}");
    assert!(!String::from_utf8_lossy(&answer).contains("200 OK"));
}

#[tokio::test]
async fn a_body_that_never_ends_is_refused() {
    let served = served_within(Limits { body: Duration::from_millis(20), ..Limits::default() }).await;
    let head = format!(
        "POST /v1/get_status HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {TOKEN}\r\n\
         content-length: 10\r\n\r\n{{",
        served.port
    );

    let answer = served.send(head.as_bytes()).await;

    assert_eq!((answer.status, answer.code().as_str()), (400, "request.malformed"));
}

#[tokio::test]
async fn a_connection_over_the_limit_waits_while_all_others_are_answered() {
    let served = served_within(Limits { connections: 1, ..Limits::default() }).await;
    let first = served.ask("POST", "/v1/merge_run", &[], b"{}");
    let mut first = std::pin::pin!(first);
    while served.echo.arrived().is_empty() {
        let early = tokio::time::timeout(Duration::from_millis(1), first.as_mut()).await;
        assert!(early.is_err(), "the first was answered at once");
    }

    let second = served.ask("GET", "/health", &[], b"");
    let mut second = std::pin::pin!(second);
    let early = tokio::time::timeout(Duration::from_millis(20), second.as_mut()).await;

    assert!(early.is_err(), "the second was served beside the first");
    assert_eq!(first.await.status, 200);
    assert_eq!(second.await.status, 200);
}

/// Opens a connection that has had one answer and stays idle.
async fn idle(served: &Served) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", served.port)).await.unwrap();
    let head = format!("GET /health HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n\r\n", served.port);
    stream.write_all(head.as_bytes()).await.unwrap();
    assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
    stream
}

#[tokio::test]
async fn idle_connections_give_way_the_oldest_first() {
    let served = served_within(Limits { connections: 3, ..Limits::default() }).await;
    let (mut first, mut second, mut third) = (idle(&served).await, idle(&served).await, idle(&served).await);

    assert_eq!(served.ask("GET", "/health", &[], b"").await.status, 200);

    assert_eq!(first.read(&mut [0; 1]).await.unwrap(), 0, "the oldest is closed");
    for other in [&mut second, &mut third] {
        let head = format!("GET /health HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n\r\n", served.port);
        other.write_all(head.as_bytes()).await.unwrap();
        assert!(other.read(&mut [0; 1024]).await.unwrap() > 0, "the others are served again");
    }
}

#[tokio::test]
async fn hundreds_of_idle_connections_and_half_heads_do_not_hold_up_a_request() {
    let served = served_within(Limits { connections: 200, ..Limits::default() }).await;
    let mut open = Vec::new();
    for number in 0..300 {
        let mut stream = TcpStream::connect(("127.0.0.1", served.port)).await.unwrap();
        if number % 2 == 0 {
            stream.write_all(b"GET /health HT").await.unwrap();
        }
        open.push(stream);
    }

    let health = tokio::time::timeout(Duration::from_secs(10), served.ask("GET", "/health", &[], b"")).await;

    assert_eq!(health.unwrap().status, 200);
}

#[tokio::test]
async fn the_daemons_health_is_told_while_all_places_of_requests_are_taken() {
    let served = served_within(Limits { requests: 1, ..Limits::default() }).await;
    let first = served.ask("POST", "/v1/merge_run", &[], b"{}");
    let mut first = std::pin::pin!(first);
    while served.echo.arrived().is_empty() {
        let early = tokio::time::timeout(Duration::from_millis(1), first.as_mut()).await;
        assert!(early.is_err(), "the first was answered at once");
    }

    let health = served.ask("GET", "/health", &[], b"").await;

    assert_eq!(health.status, 200);
    assert_eq!(first.await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn an_idle_client_stays_for_more_than_a_minute_and_not_for_ever() {
    let connections = super::activity::Connections::default();
    let connection = connections.begin();
    let limits = Limits::default();

    let overdue = connection.activity.overdue(limits);
    let mut overdue = std::pin::pin!(overdue);
    assert!(tokio::time::timeout(Duration::from_secs(61), overdue.as_mut()).await.is_err());
    drop(connection.activity.begin());
    assert!(tokio::time::timeout(Duration::from_secs(119), overdue.as_mut()).await.is_err(), "the pause begins anew");

    assert!(tokio::time::timeout(Duration::from_secs(2), overdue).await.is_ok());
}
