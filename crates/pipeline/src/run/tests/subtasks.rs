//! Tasks that several workers share: chains, candidates and debates.

use serde_json::{Value, json};
use switchboard_protocol::run::way::StepId;
use switchboard_protocol::run::{Answered, TaskPauseCause};

use super::*;

/// Returns a run of one task with these settings, and one that waits for it.
pub(super) fn run_of(settings: &Value) -> Run {
    run_with(settings, 4)
}

fn run_with(settings: &Value, max_workers: u32) -> Run {
    run_of_shapes(settings, max_workers, |_| {})
}

/// Returns a run whose first task may leave everything as it is.
fn run_that_may_keep() -> Run {
    run_of_shapes(&json!({}), 4, |expanded| expanded.shapes.entry(id("1.1")).or_default().may_keep = true)
}

fn run_of_shapes(settings: &Value, max_workers: u32, shape: impl Fn(&mut crate::subtasks::Expanded)) -> Run {
    let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s",
        "x-switchboard": { "max_workers": max_workers, "gates": ["-build_check", "-test_runner", "-secretscan"] },
        "phases": [
            { "id": 1, "name": "p", "tasks": [
                { "id": "1.1", "phase": 1, "description": "d", "files_touched": ["a"], "x-switchboard": settings },
                { "id": "1.2", "phase": 1, "description": "d", "files_touched": ["a"] } ] },
            { "id": 2, "name": "q", "tasks": [{ "id": "2.1", "phase": 2, "description": "d" }] }
        ] });
    let mut expanded = crate::subtasks::expand(&crate::plan_json::parse(&plan.to_string()).unwrap()).unwrap();
    shape(&mut expanded);
    let prepared = crate::prepare::prepare(&expanded.plan, &std::collections::BTreeSet::new(), None);
    let compiled = crate::way::compile(
        &expanded,
        &prepared,
        &switchboard_protocol::run::TeamLimits::default(),
        crate::way::usual_attempts,
    )
    .unwrap();
    let opening = crate::prepare::Opening { plan_hash: "h", base: "b", max_workers };
    let mut run = Run { state: RunState::new(), now: 0, workers: 0, last: Vec::new() };
    for event in crate::prepare::opening(&expanded.plan, &compiled, opening).unwrap() {
        run.tell(event);
    }
    run
}

impl Run {
    pub(super) fn capture_lines(&mut self, task: &str, lines: u32) {
        self.end_turn(task, TurnOutcome::Finished);
        let (commit, tree, base) = (format!("c-{task}"), format!("t-{task}"), "b".to_owned());
        self.captured(task, &Change { commit, tree, base, files: 1, lines });
    }

    fn give_up(&mut self, task: &str) {
        let attempt = self.view(task).attempt;
        self.tell(RunEvent::TaskBlocked { task: id(task), attempt, retries: None, reason: "so".to_owned() });
    }

    fn start_of(&self, task: &str) -> (StartFrom, Vec<Answered>) {
        let start = self.effects().into_iter().find_map(|effect| {
            let Effect::StartWorker { task: of, from, answers, .. } = effect else { return None };
            (of == id(task)).then_some((from, answers))
        });
        start.expect("the task is to be started")
    }

    pub(super) fn state_of(&self, task: &str) -> TaskState {
        self.view(task).state
    }

    fn is_done(&self, task: &str) -> bool {
        matches!(self.state_of(task), TaskState::Done { .. })
    }

    fn merge_passed(&mut self, task: &str) {
        let (attempt, commit) = (self.view(task).attempt, self.state.task(&id(task)).unwrap());
        let TaskState::Passed { change } = commit.state else { panic!("{:?}", commit.state) };
        let onto = change.base;
        self.tell(RunEvent::MergeIntended { task: id(task), attempt, commit: change.commit.clone(), onto });
        self.tell(RunEvent::TaskMerged { task: id(task), attempt, commit: change.commit });
    }
}

