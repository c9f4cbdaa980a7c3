//! Tests of MCP over a pipe, with hand-written lines.

use serde_json::json;
use switchboard_protocol::wire::MAX_LINE_BYTES;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::face::tests::{Echo, caller};

struct Peer {
    echo: Arc<Echo>,
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
    stop: CancellationToken,
}

fn connect(echo: &Arc<Echo>) -> Peer {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (read, write) = tokio::io::split(theirs);
    let stop = CancellationToken::new();
    let bridge = "brg_1".to_owned();
    tokio::spawn(serve_io(echo.clone(), caller("anna"), read, write, bridge, stop.clone()));
    let (read, write) = tokio::io::split(ours);
    Peer { echo: echo.clone(), read: BufReader::new(read), write, stop }
}

impl Peer {
    async fn say(&mut self, line: &str) {
        self.write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Returns the next line; `None` when the connection has ended.
    async fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = tokio::time::timeout(std::time::Duration::from_secs(10), self.read.read_line(&mut line));
        match read.await.expect("an answer in time").unwrap() {
            0 => None,
            _ => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    async fn ask(&mut self, method: &str, id: Value, params: Value) -> Value {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()).await;
        self.hear().await.unwrap()
    }

    async fn initialize(&mut self, version: &str) -> Value {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
        let answer = self.ask("initialize", json!(0), params).await;
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        answer
    }
}

fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

#[tokio::test]
async fn serves_every_version_that_has_initialize_and_falls_back_for_others() {
    for (asked, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let mut peer = connect(&Arc::default());

        let hello = peer.initialize(asked).await;
        let listed = peer.ask("tools/list", json!(1), json!({})).await;

        assert_eq!(hello["result"]["protocolVersion"], given, "{asked}");
        assert_eq!(hello["result"]["serverInfo"]["name"], "switchboard");
        assert!(listed["result"].get("ttlMs").is_none(), "{asked} knows no cache hints");
    }
}

#[tokio::test]
async fn answers_ping_and_lists_before_any_handshake() {
    let mut peer = connect(&Arc::default());

    let ping = peer.ask("ping", json!(1), json!({})).await;
    let prompts = peer.ask("prompts/list", json!(2), json!({})).await;

    assert!(ping["result"].is_object(), "{ping}");
    assert_eq!(prompts["result"]["prompts"], json!([]));
}

#[tokio::test]
async fn serves_stateless_clients_that_discover_first() {
    let mut peer = connect(&Arc::default());

    let discovered = peer.ask("server/discover", json!("d"), modern(json!({}))).await;
    let called = peer.ask("tools/call", json!(2), modern(json!({ "name": "check_inbox" }))).await;

    assert!(discovered["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    assert!(discovered["result"]["instructions"].as_str().unwrap().contains("untrusted"));
    assert_eq!(called["result"]["resultType"], "complete");
}

#[tokio::test]
async fn lists_the_default_tools_in_a_fixed_order() {
    let mut peer = connect(&Arc::default());
    peer.initialize("2025-06-18").await;

    let listed = peer.ask("tools/list", json!(1), json!({})).await;

    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let expected: Vec<_> = switchboard_protocol::verb::table()
        .into_iter()
        .filter(|row| row.profile == Profile::Listed)
        .map(|row| row.name)
        .collect();
    assert_eq!(names, expected);
    let send = &tools[names.iter().position(|name| *name == "send_message").unwrap()];
    assert_eq!(send["inputSchema"]["type"], "object");
    assert_eq!(send["annotations"]["destructiveHint"], false);
    assert_eq!(send["annotations"]["readOnlyHint"], json!(null));
    let options = send["inputSchema"]["properties"]["options"]["description"].as_str().unwrap();
    assert!(options.contains("delay_ms"), "{options}");
    let roster = &tools[names.iter().position(|name| *name == "get_team_roster").unwrap()];
    assert_eq!(roster["annotations"]["readOnlyHint"], true);
    assert!(listed.to_string().len() < 7_200, "{} bytes", listed.to_string().len());
}

#[tokio::test]
async fn answers_with_structured_content_and_the_same_as_text() {
    let mut peer = connect(&Arc::default());
    peer.initialize("2025-06-18").await;

    let called = peer.ask("tools/call", json!(1), json!({ "name": "get_status", "arguments": { "a": 1 } })).await;

    let result = &called["result"];
    assert_eq!(result["structuredContent"], json!({ "verb": "get_status", "args": { "a": 1 }, "key": null }));
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    assert_ne!(result["isError"], true);
}

#[tokio::test]
async fn failures_are_tool_errors_that_the_model_can_read() {
    let mut peer = connect(&Arc::default());
    peer.initialize("2025-06-18").await;

    let called = peer.ask("tools/call", json!(1), json!({ "name": "get_run", "arguments": {} })).await;

    let result = &called["result"];
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["code"], "dispatch.unknown-run");
    assert!(result["content"][0]["text"].as_str().unwrap().contains("dispatch.unknown-run"));
}

#[tokio::test]
async fn verbs_that_are_not_listed_can_be_called_by_name() {
    let mut peer = connect(&Arc::default());
    peer.initialize("2025-06-18").await;

    let called = peer.ask("tools/call", json!(1), json!({ "name": "read_events" })).await;

    assert_eq!(called["result"]["structuredContent"]["verb"], "read_events");
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error_with_near_names() {
    let mut peer = connect(&Arc::default());
    peer.initialize("2025-06-18").await;

    let called = peer.ask("tools/call", json!(1), json!({ "name": "send_mesage" })).await;

    assert_eq!(called["error"]["code"], -32602);
    assert!(called["error"]["message"].as_str().unwrap().contains("send_message"), "{called}");
    assert_eq!(called["error"]["data"]["code"], "request.unknown-verb");
    assert!(peer.echo.arrived().is_empty());
}

#[tokio::test]
async fn misshapen_calls_and_unknown_methods_are_told_apart() {
    let mut peer = connect(&Arc::default());
    peer.initialize("2025-06-18").await;

    let no_object = peer.ask("tools/call", json!(1), json!({ "name": "get_status", "arguments": [1] })).await;
    let no_method = peer.ask("tools/cal", json!(2), json!({})).await;

    assert_eq!(no_object["error"]["code"], -32602, "{no_object}");
    assert_eq!(no_method["error"]["code"], -32601);
}

#[tokio::test]
async fn a_line_that_is_no_json_rpc_is_answered_and_the_connection_goes_on() {
    let mut peer = connect(&Arc::default());
    peer.initialize("2025-06-18").await;
    let deep = "[".repeat(10_000);

    for (line, code, id) in [
        ("{oops", -32700, Value::Null),
        ("\u{0}", -32700, Value::Null),
        (deep.as_str(), -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("7", -32600, Value::Null),
        (r#"{"jsonrpc":"1.0","id":"x","method":"ping"}"#, -32600, json!("x")),
        (r#"{"id":5}"#, -32600, json!(5)),
    ] {
        peer.say(line).await;
        let answer = peer.hear().await.unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{line:.40}");
        assert_eq!(answer["error"]["data"]["code"], "request.malformed");
    }

    peer.write.write_all(b"\"\xff\xfe\"\n").await.unwrap();
    assert_eq!(peer.hear().await.unwrap()["error"]["code"], -32700);
    let called = peer.ask("tools/call", json!(1), json!({ "name": "get_status" })).await;
    assert_eq!(called["id"], 1);
}

#[tokio::test]
async fn notifications_that_nobody_knows_and_empty_lines_are_passed_over() {
    let mut peer = connect(&Arc::default());

    peer.say("").await;
    peer.say(r#"{"jsonrpc":"2.0","method":"$/setTrace","params":{}}"#).await;
    peer.say(r#"{"jsonrpc":"2.0","method":"notifications/made_up"}"#).await;

    assert!(peer.initialize("2025-06-18").await["result"].is_object());
}

#[tokio::test]
async fn a_line_over_the_limit_is_answered_and_ends_the_connection() {
    let mut peer = connect(&Arc::default());
    peer.initialize("2025-06-18").await;
    let mut write = peer.write;

    // The write fails when the connection ends during it; only what the peer receives counts.
    let writer = tokio::spawn(async move {
        let _ = write.write_all(&[b'x'; MAX_LINE_BYTES + 2]).await;
        write
    });
    let mut line = String::new();
    peer.read.read_line(&mut line).await.unwrap();
    let rest = peer.read.read_line(&mut String::new()).await.unwrap();

    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["error"]["data"]["code"], "request.too-large");
    assert_eq!(rest, 0);
    drop(writer.await.unwrap());
}

#[tokio::test]
async fn a_call_that_is_sent_again_after_a_reconnect_has_the_same_key() {
    let echo = Arc::new(Echo::default());
    let call = json!({ "name": "send_message", "arguments": {} });
    let mut first = connect(&echo);
    first.initialize("2025-06-18").await;

    let before = first.ask("tools/call", json!(7), call.clone()).await;
    drop(first);
    let after = connect(&echo).ask("tools/call", json!(7), call.clone()).await;
    let other = connect(&echo).ask("tools/call", json!("7"), call).await;

    assert_eq!(before["result"]["structuredContent"]["key"], "brg_1/7");
    assert_eq!(after, before);
    assert_eq!(other["result"]["structuredContent"]["key"], "brg_1/\"7\"");
}

#[tokio::test]
async fn a_key_of_the_clients_own_comes_first_and_must_be_usable() {
    let mut peer = connect(&Arc::default());
    let call = |key: Value| json!({ "name": "send_message", "_meta": { "idempotencyKey": key } });

    let own = peer.ask("tools/call", json!(1), call(json!("mine"))).await;
    let number = peer.ask("tools/call", json!(2), call(json!(5))).await;
    let long = peer.ask("tools/call", json!("x".repeat(300)), json!({ "name": "send_message" })).await;

    assert_eq!(own["result"]["structuredContent"]["key"], "mine");
    assert_eq!(number["result"]["structuredContent"]["code"], "request.bad-args");
    assert_eq!(long["result"]["structuredContent"]["key"].as_str().unwrap().len(), 64);
}

#[tokio::test]
async fn many_calls_at_once_are_all_answered() {
    let mut peer = connect(&Arc::default());
    peer.initialize("2025-06-18").await;
    let mut write = peer.write;

    let writer = tokio::spawn(async move {
        for id in 1..=500 {
            let call =
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "get_status" } });
            write.write_all(format!("{call}\n").as_bytes()).await.unwrap();
        }
        write
    });
    let mut ids = std::collections::BTreeSet::new();
    while ids.len() < 500 {
        let mut line = String::new();
        peer.read.read_line(&mut line).await.unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert!(ids.insert(answer["id"].as_i64().unwrap()), "answered twice");
    }

    assert_eq!(ids.last(), Some(&500));
    drop(writer.await.unwrap());
}

#[tokio::test]
async fn answers_under_way_are_sent_before_the_connection_ends() {
    let echo = Arc::new(Echo::default());
    let mut peer = connect(&echo);
    peer.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"merge_run"}}"#).await;
    while echo.arrived().is_empty() {
        tokio::task::yield_now().await;
    }

    peer.stop.cancel();

    assert_eq!(peer.hear().await.unwrap()["id"], 1);
    assert_eq!(peer.hear().await, None);
}
