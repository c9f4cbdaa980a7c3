//! Pauses and the budget.

use switchboard_protocol::run::{AtCeiling, Budget, BudgetScope, PauseCause, TaskPauseCause};

use super::*;

fn budget(ceiling: u64, reserve: u64, at_ceiling: AtCeiling) -> RunEvent {
    RunEvent::BudgetSet {
        budget: Some(Budget { ceiling, task: None, reserve: Some(reserve), at_ceiling }),
        plan: None,
        day: false,
    }
}

fn cost(task: &str, worker: &WorkerId, total_micro_usd: u64) -> RunEvent {
    RunEvent::CostCounted { task: id(task), worker: worker.clone(), total_micro_usd, estimated: false }
}

fn paused() -> RunEvent {
    RunEvent::RunPaused { cause: PauseCause::Requested }
}

#[test]
fn a_paused_run_ends_what_is_under_way_and_begins_nothing() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    let worker = run.start("1.1");

    run.tell(paused());

    assert_eq!(run.effects(), []);
    let attempt = run.view("1.2").attempt;
    let intended =
        RunEvent::WorkerIntended { task: id("1.2"), step: StepId::work(), attempt, worker: WorkerId::from_bits(99) };
    assert_eq!(run.refused(intended).code, RefusedCode::Illegal);
    run.tell(RunEvent::TurnEnded { task: id("1.1"), worker, outcome: TurnOutcome::Finished, reason: String::new() });
    assert!(matches!(run.effects()[..], [Effect::Capture { .. }]), "{:?}", run.effects());

    run.tell(RunEvent::RunResumed);

    assert_eq!(run.starting(), ["1.2"]);
}

#[test]
fn a_full_disk_holds_back_what_writes_also_in_a_pause_and_in_a_run_that_is_stopped() {
    let full = || RunEvent::RunPaused { cause: PauseCause::Disk };
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &[], &[])]);
    let worker = run.start("1.1");
    let other = run.start("1.2");
    run.tell(RunEvent::TurnEnded { task: id("1.1"), worker, outcome: TurnOutcome::Finished, reason: String::new() });
    run.tell(paused());
    assert!(matches!(run.effects()[..], [Effect::Capture { .. }]), "{:?}", run.effects());

    run.tell(full());

    assert_eq!((run.state.pause(), run.effects()), (Some(PauseCause::Disk), Vec::new()));
    assert_eq!(
        run.state.waiting_workers().map(|(worker, _)| worker).collect::<Vec<_>>(),
        [&other],
        "its worker waits as well"
    );
    run.tell(RunEvent::RunStopRequested);
    assert!(matches!(run.effects()[..], [Effect::StopWorker { .. }]), "{:?}", run.effects());
    run.tell(full());
    run.tell(RunEvent::RunResumed);
    assert!(run.effects().iter().all(|effect| !matches!(effect, Effect::StartWorker { .. })), "{:?}", run.effects());
}

#[test]
fn a_pause_of_a_run_without_budget_ends_where_something_can_go_on_and_is_refused_elsewhere() {
    for cause in [PauseCause::Requested, PauseCause::Disk] {
        let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
        run.tell(budget(100, 60, AtCeiling::Pause));
        let worker = run.start("1.1");
        run.tell(RunEvent::RunPaused { cause });

        // The active worker has its reservation; a second one would not fit.
        run.tell(RunEvent::RunResumed);

        assert_eq!((run.state.pause(), run.state.waiting_workers().count()), (None, 0), "{cause:?}");
        run.tell(cost("1.1", &worker, 90));
        run.tell(RunEvent::RunPaused { cause });
        run.tell(RunEvent::WorkerLost { task: id("1.1"), worker, reason: "gone".to_owned() });
        let refused = run.refused(RunEvent::RunResumed);
        assert_eq!((refused.code, refused.code.code()), (RefusedCode::Budget, "dispatch.budget"), "{cause:?}");
        let both = ["switchboard budget RUN --budget USD", "switchboard resume RUN"];
        assert!(both.iter().all(|command| refused.hint.contains(command)), "{refused:?}");
        assert_eq!(refused.why.contains("full disk"), cause == PauseCause::Disk, "{refused:?}");
        run.tell(budget(200, 60, AtCeiling::Pause));
        run.tell(RunEvent::RunResumed);
        assert_eq!((run.state.pause(), run.starting().len()), (None, 1), "{cause:?}");
    }
}

