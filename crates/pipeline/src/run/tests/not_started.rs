//! Checks that a task without a worker has a code for the reason.

use switchboard_protocol::run::{AtCeiling, Budget, PauseCause, SkipCode, TaskPauseCause};

use super::*;

impl Run {
    fn why(&self, task: &str) -> Option<(SkipCode, String)> {
        let all = self.state.tasks().find(|view| view.task == id(task)).unwrap().not_started;
        let why = self.view(task).not_started;
        assert_eq!(all, why, "one task is told as all are");
        why.map(|why| {
            assert_eq!(why.id, id(task));
            (why.code, why.detail)
        })
    }
}

fn said(code: SkipCode, detail: &str) -> Option<(SkipCode, String)> {
    Some((code, detail.to_owned()))
}

#[test]
fn a_task_waits_for_others_for_files_for_a_worker_or_for_a_person() {
    let tasks: [Spec; 5] =
        [("1.1", &[], &["a"]), ("1.2", &[], &["a"]), ("1.3", &["1.1"], &[]), ("1.4", &[], &[]), ("1.5", &[], &[])];
    let mut run = Run::of(2, &tasks);
    assert_eq!(run.why("1.1"), None, "it begins now");
    assert_eq!(run.why("1.2"), said(SkipCode::CapacityDeferred, "others go first"));

    run.start("1.1");
    assert_eq!(run.why("1.1"), None);
    assert_eq!(run.why("1.2"), said(SkipCode::ConflictDeferred, "waits for 1.1: both write a"));
    assert_eq!(run.why("1.3"), said(SkipCode::DepUnmet, "waits for 1.1"));
    assert_eq!(run.why("1.4"), None, "it begins now");
    run.start("1.4");
    assert_eq!(run.why("1.5"), said(SkipCode::CapacityDeferred, "waits for a free worker"));

    run.tell(RunEvent::TaskPaused { task: id("1.5"), cause: TaskPauseCause::Requested });
    assert_eq!(run.why("1.5"), said(SkipCode::Paused, "it is paused"));
    run.tell(RunEvent::RunPaused { cause: PauseCause::Requested });
    assert_eq!(run.why("1.2"), said(SkipCode::Paused, "its run is paused"));
    run.tell(RunEvent::RunResumed);
    run.tell(RunEvent::RunPaused { cause: PauseCause::Day });
    assert_eq!(run.why("1.2"), said(SkipCode::Budget, "its run is paused for want of budget"));
    assert_eq!(run.why("1.1"), None, "its worker is live");
}

#[test]
fn what_one_worker_does_not_do_now_waits_for_it() {
    let mut run = Run::of(1, &[("1.1", &[], &[]), ("1.2", &[], &[])]);

    run.pass("1.1");

    assert_eq!(run.why("1.1"), None, "nothing but its merge is left");
    assert_eq!(run.why("1.2"), said(SkipCode::CapacityDeferred, "waits for a free worker"));
    run.intend_merge("1.1");
    run.tell(RunEvent::TaskMerged { task: id("1.1"), attempt: 1, commit: "m".to_owned() });
    assert_eq!((run.why("1.1"), run.why("1.2")), (None, None));
}

#[test]
fn what_will_not_start_at_all_says_so() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &["1.1"], &[]), ("1.3", &[], &[]), ("1.4", &[], &[])]);
    run.block("1.1");
    run.tell(RunEvent::TaskStopRequested { task: id("1.3"), grace_ms: None });
    run.start("1.4");
    run.tell(RunEvent::TaskStopRequested { task: id("1.4"), grace_ms: None });

    assert_eq!(run.why("1.1"), None, "it was tried");
    assert_eq!(run.why("1.2"), said(SkipCode::DepFailed, "task 1.1, which it needs, is not done"));
    assert_eq!(run.why("1.3"), said(SkipCode::Stopped, "it was stopped before it began"));
    assert_eq!(run.why("1.4"), None);
}

