//! Tests of turns, mail, questions, and a daemon that goes away and returns.

use serde_json::json;
use switchboard_process::spawn::{Exit, Signal};
use switchboard_protocol::frame::{Frame, ShimCommand, WorkerEvent};
use switchboard_protocol::id::Digest;
use switchboard_protocol::wire::Hello;
use switchboard_protocol::worker::PauseState;

use crate::bench::{Bench, TOKEN, exited, faults, kinds, mail, turns, until};

fn is_turn_end(event: &WorkerEvent) -> bool {
    matches!(event, WorkerEvent::TurnEnded { .. })
}

fn is_tool(event: &WorkerEvent, wanted: &str) -> bool {
    matches!(event, WorkerEvent::ToolCalled { status, .. } if status == wanted)
}

#[tokio::test]
async fn a_worker_reports_every_step_and_ends_sealed() {
    let bench = Bench::script(&json!([
        { "do": "write", "path": "src/a.txt", "content": "task {{task}}, attempt {{attempt}}, {{agent}}" },
        { "do": "cost", "usd": 0.25 },
        { "do": "say", "text": "That is all." }
    ]));
    let daemon = bench.daemon();
    let shim = bench.shim();

    let mut line = daemon.accept().await;
    let mut frames = line.upto(is_turn_end).await;
    line.tell(ShimCommand::Finish).await;
    frames.extend(line.rest().await);

    assert!(matches!(&line.hello, Hello::Shim { epoch: 1, token, .. } if token == TOKEN));
    assert_eq!(
        kinds(&frames),
        [
            "agent_started",
            "session_opened",
            "turn_started",
            "tool_called in_progress",
            "tool_called completed",
            "cost_reported",
            "turn_ended",
            "agent_exited",
            "sealed"
        ]
    );
    assert!(frames.iter().map(|frame| frame.seq).eq(1..=9));
    assert_eq!(frames, bench.frames(), "what was sent is what is on disk");
    assert!(frames.iter().any(|f| f.event == WorkerEvent::TurnStarted { turn: 1, mail: vec![mail(0)] }));
    assert!(
        frames
            .iter()
            .any(|f| f.event
                == WorkerEvent::CostReported { micro_usd: Some(250_000), input_tokens: 0, output_tokens: 0 })
    );
    let (_, stop, text) = turns(&frames).remove(0);
    assert_eq!(stop, "end_turn");
    assert!(text.contains("scripted agent") && text.contains("no model") && text.ends_with("That is all.\n"), "{text}");
    assert_eq!(bench.tree("src/a.txt").as_deref(), Some("task 1.1, attempt 1, Ada"));
    assert_eq!(exited(&frames), (Some(0), None));
    assert_eq!(shim.exit().await, Exit::Exited(0));
    assert_eq!(switchboard_process::lock::holder(&bench.path("worker/lock")).unwrap(), None);
    let Some(WorkerEvent::Sealed { bytes, dropped: 0, digest }) = frames.last().map(|f| f.event.clone()) else {
        panic!()
    };
    let mut spool: Vec<_> = std::fs::read_dir(bench.path("worker/spool")).unwrap().map(|e| e.unwrap().path()).collect();
    spool.sort();
    let raw: Vec<u8> = spool.iter().flat_map(|path| std::fs::read(path).unwrap()).collect();
    assert_eq!((bytes, digest), (raw.len() as u64, Digest::of(&raw).hex()));
}

#[tokio::test]
async fn mail_waits_for_the_end_of_the_turn_and_cancels_no_tool_call() {
    let bench = Bench::sections(&json!([
        { "steps": [{ "do": "shell", "argv": ["sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; sleep 1; echo done > tool"] }] },
        { "turn": 2, "steps": [{ "do": "write", "path": "second", "content": "x" }] }
    ]));
    let daemon = bench.daemon();
    let _shim = bench.shim();
    let mut line = daemon.accept().await;
    line.upto(|event| is_tool(event, "in_progress")).await;

    // The tool runs for another second, so that the shim has received all of these by then.
    for number in 1..=3 {
        line.tell(ShimCommand::Prompt { text: format!("mail {number}"), mail: vec![mail(number)] }).await;
    }
    line.tell(ShimCommand::Finish).await;
    std::fs::write(bench.path("tree/go"), "").unwrap();
    let frames = line.rest().await;

    assert_eq!(
        kinds(&frames),
        [
            "tool_called completed",
            "turn_ended",
            "turn_started",
            "tool_called in_progress",
            "tool_called completed",
            "turn_ended",
            "agent_exited",
            "sealed"
        ]
    );
    assert_eq!(bench.tree("tool").as_deref(), Some("done\n"));
    assert!(
        frames.iter().any(|f| f.event == WorkerEvent::TurnStarted { turn: 2, mail: vec![mail(1), mail(2), mail(3)] })
    );
    assert_eq!(turns(&frames).iter().map(|(_, stop, _)| stop.as_str()).collect::<Vec<_>>(), ["end_turn", "end_turn"]);
}

