//! Ceilings: what continues below them, what ends at them, and which of them holds for a task.

use serde_json::json;
use switchboard_protocol::run::{AtCeiling, Budget, BudgetScope, PauseCause, TaskPauseCause};

use super::*;

const ROOM: Budget = Budget { ceiling: 1_000, task: None, reserve: Some(100), at_ceiling: AtCeiling::Pause };

fn set(budget: Budget) -> RunEvent {
    RunEvent::BudgetSet { budget: Some(budget), plan: None, day: false }
}

fn of_tasks(task: u64, at_ceiling: AtCeiling) -> RunEvent {
    set(Budget { ceiling: 100_000, task: Some(task), reserve: Some(0), at_ceiling })
}

fn cost(task: &str, worker: &WorkerId, total_micro_usd: u64) -> RunEvent {
    RunEvent::CostCounted { task: id(task), worker: worker.clone(), total_micro_usd, estimated: false }
}

fn ended(task: &str, worker: &WorkerId, outcome: TurnOutcome) -> RunEvent {
    RunEvent::TurnEnded { task: id(task), worker: worker.clone(), outcome, reason: String::new() }
}

fn retry(task: &str) -> RunEvent {
    RunEvent::TaskRetryRequested { task: id(task), note: String::new() }
}

#[test]
fn a_task_that_is_settled_has_no_limit_although_its_cost_is_told_late() {
    for at_ceiling in [AtCeiling::Pause, AtCeiling::Halt] {
        let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
        run.tell(of_tasks(1_000, at_ceiling));
        run.merge("1.1");

        let worker = WorkerId::from_bits(run.workers);
        run.tell(cost("1.1", &worker, 5_000));

        assert!(run.last.iter().all(|event| matches!(event, RunEvent::BudgetAlert { .. })), "{:?}", run.last);
        assert!(matches!(run.view("1.1").state, TaskState::Merged { .. }));
        assert_eq!(run.view("1.1").paused, None);
    }
}

#[test]
fn a_paused_run_that_reaches_its_ceiling_stays_paused_on_request_and_waits_for_room_when_that_ends() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.tell(set(ROOM));
    let worker = run.start("1.1");
    run.tell(RunEvent::RunPaused { cause: PauseCause::Requested });

    run.tell(cost("1.1", &worker, 1_000));

    assert!(run.last.iter().all(|event| matches!(event, RunEvent::BudgetAlert { .. })), "{:?}", run.last);
    assert_eq!(run.state.pause(), Some(PauseCause::Requested));
    run.tell(RunEvent::RunResumed);
    assert_eq!(run.last, [RunEvent::RunPaused { cause: PauseCause::Budget }]);
    assert_eq!(run.state.pause(), Some(PauseCause::Budget));
    run.tell(set(Budget { ceiling: 1_050, ..ROOM }));
    assert_eq!((&run.last[..], run.state.pause()), (&[][..], Some(PauseCause::Budget)), "no worker fits");
    run.tell(set(Budget { ceiling: 1_200, ..ROOM }));
    assert_eq!(run.last, [RunEvent::RunResumed]);
}

#[test]
fn a_run_without_room_is_resumed_for_what_needs_no_worker() {
    type Prepare = fn(&mut Run);
    let cases: [(&str, Prepare, bool); 4] = [
        ("a change is to be merged", |run| run.pass("1.1"), true),
        ("a change is to be judged", |run| run.capture("1.1"), true),
        (
            "nothing is ready",
            |run| {
                for task in ["1.1", "1.2"] {
                    run.tell(RunEvent::TaskPaused { task: id(task), cause: TaskPauseCause::Requested });
                }
            },
            true,
        ),
        ("only workers are missing", |_| {}, false),
    ];
    for (name, prepare, goes_on) in cases {
        let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
        prepare(&mut run);
        run.tell(RunEvent::RunPaused { cause: PauseCause::Requested });
        run.tell(set(Budget { ceiling: 50, ..ROOM }));

        let resumed = run.state.step(&RunEvent::RunResumed, Millis(0));

        assert_eq!(resumed.is_ok(), goes_on, "{name}: {resumed:?}");
    }
}

