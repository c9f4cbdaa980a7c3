//! Answering steps without a valid answer: the worker is lost, asked again or held up, or answers twice.

use switchboard_protocol::id::NeedId;
use switchboard_protocol::run::PersonAnswer;

use super::team::TASK;
use super::*;

#[test]
fn a_reviewer_begins_anew_though_a_worker_of_the_change_was_lost() {
    let mut run = Run::of_team();
    run.answer(Verdict::Fail);
    let worker = run.start(TASK);
    run.tell(RunEvent::WorkerLost { task: id(TASK), worker, reason: "killed".to_owned() });
    let [Effect::StartWorker { resume: true, .. }] = run.effects()[..] else { panic!() };

    run.pass_on(TASK, "b");

    let effects = run.effects();
    let [Effect::StartWorker { step, resume, .. }] = &effects[..] else { panic!() };
    assert_eq!((step.as_str(), *resume), ("review", false));
}

#[test]
fn a_task_that_is_held_up_while_it_is_judged_goes_on_there_and_keeps_its_change() {
    let ends: [fn(&mut Run, WorkerId); 3] = [
        |run, worker| run.tell(RunEvent::TreeSetupFailed { task: id(TASK), worker, reason: "no network".to_owned() }),
        |run, worker| {
            run.tell(RunEvent::WorkerLost { task: id(TASK), worker, reason: "killed".to_owned() });
            run.tell(RunEvent::TaskBlocked {
                task: id(TASK),
                attempt: 1,
                retries: None,
                reason: "git has failed".to_owned(),
            });
        },
        |run, worker| {
            let need = NeedId::from_bits(1);
            run.tell(RunEvent::PersonAsked { task: id(TASK), worker, need: need.clone(), reason: "npm".to_owned() });
            let (answer, note) = (PersonAnswer::Expired, String::new());
            run.tell(RunEvent::PersonAnswered { task: id(TASK), need, answer, note });
        },
    ];
    for end in ends {
        let mut run = Run::of_team();
        let (worker, step) = (WorkerId::from_bits(50), StepId::new("review").unwrap());
        run.tell(RunEvent::WorkerIntended { task: id(TASK), step, attempt: 1, worker: worker.clone() });

        end(&mut run, worker);

        assert!(matches!(run.view(TASK).state, TaskState::Blocked { .. }), "{:?}", run.view(TASK).state);
        run.tell(RunEvent::TaskRetryRequested { task: id(TASK), note: String::new() });
        assert_eq!((run.view(TASK).attempt, run.next_step().unwrap().0.as_str()), (1, "review"));
    }
}

#[test]
fn a_block_from_before_a_retry_within_the_same_attempt_is_past() {
    let blocked = |retries| RunEvent::TaskBlocked {
        task: id(TASK),
        attempt: 1,
        retries: Some(retries),
        reason: "git has failed".to_owned(),
    };
    let mut run = Run::of_team();
    run.tell(blocked(0));
    run.tell(RunEvent::TaskRetryRequested { task: id(TASK), note: String::new() });
    assert_eq!((run.view(TASK).attempt, run.state.retries_of(&id(TASK))), (1, 1));

    assert_eq!(run.refused(blocked(0)).code, RefusedCode::Stale);
    run.tell(blocked(1));

    assert!(matches!(run.view(TASK).state, TaskState::Blocked { .. }), "{:?}", run.view(TASK).state);
}

#[test]
fn a_refusal_by_a_reviewer_stands_between_two_that_gates_gave_alike() {
    let mut run = Run::of_team();
    let same = Change { commit: "c".to_owned(), tree: "same".to_owned(), base: "b".to_owned(), files: 1, lines: 1 };
    let gates_refuse = |run: &mut Run, commit: &str| {
        run.end_turn(TASK, TurnOutcome::Finished);
        run.captured(TASK, &Change { commit: commit.to_owned(), ..same.clone() });
        run.answer_checks(TASK, Verdict::Fail);
    };
    run.answer(Verdict::Fail);
    gates_refuse(&mut run, "c2");
    run.pass_on(TASK, "b");
    run.answer(Verdict::Fail);

    gates_refuse(&mut run, "c4");

    assert_eq!((run.view(TASK).attempt, run.view(TASK).state), (5, TaskState::Ready));
}

#[test]
fn an_answer_is_refused_once_the_turn_of_its_worker_is_over_and_not_before() {
    let mut run = Run::of_team();
    let (worker, step) = (WorkerId::from_bits(50), StepId::new("review").unwrap());
    run.tell(RunEvent::WorkerIntended { task: id(TASK), step: step.clone(), attempt: 1, worker: worker.clone() });
    run.tell(RunEvent::WorkerStarted { task: id(TASK), worker: worker.clone() });

    let early = RunEvent::AnswerRefused { task: id(TASK), step, attempt: 1, worker, reason: "too early".to_owned() };

    assert_eq!(run.refused(early).code, RefusedCode::Stale);
    assert!(matches!(run.view(TASK).state, TaskState::Working { .. }));
}

#[test]
fn what_a_test_engineer_answers_first_stands_until_its_tests_are_taken() {
    let mut run = Run::of_team();
    run.approve(None);
    run.approve(None);
    let RunEvent::StepAnswered { task, step, attempt, worker, input, reasons, .. } = run.answer(Verdict::Pass) else {
        panic!()
    };
    let answer = |verdict| RunEvent::StepAnswered {
        task: task.clone(),
        step: step.clone(),
        attempt,
        worker: worker.clone(),
        input,
        verdict,
        reasons: reasons.clone(),
        change: None,
    };

    run.tell(answer(Verdict::Pass));
    assert_eq!(run.refused(answer(Verdict::Fail)).code, RefusedCode::Stale);
    // The worker that made the change is not captured as tests, although the event is repeated.
    let (commit, tree) = ("c-1.1-1".to_owned(), "t-1.1-1".to_owned());
    run.captured(TASK, &Change { commit, tree, base: "b".to_owned(), files: 1, lines: 1 });

    assert!(matches!(run.effects()[..], [Effect::TakeAnswer { .. }]), "{:?}", run.effects());
}

#[test]
fn an_answer_without_its_tests_is_not_that_of_the_next_worker() {
    let mut run = Run::of_team();
    run.approve(None);
    run.approve(None);
    run.answer(Verdict::Pass);
    run.tell(RunEvent::TaskBlocked { task: id(TASK), attempt: 1, retries: None, reason: "git has failed".to_owned() });
    run.tell(RunEvent::TaskRetryRequested { task: id(TASK), note: String::new() });

    let (step, ..) = run.work_on(TurnOutcome::Finished);

    assert_eq!(step.as_str(), "tests");
    let early = RunEvent::NothingChanged { task: id(TASK), attempt: 1, step: None, why: String::new() };
    assert_eq!(run.refused(early).code, RefusedCode::Illegal);
}