#[test]
fn a_change_of_a_run_without_budget_is_judged_and_merged_after_a_pause() {
    let mut run = Run::of(1, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.tell(budget(100, 60, AtCeiling::Pause));
    let worker = run.start("1.1");
    run.tell(cost("1.1", &worker, 90));
    run.tell(RunEvent::TurnEnded { task: id("1.1"), worker, outcome: TurnOutcome::Finished, reason: String::new() });
    run.tell(RunEvent::RunPaused { cause: PauseCause::Disk });
    assert_eq!(run.effects(), []);

    run.tell(RunEvent::RunResumed);

    assert!(matches!(run.effects()[..], [Effect::Capture { .. }]), "{:?}", run.effects());
}

#[test]
fn a_worker_that_finds_no_room_is_no_loss_however_often_that_happens() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    for _ in 0..5 {
        let worker = run.start("1.1");
        run.tell(RunEvent::RunPaused { cause: PauseCause::Disk });
        run.tell(RunEvent::WorkerLost { task: id("1.1"), worker, reason: "no room".to_owned() });
        assert_eq!(run.effects(), []);
        run.tell(RunEvent::RunResumed);
    }

    assert_eq!((run.starting(), run.view("1.1").attempt), (vec!["1.1".to_owned()], 1));
}

#[test]
fn a_paused_run_can_be_stopped_and_a_retry_ends_the_pause() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.tell(paused());

    run.tell(RunEvent::RunStopRequested);
    run.tell(RunEvent::RunFinished { outcome: RunOutcome::Stopped });
    assert!(!run.refused(paused()).why.is_empty(), "it is over");
    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });

    assert_eq!((run.state.pause(), run.starting()), (None, vec!["1.1".to_owned()]));
}

#[test]
fn a_retry_in_a_paused_run_without_room_leaves_it_paused_for_its_budget() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.tell(budget(100, 10, AtCeiling::Pause));
    let worker = run.start("1.1");
    run.tell(cost("1.1", &worker, 95));
    run.tell(paused());
    run.tell(RunEvent::RunStopRequested);
    run.tell(RunEvent::TurnEnded { task: id("1.1"), worker, outcome: TurnOutcome::Stopped, reason: String::new() });
    run.tell(RunEvent::RunFinished { outcome: RunOutcome::Stopped });

    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });

    assert_eq!(run.state.pause(), Some(PauseCause::Budget));
    assert!(run.last.contains(&RunEvent::RunPaused { cause: PauseCause::Budget }), "{:?}", run.last);
    assert_eq!(run.starting(), Vec::<String>::new());
    run.tell(budget(200, 10, AtCeiling::Pause));
    assert_eq!((run.state.pause(), run.starting()), (None, vec!["1.1".to_owned()]), "room ends it");
}

#[test]
fn a_paused_task_lets_others_go_on_and_keeps_its_change() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.pass("1.1");
    run.tell(RunEvent::TaskPaused { task: id("1.1"), cause: TaskPauseCause::Requested });
    assert_eq!(run.starting(), ["1.2"]);

    run.merge("1.2");
    assert_eq!(run.effects(), [], "1.1 neither merges nor ends");
    run.tell(RunEvent::TaskResumed { task: id("1.1") });

    assert!(matches!(&run.effects()[..], [Effect::Merge { task, .. }] if *task == id("1.1")), "{:?}", run.effects());
    let unknown = RunEvent::TaskPaused { task: id("1.9"), cause: TaskPauseCause::Requested };
    assert!(!run.refused(unknown).why.is_empty());
}