#[tokio::test]
async fn a_daemon_that_dies_and_returns_misses_nothing_and_sees_nothing_twice() {
    let steps: Vec<_> =
        (0..30).map(|n| json!({ "do": "append", "path": "log", "content": format!("{n}\n") })).collect();
    let bench = Bench::sections(&json!([
        { "steps": [{ "do": "shell", "argv": ["sh", "-c", "while [ ! -e go ]; do sleep 0.01; done"] }] },
        { "turn": 2, "steps": steps }
    ]));
    let daemon = bench.daemon();
    let shim = bench.shim();
    let mut line = daemon.accept().await;
    let mut seen = line.upto(|event| matches!(event, WorkerEvent::TurnStarted { .. })).await;
    let acked = seen.len() as u64;
    line.tell(ShimCommand::Prompt { text: "more".to_owned(), mail: vec![mail(7)] }).await;
    let unacked = line.frame().await;

    drop((line, daemon));
    std::fs::write(bench.path("tree/go"), "").unwrap();
    bench.on_disk("the second turn", |e| matches!(e, WorkerEvent::TurnEnded { turn: 2, .. })).await;
    let daemon = bench.daemon();
    let mut line = daemon.accept().await;
    let first = line.frame().await;
    line.tell(ShimCommand::Ack { seq: first.seq }).await;
    line.tell(ShimCommand::Finish).await;
    seen.push(first.clone());
    seen.extend(line.rest().await);

    assert_eq!((first.seq, &first), (acked + 1, &unacked), "it goes on after the last ack");
    assert_eq!(seen, bench.frames(), "all of them, once, in order");
    assert!(seen.iter().map(|frame| frame.seq).eq(1..=seen.len() as u64));
    assert_eq!(bench.tree("log").unwrap().lines().count(), 30, "no step was played twice");
    assert_eq!(shim.exit().await, Exit::Exited(0));
}

#[tokio::test]
async fn without_a_daemon_the_work_is_done_and_the_frames_wait_on_disk() {
    let bench = Bench::script(&json!([{ "do": "write", "path": "a", "content": "x" }])).linger(1);

    let exit = bench.shim().exit().await;

    assert_eq!(exit, Exit::Exited(0));
    let frames = bench.frames();
    assert_eq!(kinds(&frames).last().map(String::as_str), Some("sealed"));
    assert_eq!(switchboard_agents::shim::read_frames(&bench.path("worker"), 3).unwrap(), frames[3..]);
    assert_eq!(bench.tree("a").as_deref(), Some("x"));
}

