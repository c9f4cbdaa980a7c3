//! Runs whose changes are reviewed and tested by other workers than their makers.

use switchboard_protocol::id::Digest;
use switchboard_protocol::run::{MAX_ANSWERS, StepWork};

use super::*;
use crate::team::steps::IMPACT;
use crate::team::swarm_state::SwarmState;

/// Returns the way of a team's task, with the gates that need no command.
fn team_way() -> Way {
    let plan = serde_json::json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "x-switchboard": { "team": true },
        "phases": [{ "id": 1, "name": "p", "tasks": [
            { "id": "1.1", "phase": 1, "description": "Return the sum", "acceptance": "1 and 1 is 2", "files_touched": ["src/sum.rs"] }] }] });
    let plan = crate::plan_json::parse(&plan.to_string()).unwrap();
    let prepared = crate::prepare::prepare(&plan, &std::collections::BTreeSet::new(), None);
    let expanded = crate::subtasks::expand(&plan).unwrap();
    let compiled = crate::way::compile(
        &expanded,
        &prepared,
        &switchboard_protocol::run::TeamLimits::default(),
        crate::way::usual_attempts,
    )
    .unwrap();
    let task = compiled.units.iter().find(|unit| unit.unit.task().is_some()).unwrap();
    compiled.ways.iter().find(|way| way.digest() == task.way).unwrap().way()
}

pub(super) const TASK: &str = "1.1";

impl Run {
    /// Returns a run of a change that alters no contract, so that the review comes first.
    pub(super) fn of_team() -> Self {
        let mut way = team_way();
        way.steps.retain(|step| step.id.as_str() != IMPACT);
        way.steps.iter_mut().for_each(|step| step.after.retain(|before| before.as_str() != IMPACT));
        Self::judged_on(&way)
    }

    /// Returns a run of a change that has passed its first gates.
    fn judged_on(way: &Way) -> Self {
        let mut run = Self::on(way, 1, &[(TASK, &[], &[])]);
        run.pass_on(TASK, "b");
        run
    }

    /// Returns the step whose worker starts next.
    #[expect(clippy::wildcard_enum_match_arm, reason = "one effect is looked for")]
    pub(super) fn next_step(&self) -> Option<(String, StepWork, StartFrom)> {
        self.effects().into_iter().find_map(|effect| match effect {
            Effect::StartWorker { step, work, from, .. } => Some((step.to_string(), work, from)),
            _ => None,
        })
    }

    /// Starts the worker of the next step, and ends its turn.
    pub(super) fn work_on(&mut self, outcome: TurnOutcome) -> (StepId, WorkerId, StepWork) {
        let (step, work, _) = self.next_step().unwrap();
        self.workers += 1;
        let (worker, step) = (WorkerId::from_bits(self.workers), StepId::new(step).unwrap());
        let attempt = self.view(TASK).attempt;
        self.tell(RunEvent::WorkerIntended { task: id(TASK), step: step.clone(), attempt, worker: worker.clone() });
        self.tell(RunEvent::WorkerStarted { task: id(TASK), worker: worker.clone() });
        let reason = "it says".to_owned();
        self.tell(RunEvent::TurnEnded { task: id(TASK), worker: worker.clone(), outcome, reason });
        (step, worker, work)
    }

    pub(super) fn answer(&mut self, verdict: Verdict) -> RunEvent {
        let (step, worker, work) = self.work_on(TurnOutcome::Finished);
        let (attempt, reasons) = (self.view(TASK).attempt, vec![format!("{step} says so")]);
        let input = work.input;
        let event =
            RunEvent::StepAnswered { task: id(TASK), step, attempt, worker, input, verdict, reasons, change: None };
        self.tell(event.clone());
        event
    }

