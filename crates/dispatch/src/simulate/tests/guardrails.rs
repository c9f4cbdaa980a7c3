//! Tests what the guardrails of a team do about a worker: advice, and time during which the machine was suspended.

use switchboard_protocol::frame::WorkerEvent;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::worker::WorkerFact;

use super::super::shim::Act;
use super::*;

/// Maximum number of checks by a test whether something has happened, one second apart.
const LOOKS: usize = 2_000;

/// Run of a team whose only task has a coder at work.
struct Coded<'a> {
    stage: &'a Stage,
    daemon: &'a Dispatch,
    run: RunId,
}

// === impl Coded ===

impl Coded<'_> {
    fn facts<T: switchboard_protocol::event::Fact>(&self, kind: &str) -> Vec<T> {
        let all = self.daemon.world.store.events(0, &Filter::all(), 10_000).unwrap();
        all.iter().filter(|event| event.kind == kind).filter_map(|event| event.fact()).collect()
    }

    /// Waits until the run is over; returns its state.
    async fn end(&self) -> String {
        self.daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        self.daemon.state_of(&self.run).unwrap()
    }
}

fn with_coder(test: impl AsyncFn(Coded<'_>)) {
    let spec =
        SimSpec { teams: 1_000, work_ms: 600_000, min_tasks: 1, max_tasks: 1, max_workers: Some(1), ..SimSpec::kind() };
    with_stage(spec, async |stage, daemon, request| {
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        for _ in 0..LOOKS {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if matches!(daemon.views(&run).await.unwrap()[0].state, TaskState::Working { .. }) {
                return test(Coded { stage, daemon, run }).await;
            }
        }
        panic!("the task gets no worker");
    });
}

#[test]
fn a_coder_that_changes_a_file_outside_its_task_is_told_so_before_its_turn_counts() {
    with_coder(async |at| {
        let edit = WorkerEvent::ToolCalled {
            call: "outside".to_owned(),
            title: "Edit".to_owned(),
            tool_kind: "edit".to_owned(),
            status: "completed".to_owned(),
            paths: vec!["elsewhere.rs".to_owned()],
            why: String::new(),
        };
        let now = at.stage.clock.ms();
        for shim in lock(&at.stage.shims).values_mut() {
            shim.acts.push_front((now, Act::Say(edit.clone())));
        }

        assert_eq!(at.end().await, "succeeded");

        let flags = at.facts("worker_flagged");
        let [WorkerFact::WorkerFlagged { rule, words, stops: false, .. }] = flags.as_slice() else {
            panic!("{flags:?}")
        };
        assert!(rule == "scope" && words.contains("elsewhere.rs"), "{rule} {words}");
        let turns = at.facts("turn_begun");
        assert!(matches!(turns.as_slice(), [RunEvent::TurnBegun { turn: 2, .. }]), "{turns:?}");
    });
}

#[test]
fn the_time_in_which_the_machine_was_suspended_is_none_of_a_workers() {
    with_coder(async |at| {
        let day = 24 * 3_600_000;
        at.stage.clock.pass(day);

        assert_eq!(at.end().await, "succeeded");

        let suspended = at.facts("worker_suspended");
        let [WorkerFact::WorkerSuspended { ms, .. }] = suspended.as_slice() else { panic!("{suspended:?}") };
        assert_eq!(*ms, u64::try_from(day).unwrap());
        let flags = at.facts::<WorkerFact>("worker_flagged");
        assert!(flags.is_empty(), "{flags:?}");
    });
}
