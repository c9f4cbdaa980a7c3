//! Calls that wait for a person's approval, by an agent connected over MCP.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::spawn::Spawn;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};

use super::http::Server;
use super::sandbox::{BINARY, MCP_CLIENT, Sandbox, within};

/// A client of `switchboard mcp` that exchanges lines.
pub(super) struct Client {
    child: switchboard_process::spawn::Child,
    stdin: tokio::process::ChildStdin,
    lines: Lines<BufReader<tokio::process::ChildStdout>>,
}

impl Client {
    pub(super) async fn open(sandbox: &Sandbox) -> Self {
        Self::open_as(sandbox, "ada").await
    }

    pub(super) async fn open_as(sandbox: &Sandbox, name: &str) -> Self {
        let mut child = Spawn::new([MCP_CLIENT[0], MCP_CLIENT[1], BINARY, "mcp"])
            .cwd(sandbox.root())
            .env_only(sandbox.environment())
            .piped()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut client = Self { child, stdin, lines };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "story", "version": "1" } });
        client.say(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello })).await;
        client.line().await;
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client.ask(1, "register_agent", &json!({ "name": name })).await;
        assert_eq!(client.line().await["id"], 1);
        client
    }

    async fn say(&mut self, line: &Value) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(super) async fn ask(&mut self, id: u32, tool: &str, arguments: &Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).await;
    }

    pub(super) async fn line(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(30), self.lines.next_line()).await;
        serde_json::from_str(&line.expect("an answer comes").unwrap().unwrap()).unwrap()
    }

    pub(super) async fn close(mut self) {
        drop(self.stdin);
        self.child.wait().await;
    }
}

pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn delegation() -> Value {
    let each_counts = json!({ "no_cooldown": true, "queue_mode": "keep" });
    json!({ "recipient": "ben", "payload": "paint the shed", "action": "delegate_task", "metadata": each_counts })
}

fn inbox_of_ben(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.call(&["check_inbox", "agent=ben"])["messages"].as_array().unwrap().clone()
}

/// Starts a daemon with an agent named ben.
fn with_ben() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.call(&["register_agent", "name=ben"]);
    sandbox
}

/// Makes a client whose call 2 is a delegation to ben; returns it with the question about that.
async fn delegating(sandbox: &Sandbox) -> (Client, Value) {
    let mut client = Client::open(sandbox).await;
    client.ask(2, "send_message", &delegation()).await;
    (client, sandbox.question())
}

#[test]
fn a_delegation_over_mcp_waits_for_a_yes_and_then_goes_through() {
    let sandbox = with_ben();

    runtime().block_on(async {
        let (mut client, need) = delegating(&sandbox).await;
        assert_eq!((&need["kind"], &need["call"]["verb"]), (&json!("call"), &json!("send_message")), "{need}");
        assert!(need["detail"].as_str().unwrap().contains("paint the shed"), "{need}");
        assert!(inbox_of_ben(&sandbox).is_empty());

        client.ask(3, "get_status", &json!({})).await;
        assert_eq!(client.line().await["id"], 3, "another call of the connection goes on");
        sandbox.switchboard(&["approve", need["id"].as_str().unwrap()]).ends_with(0).says("approved");

        let answer = client.line().await;
        assert_eq!(answer["id"], 2, "{answer}");
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        client.close().await;
    });

    let mail = inbox_of_ben(&sandbox);
    assert_eq!(mail.len(), 1, "{mail:?}");
    assert_eq!((&mail[0]["payload"], &mail[0]["sender_verified"]), (&json!("paint the shed"), &json!(false)));
    sandbox.switchboard(&["needs"]).ends_with(0);
    assert_eq!(sandbox.call(&["list_needs"])["needs"], json!([]));
}

#[test]
fn a_delegation_behind_much_metadata_waits_as_well_and_a_no_ends_it() {
    let sandbox = with_ben();

    runtime().block_on(async {
        let mut client = Client::open(&sandbox).await;
        let many = json!({ "list": vec![0; 600] });
        let args =
            json!({ "recipient": "ben", "metadata": many, "payload": "x".repeat(9_000), "action": "delegate_task" });
        client.ask(2, "send_message", &args).await;
        let need = sandbox.question();
        let (id, detail) = (need["id"].as_str().unwrap(), need["detail"].as_str().unwrap());
        assert!(detail.contains("(9000 characters in all)"), "{need}");
        sandbox.switchboard(&["needs"]).ends_with(0).says(&format!("more lines: switchboard needs {id}"));
        sandbox.switchboard(&["needs", &id[..12]]).ends_with(0).says("a call: ada calls").says("delegate_task");
        sandbox.switchboard(&["needs", "need_0000"]).ends_with(2).says("need.unknown");
        sandbox.switchboard(&["deny", need["id"].as_str().unwrap()]).ends_with(0);

        let answer = client.line().await;
        assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(2), &json!(true)), "{answer}");
        client.close().await;
    });

    assert!(inbox_of_ben(&sandbox).is_empty());
}

/// Answers all open questions once there are `count`.
fn answer_all(sandbox: &Sandbox, count: usize, word: &str) {
    let mut needs = Vec::new();
    let asked = within(Duration::from_secs(30), || {
        needs = sandbox.call(&["list_needs"])["needs"].as_array().unwrap().clone();
        needs.len() == count
    });
    assert!(asked, "{needs:?}");
    for need in needs {
        sandbox.switchboard(&[word, need["id"].as_str().unwrap()]).ends_with(0);
    }
}