impl Run {
    fn is_stopped_for_budget(&self, worker: &WorkerId) -> bool {
        let stops = |effect: &Effect| matches!(effect, Effect::StopWorker { worker: of, cause: StopCause::Budget, .. } if of == worker);
        self.effects().iter().any(stops)
    }
}

#[test]
fn no_turn_begins_while_a_ceiling_pauses_the_run() {
    for (cause, may_begin) in [
        (PauseCause::Requested, true),
        (PauseCause::Disk, true),
        (PauseCause::Budget, false),
        (PauseCause::Plan, false),
        (PauseCause::Day, false),
    ] {
        let mut run = Run::of(2, &[("1.1", &[], &[])]);
        let worker = run.start("1.1");
        assert!(run.state.has_room_for_turn(&worker));

        run.tell(RunEvent::RunPaused { cause });

        assert_eq!(run.state.has_room_for_turn(&worker), may_begin, "{cause:?}");
        assert_eq!(
            run.is_stopped_for_budget(&worker),
            matches!(cause, PauseCause::Plan | PauseCause::Day),
            "{cause:?}"
        );
    }
}

#[test]
fn a_pause_without_room_for_another_worker_leaves_the_active_ones_alone() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.tell(set(ROOM));
    let worker = run.start("1.1");
    run.tell(cost("1.1", &worker, 950));
    assert_eq!(run.state.pause(), None, "its worker is active");

    run.tell(RunEvent::RunPaused { cause: PauseCause::Budget });

    assert!(!run.is_stopped_for_budget(&worker));
    run.tell(cost("1.1", &worker, 1_000));
    assert!(run.is_stopped_for_budget(&worker), "the ceiling itself is reached");
}

#[test]
fn the_cost_of_a_worker_that_reports_none_is_estimated_where_any_ceiling_holds_and_it_has_run() {
    let shared = |plan, day| RunEvent::BudgetSet { budget: None, plan, day };
    let own = RunEvent::TaskBudgetSet { task: id("1.2"), ceiling: Some(5_000) };
    let limits = [
        (shared(None, false), None),
        (set(ROOM), Some(100)),
        (set(Budget { reserve: Some(0), ..ROOM }), None),
        (set(Budget { reserve: None, ..ROOM }), Some(1_000)),
        (set(Budget { reserve: None, task: Some(300), ..ROOM }), Some(300)),
        (shared(Some(70), false), Some(70)),
        (shared(None, true), Some(switchboard_protocol::run::DEFAULT_RESERVE)),
        (own, Some(switchboard_protocol::run::DEFAULT_RESERVE)),
    ];
    for (limit, expected) in limits {
        let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
        run.tell(limit.clone());
        let worker = run.start("1.1");

        run.tell(ended("1.1", &worker, TurnOutcome::Finished));

        let estimate = expected.map(|total_micro_usd| RunEvent::CostCounted {
            task: id("1.1"),
            worker,
            total_micro_usd,
            estimated: true,
        });
        assert_eq!(run.last.first(), estimate.as_ref(), "{limit:?}");
        assert_eq!(run.state.spent(), expected.unwrap_or(0), "{limit:?}");
    }

    let never_ran: [fn(WorkerId) -> RunEvent; 2] = [
        |worker| RunEvent::WorkerLost { task: id("1.1"), worker, reason: "not found".to_owned() },
        |worker| RunEvent::TreeSetupFailed { task: id("1.1"), worker, reason: "npm ci failed".to_owned() },
    ];
    for end in never_ran {
        let mut run = Run::of(2, &[("1.1", &[], &[])]);
        run.tell(set(ROOM));
        let (worker, step) = (WorkerId::from_bits(9), StepId::work());
        run.tell(RunEvent::WorkerIntended { task: id("1.1"), step, attempt: 1, worker: worker.clone() });

        run.tell(end(worker));

        assert_eq!(run.state.spent(), 0, "a worker that did not start costs nothing");
    }
}

