//! Tests what is taken from a worker's tree as its change, and what follows if there is none.

use switchboard_pipeline::subtasks::{Shape, WorkResult};
use switchboard_protocol::frame::{DriverSpec, WorkerEvent};
use switchboard_protocol::permission::Permissions;
use switchboard_protocol::verb::run::AgentChoice;

use super::super::capture::capture;
use super::*;

/// Returns a run whose task is done by an agent that may change files as this level says.
fn stand(permissions: Permissions, driver: DriverSpec) -> Stand {
    Stand::of_task(&json!({ "x-switchboard": { "agent": "ann" } }), |plan| {
        let choice = AgentChoice { permissions, ..AgentChoice::new(AgentName::new("ann").unwrap(), driver) };
        plan.agents.insert("ann".to_owned(), choice);
    })
}

fn acp() -> DriverSpec {
    DriverSpec::Acp { argv: vec!["ann".to_owned()] }
}

impl Stand {
    async fn captures(&self, worker: &WorkerId, carried: Option<&Oid>, may_keep: bool) -> Option<RunEvent> {
        capture(&self.ctx, &task(), 1, worker, (carried.map(Oid::as_str), may_keep)).await.unwrap()
    }

    async fn reports(&self, worker: &WorkerId, seq: u64, what: WorkerEvent) {
        self.records(&WorkerFact::WorkerReported { worker: worker.clone(), epoch: 1, seq, what }).await;
    }
}

fn called(tool_kind: &str, status: &str) -> WorkerEvent {
    WorkerEvent::ToolCalled {
        call: "1".to_owned(),
        title: "Edit a".to_owned(),
        tool_kind: tool_kind.to_owned(),
        status: status.to_owned(),
        paths: Vec::new(),
        why: String::new(),
    }
}

#[tokio::test]
async fn all_that_a_worker_leaves_in_its_tree_is_its_change_and_fifty_of_its_files_are_named() {
    let at = stand(Permissions::default(), acp());
    let worker = at.works(1, None, &at.first).await;
    let tree = at.makes_worktree(&at.first);
    for number in 10..61 {
        std::fs::write(tree.join(number.to_string()), "x").unwrap();
    }

    assert_eq!(at.captures(&worker, None, false).await, None);

    let steps = at.steps();
    let [RunEvent::ChangeCaptured { attempt: 1, commit, base, files, files_total: 51, lines: 0, left_out, .. }] =
        steps.as_slice()
    else {
        panic!("{steps:?}")
    };
    assert_eq!((files.len(), files[0].as_str(), left_out.len()), (50, "10", 0));
    assert_eq!(base, at.first.as_str());
    let git = &at.ctx.world.ports.git;
    assert_eq!(git.branch(&at.ctx.plan.task_branch(&task())).unwrap().unwrap().as_str(), commit);
}

#[tokio::test]
async fn the_lines_of_changes_that_are_compared_are_counted_and_those_of_no_others() {
    for (result, expected) in [(WorkResult::Candidate, 2), (WorkResult::Merged, 0)] {
        let at = Stand::of_task(&json!({}), |plan| {
            plan.default_agent = AgentName::new("ann").ok();
            plan.agents.insert("ann".to_owned(), AgentChoice::new(AgentName::new("ann").unwrap(), acp()));
            plan.shapes.insert(task(), Shape { result, ..Shape::default() });
        });
        let worker = at.works(1, None, &at.first).await;
        std::fs::write(at.makes_worktree(&at.first).join("kept"), "second\n").unwrap();

        at.captures(&worker, None, false).await;

        let steps = at.steps();
        assert!(
            matches!(steps.as_slice(), [RunEvent::ChangeCaptured { lines, .. }] if *lines == expected),
            "{steps:?}"
        );
    }
}

#[tokio::test]
async fn a_tree_that_is_as_the_attempt_began_holds_no_change_unless_the_step_before_had_completed_it() {
    for (is_changed, is_carried, has_step) in [(true, false, true), (false, true, true), (false, false, false)] {
        let at = stand(Permissions::default(), acp());
        let start = at.commits("refused", "1");
        let worker = at.works(1, None, &start).await;
        let tree = at.makes_worktree(&start);
        if is_changed {
            std::fs::write(tree.join("refused"), "2").unwrap();
        }

        let left = at.captures(&worker, is_carried.then_some(&start), false).await;

        assert_eq!(matches!(at.steps().as_slice(), [RunEvent::ChangeCaptured { .. }]), has_step);
        assert_eq!(matches!(left, Some(RunEvent::NothingChanged { step: None, .. })), !has_step, "{left:?}");
    }
}

#[tokio::test]
async fn a_worker_without_a_change_is_refused_with_what_may_have_kept_it_from_one() {
    let exec = || DriverSpec::Exec { argv: vec!["make".to_owned()] };
    let told = "it told of no edit and no command";
    let asks = "it may change nothing without asking (permissions: ask), and it asked nobody";
    let failed = "it could not \"Edit a\"";
    let settled = |rule: Option<&str>| WorkerEvent::PermissionSettled {
        ask: "a1".to_owned(),
        option: None,
        rule: rule.map(str::to_owned),
    };
    for (permissions, driver, events, expected) in [
        (Permissions::Edits, acp(), vec![], told.to_owned()),
        (Permissions::Edits, exec(), vec![], String::new()),
        (Permissions::Edits, acp(), vec![called("edit", "completed")], String::new()),
        (Permissions::Edits, acp(), vec![called("edit", "failed")], failed.to_owned()),
        (Permissions::Ask, acp(), vec![called("edit", "failed")], format!("{failed}; {asks}")),
        (Permissions::Ask, acp(), vec![settled(Some("r")), called("edit", "completed")], asks.to_owned()),
        (Permissions::Ask, acp(), vec![settled(None)], told.to_owned()),
        (Permissions::Ask, acp(), vec![settled(None), called("edit", "completed")], String::new()),
    ] {
        let at = stand(permissions, driver);
        let worker = at.works(1, None, &at.first).await;
        at.makes_worktree(&at.first);
        for (seq, event) in (1..).zip(events.clone()) {
            at.reports(&worker, seq, event).await;
        }

        let left = at.captures(&worker, None, false).await;

        let Some(RunEvent::NothingChanged { step: None, why, .. }) = left else { panic!("{left:?}") };
        assert_eq!(why, expected, "{permissions:?} {events:?}");
        let kept = at.captures(&worker, None, true).await;
        assert!(
            matches!(&kept, Some(RunEvent::NothingChanged { step: Some(step), why, .. }) if why.is_empty() && step.as_str() == "work"),
            "an attempt that may keep its change needs no reason: {kept:?}"
        );
    }
}

#[tokio::test]
async fn a_worker_that_is_stuck_blocks_its_task_unless_it_has_only_an_excuse() {
    for (state, note, blocked) in [
        (StepState::Stuck, "a key for the service", Some("ann waits: a key for the service")),
        (StepState::Stuck, "hotfix, no time for QA", None),
        (StepState::Done, "a key for the service", None),
    ] {
        let at = stand(Permissions::default(), acp());
        let worker = at.works(1, None, &at.first).await;
        at.makes_worktree(&at.first);
        at.says(&worker, state, note, None).await;

        let left = at.captures(&worker, None, false).await.unwrap();

        let reason = if let RunEvent::TaskBlocked { reason, .. } = &left { Some(reason.as_str()) } else { None };
        assert_eq!(reason, blocked, "{left:?}");
    }
}