#[test]
fn a_delegation_over_http_waits_for_its_yes_on_each_of_its_routes() {
    let sandbox = with_ben();
    let server = Server::of(&sandbox);
    let tool = json!({ "name": "send_message", "arguments": delegation() });
    let tool = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": tool });

    std::thread::scope(|scope| {
        let verb = scope.spawn(|| server.call("send_message", &delegation()));
        let mcp = scope.spawn(|| server.mcp(&tool));
        answer_all(&sandbox, 2, "approve");

        let (status, body) = verb.join().unwrap();
        assert_eq!(status, 200, "{body}");
        let (status, body) = mcp.join().unwrap();
        assert!(status == 200 && body.contains("accepted") && !body.contains("\"isError\":true"), "{status} {body}");
    });

    assert_eq!(inbox_of_ben(&sandbox).len(), 2);
    std::thread::scope(|scope| {
        let verb = scope.spawn(|| server.call("send_message", &delegation()));
        answer_all(&sandbox, 1, "deny");
        let (status, body) = verb.join().unwrap();
        assert!(status == 403 && body.contains("policy.denied"), "{status} {body}");
    });
    assert_eq!(inbox_of_ben(&sandbox).len(), 2);
}

#[test]
fn a_caller_has_eight_questions_open_at_most() {
    let sandbox = with_ben();
    let server = Server::of(&sandbox);

    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| server.call("send_message", &delegation()).0)).collect();
        let asked = || sandbox.call(&["list_needs"])["needs"].as_array().unwrap().len() == 8;
        assert!(within(Duration::from_secs(30), asked), "eight are asked");

        let (status, body) = server.call("send_message", &delegation());
        assert!(status == 403 && body.contains("policy.denied"), "{status} {body}");
        answer_all(&sandbox, 8, "approve");
        for call in calls {
            assert_eq!(call.join().unwrap(), 200);
        }
    });

    assert_eq!(inbox_of_ben(&sandbox).len(), 8);
}

#[test]
fn a_delegation_that_a_person_denies_is_refused_and_not_sent() {
    let sandbox = with_ben();

    runtime().block_on(async {
        let (mut client, need) = delegating(&sandbox).await;
        sandbox.switchboard(&["deny", need["id"].as_str().unwrap()]).ends_with(0);

        let answer = client.line().await;
        assert!(answer.to_string().contains("policy.denied"), "{answer}");
        client.close().await;
    });

    assert!(inbox_of_ben(&sandbox).is_empty());
}

#[test]
fn a_call_whose_caller_is_gone_does_not_run() {
    let sandbox = with_ben();

    runtime().block_on(async {
        let (mut client, need) = delegating(&sandbox).await;
        let cancelled = json!({ "requestId": 2, "reason": "no longer wanted" });
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled })).await;

        let withdrawn = within(Duration::from_secs(30), || sandbox.call(&["list_needs"])["needs"] == json!([]));
        assert!(withdrawn, "the question stays open");
        let late = sandbox.switchboard(&["approve", need["id"].as_str().unwrap(), "--json"]).ends_with(2);
        assert_eq!(late.failure()["code"], "need.settled");
        client.close().await;
    });

    assert!(inbox_of_ben(&sandbox).is_empty());
}

#[test]
fn tools_beyond_the_list_are_found_described_and_called() {
    let sandbox = Sandbox::new();

    runtime().block_on(async {
        let mut client = Client::open(&sandbox).await;
        client.ask(2, "find_tools", &json!({ "words": "list leases" })).await;
        let found = client.line().await["result"]["structuredContent"].clone();
        assert_eq!(found["tools"][0]["name"], "list_leases", "{found}");
        client.ask(3, "describe_tool", &json!({ "name": "list_leases" })).await;
        let described = client.line().await["result"]["structuredContent"].clone();
        assert_eq!(described["request"]["type"], "object", "{described}");
        client.ask(4, "list_leases", &json!({})).await;
        assert_eq!(client.line().await["result"]["structuredContent"]["total"], 0);
        client.close().await;
    });
}

#[test]
fn a_handler_that_panics_is_a_failure_of_its_call_and_the_daemon_goes_on() {
    let mut sandbox = Sandbox::new();
    sandbox.set("SWITCHBOARD_PANIC_IN", "list_leases");
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let pid = sandbox.call(&["get_status"])["pid"].clone();

    let failed = sandbox.switchboard(&["call", "list_leases", "--json"]).ends_with(1);

    assert_eq!(failed.failure()["code"], "internal.bug");
    assert_eq!(sandbox.call(&["get_status"])["pid"], pid);
}

/// Returns the first and the second answer to a call under one key.
fn twice(sandbox: &Sandbox, words: &[&str]) -> (Value, Value) {
    let key = format!("key-of-{}", words[0]);
    let words = [words, &["--key", &key]].concat();
    (sandbox.call(&words), sandbox.call(&words))
}

fn events(sandbox: &Sandbox, kind: &str) -> usize {
    let kinds = format!("kinds:=[\"{kind}\"]");
    sandbox.call(&["read_events", &kinds])["events"].as_array().unwrap().len()
}

#[test]
fn verbs_repeated_under_their_key_answer_as_the_first_time() {
    let sandbox = with_ben();

    for (words, kind) in [
        (&["sign_head"][..], "head_signed"),
        (&["set_team", "team=red", "members:=[\"ben\"]"], "team_set"),
        (&["release_files"], "lease_ended"),
        (&["remove_team", "team=red"], "team_removed"),
    ] {
        let before = events(&sandbox, kind);
        let (first, second) = twice(&sandbox, words);

        assert_eq!(first, second, "{words:?}");
        assert!(events(&sandbox, kind) - before <= 1, "{words:?} was done twice");
    }
    let other =
        sandbox.switchboard(&["call", "set_team", "team=blue", "members:=[]", "--key", "key-of-set_team", "--json"]);
    assert_eq!(other.ends_with(1).failure()["code"], "request.conflict");
}