#[test]
fn the_cost_of_subtasks_counts_for_their_task_which_is_paused_with_them_and_goes_on_with_them() {
    let mut run = subtasks::run_of(&json!({ "best_of": 2 }));
    run.tell(of_tasks(1_000, AtCeiling::Pause));
    let (first, second) = (run.start("1.1.c1"), run.start("1.1.c2"));
    run.tell(cost("1.1.c1", &first, 400));
    run.tell(cost("1.1.c2", &second, 400));
    let alert = |percent, spent| RunEvent::BudgetAlert { percent, spent, task: Some(id("1.1")), of: BudgetScope::Run };
    assert_eq!(run.last, [alert(75, 800), alert(80, 800)]);

    run.tell(cost("1.1.c1", &first, 600));

    let paused = RunEvent::TaskPaused { task: id("1.1"), cause: TaskPauseCause::Budget };
    assert_eq!(run.last, [alert(90, 1_000), alert(100, 1_000), paused]);
    for task in ["1.1", "1.1.c1", "1.1.c2"] {
        assert_eq!(run.view(task).paused, Some(TaskPauseCause::Budget), "{task}");
    }
    assert!(run.is_stopped_for_budget(&first) && run.is_stopped_for_budget(&second));
    let refused = run.refused(RunEvent::TaskResumed { task: id("1.1.c1") });
    assert_eq!(refused.code, RefusedCode::Budget);
    let own = RunEvent::TaskBudgetSet { task: id("1.1.c1"), ceiling: Some(9_000) };
    assert_eq!(run.refused(own).hint, "set that of 1.1");

    run.tell(of_tasks(2_000, AtCeiling::Pause));

    assert_eq!(run.last, [RunEvent::TaskResumed { task: id("1.1") }]);
    for task in ["1.1", "1.1.c1", "1.1.c2"] {
        assert_eq!(run.view(task).paused, None, "{task}");
    }
    run.tell(ended("1.1.c1", &first, TurnOutcome::Paused));
    run.tell(cost("1.1.c2", &second, 1_500));
    assert_eq!(run.view("1.1").paused, Some(TaskPauseCause::Budget), "the raise allows no more than it says");
}

#[test]
fn a_ceiling_of_a_task_stops_it_with_its_subtasks_where_the_budget_says_halt() {
    let mut run = subtasks::run_of(&json!({ "best_of": 2 }));
    run.tell(of_tasks(1_000, AtCeiling::Halt));
    let worker = run.start("1.1.c1");

    run.tell(cost("1.1.c1", &worker, 1_000));

    assert!(run.last.contains(&RunEvent::TaskStopRequested { task: id("1.1"), grace_ms: None }), "{:?}", run.last);
    assert_eq!((run.state_of("1.1.c2"), run.view("1.1.c1").stopping), (TaskState::Stopped, true));
    let [Effect::StopWorker { cause: StopCause::Ceiling, .. }] = &run.effects()[..1] else {
        panic!("{:?}", run.effects())
    };
    run.tell(ended("1.1.c1", &worker, TurnOutcome::Stopped));
    assert_eq!(run.state_of("1.1"), TaskState::Stopped);

    // A retry goes on until it reports a cost.
    run.tell(retry("1.1.c1"));
    assert!(run.starting().contains(&"1.1.c1".to_owned()), "{:?}", run.starting());
    assert_eq!(run.view("1.1.c1").paused, None);
}

#[test]
fn a_retried_task_that_has_cost_as_much_as_it_may_waits_for_a_higher_ceiling() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &["1.1"], &[])]);
    let worker = run.start("1.1");
    run.tell(cost("1.1", &worker, 1_000));
    run.tell(ended("1.1", &worker, TurnOutcome::Stopped));
    run.tell(RunEvent::TaskStopRequested { task: id("1.1"), grace_ms: None });
    run.tell(of_tasks(1_000, AtCeiling::Pause));
    assert_eq!(run.last, [], "it is settled");

    run.tell(retry("1.1"));

    assert_eq!(run.last, [RunEvent::TaskPaused { task: id("1.1"), cause: TaskPauseCause::Budget }]);
    assert_eq!((run.view("1.2").paused, run.starting()), (None, Vec::<String>::new()));
    run.tell(of_tasks(1_001, AtCeiling::Pause));
    assert_eq!(
        (&run.last[..], run.starting()),
        (&[RunEvent::TaskResumed { task: id("1.1") }][..], vec!["1.1".to_owned()])
    );
}