#[test]
fn no_more_workers_start_than_have_their_reservation() {
    let mut run = Run::of(3, &[("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &[], &[])]);
    run.tell(budget(1_000, 400, AtCeiling::Pause));
    assert_eq!(run.starting(), ["1.1", "1.2"]);

    let worker = run.start("1.1");
    run.tell(cost("1.1", &worker, 700));
    assert_eq!(run.starting(), Vec::<String>::new());
    let (step, attempt) = (StepId::work(), 1);
    let intended = RunEvent::WorkerIntended { task: id("1.2"), step, attempt, worker: WorkerId::from_bits(99) };
    assert_eq!(run.refused(intended).code, RefusedCode::Limit);
}

#[test]
fn at_the_ceiling_turns_are_cancelled_and_go_on_as_the_same_attempt_once_it_is_raised() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.tell(budget(1_000, 0, AtCeiling::Pause));
    let worker = run.start("1.1");

    run.tell(cost("1.1", &worker, 1_200));

    let alerts = [75, 80, 90, 100].map(|percent| RunEvent::BudgetAlert {
        percent,
        spent: 1_200,
        task: None,
        of: BudgetScope::Run,
    });
    assert_eq!(run.last[..4], alerts);
    assert_eq!(run.last[4..], [RunEvent::RunPaused { cause: PauseCause::Budget }]);
    let cause = StopCause::Budget;
    assert_eq!(run.effects(), [Effect::StopWorker { task: id("1.1"), worker: worker.clone(), cause, grace_ms: None }]);
    run.tell(RunEvent::TurnEnded { task: id("1.1"), worker, outcome: TurnOutcome::Paused, reason: String::new() });
    assert_eq!(run.effects(), []);
    assert!(run.refused(RunEvent::RunResumed).hint.contains("raise the ceiling"));

    run.tell(budget(5_000, 0, AtCeiling::Pause));

    assert_eq!(run.last, [RunEvent::RunResumed]);
    let [Effect::StartWorker { task, attempt: 1, resume: true, .. }, _] = &run.effects()[..] else {
        panic!("{:?}", run.effects())
    };
    assert_eq!(*task, id("1.1"));
}

#[test]
fn a_cost_that_is_told_again_is_counted_once() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.tell(budget(1_000, 0, AtCeiling::Pause));
    let worker = run.start("1.1");

    for total in [300, 300, 200, 400] {
        run.tell(cost("1.1", &worker, total));
    }

    assert_eq!(run.state.spent(), 400);
    assert_eq!(run.refused(cost("1.1", &WorkerId::from_bits(99), 1)).code, RefusedCode::Stale);
}

#[test]
fn a_run_that_is_to_halt_at_its_ceiling_is_stopped() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.tell(budget(100, 0, AtCeiling::Halt));
    let worker = run.start("1.1");

    run.tell(cost("1.1", &worker, 100));

    assert_eq!(run.last.last(), Some(&RunEvent::RunStopRequested));
    assert_eq!(run.view("1.2").state, TaskState::Stopped);
    assert!(matches!(run.effects()[..], [Effect::StopWorker { cause: StopCause::Ceiling, .. }]));
}

#[test]
fn a_run_whose_rest_is_less_than_a_reservation_is_paused_when_nobody_is_at_work() {
    let mut run = Run::of(1, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.tell(budget(1_000, 600, AtCeiling::Pause));

    run.merge("1.1");

    assert_eq!(run.state.spent(), 600, "it told no cost: its reservation counts");
    assert_eq!((run.state.pause(), run.effects()), (Some(PauseCause::Budget), Vec::new()));
}

#[test]
fn a_run_that_stops_can_only_be_paused_for_a_full_disk_and_one_that_is_over_not_at_all() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let pause = |cause| RunEvent::RunPaused { cause };
    run.start("1.1");
    run.tell(RunEvent::RunStopRequested);

    for cause in [PauseCause::Requested, PauseCause::Budget, PauseCause::Plan, PauseCause::Day] {
        run.refused(pause(cause));
    }
    run.tell(pause(PauseCause::Disk));
    assert_eq!(run.state.pause(), Some(PauseCause::Disk));

    let mut over = Run::of(1, &[("1.1", &[], &[])]);
    over.merge("1.1");
    over.tell(RunEvent::RunFinished { outcome: RunOutcome::Succeeded });
    for cause in [PauseCause::Requested, PauseCause::Disk] {
        over.refused(pause(cause));
    }
}