#[test]
fn a_task_whose_candidates_have_worked_was_not_stopped_before_it_began() {
    let mut run = subtasks::run_of(&serde_json::json!({ "best_of": 2 }));
    let worker = run.start("1.1.c1");
    run.tell(RunEvent::TaskStopRequested { task: id("1.1"), grace_ms: None });
    run.tell(RunEvent::TurnEnded { task: id("1.1.c1"), worker, outcome: TurnOutcome::Stopped, reason: String::new() });

    assert_eq!(run.state_of("1.1"), TaskState::Stopped);
    assert_eq!((run.why("1.1"), run.why("1.1.c1")), (None, None));
    assert_eq!(run.why("1.1.c2"), said(SkipCode::Stopped, "it was stopped before it began"));
}

#[test]
fn a_reservation_that_does_not_fit_is_a_reason() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    let budget = Budget { ceiling: 30, task: None, reserve: Some(20), at_ceiling: AtCeiling::Pause };
    run.tell(RunEvent::BudgetSet { budget: Some(budget), plan: None, day: false });
    assert_eq!(run.why("1.1"), None);
    assert_eq!(run.why("1.2"), said(SkipCode::CapacityDeferred, "others go first"));

    run.start("1.1");

    let detail = "what is left of the run's budget is less than a worker's reservation";
    assert_eq!(run.why("1.2"), said(SkipCode::Budget, detail));
}

#[test]
fn a_task_names_what_it_still_waits_for() {
    let tasks: [Spec; 9] = [
        ("1.1", &[], &[]),
        ("1.2", &[], &[]),
        ("1.3", &[], &[]),
        ("1.4", &[], &[]),
        ("1.5", &[], &[]),
        ("1.6", &[], &[]),
        ("1.7", &[], &[]),
        ("1.8", &["1.1", "1.2"], &[]),
        ("1.9", &["1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7"], &[]),
    ];
    let mut run = Run::of(1, &tasks);
    assert_eq!(run.why("1.8"), said(SkipCode::DepUnmet, "waits for 1.1, 1.2"));
    assert_eq!(run.why("1.9"), said(SkipCode::DepUnmet, "waits for 1.1, 1.2, 1.3, 1.4, 1.5 and 2 more"));

    run.merge("1.1");

    assert_eq!(run.why("1.8"), said(SkipCode::DepUnmet, "waits for 1.2"));
}

#[test]
fn a_subtask_waits_for_the_files_that_another_task_holds_against_its_own() {
    let mut run = subtasks::run_of(&serde_json::json!({ "best_of": 2 }));
    run.tell(RunEvent::TaskPaused { task: id("1.1"), cause: TaskPauseCause::Requested });
    run.start("1.2");
    run.tell(RunEvent::TaskResumed { task: id("1.1") });

    assert_eq!(run.why("1.1.c1"), said(SkipCode::ConflictDeferred, "waits for 1.2: both write a"));
    assert_eq!(run.starting(), Vec::<String>::new());
}

#[test]
fn a_pause_a_stop_and_the_end_of_a_run_are_told_apart() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.tell(RunEvent::RunPaused { cause: PauseCause::Disk });
    assert_eq!(run.why("1.1"), said(SkipCode::Paused, "its run is paused: the disk is full"));
    for cause in [PauseCause::Budget, PauseCause::Plan] {
        let mut run = Run::of(2, &[("1.1", &[], &[])]);
        run.tell(RunEvent::RunPaused { cause });
        assert_eq!(run.why("1.1"), said(SkipCode::Budget, "its run is paused for want of budget"), "{cause:?}");
    }
    run.tell(RunEvent::RunResumed);
    let worker = run.start("1.2");
    run.tell(RunEvent::RunStopRequested);
    assert_eq!(run.why("1.1"), said(SkipCode::Stopped, "it was stopped before it began"));
    run.tell(RunEvent::TurnEnded { task: id("1.2"), worker, outcome: TurnOutcome::Stopped, reason: String::new() });
    assert_eq!(run.why("1.2"), None, "it has begun");
}

#[test]
fn a_step_that_its_leader_has_not_begun_is_named() {
    let mut run = Run::of(2, &[("1.1", &[], &[])]);
    run.tell(RunEvent::LedSet { is_led: true });

    let detail = "the agent that leads the run has not begun its step work";
    assert_eq!(run.why("1.1"), said(SkipCode::NotBegun, detail));
}
