//! Tests what the guardrails of a team do about a worker: advice, and time during which the machine was suspended.

use switchboard_protocol::frame::WorkerEvent;
use switchboard_protocol::run::{RunEvent, TurnOutcome};
use switchboard_protocol::worker::WorkerFact;

use super::super::shim::Act;
use super::at_work::{AtWork, at_work};
use super::*;

/// Runs a test with a run of a team whose only task has a coder at work.
fn with_coder(test: impl AsyncFn(AtWork<'_>)) {
    let spec =
        SimSpec { teams: 1_000, work_ms: 600_000, min_tasks: 1, max_tasks: 1, max_workers: Some(1), ..SimSpec::kind() };
    with_stage(spec, async |stage, daemon, request| test(at_work(stage, daemon, request).await).await);
}

fn called(call: &str, tool_kind: &str, path: &str) -> Act {
    Act::Say(WorkerEvent::ToolCalled {
        call: call.to_owned(),
        title: tool_kind.to_owned(),
        tool_kind: tool_kind.to_owned(),
        status: "completed".to_owned(),
        paths: vec![path.to_owned()],
        why: String::new(),
    })
}

#[test]
fn a_coder_that_changes_a_file_outside_its_task_is_told_so_before_its_turn_counts() {
    with_coder(async |at| {
        at.does(vec![called("outside", "edit", "elsewhere.rs")]);

        at.is_over().await;
        assert_eq!(at.daemon.state_of(&at.run).unwrap(), "succeeded");

        let flags = at.of_workers("worker_flagged");
        let [WorkerFact::WorkerFlagged { rule, words, stops: false, .. }] = flags.as_slice() else {
            panic!("{flags:?}")
        };
        assert!(rule == "scope" && words.contains("elsewhere.rs"), "{rule} {words}");
        let turns = at.events("turn_begun");
        assert!(matches!(turns.as_slice(), [RunEvent::TurnBegun { turn: 2, .. }]), "{turns:?}");
    });
}

#[test]
fn the_time_in_which_the_machine_was_suspended_is_none_of_a_workers() {
    with_coder(async |at| {
        let day = 24 * 3_600_000;
        at.stage.clock.pass(day);

        at.is_over().await;
        assert_eq!(at.daemon.state_of(&at.run).unwrap(), "succeeded");

        let suspended = at.of_workers("worker_suspended");
        let [WorkerFact::WorkerSuspended { ms, .. }] = suspended.as_slice() else { panic!("{suspended:?}") };
        assert_eq!(*ms, u64::try_from(day).unwrap());
        let flags = at.of_workers("worker_flagged");
        assert!(flags.is_empty(), "{flags:?}");
    });
}

#[test]
fn a_coder_that_calls_the_same_again_and_again_is_ended_at_once() {
    with_coder(async |at| {
        at.does((0..200).map(|call| called(&call.to_string(), "read", "t/1.1")).collect());

        at.is_over().await;

        let flags = at.of_workers("worker_flagged");
        let stops = flags.iter().filter(|flag| matches!(flag, WorkerFact::WorkerFlagged { stops: true, .. }));
        assert_eq!(stops.count(), 1, "{flags:?}");
        let ends = at.events("turn_ended");
        let [RunEvent::TurnEnded { outcome, reason, .. }, ..] = ends.as_slice() else { panic!("{ends:?}") };
        assert!(*outcome == TurnOutcome::Failed && reason.contains("[worker.halted]"), "{outcome:?} {reason}");
        let is_ended = |fact: &WorkerFact| {
            let end = WorkerEvent::AgentExited { code: None, signal: Some(15), stderr: String::new(), by_us: false };
            matches!(fact, WorkerFact::WorkerReported { worker, what, .. } if *worker == at.worker && *what == end)
        };
        assert!(at.of_workers("worker_reported").iter().any(is_ended), "it was told to stop");
    });
}