#[test]
fn each_step_of_a_chain_begins_on_the_change_of_the_one_before() {
    let mut run = run_of(&json!({ "chain": [{ "prompt": "1" }, { "prompt": "2" }, { "prompt": "3" }] }));

    assert_eq!(run.starting(), ["1.1.s1"], "the other task writes the same files");
    run.capture_lines("1.1.s1", 1);
    assert!(run.is_done("1.1.s1"));
    let (from, answers) = run.start_of("1.1.s2");
    assert_eq!(from, StartFrom::Change { commit: "c-1.1.s1".to_owned(), base: "b".to_owned() });
    assert_eq!(answers, [Answered { task: id("1.1.s1"), worker: Some(WorkerId::from_bits(1)) }]);
    run.end_turn("1.1.s2", TurnOutcome::Finished);
    run.tell(RunEvent::NothingChanged { task: id("1.1.s2"), attempt: 1, step: None, why: String::new() });
    assert!(run.is_done("1.1.s2"), "a step may leave the tree as it is");
    assert_eq!(run.starting(), ["1.1"], "the task holds its files from its first step on");
    assert_eq!(run.start_of("1.1").0, StartFrom::Change { commit: "c-1.1.s1".to_owned(), base: "b".to_owned() });
    run.end_turn("1.1", TurnOutcome::Finished);
    let carried = run.effects().into_iter().find_map(|effect| {
        let Effect::Capture { carried, .. } = effect else { return None };
        carried
    });
    assert_eq!(carried.as_deref(), Some("c-1.1.s1"));
}

#[test]
fn a_task_that_may_leave_everything_as_it_is_is_done_without_a_change_and_judged_with_one() {
    let mut run = run_that_may_keep();
    run.end_turn("1.1", TurnOutcome::Finished);
    let may_keep = run.effects().into_iter().any(|effect| matches!(effect, Effect::Capture { may_keep: true, .. }));
    assert!(may_keep);
    run.tell(RunEvent::NothingChanged { task: id("1.1"), attempt: 1, step: None, why: String::new() });
    assert_eq!(run.state_of("1.1"), TaskState::Done { commit: String::new() });

    let mut run = run_that_may_keep();
    run.capture_lines("1.1", 1);
    assert!(!run.is_done("1.1"), "a change is judged and merged like any other");
}

#[test]
fn a_chain_stops_at_the_step_that_fails_and_goes_on_there() {
    let mut run = run_of(&json!({ "chain": [{ "prompt": "1" }, { "prompt": "2" }, { "prompt": "3" }] }));
    run.capture_lines("1.1.s1", 1);

    run.give_up("1.1.s2");

    assert_eq!(run.state_of("1.1"), TaskState::DepFailed { root: id("1.1.s2") });
    assert_eq!(run.state_of("2.1"), TaskState::DepFailed { root: id("1.1.s2") }, "its phase will not be merged");
    run.tell(RunEvent::TaskRetryRequested { task: id("1.1.s2"), note: String::new() });
    assert_eq!(run.starting(), ["1.1.s2"]);
    assert!(run.is_done("1.1.s1"), "what is done is not done again");
    run.capture_lines("1.1.s2", 1);
    run.capture_lines("1.1", 1);
    run.answer_checks("1.1", Verdict::Pass);
    run.merge_passed("1.1");
    assert_eq!(run.starting(), ["1.2"]);
}

#[test]
fn of_the_changes_that_pass_the_one_with_the_fewest_warnings_then_lines_is_merged() {
    let mut run = run_of(&json!({ "best_of": 4 }));
    assert_eq!(run.starting(), ["1.1.c1", "1.1.c2", "1.1.c3", "1.1.c4"]);
    run.capture_lines("1.1.c1", 1);
    run.answer_checks("1.1.c1", Verdict::Warn);
    run.capture_lines("1.1.c2", 30);
    run.answer_checks("1.1.c2", Verdict::Pass);
    run.give_up("1.1.c3");
    assert_eq!(run.state_of("1.1"), TaskState::Pending, "one is still at work");

    run.capture_lines("1.1.c4", 20);
    run.answer_checks("1.1.c4", Verdict::Pass);

    let chosen = RunEvent::CandidateChosen {
        task: id("1.1"),
        attempt: 1,
        candidate: id("1.1.c4"),
        commit: "c-1.1.c4".to_owned(),
        among: 4,
    };
    assert!(run.last.contains(&chosen), "{:?}", run.last);
    run.answer_checks("1.1", Verdict::Pass);
    run.merge_passed("1.1");
    run.capture_lines("1.2", 1);
    assert!(run.state.tasks().any(|task| task.task == id("1.1.c3")), "a failed candidate is still shown");
}