fn alerts(task: &str, spent: u64, percents: &[u8]) -> Vec<RunEvent> {
    let alert = |percent| RunEvent::BudgetAlert { percent, spent, task: Some(id(task)), of: BudgetScope::Run };
    percents.iter().copied().map(alert).collect()
}

fn of_tasks(task: u64, at_ceiling: AtCeiling) -> RunEvent {
    RunEvent::BudgetSet {
        budget: Some(Budget { ceiling: 100_000, task: Some(task), reserve: Some(0), at_ceiling }),
        plan: None,
        day: false,
    }
}

#[test]
fn a_task_at_its_ceiling_is_paused_and_goes_on_once_that_is_raised() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.tell(of_tasks(1_000, AtCeiling::Pause));
    let worker = run.start("1.1");
    run.tell(cost("1.1", &worker, 749));
    assert_eq!(run.last, []);
    run.tell(cost("1.1", &worker, 899));
    assert_eq!(run.last, alerts("1.1", 899, &[75, 80]));

    run.tell(cost("1.1", &worker, 1_000));

    let paused = RunEvent::TaskPaused { task: id("1.1"), cause: TaskPauseCause::Budget };
    assert_eq!(run.last, [alerts("1.1", 1_000, &[90, 100]), vec![paused]].concat());
    let stop = Effect::StopWorker { task: id("1.1"), worker: worker.clone(), cause: StopCause::Budget, grace_ms: None };
    assert!(run.effects().contains(&stop), "{:?}", run.effects());
    run.tell(RunEvent::TurnEnded { task: id("1.1"), worker, outcome: TurnOutcome::Paused, reason: String::new() });
    assert_eq!(run.starting(), ["1.2"], "others go on");
    let refused = run.refused(RunEvent::TaskResumed { task: id("1.1") });
    assert_eq!(refused.code.code(), "dispatch.budget");
    assert_eq!(refused.hint, "raise it: switchboard budget RUN/1.1 --budget USD; the task goes on by itself then");

    run.tell(of_tasks(2_000, AtCeiling::Pause));

    assert_eq!(run.last, [RunEvent::TaskResumed { task: id("1.1") }]);
    assert_eq!(run.starting(), ["1.1", "1.2"]);
    assert_eq!(run.view("1.1").attempt, 1);
    run.tell(of_tasks(500, AtCeiling::Pause));
    assert_eq!(run.starting(), ["1.2"], "a ceiling that is lowered holds for what was spent");
}

#[test]
fn what_is_spent_of_a_budget_is_not_reported_again_when_it_is_set() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let set = |ceiling, day| RunEvent::BudgetSet {
        budget: Some(Budget { ceiling, task: None, reserve: Some(0), at_ceiling: AtCeiling::Pause }),
        plan: None,
        day,
    };
    let alert = |spent, percent| RunEvent::BudgetAlert { percent, spent, task: None, of: BudgetScope::Run };
    run.tell(set(1_000, false));
    let worker = run.start("1.1");
    run.tell(cost("1.1", &worker, 760));
    assert_eq!(run.last, [alert(760, 75)]);

    run.tell(set(1_000, true));
    run.tell(cost("1.1", &worker, 770));
    assert_eq!(run.last, []);

    run.tell(set(1_010, true));
    run.tell(cost("1.1", &worker, 780));
    assert_eq!(run.last, []);
    run.tell(cost("1.1", &worker, 810));
    assert_eq!(run.last, [alert(810, 80)]);
}

#[test]
fn shares_of_a_tasks_new_ceiling_are_reported_anew_and_what_is_spent_of_it_is_not() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let own = |ceiling| RunEvent::TaskBudgetSet { task: id("1.1"), ceiling: Some(ceiling) };
    run.tell(own(1_000));
    let worker = run.start("1.1");
    run.tell(cost("1.1", &worker, 800));
    assert_eq!(run.last, alerts("1.1", 800, &[75, 80]));

    run.tell(own(10_000));
    run.tell(cost("1.1", &worker, 7_500));
    assert_eq!(run.last, alerts("1.1", 7_500, &[75]));
    run.tell(own(9_375));

    run.tell(cost("1.1", &worker, 8_000));
    assert_eq!(run.last, [], "80 % were spent when it was set");
}

