//! The line of changes for the run's branch: who has the turn, who leaves it, and what a change stands on.

use serde_json::json;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::run::{HeldBy, MAX_REBASES, TaskPauseCause};

use super::compiled::compiled_way;
use super::*;

/// Returns a run of three tasks whose changes have passed; the first is merged, and the second is rebased onto it.
fn second_is_rebased() -> Run {
    let mut run = Run::on(&compiled_way(), 3, &[("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &[], &[])]);
    ["1.1", "1.2", "1.3"].iter().for_each(|task| run.pass_on(task, "b"));
    run.merge_onto("1.1", "c-1.1-1", "b");
    run.rebase("1.2", "m-1.1");
    run
}

impl Run {
    /// Returns the task that the run rebases or merges now.
    fn moves(&self) -> Option<String> {
        self.effects().into_iter().find_map(|effect| {
            let (Effect::RunCommand { task, .. } | Effect::Merge { task, .. }) = effect else { return None };
            Some(task.to_string())
        })
    }

    fn end_turn_of_last(&mut self, task: &str, outcome: TurnOutcome) {
        let worker = WorkerId::from_bits(self.workers);
        self.tell(RunEvent::TurnEnded { task: id(task), worker, outcome, reason: String::new() });
    }

    fn intend_onto(&self, task: &str, commit: &str, onto: &str) -> RunEvent {
        let attempt = self.view(task).attempt;
        RunEvent::MergeIntended { task: id(task), attempt, commit: commit.to_owned(), onto: onto.to_owned() }
    }
}

fn moved(task: &str, from: &str, head: &str) -> RunEvent {
    RunEvent::BranchMoved { task: id(task), from: from.to_owned(), head: head.to_owned() }
}

#[test]
fn a_task_that_can_not_go_on_leaves_its_turn_to_the_next_in_line() {
    type Hold = fn(&mut Run);
    let holds: [(&str, Hold); 5] = [
        ("it is paused", |run| {
            run.tell(RunEvent::TaskPaused { task: id("1.2"), cause: TaskPauseCause::Requested });
        }),
        ("it is stopped", |run| run.tell(RunEvent::TaskStopRequested { task: id("1.2"), grace_ms: None })),
        ("it is blocked", |run| {
            let (task, reason) = (id("1.2"), "so".to_owned());
            run.tell(RunEvent::TaskBlocked { task, attempt: 1, retries: None, reason });
        }),
        ("it is refused", |run| run.answer_checks("1.2", Verdict::Fail)),
        ("its file is leased", |run| {
            run.answer_checks("1.2", Verdict::Pass);
            let holder = AgentName::new("ann").unwrap();
            let lease = HeldBy { holder, files: vec!["a".to_owned()], until: Millis(5_000) };
            run.tell(RunEvent::MergeHeld { task: id("1.2"), attempt: 1, lease });
        }),
    ];
    assert_eq!(second_is_rebased().moves(), None, "the gates judge what was rebased");
    for (name, hold) in holds {
        let mut run = second_is_rebased();

        hold(&mut run);

        assert_eq!(run.moves().as_deref(), Some("1.3"), "{name}");
        run.rebase("1.3", "m-1.1");
        run.answer_checks("1.3", Verdict::Pass);
        run.merge_onto("1.3", "r-1.3-m-1.1", "m-1.1");
        assert!(matches!(run.view("1.3").state, TaskState::Merged { .. }), "{name}");
    }
}

#[test]
fn a_merge_in_progress_keeps_its_turn_in_a_pause_of_its_task() {
    let mut run = second_is_rebased();
    run.answer_checks("1.2", Verdict::Pass);
    run.tell(run.intend_onto("1.2", "r-1.2-m-1.1", "m-1.1"));

    run.tell(RunEvent::TaskPaused { task: id("1.2"), cause: TaskPauseCause::Requested });

    assert_eq!(run.moves(), None);
    assert_eq!(run.refused(moved("1.3", "m-1.1", "x")).code, RefusedCode::Limit);
    assert_eq!(run.state.in_doubt().map(|view| view.task).collect::<Vec<_>>(), [id("1.2")]);
    run.tell(RunEvent::TaskMerged { task: id("1.2"), attempt: 1, commit: "m-1.2".to_owned() });
    assert_eq!(run.moves().as_deref(), Some("1.3"));
}

#[test]
fn a_task_has_its_turn_from_its_rebase_to_its_merge_and_is_under_way() {
    let mut run = second_is_rebased();
    let under_way = |run: &Run| run.state.under_way().map(|view| view.task.to_string()).collect::<Vec<_>>().join(" ");
    assert_eq!(under_way(&run), "1.2");
    run.answer_checks("1.2", Verdict::Pass);

    assert_eq!(run.moves().as_deref(), Some("1.2"));
    assert_eq!(run.refused(moved("1.3", "m-1.1", "x")).code, RefusedCode::Limit, "it is the turn of 1.2");
    run.merge_onto("1.2", "r-1.2-m-1.1", "m-1.1");
    assert_eq!((under_way(&run).as_str(), run.moves().as_deref()), ("", Some("1.3")));

    let mut run = Run::of(4, &[("1.10", &[], &[]), ("1.2", &[], &[])]);
    let (first, second) = (run.start("1.10"), run.start("1.2"));
    assert_eq!((under_way(&run).as_str(), run.state.in_doubt().count()), ("1.2 1.10", 0), "{first} {second}");
}

#[test]
fn a_merge_is_intended_only_for_the_change_that_passed_and_where_it_stands() {
    let mut run = second_is_rebased();
    run.answer_checks("1.2", Verdict::Pass);

    let other = run.refused(run.intend_onto("1.2", "c-1.2-1", "m-1.1"));
    assert_eq!(other.code, RefusedCode::Stale, "{other}");
    let elsewhere = run.refused(run.intend_onto("1.2", "r-1.2-m-1.1", "b"));
    assert_eq!((elsewhere.code, elsewhere.hint.as_str()), (RefusedCode::Stale, "rebase it first"));
    let behind = run.refused(run.intend_onto("1.3", "c-1.3-1", "b"));
    assert_eq!(behind.code, RefusedCode::Illegal, "{behind}");
    assert_eq!(run.moves().as_deref(), Some("1.2"), "nothing has begun");
}

#[test]
fn a_move_of_the_branch_that_is_known_or_starts_elsewhere_changes_nothing() {
    let mut run = second_is_rebased();
    run.answer_checks("1.2", Verdict::Pass);
    let before = run.state.clone();

    run.tell(moved("1.2", "m-1.1", "m-1.1"));
    run.tell(moved("1.2", "b", "x"));

    assert_eq!(run.state, before);
    run.tell(moved("1.2", "m-1.1", "x"));
    let [Effect::RunCommand { task, commit, .. }] = &run.effects()[..] else { panic!("{:?}", run.effects()) };
    assert_eq!((task.as_str(), commit.as_str()), ("1.2", "r-1.2-m-1.1"));
}

#[test]
fn a_task_that_has_used_up_its_rebases_is_blocked_and_the_next_one_is_rebased_onto_the_same_head() {
    let mut run = Run::on(&compiled_way(), 3, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.pass_on("1.1", "b");
    run.pass_on("1.2", "b");
    let mut head = "b".to_owned();
    for number in 0..=MAX_REBASES {
        let next = format!("x{number}");
        run.tell(moved("1.1", &head, &next));
        head = next;
        if run.view("1.1").state.is_settled() {
            break;
        }
        run.rebase("1.1", &head);
        run.answer_checks("1.1", Verdict::Pass);
    }

    let TaskState::Blocked { reason } = run.view("1.1").state else { panic!("{:?}", run.view("1.1").state) };
    assert!(reason.starts_with("step rebase was done") && reason.ends_with("kept changing"), "{reason}");
    assert!(run.last.iter().any(|event| matches!(event, RunEvent::TaskBlocked { .. })), "{:?}", run.last);
    let [Effect::RunCommand { task, commit, .. }] = &run.effects()[..] else { panic!("{:?}", run.effects()) };
    assert_eq!((task.as_str(), commit.as_str()), ("1.2", "c-1.2-1"));
}

#[test]
fn a_conflict_in_a_rebase_refuses_the_attempt_of_the_task_that_has_its_turn_and_of_no_other() {
    let mut run = second_is_rebased();
    let conflicted = |task: &str| RunEvent::MergeConflicted { task: id(task), attempt: 1, files: vec!["a".to_owned()] };

    assert_eq!(run.refused(conflicted("1.3")).code, RefusedCode::Limit);
    assert_eq!(run.refused(conflicted("1.2")).code, RefusedCode::Illegal, "the gates judge it");
    run.answer_checks("1.2", Verdict::Pass);
    run.merge_onto("1.2", "r-1.2-m-1.1", "m-1.1");
    run.tell(conflicted("1.3"));

    let view = run.view("1.3");
    assert_eq!((view.attempt, &view.refusals[0].cause), (2, &RefusalCause::MergeConflict));
    let [Effect::StartWorker { from, .. }] = &run.effects()[..] else { panic!("{:?}", run.effects()) };
    assert_eq!(from, &StartFrom::RunHead, "a clean tree");
}

#[test]
fn a_change_that_builds_on_another_is_begun_rebased_after_a_conflict() {
    let mut run = subtasks::run_of(&json!({ "chain": [{ "prompt": "1" }, { "prompt": "2" }] }));
    run.capture_lines("1.1.s1", 1);
    run.capture_lines("1.1", 1);
    run.answer_checks("1.1", Verdict::Pass);
    run.tell(moved("1.1", "b", "x"));

    run.tell(RunEvent::MergeConflicted { task: id("1.1"), attempt: 1, files: vec!["a".to_owned()] });

    let from = run.effects().into_iter().find_map(|effect| {
        let Effect::StartWorker { from, .. } = effect else { return None };
        Some(from)
    });
    assert_eq!(from, Some(StartFrom::Rebased { commit: "c-1.1".to_owned() }));
}

#[test]
fn a_conflict_of_a_task_that_is_being_stopped_stops_it_and_is_no_refusal() {
    let mut run = second_is_rebased();
    run.answer_checks("1.2", Verdict::Pass);
    run.tell(run.intend_onto("1.2", "r-1.2-m-1.1", "m-1.1"));
    run.tell(RunEvent::TaskStopRequested { task: id("1.2"), grace_ms: None });

    run.tell(RunEvent::MergeConflicted { task: id("1.2"), attempt: 1, files: vec!["a".to_owned()] });

    let view = run.view("1.2");
    assert_eq!((view.state, view.attempt, view.refusals.len()), (TaskState::Stopped, 1, 0));
    assert_eq!(run.moves().as_deref(), Some("1.3"));
}

#[test]
fn a_merge_that_met_a_conflict_is_over_and_its_task_can_be_stopped_at_once() {
    let mut run = second_is_rebased();
    run.answer_checks("1.2", Verdict::Pass);
    run.tell(run.intend_onto("1.2", "r-1.2-m-1.1", "m-1.1"));
    run.tell(RunEvent::MergeConflicted { task: id("1.2"), attempt: 1, files: vec!["a".to_owned()] });
    run.start("1.2");
    assert_eq!(run.state.in_doubt().count(), 0, "its worker is known to be at work");
    run.end_turn_of_last("1.2", TurnOutcome::Failed);

    run.tell(RunEvent::TaskStopRequested { task: id("1.2"), grace_ms: None });

    assert_eq!(run.view("1.2").state, TaskState::Stopped);
}

#[test]
fn what_another_task_does_takes_the_turn_from_nobody() {
    let mut run = second_is_rebased();

    run.tell(RunEvent::TaskPaused { task: id("1.3"), cause: TaskPauseCause::Requested });

    assert_eq!(run.refused(moved("1.3", "m-1.1", "x")).code, RefusedCode::Limit);
    run.tell(RunEvent::TaskStopRequested { task: id("1.3"), grace_ms: None });
    run.answer_checks("1.2", Verdict::Pass);
    run.merge_onto("1.2", "r-1.2-m-1.1", "m-1.1");
    assert!(matches!(run.view("1.2").state, TaskState::Merged { .. }));
}