#[test]
fn of_changes_of_the_same_size_the_cheapest_is_merged_and_an_unknown_cost_comes_last() {
    let chosen_with = |costs: [Option<u64>; 3]| {
        let mut run = run_of(&json!({ "best_of": 3 }));
        for (task, cost) in ["1.1.c1", "1.1.c2", "1.1.c3"].into_iter().zip(costs) {
            run.capture_lines(task, 10);
            if let Some(total_micro_usd) = cost {
                let worker = WorkerId::from_bits(run.workers);
                run.tell(RunEvent::CostCounted { task: id(task), worker, total_micro_usd, estimated: false });
            }
            run.answer_checks(task, Verdict::Pass);
        }
        let chosen = run.last.iter().find_map(|event| {
            let RunEvent::CandidateChosen { candidate, .. } = event else { return None };
            Some(candidate.to_string())
        });
        chosen.expect("a candidate is chosen")
    };

    assert_eq!(chosen_with([None, Some(200), Some(100)]), "1.1.c3", "no report of a cost is not a low cost");
    assert_eq!(chosen_with([None, Some(0), None]), "1.1.c2", "it said that it cost nothing");
    assert_eq!(chosen_with([None, None, None]), "1.1.c1", "the order of the plan");
}

#[test]
fn the_cost_of_a_candidate_is_unknown_if_one_of_its_workers_reported_none() {
    let mut run = run_of(&json!({ "best_of": 2 }));
    run.end_turn("1.1.c1", TurnOutcome::Failed);
    let cost = |run: &mut Run, task: &str, total_micro_usd| {
        let worker = WorkerId::from_bits(run.workers);
        run.tell(RunEvent::CostCounted { task: id(task), worker, total_micro_usd, estimated: false });
    };
    run.capture_lines("1.1.c1", 10);
    cost(&mut run, "1.1.c1", 100);
    run.answer_checks("1.1.c1", Verdict::Pass);
    run.capture_lines("1.1.c2", 10);
    cost(&mut run, "1.1.c2", 300);

    run.answer_checks("1.1.c2", Verdict::Pass);

    let is_second =
        |event: &RunEvent| matches!(event, RunEvent::CandidateChosen { candidate, .. } if *candidate == id("1.1.c2"));
    assert!(run.last.iter().any(is_second), "{:?}", run.last);
}

#[test]
fn a_choice_that_is_refused_falls_on_the_next_best_and_without_one_the_task_is_blocked() {
    let mut run = run_of(&json!({ "best_of": 2 }));
    for (task, lines) in [("1.1.c1", 10), ("1.1.c2", 20)] {
        run.capture_lines(task, lines);
        run.answer_checks(task, Verdict::Pass);
    }
    assert_eq!(run.view("1.1").attempt, 1);

    run.answer_checks("1.1", Verdict::Fail);

    let TaskState::Captured { change } = run.state_of("1.1") else { panic!("{:?}", run.state_of("1.1")) };
    assert_eq!((change.commit.as_str(), run.view("1.1").attempt), ("c-1.1.c2", 2));
    run.answer_checks("1.1", Verdict::Fail);
    let TaskState::Blocked { reason } = run.state_of("1.1") else { panic!("{:?}", run.state_of("1.1")) };
    assert!(reason.contains("none of the 2 changes"), "{reason}");
    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });
    let TaskState::Captured { change } = run.state_of("1.1") else { panic!("{:?}", run.state_of("1.1")) };
    assert_eq!(change.commit, "c-1.1.c1", "a person lets it choose anew");
}

#[test]
fn a_task_fails_with_its_candidates_and_a_retry_of_any_of_them_gives_it_another_chance() {
    let mut run = run_of(&json!({ "best_of": 2 }));
    run.give_up("1.1.c1");
    run.give_up("1.1.c2");
    assert_eq!(run.state_of("1.1"), TaskState::DepFailed { root: id("1.1.c1") });
    assert_eq!(run.state_of("2.1"), TaskState::DepFailed { root: id("1.1.c1") });

    run.tell(RunEvent::TaskRetryRequested { task: id("1.1.c2"), note: String::new() });

    assert_eq!((run.state_of("1.1"), run.state_of("2.1")), (TaskState::Pending, TaskState::Pending));
    run.capture_lines("1.1.c2", 1);
    run.answer_checks("1.1.c2", Verdict::Pass);
    run.answer_checks("1.1", Verdict::Pass);
    run.merge_passed("1.1");
    assert_eq!(run.starting(), ["1.2"]);
}

