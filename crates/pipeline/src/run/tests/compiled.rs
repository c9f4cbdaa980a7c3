//! Runs whose tasks walk compiled ways: rebases, attempts, phases, and gates that are left out.

use switchboard_protocol::run::CheckAsked;
use switchboard_protocol::worker::STDERR_TAIL;

use super::*;

/// Returns the way of a task as compiled today, with two gates.
pub(super) fn compiled_way() -> Way {
    way_with(&serde_json::json!({}))
}

/// Returns the way of a task with its own settings.
pub(super) fn way_with(settings: &serde_json::Value) -> Way {
    way_of(&serde_json::json!({ "gates": ["-build_check", "-test_runner"] }), settings)
}

/// Returns the way of a task with settings of its plan and its own.
fn way_of(of_plan: &serde_json::Value, settings: &serde_json::Value) -> Way {
    let plan = serde_json::json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "x-switchboard": of_plan,
        "phases": [{ "id": 1, "name": "p", "tasks": [{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": settings }] }] });
    let plan = crate::plan_json::parse(&plan.to_string()).unwrap();
    let prepared = crate::prepare::prepare(&plan, &std::collections::BTreeSet::new(), None);
    let compiled = crate::way::compile(
        &crate::subtasks::expand(&plan).unwrap(),
        &prepared,
        &switchboard_protocol::run::TeamLimits::default(),
        crate::way::usual_attempts,
    )
    .unwrap();
    let task = compiled.units.iter().find(|unit| unit.unit.task().is_some()).unwrap();
    compiled.ways.iter().find(|way| way.digest() == task.way).unwrap().way()
}

/// Returns the report of a gate that was asked.
fn reported((task, attempt): (&str, u32), check: CheckAsked, verdict: Verdict, reasons: Vec<String>) -> RunEvent {
    let (task, gate, input) = (id(task), check.gate, Some(check.input));
    RunEvent::GateReported { task, attempt, gate, input, verdict, asks: false, halts: false, reasons }
}

impl Run {
    /// Captures a change based on `base`, and passes every gate that is asked.
    pub(super) fn pass_on(&mut self, task: &str, base: &str) {
        self.end_turn(task, TurnOutcome::Finished);
        let attempt = self.view(task).attempt;
        let (commit, tree) = (format!("c-{task}-{attempt}"), format!("t-{task}-{attempt}"));
        self.captured(task, &Change { commit, tree, base: base.to_owned(), files: 1, lines: 1 });
        self.answer_checks(task, Verdict::Pass);
    }

    /// Answers every gate that is asked about a task.
    pub(super) fn answer_checks(&mut self, task: &str, verdict: Verdict) {
        self.answer_each_check(task, |_| verdict);
    }

    pub(super) fn answer_each_check(&mut self, task: &str, verdict: impl Fn(&str) -> Verdict) {
        let asked = self.effects().into_iter().find_map(|effect| {
            let Effect::RunChecks { task: of, checks, .. } = effect else { return None };
            (of == id(task)).then_some(checks)
        });
        let attempt = self.view(task).attempt;
        for check in asked.unwrap_or_default() {
            let verdict = if check.when.is_always() { verdict(&check.gate) } else { Verdict::Skipped };
            self.tell(reported((task, attempt), check, verdict, vec!["because".to_owned()]));
        }
    }

    pub(super) fn rebase(&mut self, task: &str, onto: &str) {
        let attempt = self.view(task).attempt;
        let (commit, tree) = (format!("r-{task}-{onto}"), format!("rt-{task}-{onto}"));
        self.tell(RunEvent::ChangeRebased { task: id(task), attempt, commit, tree, onto: onto.to_owned() });
    }

    pub(super) fn merge_onto(&mut self, task: &str, commit: &str, onto: &str) {
        let attempt = self.view(task).attempt;
        let (commit, onto) = (commit.to_owned(), onto.to_owned());
        self.tell(RunEvent::MergeIntended { task: id(task), attempt, commit, onto });
        self.tell(RunEvent::TaskMerged { task: id(task), attempt, commit: format!("m-{task}") });
    }

    /// Returns the names of the pending effects.
    pub(super) fn doing(&self) -> Vec<String> {
        let name = |effect: &Effect| serde_json::to_value(effect).unwrap()["effect"].as_str().unwrap().to_owned();
        self.effects().iter().map(name).collect()
    }
}

#[test]
fn a_change_that_stands_on_the_head_is_merged_without_a_rebase() {
    let mut run = Run::on(&compiled_way(), 2, &[("1.1", &[], &[])]);

    run.pass_on("1.1", "b");

    assert_eq!(run.doing(), ["merge"]);
    run.merge_onto("1.1", "c-1.1-1", "b");
    assert_eq!(run.effects(), [Effect::Finish { outcome: RunOutcome::Succeeded }]);
}

#[test]
fn after_another_merge_a_change_is_rebased_and_judged_again_before_it_is_merged() {
    let mut run = Run::on(&compiled_way(), 2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.pass_on("1.1", "b");
    run.pass_on("1.2", "b");
    run.merge_onto("1.1", "c-1.1-1", "b");
    assert_eq!(run.doing(), ["run_command"]);
    let early =
        RunEvent::MergeIntended { task: id("1.2"), attempt: 1, commit: "c-1.2-1".to_owned(), onto: "m-1.1".to_owned() };
    assert_eq!(run.refused(early).code, RefusedCode::Illegal);

    run.rebase("1.2", "m-1.1");

    assert_eq!(run.doing(), ["run_checks"]);
    run.answer_checks("1.2", Verdict::Pass);
    assert_eq!(run.doing(), ["merge"]);
    run.merge_onto("1.2", "r-1.2-m-1.1", "m-1.1");
    assert_eq!(run.view("1.2").attempt, 1);
}

#[test]
fn a_gate_that_refuses_the_rebased_tree_sends_it_back_and_the_next_in_line_goes_on() {
    let mut run = Run::on(&compiled_way(), 3, &[("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &[], &[])]);
    ["1.1", "1.2", "1.3"].iter().for_each(|task| run.pass_on(task, "b"));
    run.merge_onto("1.1", "c-1.1-1", "b");
    run.rebase("1.2", "m-1.1");
    let other = RunEvent::ChangeRebased {
        task: id("1.3"),
        attempt: 1,
        commit: "r".to_owned(),
        tree: "rt".to_owned(),
        onto: "m-1.1".to_owned(),
    };
    assert_eq!(run.refused(other).code, RefusedCode::Limit, "it is the turn of 1.2");

    run.answer_checks("1.2", Verdict::Fail);

    assert_eq!((run.view("1.2").attempt, run.view("1.2").refusals.len()), (2, 3));
    assert_eq!(run.doing(), ["run_command", "start_worker"]);
    let [_, Effect::StartWorker { from, .. }] = &run.effects()[..] else { panic!("no start") };
    assert_eq!(from, &StartFrom::RunHead, "an attempt begins on a clean tree");
}

#[test]
fn an_attempt_begins_with_the_refused_change_where_the_plan_says_so() {
    let mut run = Run::on(&way_with(&serde_json::json!({ "retry_from": "change" })), 1, &[("1.1", &[], &[])]);
    run.end_turn("1.1", TurnOutcome::Finished);
    let (commit, tree, base) = ("c".to_owned(), "t".to_owned(), "b".to_owned());
    run.captured("1.1", &Change { commit, tree, base, files: 1, lines: 1 });

    run.answer_checks("1.1", Verdict::Fail);

    let [Effect::StartWorker { from, .. }] = &run.effects()[..] else { panic!("no start") };
    assert_eq!(from, &StartFrom::Change { commit: "c".to_owned(), base: "b".to_owned() });
}

#[test]
fn a_failure_that_repeats_itself_blocks_the_task_and_another_one_does_not() {
    let mut run = Run::on(&compiled_way(), 1, &[("1.1", &[], &[])]);
    run.end_turn("1.1", TurnOutcome::Failed);
    run.end_turn("1.1", TurnOutcome::TimedOut);
    run.end_turn("1.1", TurnOutcome::Failed);
    assert_eq!(run.view("1.1").state, TaskState::Ready);

    run.end_turn("1.1", TurnOutcome::Failed);

    let TaskState::Blocked { reason } = run.view("1.1").state else { panic!("not blocked") };
    assert_eq!(reason, "the same refusal twice: the agent failed: said so");
    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });
    run.end_turn("1.1", TurnOutcome::Failed);
    assert_eq!(run.view("1.1").state, TaskState::Ready, "a person's retry counts anew");
}

#[test]
fn a_failure_that_differs_only_in_the_agents_own_ids_is_the_same_one() {
    let mut run = Run::on(&compiled_way(), 1, &[("1.1", &[], &[])]);
    for session in ["ses_de70441b2ffeAAA6lF", "ses_de70316e5ffe2iIPqb"] {
        let (task, worker, outcome) = (id("1.1"), run.start("1.1"), TurnOutcome::Failed);
        let reason = format!("error: no connection{STDERR_TAIL}session {session}");
        run.tell(RunEvent::TurnEnded { task, worker, outcome, reason });
    }

    let TaskState::Blocked { reason } = run.view("1.1").state else { panic!("not blocked") };
    assert!(
        reason.starts_with("the same refusal twice; the first: the agent failed: error: no connection"),
        "{reason}"
    );
}

impl Run {
    /// Plays one attempt whose change has this tree, and that the first gate refuses with this text.
    fn refuse_tree(&mut self, task: &str, tree: &str, words: &str) {
        self.end_turn(task, TurnOutcome::Finished);
        let attempt = self.view(task).attempt;
        let (commit, tree, base) = (format!("c-{attempt}"), tree.to_owned(), "b".to_owned());
        self.captured(task, &Change { commit, tree, base, files: 1, lines: 1 });
        let [Effect::RunChecks { checks, .. }] = &self.effects()[..] else { panic!("{:?}", self.effects()) };
        for (number, check) in checks.clone().into_iter().enumerate() {
            let verdict = if number == 0 { Verdict::Fail } else { Verdict::Pass };
            let verdict = if check.when.is_always() { verdict } else { Verdict::Skipped };
            let reasons = if number == 0 { vec![words.to_owned()] } else { Vec::new() };
            self.tell(reported((task, attempt), check, verdict, reasons));
        }
    }
}

#[test]
fn a_gate_that_refuses_the_same_tree_with_the_same_words_twice_ends_the_attempts() {
    let mut run = Run::on(&compiled_way(), 1, &[("1.1", &[], &[])]);
    run.end_turn("1.1", TurnOutcome::Failed);
    run.refuse_tree("1.1", "t", "line 3");
    run.refuse_tree("1.1", "t", "line 3");

    let view = run.view("1.1");
    let TaskState::Blocked { reason } = &view.state else { panic!("{:?}", view.state) };
    assert_eq!(
        *reason,
        "the same refusal twice; the first: the agent failed: said so; the last: gate syntax_check: line 3"
    );
    assert_eq!((view.attempt, view.refusals.len()), (3, 3));
    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });
    run.refuse_tree("1.1", "t", "line 3");
    assert_eq!((run.view("1.1").attempt, run.view("1.1").state), (5, TaskState::Ready), "a person's retry counts anew");
}

#[test]
fn a_gate_that_says_something_else_or_refuses_another_tree_is_an_honest_retry() {
    let mut run = Run::on(&compiled_way(), 1, &[("1.1", &[], &[])]);

    for (tree, words) in [("t", "line 3"), ("u", "line 3"), ("u", "line 4"), ("t", "line 4")] {
        run.refuse_tree("1.1", tree, words);
        assert_eq!(run.view("1.1").state, TaskState::Ready, "{tree} {words}");
    }
    run.refuse_tree("1.1", "v", "line 5");

    let TaskState::Blocked { reason } = run.view("1.1").state else { panic!("not blocked") };
    assert!(reason.starts_with("5 attempts were refused; the first: gate syntax_check: line 3; "), "{reason}");
}

#[test]
fn a_worker_that_leaves_a_refused_change_as_it_is_repeats_the_refusal() {
    let mut run = Run::on(&way_with(&serde_json::json!({ "retry_from": "change" })), 1, &[("1.1", &[], &[])]);
    run.refuse_tree("1.1", "t", "line 3");
    run.end_turn("1.1", TurnOutcome::Finished);

    run.tell(RunEvent::NothingChanged { task: id("1.1"), attempt: 2, step: None, why: String::new() });

    let TaskState::Blocked { reason } = run.view("1.1").state else { panic!("not blocked") };
    assert!(reason.starts_with("the same refusal twice; the first: gate syntax_check: line 3; "), "{reason}");
}

#[test]
fn a_task_is_tried_as_often_as_its_plan_says_and_a_command_once() {
    let mut once = Run::on(&way_with(&serde_json::json!({ "command": ["make"] })), 1, &[("1.1", &[], &[])]);
    let mut thrice = Run::on(&way_with(&serde_json::json!({ "attempts": 3 })), 1, &[("1.1", &[], &[])]);

    once.end_turn("1.1", TurnOutcome::Failed);
    for outcome in [TurnOutcome::Failed, TurnOutcome::Refused, TurnOutcome::Failed] {
        thrice.end_turn("1.1", outcome);
    }

    let TaskState::Blocked { reason } = once.view("1.1").state else { panic!("not blocked") };
    assert_eq!(reason, "the agent failed: said so");
    let TaskState::Blocked { reason } = thrice.view("1.1").state else { panic!("not blocked") };
    assert!(reason.starts_with("3 attempts were refused"), "{reason}");
}

#[test]
fn a_branch_that_somebody_moved_is_rebased_onto_and_too_many_moves_block() {
    let mut run = Run::on(&compiled_way(), 2, &[("1.1", &[], &[])]);
    run.pass_on("1.1", "b");

    let mut head = "b".to_owned();
    for number in 0..switchboard_protocol::run::MAX_REBASES + 5 {
        if run.view("1.1").state.is_settled() {
            break;
        }
        let moved = format!("x{number}");
        run.tell(RunEvent::BranchMoved { task: id("1.1"), from: head, head: moved.clone() });
        head = moved;
        if run.doing() == ["run_command"] {
            run.rebase("1.1", &head);
            run.answer_checks("1.1", Verdict::Pass);
        }
    }

    assert!(matches!(run.view("1.1").state, TaskState::Blocked { .. }), "{:?}", run.view("1.1").state);
}

#[test]
fn a_merge_that_was_intended_is_off_when_somebody_moves_the_branch_and_a_stop_that_waited_for_it_is_done() {
    for is_stopped in [false, true] {
        let mut run = Run::on(&compiled_way(), 2, &[("1.1", &[], &[])]);
        run.pass_on("1.1", "b");
        let (commit, onto) = ("c-1.1-1".to_owned(), "b".to_owned());
        run.tell(RunEvent::MergeIntended { task: id("1.1"), attempt: 1, commit, onto });
        if is_stopped {
            run.tell(RunEvent::TaskStopRequested { task: id("1.1"), grace_ms: None });
        }
        assert!(matches!(run.view("1.1").state, TaskState::Merging { .. }), "{:?}", run.view("1.1").state);

        run.tell(RunEvent::BranchMoved { task: id("1.1"), from: "b".to_owned(), head: "other".to_owned() });

        assert_eq!(run.state.in_doubt().count(), 0, "nobody has to find out what became of it");
        if is_stopped {
            assert_eq!(run.view("1.1").state, TaskState::Stopped);
        } else {
            assert_eq!(run.doing(), ["run_command"]);
        }
    }
}

#[test]
fn a_phase_starts_when_the_one_before_it_is_merged_and_fails_with_it() {
    let children = Way {
        steps: vec![switchboard_protocol::run::way::Step {
            id: StepId::new("children").unwrap(),
            does: switchboard_protocol::run::way::StepAction::Units { join: switchboard_protocol::run::way::Join::All },
            after: Vec::new(),
            reads: Vec::new(),
            when: switchboard_protocol::run::way::When::Always,
            need: switchboard_protocol::run::way::Need::Required,
            back: None,
            limits: switchboard_protocol::run::way::Limits::default(),
        }],
    };
    let within = |task: &str, phase: u64| RunEvent::UnitAdded {
        unit: unit(task),
        within: Some(UnitId::Phase(phase)),
        way: way().digest().unwrap(),
        after: Vec::new(),
        writes: Vec::new(),
        reads: Vec::new(),
        timeout_ms: None,
    };
    let mut run = Run { state: RunState::new(), now: 0, workers: 0, last: Vec::new() };
    run.tell(started(7, 4));
    run.tell(recorded(&way()));
    run.tell(recorded(&children));
    run.tell(added(UnitId::Phase(1), &children, Vec::new(), &[]));
    run.tell(added(UnitId::Phase(2), &children, vec![UnitId::Phase(1)], &[]));
    [("1.1", 1), ("1.2", 1), ("2.1", 2)].iter().for_each(|(task, phase)| run.tell(within(task, *phase)));
    assert_eq!(run.starting(), ["1.1", "1.2"]);

    run.merge("1.1");
    assert_eq!(run.starting(), ["1.2"], "2.1 waits for all of the first phase");
    run.block("1.2");

    assert_eq!(run.view("2.1").state, TaskState::DepFailed { root: id("1.2") });
    run.tell(RunEvent::TaskRetryRequested { task: id("1.2"), note: String::new() });
    assert_eq!(run.view("2.1").state, TaskState::Pending);
    run.merge("1.2");
    assert_eq!(run.starting(), ["2.1"]);
    run.merge("2.1");
    assert_eq!(run.effects(), [Effect::Finish { outcome: RunOutcome::Succeeded }]);
}

#[test]
fn a_left_out_gate_is_shown_as_skipped_and_one_that_is_not_configured_never_lets_a_required_one_pass() {
    let mut run = Run::on(&compiled_way(), 1, &[("1.1", &[], &[])]);
    run.end_turn("1.1", TurnOutcome::Finished);
    let (commit, tree, base) = ("c".to_owned(), "t".to_owned(), "b".to_owned());
    run.captured("1.1", &Change { commit, tree, base, files: 0, lines: 0 });
    let [Effect::RunChecks { checks, .. }] = &run.effects()[..] else { panic!("no checks") };
    let left_out: Vec<_> =
        checks.iter().filter(|check| !check.when.is_always()).map(|check| check.gate.as_str()).collect();
    assert_eq!(left_out, ["build_check", "test_runner"]);

    run.answer_checks("1.1", Verdict::NotConfigured);

    assert_eq!(run.view("1.1").attempt, 2, "syntax_check and secretscan are required");
}

#[test]
fn what_a_linter_can_mend_is_mended_once_before_the_gates_and_they_judge_and_merge_what_came_of_it() {
    let way = way_of(&serde_json::json!({ "lint_fix": ["fix"] }), &serde_json::json!({}));
    let mut run = Run::on(&way, 1, &[("1.1", &[], &[])]);
    run.end_turn("1.1", TurnOutcome::Finished);
    let change = |commit: &str, tree: &str| Change {
        commit: commit.to_owned(),
        tree: tree.to_owned(),
        base: "b".to_owned(),
        files: 1,
        lines: 1,
    };
    run.captured("1.1", &change("c", "t"));
    let fixed = |commit: &str| RunEvent::ChangeFixed {
        task: id("1.1"),
        attempt: 1,
        commit: commit.to_owned(),
        tree: format!("tree of {commit}"),
        files: vec!["a".to_owned()],
        files_total: 1,
        told: Vec::new(),
    };

    let (commit, base) = ("c".to_owned(), "b".to_owned());
    assert_eq!(run.effects(), [Effect::FixLint { task: id("1.1"), attempt: 1, commit, base }]);
    run.tell(fixed("f"));

    let [Effect::RunChecks { commit, base, .. }] = &run.effects()[..] else { panic!("{:?}", run.effects()) };
    assert_eq!((commit.as_str(), base.as_str()), ("f", "b"));
    run.tell(fixed("f"));
    assert_eq!(run.refused(fixed("other")).code, RefusedCode::Illegal);
    run.answer_checks("1.1", Verdict::Pass);
    run.rebase("1.1", "head");
    assert_eq!(run.doing(), ["run_checks"], "what is rebased is judged again and not mended again");
    run.answer_checks("1.1", Verdict::Fail);
    assert_eq!(run.view("1.1").attempt, 2);
    run.end_turn("1.1", TurnOutcome::Finished);
    run.captured("1.1", &change("c2", "t2"));
    assert_eq!(run.doing(), ["fix_lint"], "the next change is another one");
}