#[test]
fn a_task_at_its_ceiling_leaves_the_only_worker_to_the_others() {
    let mut run = Run::of(1, &[("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &[], &[])]);
    run.tell(of_tasks(1_000, AtCeiling::Pause));
    let worker = run.start("1.1");
    run.tell(cost("1.1", &worker, 1_000));
    assert_eq!(run.starting(), Vec::<String>::new(), "its worker has not ended");

    run.tell(RunEvent::TurnEnded { task: id("1.1"), worker, outcome: TurnOutcome::Paused, reason: String::new() });

    assert_eq!(run.starting(), ["1.2"]);
    run.pass("1.2");
    assert_eq!(run.starting(), Vec::<String>::new(), "1.2 is not merged");
    run.tell(of_tasks(2_000, AtCeiling::Pause));
    assert_eq!(run.starting(), ["1.1"], "it has begun");
}

#[test]
fn a_task_at_its_ceiling_is_stopped_or_only_named_where_the_budget_says_so() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &["1.1"], &[])]);
    run.tell(of_tasks(1_000, AtCeiling::Warn));
    let worker = run.start("1.1");
    run.tell(cost("1.1", &worker, 1_500));
    assert_eq!(run.last, alerts("1.1", 1_500, &[75, 80, 90, 100]));
    run.tell(cost("1.1", &worker, 1_600));
    assert_eq!(run.last, [], "once");

    run.tell(of_tasks(1_000, AtCeiling::Halt));

    assert_eq!(run.last, [RunEvent::TaskStopRequested { task: id("1.1"), grace_ms: None }]);
    assert!(matches!(run.effects()[..], [Effect::StopWorker { cause: StopCause::Ceiling, .. }]));
}

#[test]
fn a_requested_pause_of_a_run_without_room_holds_when_there_is_room_again() {
    for (cause, stays) in [
        (PauseCause::Budget, PauseCause::Requested),
        (PauseCause::Plan, PauseCause::Requested),
        (PauseCause::Day, PauseCause::Requested),
        (PauseCause::Disk, PauseCause::Disk),
    ] {
        let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
        run.tell(budget(100, 10, AtCeiling::Pause));
        let worker = run.start("1.1");
        run.tell(RunEvent::RunPaused { cause });

        run.tell(paused());

        assert_eq!(run.state.pause(), Some(stays));
        let waits = run.state.waiting_workers().map(|(worker, _)| worker).collect::<Vec<_>>();
        assert_eq!(waits, [&worker], "it waits at its next boundary");
        assert_eq!(run.effects(), []);
        run.tell(budget(200, 10, AtCeiling::Pause));
        assert_eq!((run.state.pause(), &run.last[..]), (Some(stays), &[][..]));
        run.tell(RunEvent::RunPaused { cause: PauseCause::Day });
        assert_eq!(run.state.pause(), Some(stays), "what ends by itself does not take its place");
        run.tell(RunEvent::RunResumed);
        assert_eq!(run.starting(), ["1.2"]);
    }
}

#[test]
fn a_requested_pause_of_a_task_at_its_ceiling_holds_once_that_is_raised() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.tell(of_tasks(1_000, AtCeiling::Pause));
    let worker = run.start("1.1");
    run.tell(cost("1.1", &worker, 1_000));
    run.tell(RunEvent::TurnEnded { task: id("1.1"), worker, outcome: TurnOutcome::Paused, reason: String::new() });

    run.tell(RunEvent::TaskPaused { task: id("1.1"), cause: TaskPauseCause::Requested });

    let hint = run.refused(RunEvent::TaskResumed { task: id("1.1") }).hint;
    assert_eq!(hint, "raise it: switchboard budget RUN/1.1 --budget USD, then: switchboard resume RUN/1.1");
    run.tell(of_tasks(2_000, AtCeiling::Pause));
    assert_eq!((run.view("1.1").paused, run.starting()), (Some(TaskPauseCause::Requested), vec!["1.2".to_owned()]));
    run.tell(RunEvent::TaskPaused { task: id("1.1"), cause: TaskPauseCause::Budget });
    assert_eq!(run.view("1.1").paused, Some(TaskPauseCause::Requested), "what ends by itself does not take its place");
    run.tell(RunEvent::TaskResumed { task: id("1.1") });
    assert_eq!(run.starting(), ["1.1", "1.2"]);
}