#[test]
fn a_debate_goes_on_without_who_is_absent_and_ends_without_a_quorum() {
    let participants = json!([{ "agent": "a" }, { "agent": "b" }, { "agent": "c" }]);
    let debate = json!({ "participants": participants, "rounds": 3, "quorum": 2 });
    let mut run = run_of(&json!({ "debate": debate, "result": "report" }));
    assert_eq!(run.starting(), ["1.1.r1.p1", "1.1.r1.p2", "1.1.r1.p3"], "its task holds the files of the other one");
    let say = |run: &mut Run, task: &str| run.end_turn(task, TurnOutcome::Finished);
    say(&mut run, "1.1.r1.p1");
    say(&mut run, "1.1.r1.p2");
    run.end_turn("1.1.r1.p3", TurnOutcome::TimedOut);
    assert!(matches!(run.state_of("1.1.r1.p3"), TaskState::Blocked { .. }), "it is asked once a round");
    let (_, answers) = run.start_of("1.1.r2.p1");
    assert_eq!(answers[2], Answered { task: id("1.1.r1.p3"), worker: None });
    say(&mut run, "1.1.r2.p1");
    say(&mut run, "1.1.r2.p2");
    run.end_turn("1.1.r2.p3", TurnOutcome::Failed);

    assert_eq!(run.starting(), ["1.1.r3.p1", "1.1.r3.p2"], "who was absent twice is not asked again");
    assert_eq!(run.state_of("1.1.r3.p3"), TaskState::DepFailed { root: id("1.1.r2.p3") });
    say(&mut run, "1.1.r3.p1");
    say(&mut run, "1.1.r3.p2");
    assert_eq!(run.start_of("1.1").1.len(), 9);
    say(&mut run, "1.1");
    assert!(run.is_done("1.1"));
    assert_eq!(run.starting(), ["1.2"]);
    run.capture_lines("1.2", 1);
    run.answer_checks("1.2", Verdict::Pass);
    run.merge_passed("1.2");
    run.capture_lines("2.1", 1);
    run.answer_checks("2.1", Verdict::Pass);
    let effects = run.effects();
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::RunCommand { .. } | Effect::Merge { .. })),
        "{effects:?}"
    );
}

#[test]
fn a_debate_waits_for_a_participant_that_a_person_asks_again_before_its_round_is_complete() {
    let participants = json!([{ "agent": "a" }, { "agent": "b" }, { "agent": "c" }]);
    let debate = json!({ "participants": participants, "rounds": 2, "quorum": 2 });
    let second = ["1.1.r2.p1", "1.1.r2.p2", "1.1.r2.p3"];
    let retry = || RunEvent::TaskRetryRequested { task: id("1.1.r1.p3"), note: String::new() };
    let mut run = run_of(&json!({ "debate": debate, "result": "report" }));
    run.end_turn("1.1.r1.p1", TurnOutcome::Finished);
    run.end_turn("1.1.r1.p3", TurnOutcome::TimedOut);

    run.tell(retry());

    run.end_turn("1.1.r1.p2", TurnOutcome::Finished);
    assert_eq!(run.starting(), ["1.1.r1.p3"]);
    run.end_turn("1.1.r1.p3", TurnOutcome::Failed);
    assert_eq!(run.starting(), second);
    run.tell(retry());
    assert_eq!(run.starting(), [&["1.1.r1.p3"], &second[..]].concat(), "the next round has its quorum");
}