    /// Has the worker of the next step approve the change, and write tests if it may.
    pub(super) fn approve(&mut self, tests: Option<&str>) {
        let writes = !self.next_step().unwrap().1.writes.is_empty();
        self.answer(Verdict::Pass);
        let attempt = self.view(TASK).attempt;
        match tests {
            Some(tree) if writes => {
                let (commit, tree) = (format!("c-{tree}"), tree.to_owned());
                self.captured(TASK, &Change { commit, tree, base: "b".to_owned(), files: 2, lines: 9 });
            }
            _ if writes => {
                self.tell(RunEvent::NothingChanged { task: id(TASK), attempt, step: None, why: String::new() })
            }
            _ => {}
        }
    }
}

#[test]
fn a_change_is_analysed_reviewed_and_tested_by_others_before_it_is_merged() {
    let mut run = Run::judged_on(&team_way());
    let mut roles = Vec::new();

    for tests in [None, None, None, Some("with tests"), None] {
        let (step, work, from) = run.next_step().unwrap();
        roles.push(format!("{step} {}", work.role));
        assert!(matches!(from, StartFrom::Change { .. }), "it looks at the change: {from:?}");
        assert!(
            run.refused(RunEvent::MergeIntended {
                task: id(TASK),
                attempt: 1,
                commit: "c-1.1-1".to_owned(),
                onto: "b".to_owned()
            })
            .code
                == RefusedCode::Illegal
        );
        run.approve(tests);
        run.answer_checks(TASK, Verdict::Pass);
    }

    assert_eq!(
        roles,
        [
            "impact explorer",
            "review reviewer",
            "security_review reviewer",
            "tests test_engineer",
            "adversarial_tests test_engineer",
        ]
    );
    assert_eq!(run.doing(), ["merge"]);
    let said: Vec<_> = run.view(TASK).steps.into_iter().map(|step| (step.step.to_string(), step.verdict)).collect();
    assert_eq!(said.len(), 5);
    assert!(said.iter().all(|(_, verdict)| *verdict == Verdict::Pass));
    run.merge_onto(TASK, "c-with tests", "b");
    assert!(matches!(run.view(TASK).state, TaskState::Merged { .. }));
}

#[test]
fn the_six_states_of_the_swarm_follow_from_the_record_and_start_again_with_the_next_attempt() {
    let state = |run: &Run| SwarmState::of(&run.view(TASK)).as_str();
    let mut run = Run::on(&team_way(), 1, &[(TASK, &[], &[])]);
    let mut states = vec![state(&run)];
    run.start(TASK);
    states.push(state(&run));
    let mut run = Run::of_team();
    states.push(state(&run));
    for _ in 0..4 {
        run.approve(None);
        states.push(state(&run));
    }
    run.merge_onto(TASK, &format!("c-{TASK}-1"), "b");
    states.push(state(&run));

    let reviewed = ["pre_check_passed", "pre_check_passed", "reviewer_run", "reviewer_run", "tests_run"];
    assert_eq!(states, [&["idle", "coder_delegated"][..], &reviewed, &["complete"]].concat());
    let mut run = Run::of_team();
    run.approve(None);
    run.answer(Verdict::Fail);
    assert_eq!(state(&run), "coder_delegated");
}

#[test]
fn the_gates_judge_again_once_tests_were_added_and_the_review_still_holds() {
    let mut run = Run::of_team();
    run.approve(None);
    run.approve(None);

    run.approve(Some("with tests"));

    assert_eq!(run.doing(), ["run_checks"], "the gates judge the tree with the tests");
    run.answer_checks(TASK, Verdict::Fail);
    assert_eq!(run.view(TASK).attempt, 2);
    let (step, _, from) = run.next_step().unwrap();
    assert_eq!(step, "work");
    assert_eq!(from, StartFrom::Change { commit: "c-with tests".to_owned(), base: "b".to_owned() });
}