#[test]
fn a_task_that_costs_far_more_than_others_is_paused_once() {
    let others: Vec<Spec> = vec![("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &[], &[]), ("1.4", &[], &[])];
    let mut run = Run::of(1, &[others, vec![("1.5", &[], &[]), ("1.6", &[], &[])]].concat());
    run.tell(budget(100_000, 0, AtCeiling::Pause));
    for task in ["1.1", "1.2", "1.3", "1.4", "1.5"] {
        run.capture(task);
        let worker = WorkerId::from_bits(run.workers);
        run.tell(cost(task, &worker, 1_000));
        run.judge(task, "syntax", Verdict::Pass);
        run.judge(task, "secrets", Verdict::Pass);
        run.intend_merge(task);
        run.tell(RunEvent::TaskMerged { task: id(task), attempt: 1, commit: format!("m-{task}") });
    }
    let worker = run.start("1.6");
    run.tell(cost("1.6", &worker, 3_000));
    assert_eq!(run.last, []);

    run.tell(cost("1.6", &worker, 3_001));

    assert_eq!(run.last, [RunEvent::TaskPaused { task: id("1.6"), cause: TaskPauseCause::Dear }]);
    run.tell(RunEvent::TaskResumed { task: id("1.6") });
    run.tell(cost("1.6", &worker, 30_000));
    assert_eq!(run.last, [], "a person has let it go on");
}

#[test]
fn a_task_has_a_ceiling_of_its_own_beside_that_of_each_task() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    let own = |task: &str, ceiling| RunEvent::TaskBudgetSet { task: id(task), ceiling };
    run.tell(own("1.1", Some(500)));
    let (first, second) = (run.start("1.1"), run.start("1.2"));
    run.tell(cost("1.2", &second, 5_000));
    assert_eq!(run.last, [], "nobody has limited 1.2");

    run.tell(cost("1.1", &first, 500));

    let paused = RunEvent::TaskPaused { task: id("1.1"), cause: TaskPauseCause::Budget };
    assert_eq!(run.last, [alerts("1.1", 500, &[75, 80, 90, 100]), vec![paused]].concat());
    run.tell(RunEvent::TurnEnded {
        task: id("1.1"),
        worker: first,
        outcome: TurnOutcome::Paused,
        reason: String::new(),
    });
    assert!(run.refused(RunEvent::TaskResumed { task: id("1.1") }).hint.contains("RUN/1.1"));
    run.tell(of_tasks(400, AtCeiling::Pause));
    run.tell(own("1.1", Some(600)));
    assert_eq!(run.last, [RunEvent::TaskResumed { task: id("1.1") }], "its own goes before that of each task");
    run.tell(own("1.1", None));
    assert_eq!(run.last, [RunEvent::TaskPaused { task: id("1.1"), cause: TaskPauseCause::Budget }]);
    assert_eq!(run.refused(own("1.9", None)).code, RefusedCode::UnknownTask);
}

#[test]
fn a_stop_names_how_long_the_agent_may_take_to_end() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    let (first, second) = (run.start("1.1"), run.start("1.2"));

    run.tell(RunEvent::TaskStopRequested { task: id("1.1"), grace_ms: Some(0) });
    run.tell(RunEvent::RunStopRequested);

    let stop = |task: &str, worker: WorkerId, grace_ms| {
        let cause = StopCause::Requested;
        Effect::StopWorker { task: id(task), worker, cause, grace_ms }
    };
    assert_eq!(run.effects(), [stop("1.1", first, Some(0)), stop("1.2", second, None)]);
}

#[test]
fn a_run_that_is_being_stopped_is_not_paused_by_what_its_workers_still_cost_so_that_its_log_can_be_folded() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.tell(budget(100, 10, AtCeiling::Pause));
    let worker = run.start("1.1");
    run.tell(RunEvent::RunStopRequested);

    run.tell(cost("1.1", &worker, 100));

    assert_eq!(run.state.pause(), None);
    assert!(!run.last.iter().any(|event| matches!(event, RunEvent::RunPaused { .. })), "{:?}", run.last);
}
