//! Tests of the scripted agent, whose actions are real.

use serde_json::json;
use switchboard_protocol::frame::{McpCommand, WorkerEvent};

use crate::bench::{Bench, turns};
use crate::roles;

#[tokio::test]
async fn it_waits_for_mail_acknowledges_it_and_replies_through_the_mcp_server() {
    let mut bench = Bench::script(&json!([
        { "do": "wait_mail", "from": "bea", "timeout_s": 30 },
        { "do": "write", "path": "answer", "content": "it is {{mail.payload}}" },
        { "do": "reply", "text": "got {{mail.payload}}" },
        { "do": "mcp", "tool": "set_agent_status", "args": { "status": "{{mail.sender}}" }, "save_as": "status" },
        { "do": "say", "text": "{{status.ok}}" },
        { "do": "mcp", "tool": "fail" }
    ]))
    .linger(1);
    let log = bench.path("calls");
    let env = roles::env("mcp", &log).into_pairs();
    bench.spec.mcp = Some(McpCommand { name: "switchboard".to_owned(), argv: roles::argv(), env });

    bench.shim().exit().await;

    assert_eq!(
        bench.tree("answer").as_deref(),
        Some("it is 42"),
        "{:?} {}",
        turns(&bench.frames()),
        std::fs::read_to_string(bench.path("worker/frames.jsonl")).unwrap()
    );
    let calls = std::fs::read_to_string(&log).unwrap();
    let names: Vec<_> = calls.lines().map(|line| line.split_once(' ').unwrap().0).collect();
    assert_eq!(names, ["ack_message", "send_message", "set_agent_status"]);
    assert!(
        calls.contains(r#""recipient":"Bea","payload":"got 42","action":"submit_result","reply_to":"msg_1""#),
        "{calls}"
    );
    let (_, stop, text) = turns(&bench.frames()).remove(0);
    assert!(stop == "error" && text.contains("fail: no"), "{stop}: {text}");
    assert_eq!(bench.processes(), [], "the MCP server ends with its agent");
}

#[tokio::test]
async fn its_edits_are_real_and_stay_in_the_work_tree() {
    let bench = Bench::script(&json!([
        { "do": "write", "path": "a/b", "content": "one two two\n" },
        { "do": "append", "path": "a/b", "content": "three\n" },
        { "do": "replace", "path": "a/b", "find": "two", "with": "2" },
        { "do": "write", "path": "gone", "content": "x" },
        { "do": "delete", "path": "gone" },
        { "do": "shell", "argv": ["cat", "a/b"], "save_as": "shown" },
        { "do": "say", "text": "<{{shown}}>" },
        { "do": "write", "path": "../outside", "content": "x" },
        { "do": "write", "path": "never", "content": "x" }
    ]))
    .linger(1);

    bench.shim().exit().await;

    assert_eq!(bench.tree("a/b").as_deref(), Some("one 2 2\nthree\n"));
    assert_eq!((bench.tree("gone"), bench.tree("never"), bench.path("outside").exists()), (None, None, false));
    let (_, stop, text) = turns(&bench.frames()).remove(0);
    assert!(stop == "error" && text.contains("outside"), "{stop}: {text}");
    let last = bench.frames().into_iter().rfind(|f| matches!(f.event, WorkerEvent::ToolCalled { .. })).unwrap();
    assert!(matches!(last.event, WorkerEvent::ToolCalled { status, .. } if status == "failed"));
}

#[tokio::test]
async fn it_fails_refuses_lies_and_exits_as_told() {
    let cases = [
        (json!([{ "do": "fail", "message": "no idea" }]), "error", Some(0)),
        (json!([{ "do": "refuse", "message": "not me" }]), "refusal", Some(0)),
        (json!([{ "do": "lie", "text": "All done." }]), "end_turn", Some(0)),
        (json!([{ "do": "replace", "path": "none", "find": "a", "with": "b" }]), "error", Some(0)),
        (json!([{ "do": "shell", "argv": ["false"] }]), "error", Some(0)),
        (json!([{ "do": "wait_mail", "timeout_s": 0 }]), "error", Some(0)),
        (json!([{ "do": "exit", "code": 7 }]), "error", Some(7)),
    ];
    for (steps, stop, code) in cases {
        let bench = Bench::script(&steps).linger(1);

        bench.shim().exit().await;

        let frames = bench.frames();
        assert_eq!((turns(&frames)[0].1.as_str(), crate::bench::exited(&frames).0), (stop, code), "{steps}");
    }
    let nothing = Bench::sections(&json!([{ "task": "other", "steps": [] }])).linger(1);
    nothing.shim().exit().await;
    assert!(turns(&nothing.frames())[0].2.contains("says nothing about task 1.1, attempt 1"));
}
