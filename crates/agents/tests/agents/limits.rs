//! Tests with agents that hang, flood, stop responding or can't be ended, and shims that are killed.

use std::time::Duration;

use serde_json::json;
use switchboard_process::spawn::{Exit, Signal};
use switchboard_protocol::frame::{DriverSpec, ShimCommand, WorkerEvent, WrapUp};
use switchboard_protocol::wire::Hello;

use crate::bench::{Bench, exited, faults, kinds, turns, until};

fn has_begun(event: &WorkerEvent) -> bool {
    matches!(event, WorkerEvent::TurnStarted { .. })
}

#[tokio::test]
async fn stop_ends_an_agent_that_ignores_it_and_everything_it_started() {
    let escape = "setsid sleep 1000 & echo $! > escaped; sleep 1000";
    let steps = json!([{ "do": "ignore_stop" }, { "do": "shell", "argv": ["sh", "-c", escape] }]);
    let bench = Bench::script(&steps);
    let daemon = bench.daemon();
    let shim = bench.shim();
    let mut line = daemon.accept().await;
    line.upto(|event| matches!(event, WorkerEvent::ToolCalled { .. })).await;
    until("the escaped process", || bench.tree("escaped").filter(|pid| pid.ends_with('\n'))).await;
    assert!(bench.processes().len() >= 3, "{:?}", bench.processes());

    line.tell(ShimCommand::Stop { grace_ms: 200 }).await;
    let frames = line.rest().await;

    assert_eq!(bench.processes(), []);
    assert_eq!(exited(&frames), (None, Some(9)));
    assert_eq!(turns(&frames)[0].1, "cancelled");
    assert_eq!(shim.exit().await, Exit::Exited(0));
}

#[tokio::test]
async fn stop_ends_a_good_agent_by_its_own_cancel() {
    let bench = Bench::script(&json!([{ "do": "hang" }]));
    let daemon = bench.daemon();
    let _shim = bench.shim();
    let mut line = daemon.accept().await;
    line.upto(has_begun).await;

    line.tell(ShimCommand::Stop { grace_ms: 30_000 }).await;
    let frames = line.rest().await;

    assert_eq!(turns(&frames)[0].1, "cancelled");
    assert_eq!(faults(&frames), [""; 0]);
    assert_eq!(bench.processes(), []);
}

#[tokio::test]
async fn a_frozen_agent_and_one_that_never_ends_hit_their_limits() {
    let frozen = Bench::script(&json!([{ "do": "shell", "argv": ["sh", "-c", "kill -STOP $PPID; sleep 1000"] }]))
        .limits(|limits| limits.idle_ms = 700);
    let endless = Bench::exec("while :; do echo more; sleep 0.05; done").limits(|limits| {
        limits.wall_ms = 700;
        limits.idle_ms = 60_000;
    });
    for bench in [frozen, endless] {
        bench.shim().exit().await;

        let frames = bench.frames();
        assert_eq!(faults(&frames), ["agent.timeout"]);
        assert!(exited(&frames).1.is_some());
        assert_eq!(kinds(&frames).last().map(String::as_str), Some("sealed"));
        assert_eq!(bench.processes(), []);
    }
}

fn wrap_up(after_ms: u64) -> Option<WrapUp> {
    Some(WrapUp { after_ms, notice: "Finish now.".to_owned() })
}

#[tokio::test]
async fn an_agent_is_told_to_finish_between_two_tool_calls_and_the_next_turn_counts() {
    let mut bench = Bench::sections(&json!([
        { "task": "1.1", "steps": [{ "do": "shell", "argv": ["sh", "-c", "sleep 1; echo whole > tool"] }, { "do": "hang" }] },
        { "task": "1.1", "turn": 2, "steps": [{ "do": "write", "path": "told", "content": "x" }] },
    ]))
    .linger(1);
    bench.spec.wrap_up = wrap_up(200);

    bench.shim().exit().await;

    let frames = bench.frames();
    let stops: Vec<_> = turns(&frames).into_iter().map(|(_, stop, _)| stop).collect();
    assert_eq!(stops, ["wrap_up", "end_turn"]);
    assert_eq!((bench.tree("tool").as_deref(), bench.tree("told").as_deref()), (Some("whole\n"), Some("x")));
    assert_eq!(faults(&frames), [""; 0]);
}