#[tokio::test]
async fn a_question_waits_for_its_answer_and_times_out_closed() {
    let steps = json!([
        { "do": "ask_permission", "title": "touch allowed", "on_reject": "skip" },
        { "do": "write", "path": "allowed", "content": "x" },
        { "do": "ask_permission", "title": "touch denied", "on_reject": "skip" },
        { "do": "write", "path": "denied", "content": "x" },
        { "do": "ask_permission", "title": "touch late" },
        { "do": "write", "path": "late", "content": "x" }
    ]);
    let bench = Bench::script(&steps).limits(|limits| limits.permission_ms = 1500);
    let daemon = bench.daemon();
    let _shim = bench.shim();
    let mut line = daemon.accept().await;

    let mut asked = Vec::new();
    for answer in [Some("allow_once"), Some("no such option"), None] {
        let frames = line.upto(|event| matches!(event, WorkerEvent::PermissionAsked { .. })).await;
        let Some(WorkerEvent::PermissionAsked { ask, title, options, .. }) = frames.last().map(|f| f.event.clone())
        else {
            panic!()
        };
        assert_eq!(
            options.iter().map(|option| option.kind.as_str()).collect::<Vec<_>>(),
            ["allow_once", "reject_once"]
        );
        if let Some(option) = answer {
            line.tell(ShimCommand::Permit { ask: ask.clone(), option: Some(option.to_owned()) }).await;
            line.tell(ShimCommand::Permit { ask: ask.clone(), option: Some("allow_once".to_owned()) }).await;
        }
        asked.push((ask, title));
    }
    let frames = line.upto(is_turn_end).await;
    line.tell(ShimCommand::Finish).await;
    line.rest().await;

    let settled = |frame: Frame| {
        let WorkerEvent::PermissionSettled { ask, option, .. } = frame.event else { return None };
        Some((ask, option))
    };
    let settled: Vec<_> = bench.frames().into_iter().filter_map(settled).collect();
    let expected = [Some("allow_once"), None, Some("reject_once")].map(|option| option.map(str::to_owned));
    assert_eq!(settled, asked.into_iter().map(|(ask, _)| ask).zip(expected).collect::<Vec<_>>());
    assert_eq!((bench.tree("allowed").is_some(), bench.tree("denied"), bench.tree("late")), (true, None, None));
    assert_eq!(turns(&frames)[0].1, "error", "the last refusal was one that the script does not bear");
}

#[tokio::test]
async fn a_command_has_one_turn_its_exit_state_and_no_mail() {
    for (script, expected) in [
        ("echo out; echo err >&2; exit 3", (Some(3), None)),
        ("echo out; echo err >&2; kill -9 $$", (None, Some(9))),
        ("echo out; echo err >&2; read x && exit 5; exit 0", (Some(0), None)),
    ] {
        let bench = Bench::exec(script);
        let daemon = bench.daemon();
        let _shim = bench.shim();
        let mut line = daemon.accept().await;
        line.tell(ShimCommand::Prompt { text: "not for a command".to_owned(), mail: vec![mail(1)] }).await;

        let frames = line.rest().await;

        assert_eq!(
            kinds(&frames),
            ["agent_started", "turn_started", "turn_ended", "agent_exited", "sealed"],
            "{script}"
        );
        assert!(frames.iter().any(|f| f.event == WorkerEvent::TurnStarted { turn: 1, mail: vec![] }));
        assert_eq!(turns(&frames), [(1, "exit".to_owned(), "out\n".to_owned())]);
        assert_eq!(exited(&frames), expected, "{script}");
        assert!(
            frames.iter().any(|f| matches!(&f.event, WorkerEvent::AgentExited { stderr, .. } if stderr == "err\n"))
        );
    }
}

#[tokio::test]
async fn secrets_of_the_worker_never_enter_a_frame() {
    let mut bench = Bench::script(&json!([
        { "do": "say", "text": format!("{TOKEN} sk-live-0123456789") },
        { "do": "shell", "argv": ["sh", "-c", format!("echo {TOKEN} sk-live-0123456789 >&2; exit 1")] }
    ]))
    .linger(1);
    bench.spec.env.push(("SOME_API_KEY".to_owned(), "sk-live-0123456789".to_owned()));

    bench.shim().exit().await;

    let text = std::fs::read_to_string(bench.path("worker/frames.jsonl")).unwrap();
    assert!(text.contains("‹secret›") && !text.contains(TOKEN) && !text.contains("sk-live"), "{text}");
}

#[tokio::test]
async fn a_second_shim_of_one_worker_is_refused_and_a_later_one_is_another_incarnation() {
    let bench = Bench::script(&json!([{ "do": "hang" }]));
    let first = bench.shim();
    bench.on_disk("the turn", |e| matches!(e, WorkerEvent::TurnStarted { .. })).await;

    let second = bench.shim();

    assert_ne!(second.exit().await, Exit::Exited(0));
    first.signal(Signal::TERM);
    assert_eq!(first.exit().await, Exit::Exited(0));
    let before = bench.frames();
    assert_eq!(turns(&before)[0].1, "cancelled");
    assert_eq!(faults(&before), [""; 0]);
    let third = bench.shim();
    until("the third", || bench.frames().first().filter(|f| f.epoch == 2 && f.seq == 1).cloned()).await;
    third.signal(Signal::TERM);
    third.exit().await;
}

