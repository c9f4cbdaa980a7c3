//! Tasks whose workers ended because something was denied to them.

use switchboard_protocol::id::NeedId;
use switchboard_protocol::run::PersonAnswer;

use super::*;

fn need(number: u64) -> NeedId {
    NeedId::from_bits(number)
}

/// Ends the worker of a task and asks the person.
fn ask(run: &mut Run, task: &str, number: u64) -> WorkerId {
    let worker = run.start(task);
    let reason = "npm test was denied [agent.denied]".to_owned();
    run.tell(RunEvent::PersonAsked { task: id(task), worker: worker.clone(), need: need(number), reason });
    worker
}

fn answer(run: &mut Run, task: &str, number: u64, answer: PersonAnswer) {
    run.tell(RunEvent::PersonAnswered { task: id(task), need: need(number), answer, note: String::new() });
}

#[test]
fn a_task_whose_worker_was_denied_something_waits_for_a_person_and_spends_nothing() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &["1.1"], &[])]);

    let worker = ask(&mut run, "1.1", 1);

    assert_eq!(run.effects(), [Effect::AwaitAnswer { task: id("1.1"), need: need(1) }]);
    let view = run.view("1.1");
    assert!(matches!(view.state, TaskState::Waiting { .. }), "{:?}", view.state);
    assert_eq!((view.attempt, view.losses, view.refusals.len()), (1, 0, 0));
    let late = RunEvent::WorkerLost { task: id("1.1"), worker, reason: "killed".to_owned() };
    run.tell(late);
    assert_eq!(run.view("1.1").losses, 0, "its end was told before");

    answer(&mut run, "1.1", 1, PersonAnswer::Allow);

    let [Effect::StartWorker { attempt, resume, .. }] = run.effects()[..] else { panic!("{:?}", run.effects()) };
    assert_eq!((attempt, resume), (1, true));
    answer(&mut run, "1.1", 1, PersonAnswer::GiveUp);
    assert_eq!(run.view("1.1").state, TaskState::Ready, "it was answered before");
    run.merge("1.1");
    run.merge("1.2");
    assert_eq!(run.effects(), [Effect::Finish { outcome: RunOutcome::Succeeded }]);
}

#[test]
fn each_worker_may_be_denied_something_and_no_question_takes_the_answer_of_another() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    ask(&mut run, "1.1", 1);
    answer(&mut run, "1.1", 1, PersonAnswer::Retry);
    ask(&mut run, "1.1", 2);

    answer(&mut run, "1.1", 1, PersonAnswer::GiveUp);
    assert_eq!(run.effects(), [Effect::AwaitAnswer { task: id("1.1"), need: need(2) }]);
    let (need_of, note) = (need(3), String::new());
    let unknown = RunEvent::PersonAnswered { task: id("1.1"), need: need_of, answer: PersonAnswer::Allow, note };
    assert_eq!(run.refused(unknown).code, RefusedCode::Stale);
    answer(&mut run, "1.1", 2, PersonAnswer::Retry);

    run.merge("1.1");
    assert_eq!(run.view("1.1").attempt, 1);
}

#[test]
fn a_task_that_a_person_gives_up_or_nobody_answers_for_is_blocked_and_can_be_retried() {
    for (answered, reason) in [
        (PersonAnswer::GiveUp, "npm test was denied [agent.denied]"),
        (PersonAnswer::Expired, "nobody answered; npm test was denied [agent.denied]"),
    ] {
        let mut run = Run::of(1, &[("1.1", &[], &[]), ("1.2", &["1.1"], &[])]);
        ask(&mut run, "1.1", 1);

        answer(&mut run, "1.1", 1, answered);

        assert_eq!(run.view("1.1").state, TaskState::Blocked { reason: reason.to_owned() });
        assert_eq!(run.view("1.2").state, TaskState::DepFailed { root: id("1.1") });
        run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });
        run.merge("1.1");
        run.merge("1.2");
        assert_eq!(run.effects(), [Effect::Finish { outcome: RunOutcome::Succeeded }]);
    }
}

#[test]
fn with_one_worker_the_next_task_begins_while_one_waits_for_a_person() {
    let mut run = Run::of(1, &[("1.1", &[], &["a"]), ("1.2", &[], &["a"]), ("1.3", &[], &["b"])]);

    ask(&mut run, "1.1", 1);

    assert_eq!(run.starting(), ["1.3"], "1.2 writes the same files");
    run.merge("1.3");
    assert_eq!(run.starting(), [""; 0]);
    answer(&mut run, "1.1", 1, PersonAnswer::Allow);
    assert_eq!(run.starting(), ["1.1"]);
}

#[test]
fn a_task_that_is_stopped_takes_its_question_back_first() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    ask(&mut run, "1.1", 1);
    run.tell(RunEvent::RunPaused { cause: switchboard_protocol::run::PauseCause::Requested });

    run.tell(RunEvent::RunStopRequested);

    assert_eq!(run.effects(), [Effect::WithdrawQuestion { task: id("1.1"), need: need(1) }]);
    answer(&mut run, "1.1", 1, PersonAnswer::Withdrawn);
    assert_eq!(run.view("1.1").state, TaskState::Stopped);
    assert_eq!(run.effects(), [Effect::Finish { outcome: RunOutcome::Stopped }]);
}

#[test]
fn what_a_worker_left_unchanged_may_be_asked_about_too() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.end_turn("1.1", TurnOutcome::Finished);
    let worker = WorkerId::from_bits(run.workers);

    let reason = "npm test was denied [agent.denied]".to_owned();
    run.tell(RunEvent::PersonAsked { task: id("1.1"), worker, need: need(1), reason });

    assert_eq!(run.effects(), [Effect::AwaitAnswer { task: id("1.1"), need: need(1) }]);
}

#[test]
fn a_question_of_a_task_that_is_blocked_meanwhile_does_not_hold_its_retry() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    ask(&mut run, "1.1", 1);
    let reason = "no agent".to_owned();
    run.tell(RunEvent::TaskBlocked { task: id("1.1"), attempt: 1, retries: None, reason });

    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });

    assert_eq!(run.starting(), ["1.1"]);
    let before = run.state.clone();
    answer(&mut run, "1.1", 1, PersonAnswer::GiveUp);
    assert_eq!(run.state, before, "the answer comes too late");
}