#[tokio::test]
async fn an_agent_that_goes_on_when_told_to_finish_is_ended_at_the_hard_limit() {
    let mut bench = Bench::sections(&json!([
        { "task": "1.1", "steps": [{ "do": "hang" }] },
        { "task": "1.1", "turn": 2, "steps": [{ "do": "hang" }] },
    ]))
    .limits(|limits| limits.wall_ms = 1500);
    bench.spec.wrap_up = wrap_up(300);

    bench.shim().exit().await;

    let frames = bench.frames();
    let stops: Vec<_> = turns(&frames).into_iter().map(|(_, stop, _)| stop).collect();
    assert_eq!((stops, faults(&frames)), (vec!["wrap_up".to_owned(), "cancelled".to_owned()], vec!["agent.timeout"]));
}

#[tokio::test]
async fn a_command_is_not_told_to_finish() {
    let mut bench = Bench::exec("sleep 1; echo done > done");
    bench.spec.wrap_up = wrap_up(100);

    bench.shim().exit().await;

    assert_eq!((turns(&bench.frames())[0].1.as_str(), bench.tree("done").as_deref()), ("exit", Some("done\n")));
}

#[tokio::test]
async fn a_shim_says_that_it_lives_while_its_agent_is_busy_and_is_silent_where_nobody_asked() {
    let bench = Bench::script(&json!([{ "do": "shell", "argv": ["sleep", "1000"] }]));
    let daemon = bench.daemon();
    let shim = bench.shim();
    let mut line = daemon.accept().await;
    assert!(matches!(&line.hello, Hello::Shim { beats: true, .. }));
    line.upto(|event| matches!(event, WorkerEvent::ToolCalled { .. })).await;
    let unasked = tokio::time::timeout(Duration::from_millis(300), line.beat()).await;

    line.tell(ShimCommand::Beat { every_ms: 50 }).await;
    let beats = [line.beat().await, line.beat().await, line.beat().await];
    line.tell(ShimCommand::Beat { every_ms: 3_600_000 }).await;
    let asked_again = line.beat().await;
    shim.signal(Signal::STOP);
    line.tell(ShimCommand::Beat { every_ms: 50 }).await;
    let last = line.last_beat(Duration::from_millis(300)).await.unwrap_or(asked_again);
    shim.signal(Signal::CONT);

    assert!(unasked.is_err(), "nobody asked for {unasked:?}");
    assert_eq!(beats, [1, 2, 3]);
    assert!(asked_again > 3, "{asked_again}");
    assert!(line.beat().await > last);
}

#[tokio::test]
async fn silence_while_a_person_is_asked_is_no_timeout() {
    let bench = Bench::script(&json!([{ "do": "ask_permission", "title": "x" }]))
        .limits(|limits| {
            limits.idle_ms = 300;
            limits.permission_ms = 1500;
        })
        .linger(1);

    bench.shim().exit().await;

    assert_eq!(faults(&bench.frames()), [""; 0]);
    assert!(kinds(&bench.frames()).contains(&"permission_settled".to_owned()));
}

#[tokio::test]
async fn whatever_an_agent_prints_no_valid_event_is_lost() {
    let bench = Bench::script(&json!([
        { "do": "garbage" },
        { "do": "long_line", "bytes": 1_200_000 },
        { "do": "flood", "lines": 20_000 },
        { "do": "write", "path": "after", "content": "x" },
        { "do": "half_line" }
    ]))
    .limits(|limits| limits.spool_bytes = 1 << 20)
    .linger(1);

    bench.shim().exit().await;

    let frames = bench.frames();
    assert_eq!(
        kinds(&frames)[2..],
        ["turn_started", "tool_called in_progress", "tool_called completed", "turn_ended", "agent_exited", "sealed"]
    );
    assert_eq!(turns(&frames)[0].1, "error", "an exit code of 0 in the middle of a turn is no end of it");
    assert_eq!(exited(&frames), (Some(0), None));
    let Some(WorkerEvent::Sealed { bytes, dropped, .. }) = frames.last().map(|f| &f.event) else { panic!() };
    assert!(*bytes <= 1 << 20 && *dropped > 1_200_000, "{bytes} {dropped}");
}

