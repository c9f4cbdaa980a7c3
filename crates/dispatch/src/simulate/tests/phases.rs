//! Tests which phases of a plan a team may begin: earlier tasks are done and have their evidence.

use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::verb::run::StartRunReply;

use super::steering::failed;
use super::*;
use crate::plan;

/// Returns a plan for a team with a phase of two tasks, the first with this status, and one of one task.
fn plan_of_phases(status: &str) -> String {
    let task = |id: &str, phase: u64, status: &str| {
        json!({ "id": id, "phase": phase, "description": format!("do {id}"), "acceptance": "it is done",
            "files_touched": [format!("t/{id}"), repo::removed_by(id)], "status": status })
    };
    let first = json!([task("1.1", 1, status), task("1.2", 1, status)]);
    let phases = json!([{ "id": 1, "name": "one", "tasks": first },
        { "id": 2, "name": "two", "tasks": [task("2.1", 2, "pending")] }]);
    json!({ "schema_version": "1.0.0", "title": "Phases", "swarm": "sim", "phases": phases,
        "x-switchboard": { "team": true } })
    .to_string()
}

async fn start(
    daemon: &Dispatch,
    request: &StartRunRequest,
    (plan, phase): (&str, u64),
    dry_run: bool,
) -> Result<StartRunReply, Failure> {
    let (plan, scope) = (plan.to_owned(), Some(UnitId::Phase(phase)));
    let request = StartRunRequest { plan, scope, dry_run, merge: true, ..request.clone() };
    failed(daemon.start_run(request, &people::ann().unwrap(), None).await)
}

#[test]
fn a_phase_begins_once_the_tasks_of_the_one_before_are_merged_with_their_evidence() {
    with_stage(SimSpec::kind(), async |stage, daemon, request| {
        let plan = plan_of_phases("pending");
        let second = async || start(daemon, &request, (&plan, 2), true).await;
        let early = second().await.unwrap_err();
        assert_eq!((early.code.as_str(), early.cause.len()), ("plan.not-ready", 2), "{early:?}");
        assert!(early.what.contains("phase 2 can't begin for 2 reasons; the first: "), "{early:?}");
        assert!(early.cause[0].contains("1.1") && early.cause[1].contains("1.2"), "{early:?}");

        let run = start(daemon, &request, (&plan, 1), false).await.unwrap().run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        assert!(!second().await.unwrap().notes.iter().any(|note| note.contains("count as done")));
        for task in ["1.1", "1.2"] {
            let task = TaskId::new(task).unwrap();
            let file = plan::evidence_file(&daemon.world.config, &run, &task);
            let evidence = lock(&stage.files).get(&file).cloned().unwrap();
            daemon.world.ports.files.remove(&file).unwrap();
            let without = second().await.unwrap_err();
            assert!(without.what.starts_with("phase 2 can't begin: ") && without.cause.len() == 1, "{without:?}");
            assert!(without.cause[0].contains(task.as_str()) && !without.hint.is_empty(), "{without:?}");
            daemon.world.ports.files.write(&file, &evidence).unwrap();
        }
    });
}

#[test]
fn tasks_that_the_plan_says_are_done_need_no_evidence_and_are_counted_in_a_note() {
    with_daemon(async |daemon, request| {
        let begun = start(daemon, &request, (&plan_of_phases("completed"), 2), true).await.unwrap();

        let says = "2 tasks count as done because the plan says so: no run has evidence of them";
        assert!(begun.notes.iter().any(|note| note == says), "{:?}", begun.notes);
    });
}