#[test]
fn what_was_allowed_to_cost_more_than_others_stays_allowed_and_a_ceiling_still_holds() {
    let mut run = Run::of(2, &[("1.1", &[], &[])]);
    run.tell(of_tasks(1_000, AtCeiling::Pause));
    let worker = run.start("1.1");
    run.tell(RunEvent::TaskPaused { task: id("1.1"), cause: TaskPauseCause::Dear });
    assert!(run.is_stopped_for_budget(&worker), "its turn is cancelled");
    run.tell(ended("1.1", &worker, TurnOutcome::Paused));
    run.tell(RunEvent::TaskResumed { task: id("1.1") });
    let worker = run.start("1.1");

    run.tell(cost("1.1", &worker, 1_000));

    assert_eq!(run.last.last(), Some(&RunEvent::TaskPaused { task: id("1.1"), cause: TaskPauseCause::Budget }));
}

#[test]
fn a_pause_that_followed_from_a_cost_is_taken_after_the_end_of_its_task_and_a_request_is_not() {
    let mut run = Run::of(1, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.merge("1.1");
    let pause = |cause| RunEvent::TaskPaused { task: id("1.1"), cause };

    run.tell(pause(TaskPauseCause::Budget));
    run.tell(pause(TaskPauseCause::Dear));

    assert_eq!(run.view("1.1").paused, None, "it has ended");
    assert_eq!(run.refused(pause(TaskPauseCause::Requested)).code, RefusedCode::Illegal);
}

#[test]
fn a_run_that_is_over_or_stopping_changes_no_task_for_a_new_budget() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let worker = run.start("1.1");
    run.tell(cost("1.1", &worker, 2_000));
    run.tell(RunEvent::RunStopRequested);

    run.tell(of_tasks(1_000, AtCeiling::Pause));

    assert_eq!((&run.last[..], run.view("1.1").paused), (&[][..], None));
    run.tell(cost("1.1", &worker, 200_000));
    assert_eq!((run.state.pause(), run.view("1.1").paused), (None, None));
    run.tell(ended("1.1", &worker, TurnOutcome::Stopped));
    run.tell(RunEvent::RunFinished { outcome: RunOutcome::Stopped });
    let own = RunEvent::TaskBudgetSet { task: id("1.1"), ceiling: Some(1) };
    assert_eq!(run.refused(own).code, RefusedCode::Illegal);
}

#[test]
fn a_late_cost_of_a_run_that_is_over_is_counted_and_reported_for_the_run_alone() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.tell(set(Budget { task: Some(1_000), reserve: Some(0), ..ROOM }));
    run.merge("1.1");
    let worker = WorkerId::from_bits(run.workers);
    run.tell(RunEvent::RunFinished { outcome: RunOutcome::Succeeded });

    run.tell(cost("1.1", &worker, 1_000));

    let alert = |percent| RunEvent::BudgetAlert { percent, spent: 1_000, task: None, of: BudgetScope::Run };
    assert_eq!(run.last, [75, 80, 90, 100].map(alert));
    assert_eq!((run.state.spent(), run.state.pause(), run.state.is_stopping()), (1_000, None, false));
}