fn is_pause(event: &WorkerEvent, wanted: PauseState) -> bool {
    matches!(event, WorkerEvent::PauseChanged { state } if *state == wanted)
}

/// Returns turns, started and ended tools, and pauses, in order.
fn story(frames: &[Frame]) -> Vec<String> {
    let is_told = |kind: &String| kind.starts_with("turn") || kind.starts_with("tool") || kind.starts_with("pause");
    kinds(frames).into_iter().filter(is_told).collect()
}

#[tokio::test]
async fn a_paused_agent_waits_between_two_tools_and_goes_on_in_its_session() {
    let turn = |turn: u32, steps: serde_json::Value| json!({ "turn": turn, "steps": steps });
    let first = json!([{ "do": "shell", "argv": ["sh", "-c", "until [ -e go ]; do sleep 0.05; done"] },
        { "do": "sleep_ms", "ms": 300 }, { "do": "write", "path": "b", "content": "never" }]);
    let second = json!([{ "do": "write", "path": "b", "content": "after" }]);
    let bench = Bench::sections(&json!([turn(1, first), turn(2, second)]))
        // The time limit does not run while it waits.
        .limits(|limits| (limits.wall_ms, limits.idle_ms) = (9_000, 9_000));
    let daemon = bench.daemon();
    let _shim = bench.shim();
    let mut line = daemon.accept().await;
    let mut frames = line.upto(|event| is_tool(event, "in_progress")).await;

    line.tell(ShimCommand::Pause { between_tools: false }).await;
    frames.extend(line.upto(|event| is_pause(event, PauseState::Pausing)).await);
    std::fs::write(bench.path("tree").join("go"), "").unwrap();
    frames.extend(line.upto(|event| is_pause(event, PauseState::Paused)).await);
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    assert!(!bench.processes().is_empty(), "its agent is alive");
    assert_eq!(bench.tree("b"), None);
    line.tell(ShimCommand::Resume).await;
    frames.extend(line.upto(is_turn_end).await);
    line.tell(ShimCommand::Finish).await;
    frames.extend(line.rest().await);

    assert_eq!(bench.tree("b").as_deref(), Some("after"));
    assert_eq!(faults(&frames), Vec::<&str>::new());
    let told = ["turn_started", "tool_called in_progress", "pause_changed pausing", "tool_called completed"];
    let then = ["turn_ended", "pause_changed paused", "pause_changed resumed", "turn_started"];
    let last = ["tool_called in_progress", "tool_called completed", "turn_ended"];
    assert_eq!(story(&frames), [&told[..], &then, &last].concat());
    assert_eq!(turns(&frames).iter().map(|turn| turn.1.as_str()).collect::<Vec<_>>(), ["paused", "end_turn"]);
}

#[tokio::test]
async fn a_question_is_not_answered_while_its_agent_is_paused() {
    let steps = json!([
        { "do": "sleep_ms", "ms": 500 },
        { "do": "ask_permission", "title": "edit a", "path": "a" },
        { "do": "write", "path": "a", "content": "x" },
        { "do": "ask_permission", "title": "run b" },
        { "do": "write", "path": "b", "content": "x" }
    ]);
    let bench = Bench::script(&steps).limits(|limits| limits.permission_ms = 1_000);
    let daemon = bench.daemon();
    let _shim = bench.shim();
    let mut line = daemon.accept().await;
    line.upto(|event| matches!(event, WorkerEvent::TurnStarted { .. })).await;

    // Calls that a rule allows wait, too.
    line.tell(ShimCommand::Pause { between_tools: false }).await;
    line.upto(|event| is_pause(event, PauseState::Paused)).await;
    assert_eq!(bench.tree("a"), None);
    line.tell(ShimCommand::Resume).await;
    let asked = line.upto(|event| matches!(event, WorkerEvent::PermissionAsked { .. })).await;
    let Some(WorkerEvent::PermissionAsked { ask, .. }) = asked.last().map(|frame| frame.event.clone()) else {
        panic!()
    };
    assert_eq!(bench.tree("a").as_deref(), Some("x"));
    line.tell(ShimCommand::Pause { between_tools: false }).await;
    line.upto(|event| is_pause(event, PauseState::Paused)).await;
    // Longer than a question may stay open.
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    line.tell(ShimCommand::Permit { ask, option: Some("allow_once".to_owned()) }).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(bench.tree("b"), None);
    line.tell(ShimCommand::Resume).await;
    let frames = line.upto(is_turn_end).await;
    line.tell(ShimCommand::Finish).await;
    line.rest().await;

    assert_eq!(turns(&frames)[0].1, "end_turn");
    assert_eq!(bench.tree("b").as_deref(), Some("x"));
}