#[tokio::test]
async fn an_agent_that_dies_in_its_turn_has_a_signal_and_no_success() {
    let bench = Bench::script(&json!([{ "do": "die" }])).linger(1);

    bench.shim().exit().await;

    assert_eq!(exited(&bench.frames()), (None, Some(9)));
    assert_eq!(turns(&bench.frames())[0].1, "error");
}

#[tokio::test]
async fn a_killed_shim_leaves_readable_frames_a_free_lock_and_no_agent() {
    let bench = Bench::script(&json!([{ "do": "write", "path": "a", "content": "x" }, { "do": "hang" }]));
    let shim = bench.shim();
    bench.on_disk("the edit", |e| matches!(e, WorkerEvent::ToolCalled { status, .. } if status == "completed")).await;
    let identity = switchboard_agents::shim::Identity::read(&bench.path("worker")).unwrap();
    assert_eq!((identity.pid, identity.epoch), (shim.0.pid, 1));
    let agent = identity.agent.unwrap();
    assert!(agent.is_alive());

    shim.signal(Signal::KILL);
    assert_eq!(shim.exit().await, Exit::Signalled(9));

    assert_eq!(switchboard_process::lock::holder(&bench.path("worker/lock")).unwrap(), None);
    until("the end of the agent", || (!agent.is_alive()).then_some(())).await;
    let journal = bench.path("worker/frames.jsonl");
    let whole = std::fs::read(&journal).unwrap();
    let frames = bench.frames();
    std::fs::write(&journal, &whole[..whole.len() - 7]).unwrap();
    assert_eq!(bench.frames(), frames[..frames.len() - 1], "a torn line is left out");
}

#[tokio::test]
async fn a_program_that_is_missing_or_speaks_no_acp_is_told_apart() {
    let cases = [
        (vec!["no-such-agent-anywhere"], "agent.missing"),
        (vec!["true"], "agent.protocol"),
        (vec!["cat"], "agent.protocol"),
        (vec!["echo", "Please log in first"], "agent.protocol"),
    ];
    for (argv, code) in cases {
        let mut bench = Bench::script(&json!([])).linger(1);
        bench.spec.driver = DriverSpec::Acp { argv: argv.into_iter().map(str::to_owned).collect() };

        bench.shim().exit().await;

        let frames = bench.frames();
        assert_eq!(faults(&frames), [code]);
        assert_eq!(turns(&frames), [], "{code}");
        assert_eq!(kinds(&frames).last().map(String::as_str), Some("sealed"));
    }
}

#[tokio::test]
async fn a_worker_without_a_daemon_for_too_long_stops_between_two_tool_calls() {
    let bench = Bench::script(&json!([
        { "do": "shell", "argv": ["sh", "-c", "sleep 1.5; echo whole > tool"] },
        { "do": "hang" }
    ]))
    .limits(|limits| limits.orphan_grace_ms = 300);

    bench.shim().exit().await;

    let frames = bench.frames();
    assert_eq!(faults(&frames), ["daemon.unreachable"]);
    assert_eq!(bench.tree("tool").as_deref(), Some("whole\n"), "the tool call was not cut short");
    assert_eq!(turns(&frames)[0].1, "cancelled");
}

#[tokio::test]
async fn a_spec_that_cannot_be_used_ends_the_shim_at_once() {
    let mut bench = Bench::script(&json!([]));
    bench.spec.v = 99;

    assert_ne!(bench.shim().exit().await, Exit::Exited(0));
    assert!(!bench.path("worker/frames.jsonl").exists());
}

#[tokio::test]
async fn a_shim_that_the_daemon_has_given_up_starts_no_agent() {
    let bench = Bench::script(&json!([{ "do": "write", "path": "a", "content": "never" }]));
    std::fs::write(bench.path("worker").join(switchboard_protocol::frame::ABANDONED_FILE), "").unwrap();

    assert_ne!(bench.shim().exit().await, Exit::Exited(0));
    assert!(!bench.path("worker/frames.jsonl").exists());
    assert_eq!(bench.tree("a"), None);
}