#[test]
fn a_refusal_sends_the_change_back_with_its_reasons_and_the_next_one_is_reviewed_anew() {
    let mut run = Run::of_team();

    run.answer(Verdict::Fail);

    let view = run.view(TASK);
    assert_eq!(
        (view.attempt, &view.refusals[0].cause),
        (2, &RefusalCause::Step { step: StepId::new("review").unwrap() })
    );
    assert_eq!(view.refusals[0].reasons, ["review says so"]);
    run.pass_on(TASK, "b");
    assert_eq!(run.next_step().unwrap().0, "review");
}

#[test]
fn tests_that_refuse_a_change_are_what_the_next_attempt_begins_with_until_it_passes_them() {
    let mut run = Run::of_team();
    run.approve(None);
    run.approve(None);
    let handed = StartFrom::Change { commit: "c-attacked".to_owned(), base: "b".to_owned() };

    let (step, worker, work) = run.work_on(TurnOutcome::Finished);
    let (commit, tree) = ("c-attacked".to_owned(), "attacked".to_owned());
    run.tell(RunEvent::StepAnswered {
        task: id(TASK),
        step,
        attempt: 1,
        worker,
        input: work.input,
        verdict: Verdict::Fail,
        reasons: vec!["it is not mended".to_owned()],
        change: Some(Change { commit, tree, base: String::new(), files: 2, lines: 0 }),
    });
    assert_eq!(run.view(TASK).attempt, 2);
    let (step, _, from) = run.next_step().unwrap();
    assert_eq!((step.as_str(), &from), ("work", &handed));

    // The attempt removes the tests; the next one begins with them again.
    run.end_turn(TASK, TurnOutcome::Finished);
    let (commit, tree) = ("c-without".to_owned(), "without".to_owned());
    run.captured(TASK, &Change { commit, tree, base: "b".to_owned(), files: 1, lines: 1 });
    let is_lost = |gate: &str| gate == crate::gate::TEST_INTEGRITY;
    run.answer_each_check(TASK, |gate| if is_lost(gate) { Verdict::Fail } else { Verdict::Pass });
    assert_eq!(run.view(TASK).attempt, 3);
    let (step, _, from) = run.next_step().unwrap();
    assert_eq!((step.as_str(), &from), ("work", &handed));
}

#[test]
fn an_answer_that_cannot_be_used_is_asked_for_again_and_is_no_attempt() {
    let mut run = Run::of_team();
    for asked in 1..=MAX_ANSWERS {
        let (step, worker, _) = run.work_on(TurnOutcome::Finished);
        let reason = format!("no JSON block, {asked}");
        run.tell(RunEvent::AnswerRefused { task: id(TASK), step, attempt: 1, worker, reason });
        if asked < MAX_ANSWERS {
            let [Effect::StartWorker { again, attempt, .. }] = &run.effects()[..] else { panic!() };
            assert_eq!((again.clone(), *attempt), (Some(format!("no JSON block, {asked}")), 1));
        }
    }

    let TaskState::Blocked { reason } = run.view(TASK).state else { panic!() };
    assert!(
        reason.contains("step review got 3 answers that can't be used") && reason.contains("no JSON block, 3"),
        "{reason}"
    );
}

#[test]
fn a_reviewer_that_fails_is_replaced_once_and_no_word_about_the_change() {
    let mut run = Run::of_team();

    run.work_on(TurnOutcome::Failed);
    assert_eq!((run.view(TASK).attempt, run.next_step().unwrap().0.as_str()), (1, "review"));
    run.work_on(TurnOutcome::TimedOut);

    let TaskState::Blocked { reason } = run.view(TASK).state else { panic!() };
    assert!(reason.contains("step review: 2 workers failed"), "{reason}");
    run.tell(RunEvent::TaskRetryRequested { task: id(TASK), note: String::new() });
    assert_eq!(run.next_step().unwrap().0, "review", "the change is still to be judged");
}