#[tokio::test]
async fn a_paused_worker_is_stopped_at_once_and_one_between_turns_ends_only_after_its_pause() {
    let bench = Bench::script(&json!([{ "do": "say", "text": "done" }])).linger(200);
    let daemon = bench.daemon();
    let _shim = bench.shim();
    let mut line = daemon.accept().await;
    line.upto(is_turn_end).await;
    line.tell(ShimCommand::Pause { between_tools: false }).await;
    line.upto(|event| is_pause(event, PauseState::Paused)).await;
    line.tell(ShimCommand::Finish).await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert!(!bench.processes().is_empty());

    line.tell(ShimCommand::Stop { grace_ms: 500 }).await;
    let frames = line.rest().await;

    assert!(kinds(&frames).ends_with(&["agent_exited".to_owned(), "sealed".to_owned()]), "{:?}", kinds(&frames));
}

#[tokio::test]
async fn a_worker_that_is_to_wait_between_two_tools_is_answered_first_and_says_that_it_is_held() {
    let ask = json!({ "do": "ask_permission", "title": "write it" });
    let bench = Bench::sections(&json!([
        { "steps": [ask, { "do": "write", "path": "first", "content": "x" }, { "do": "sleep_ms", "ms": 300 },
            { "do": "write", "path": "second", "content": "x" }] },
        { "turn": 2, "steps": [{ "do": "write", "path": "third", "content": "x" }] }
    ]));
    let daemon = bench.daemon();
    let _shim = bench.shim();
    let mut line = daemon.accept().await;
    let asked = line.upto(|event| matches!(event, WorkerEvent::PermissionAsked { .. })).await;
    let Some(WorkerEvent::PermissionAsked { ask, options, .. }) = asked.last().map(|frame| frame.event.clone()) else {
        panic!()
    };

    line.tell(ShimCommand::Pause { between_tools: true }).await;
    line.upto(|event| is_pause(event, PauseState::Pausing)).await;
    line.tell(ShimCommand::Permit { ask, option: Some(options[0].id.clone()) }).await;
    let held = line.upto(|event| is_pause(event, PauseState::Held)).await;
    assert!(held.iter().any(|frame| matches!(frame.event, WorkerEvent::PermissionSettled { .. })));
    assert_eq!(bench.tree("second"), None);
    line.tell(ShimCommand::Pause { between_tools: false }).await;
    line.upto(|event| is_pause(event, PauseState::Paused)).await;
    line.tell(ShimCommand::Resume).await;
    line.upto(|event| matches!(event, WorkerEvent::TurnStarted { turn: 2, .. })).await;
    line.tell(ShimCommand::Finish).await;
    line.rest().await;

    assert!(bench.tree("third").is_some());
}

#[tokio::test]
async fn much_that_is_spent_at_once_is_reported_at_once() {
    let bench = Bench::script(&json!([
        { "do": "cost", "usd": 0.10 }, { "do": "cost", "usd": 0.104 }, { "do": "cost", "usd": 0.108 },
        { "do": "cost", "usd": 0.20 }, { "do": "hang" }
    ]));
    let daemon = bench.daemon();
    let shim = bench.shim();
    let mut line = daemon.accept().await;
    let reported = |event: &WorkerEvent| {
        if let WorkerEvent::CostReported { micro_usd, .. } = event { micro_usd.unwrap_or(0) } else { 0 }
    };

    // The turn hangs, so that none of this is reported by its end.
    let spent = std::cell::Cell::new(0);
    let is_all = |event: &WorkerEvent| {
        spent.set(spent.get() + reported(event));
        spent.get() == 200_000
    };
    let frames = line.upto(is_all).await;

    assert!(!frames.iter().any(|frame| is_turn_end(&frame.event)));
    assert!(frames.iter().any(|frame| reported(&frame.event) == 100_000), "{frames:?}");
    line.tell(ShimCommand::Stop { grace_ms: 100 }).await;
    line.rest().await;
    shim.exit().await;
}