#[test]
fn the_end_of_a_run_says_what_became_of_tasks_and_not_of_their_subtasks() {
    let participants = json!([{ "agent": "a" }, { "agent": "b" }]);
    let ends = |quorum: u32| {
        let debate = json!({ "participants": participants, "rounds": 1, "quorum": quorum });
        let mut run = run_of(&json!({ "debate": debate, "result": "report" }));
        run.give_up("1.1.r1.p1");
        run.end_turn("1.1.r1.p2", TurnOutcome::Finished);
        if quorum == 1 {
            run.end_turn("1.1", TurnOutcome::Finished);
        }
        for task in ["1.2", "2.1"].into_iter().filter(|_| quorum == 1) {
            run.capture_lines(task, 1);
            run.answer_checks(task, Verdict::Pass);
            if task == "2.1" {
                run.tell(RunEvent::ChangeRebased {
                    task: id(task),
                    attempt: 1,
                    commit: "r".to_owned(),
                    tree: "r".to_owned(),
                    onto: "c-1.2".to_owned(),
                });
                run.answer_checks(task, Verdict::Pass);
            }
            run.merge_passed(task);
        }
        if quorum == 2 {
            run.give_up("1.2");
        }
        run.effects()
    };

    assert_eq!(ends(1), [Effect::Finish { outcome: RunOutcome::Succeeded }]);
    assert_eq!(ends(2), [Effect::Finish { outcome: RunOutcome::Failed }]);
}

#[test]
fn stopping_and_pausing_a_task_is_meant_for_its_subtasks_too() {
    let mut run = run_of(&json!({ "best_of": 2 }));
    run.tell(RunEvent::TaskPaused { task: id("1.1"), cause: TaskPauseCause::Requested });
    assert_eq!(run.starting(), ["1.2"]);
    run.tell(RunEvent::TaskResumed { task: id("1.1") });
    let worker = run.start("1.1.c1");

    run.tell(RunEvent::TaskStopRequested { task: id("1.1"), grace_ms: None });

    assert_eq!(run.state_of("1.1.c2"), TaskState::Stopped);
    assert_eq!(run.starting(), [""; 0], "its files are held until its last subtask has ended");
    run.tell(RunEvent::TurnEnded { task: id("1.1.c1"), worker, outcome: TurnOutcome::Stopped, reason: String::new() });
    assert_eq!((run.state_of("1.1.c1"), run.state_of("1.1")), (TaskState::Stopped, TaskState::Stopped));
    assert_eq!(run.starting(), ["1.2"]);
}

#[test]
fn with_one_worker_a_task_is_brought_to_its_end_with_its_subtasks() {
    let mut run = run_with(&json!({ "best_of": 2 }), 1);
    run.capture_lines("1.1.c1", 1);
    run.answer_checks("1.1.c1", Verdict::Pass);

    assert_eq!(run.starting(), ["1.1.c2"]);
}

#[test]
fn turns_that_are_omitted_count_as_held_and_have_no_worker() {
    let debate = json!({ "participants": [{ "agent": "a" }, { "agent": "b" }], "rounds": 3, "quorum": 2 });
    let mut run = run_of(&json!({ "debate": debate, "result": "report" }));
    for turn in ["1.1.r1.p1", "1.1.r1.p2", "1.1.r2.p1", "1.1.r2.p2"] {
        run.end_turn(turn, TurnOutcome::Finished);
    }
    let omit =
        |task: &str, step: &str| RunEvent::TurnOmitted { task: id(task), step: StepId::new(step).unwrap(), attempt: 1 };
    let step = run.effects().into_iter().find_map(|effect| {
        let Effect::StartWorker { task, step, .. } = effect else { return None };
        (task == id("1.1.r3.p1")).then_some(step.to_string())
    });
    let step = step.unwrap();

    let (task, other) = (id("1.1.r3.p1"), StepId::new(step.clone()).unwrap());
    let late = RunEvent::TurnOmitted { task, step: other, attempt: 2 };
    assert_eq!(run.refused(late).code, RefusedCode::Stale, "that of another attempt");

    for turn in ["1.1.r3.p1", "1.1.r3.p2", "1.1.r3.p2"] {
        run.tell(omit(turn, &step));
    }

    assert!(run.is_done("1.1.r3.p1") && run.is_done("1.1.r3.p2"));
    let (_, answers) = run.start_of("1.1");
    assert_eq!(answers[4], Answered { task: id("1.1.r3.p1"), worker: None });
    let refused = run.state.step(&omit("1.2", &step), Millis(run.now)).unwrap_err();
    assert!(refused.why.contains("1.2"), "{}", refused.why);
    let refused = run.state.step(&omit("1.1.r1.p1", &step), Millis(run.now)).unwrap_err();
    assert!(refused.why.contains("waits for no worker"), "{}", refused.why);
}