#[test]
fn the_rest_of_each_reservation_is_shown_with_its_task() {
    let mut run = Run::of(3, &[("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &[], &[])]);
    run.tell(RunEvent::BudgetSet { budget: Some(ROOM), plan: Some(9_000), day: true });
    let (first, second) = (run.start("1.2"), run.start("1.1"));
    run.tell(cost("1.2", &first, 30));
    run.tell(cost("1.1", &second, 150));

    let reserved: Vec<_> = run.state.reserved().map(|(task, left)| (task.to_string(), left)).collect();

    assert_eq!(reserved, [("1.1".to_owned(), 0), ("1.2".to_owned(), 70)]);
    run.tell(RunEvent::TurnBegun { task: id("1.2"), worker: first, turn: 2 });
    let reserved: Vec<_> = run.state.reserved().map(|(_, left)| left).collect();
    assert_eq!(reserved, [0, 100], "each turn has its own");
    assert_eq!(
        (run.state.plan_ceiling(), run.state.has_day_ceiling(), run.state.reservation()),
        (Some(9_000), true, 100)
    );
}

#[test]
fn a_task_is_dear_only_beside_enough_others_that_are_done() {
    let tasks: [Spec; 6] = [
        ("1.1", &[], &[]),
        ("1.2", &[], &[]),
        ("1.3", &[], &[]),
        ("1.4", &[], &[]),
        ("1.5", &[], &[]),
        ("1.6", &[], &[]),
    ];
    let mut run = Run::of(1, &tasks);
    run.tell(set(Budget { ceiling: 1_000_000, reserve: Some(0), ..ROOM }));
    for task in ["1.1", "1.2", "1.3", "1.4"] {
        run.capture(task);
        let worker = WorkerId::from_bits(run.workers);
        run.tell(cost(task, &worker, 1_000));
        run.judge(task, "syntax", Verdict::Pass);
        run.judge(task, "secrets", Verdict::Pass);
        run.intend_merge(task);
        run.tell(RunEvent::TaskMerged { task: id(task), attempt: 1, commit: format!("m-{task}") });
    }
    let worker = run.start("1.5");
    run.tell(cost("1.5", &worker, 1_000));
    run.tell(RunEvent::TaskStopRequested { task: id("1.5"), grace_ms: None });
    run.tell(ended("1.5", &worker, TurnOutcome::Stopped));
    let worker = run.start("1.6");

    run.tell(cost("1.6", &worker, 100_000));

    assert_eq!((&run.last[..], run.view("1.6").paused), (&[][..], None), "four tasks are no average");
}

#[test]
fn shares_of_a_new_ceiling_for_each_task_are_reported_anew_and_what_is_spent_of_it_is_not() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let alert = |percent, spent| RunEvent::BudgetAlert { percent, spent, task: Some(id("1.1")), of: BudgetScope::Run };
    run.tell(of_tasks(1_000, AtCeiling::Pause));
    let worker = run.start("1.1");
    run.tell(cost("1.1", &worker, 800));
    assert_eq!(run.last, [alert(75, 800), alert(80, 800)]);

    run.tell(of_tasks(10_000, AtCeiling::Pause));
    run.tell(cost("1.1", &worker, 7_500));
    assert_eq!(run.last, [alert(75, 7_500)]);

    run.tell(of_tasks(9_375, AtCeiling::Pause));
    run.tell(cost("1.1", &worker, 8_000));
    assert_eq!(run.last, []);
}

#[test]
fn a_run_that_is_to_halt_at_its_ceiling_and_is_being_stopped_is_not_stopped_again() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.tell(set(Budget { at_ceiling: AtCeiling::Halt, ..ROOM }));
    let worker = run.start("1.1");
    run.tell(RunEvent::RunStopRequested);

    run.tell(cost("1.1", &worker, 1_000));

    assert!(run.last.iter().all(|event| matches!(event, RunEvent::BudgetAlert { .. })), "{:?}", run.last);
    run.tell(ended("1.1", &worker, TurnOutcome::Stopped));
    run.tell(RunEvent::RunFinished { outcome: RunOutcome::Stopped });
    run.tell(cost("1.1", &worker, 2_000));
    assert_eq!(run.last, []);
}

#[test]
fn a_task_whose_cost_was_warned_of_is_not_paused_as_dear_when_ceilings_pause_later() {
    for (warned_at, expected) in [(300, None), (10_000, Some(TaskPauseCause::Dear))] {
        let mut run = Run::of(1, &[("1.1", &[], &[])]);
        run.tell(of_tasks(warned_at, AtCeiling::Warn));
        (0..20).for_each(|_| run.state.account.task_done(100));
        let worker = run.start("1.1");
        run.tell(cost("1.1", &worker, 400));
        assert_eq!(run.view("1.1").paused, None);

        run.tell(of_tasks(10_000, AtCeiling::Pause));

        assert_eq!(run.view("1.1").paused, expected, "warned at {warned_at}");
    }
}