#[test]
fn an_answer_about_an_earlier_change_or_of_somebody_else_is_refused() {
    let mut run = Run::of_team();
    let (step, worker, work) = run.work_on(TurnOutcome::Finished);
    let answer = |worker: &WorkerId, input| RunEvent::StepAnswered {
        task: id(TASK),
        step: step.clone(),
        attempt: 1,
        worker: worker.clone(),
        input,
        verdict: Verdict::Pass,
        reasons: Vec::new(),
        change: None,
    };

    assert_eq!(run.refused(answer(&worker, Digest::ZERO)).code, RefusedCode::Stale);
    assert_eq!(run.refused(answer(&WorkerId::from_bits(77), work.input)).code, RefusedCode::Stale);
    run.tell(answer(&worker, work.input));
    run.tell(answer(&worker, work.input));

    assert_eq!(run.next_step().unwrap().0, "security_review");
}

#[test]
fn what_a_test_engineer_wrote_counts_with_its_answer_only() {
    let mut run = Run::of_team();
    run.approve(None);
    run.approve(None);
    run.work_on(TurnOutcome::Finished);

    let early = RunEvent::NothingChanged { task: id(TASK), attempt: 1, step: None, why: String::new() };

    assert_eq!(run.refused(early).code, RefusedCode::Illegal);
    let incomplete = RunEvent::ChangeCaptured {
        task: id(TASK),
        attempt: 1,
        commit: "c".to_owned(),
        tree: "t".to_owned(),
        base: "b".to_owned(),
        files: Vec::new(),
        files_total: 0,
        lines: 0,
        left_out: vec!["vendor".to_owned()],
    };
    assert_eq!(run.refused(incomplete).code, RefusedCode::Illegal);
    assert!(matches!(run.effects()[..], [Effect::TakeAnswer { .. }]));
}

#[test]
fn a_step_that_nothing_calls_for_is_skipped_with_its_reason() {
    let mut run = Run::of_team();
    run.approve(None);
    let (step, work, _) = run.next_step().unwrap();
    let skipped = RunEvent::StepSkipped {
        task: id(TASK),
        step: StepId::new(step).unwrap(),
        attempt: 1,
        input: work.input,
        reason: "no file of it".to_owned(),
    };

    run.tell(skipped.clone());
    run.tell(skipped);

    assert_eq!(run.next_step().unwrap().0, "tests");
    let steps = run.view(TASK).steps;
    assert_eq!((steps[1].verdict, &steps[1].reasons[..]), (Verdict::Skipped, &["no file of it".to_owned()][..]));
}

#[test]
fn a_step_that_is_skipped_again_shows_the_last_reason() {
    let mut run = Run::of_team();
    let skip = |run: &mut Run, reason: &str| {
        let (step, work, _) = run.next_step().unwrap();
        let (step, attempt, reason) = (StepId::new(step).unwrap(), run.view(TASK).attempt, reason.to_owned());
        run.tell(RunEvent::StepSkipped { task: id(TASK), step, attempt, input: work.input, reason });
    };
    run.approve(None);
    skip(&mut run, "no file of the first");
    run.answer(Verdict::Fail);
    run.pass_on(TASK, "b");
    run.approve(None);

    skip(&mut run, "no file of the second");

    let steps = run.view(TASK).steps;
    let said: Vec<_> = steps.iter().map(|step| (step.step.as_str(), step.reasons.join(", "))).collect();
    let expected = [("review", "review says so"), ("security_review", "no file of the second")];
    assert_eq!(said, expected.map(|(step, reason)| (step, reason.to_owned())));
}

#[test]
fn a_rebase_has_the_gates_judge_again_and_nobody_else() {
    let mut run = Run::of_team();
    for _ in 0..4 {
        run.approve(None);
    }
    run.tell(RunEvent::BranchMoved { task: id(TASK), from: "b".to_owned(), head: "other".to_owned() });
    assert_eq!(run.doing(), ["run_command"]);

    run.rebase(TASK, "other");

    assert_eq!(run.doing(), ["run_checks"]);
    run.answer_checks(TASK, Verdict::Pass);
    assert_eq!(run.doing(), ["merge"]);
}
