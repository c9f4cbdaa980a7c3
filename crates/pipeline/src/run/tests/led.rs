//! Runs that an agent leads: each step of a worker waits until the agent begins it.

use switchboard_protocol::id::AgentName;

use super::team::TASK;
use super::*;

fn dana() -> AgentName {
    AgentName::new("dana").unwrap()
}

fn open(run: &Run) -> Vec<String> {
    run.state.open_steps().map(|open| format!("{} {} {}", open.task, open.step, open.attempt)).collect()
}

fn begin(task: &str, step: &str, attempt: u32, by: Option<AgentName>) -> RunEvent {
    RunEvent::StepBegun { task: id(task), step: StepId::new(step).unwrap(), attempt, by }
}

fn led(max_workers: u32, tasks: &[Spec]) -> Run {
    let mut run = Run::of(max_workers, tasks);
    run.tell(RunEvent::LedSet { is_led: true });
    run
}

#[test]
fn a_worker_of_a_led_run_starts_once_its_step_was_begun() {
    let mut run = led(2, &[("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &["1.1"], &[])]);
    let worker = WorkerId::from_bits(7);
    let intended =
        |task| RunEvent::WorkerIntended { task: id(task), step: StepId::work(), attempt: 1, worker: worker.clone() };
    assert_eq!((open(&run), run.starting()), (vec!["1.1 work 1".to_owned(), "1.2 work 1".to_owned()], vec![]));
    assert_eq!(run.refused(intended("1.1")).code, RefusedCode::Illegal);

    run.tell(begin("1.1", "work", 1, None));

    assert_eq!((open(&run), run.starting()), (vec!["1.2 work 1".to_owned()], vec!["1.1".to_owned()]));
    assert_eq!(run.refused(intended("1.2")).code, RefusedCode::Illegal);
    run.merge("1.1");
    assert_eq!(open(&run), ["1.2 work 1", "1.3 work 1"], "what a merge opens waits, too");
}

#[test]
fn a_retry_of_a_led_run_is_begun_anew_and_a_lost_worker_is_not() {
    let mut run = led(1, &[("1.1", &[], &[])]);
    run.tell(begin("1.1", "work", 1, None));
    let worker = run.start("1.1");
    run.tell(RunEvent::WorkerLost { task: id("1.1"), worker, reason: "gone".to_owned() });
    assert_eq!((open(&run), run.starting()), (vec![], vec!["1.1".to_owned()]));

    run.fail("1.1");

    assert_eq!((open(&run), run.starting()), (vec!["1.1 work 2".to_owned()], vec![]));
    assert_eq!(run.refused(begin("1.1", "work", 1, None)).code, RefusedCode::Stale, "the word for the last attempt");
}

#[test]
fn a_step_is_begun_only_where_an_agent_leads_and_the_step_is_open() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &["1.1"], &[])]);
    assert!(!run.state.is_led() && open(&run).is_empty());
    assert_eq!(run.refused(begin("1.1", "work", 1, None)).code, RefusedCode::Illegal);

    run.tell(RunEvent::LedSet { is_led: true });

    for (task, step) in [("1.2", "work"), ("1.1", "merge"), ("1.1", "none")] {
        assert_eq!(run.refused(begin(task, step, 1, None)).code, RefusedCode::Illegal, "{task} {step}");
    }
    assert_eq!(open(&run), ["1.1 work 1"]);
}

#[test]
fn what_nobody_works_on_begins_by_itself_when_the_agent_leads_no_more() {
    let mut run = led(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.tell(begin("1.1", "work", 1, Some(dana())));
    let worker = run.start("1.1");
    assert_eq!(run.state.leader_workers().collect::<Vec<_>>(), [(&id("1.1"), &worker)]);
    run.tell(begin("1.2", "work", 1, Some(dana())));

    run.tell(RunEvent::LedSet { is_led: false });

    let by = run.effects().into_iter().find_map(|effect| {
        let Effect::StartWorker { task, by, .. } = effect else { return None };
        Some((task, by))
    });
    assert_eq!(by, Some((id("1.2"), None)), "a worker of ours does what its hands had not begun");
    assert!(open(&run).is_empty());
    assert_eq!(run.state.leader_workers().count(), 1, "the work in its tree is still its own");
}

#[test]
fn what_an_agent_that_lost_its_seat_did_itself_is_open_again_and_its_workers_go_on() {
    let mut run = led(4, &[("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &[], &[])]);
    run.tell(begin("1.1", "work", 1, Some(dana())));
    run.tell(begin("1.2", "work", 1, None));
    let (own, other) = (run.start("1.1"), run.start("1.2"));
    run.tell(begin("1.3", "work", 1, Some(dana())));
    assert!(run.state.has_work_by_hand());

    run.tell(RunEvent::LedSet { is_led: true });

    assert!(!run.state.has_work_by_hand());
    assert_eq!((open(&run), run.starting()), (vec!["1.3 work 1".to_owned()], vec![]));
    assert_eq!(
        run.state.leader_workers().collect::<Vec<_>>(),
        [(&id("1.1"), &own)],
        "its process is still to be ended"
    );
    for (task, worker) in [("1.1", own), ("1.2", other)] {
        run.tell(RunEvent::WorkerLost { task: id(task), worker, reason: "gone".to_owned() });
    }
    assert_eq!(open(&run), ["1.1 work 1", "1.3 work 1"]);
    assert_eq!(run.starting(), ["1.2"], "a lost worker is replaced");
    run.tell(begin("1.1", "work", 1, None));
    assert_eq!(run.starting(), ["1.1", "1.2"]);
}

#[test]
fn who_leads_does_work_with_its_own_hands_and_judges_none_of_it() {
    let mut run = Run::of_team();
    run.tell(RunEvent::LedSet { is_led: true });
    let next = run.state.open_step(&id(TASK)).unwrap();
    assert!(next.answers, "{next:?}");

    let refused = run.refused(begin(TASK, next.step.as_str(), 1, Some(dana())));

    assert_eq!(refused.code, RefusedCode::Illegal);
    assert!(run.next_step().is_none());
    run.tell(begin(TASK, next.step.as_str(), 1, None));
    assert_eq!(run.next_step().map(|(step, ..)| step), Some(next.step.to_string()));
    assert_eq!(run.state.leader_workers().count(), 0);
}

#[test]
fn a_task_lacks_the_steps_that_have_not_passed_on_what_stands_now() {
    let missing = |run: &Run| run.state.missing_steps(&id("1.1")).iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut run = led(1, &[("1.1", &[], &[])]);
    let all = missing(&run);
    assert_eq!((all.first().map(String::as_str), all.last().map(String::as_str)), (Some("work"), Some("merge")));
    run.tell(begin("1.1", "work", 1, None));

    run.pass("1.1");

    assert_eq!(missing(&run), ["merge"]);
    run.intend_merge("1.1");
    run.tell(RunEvent::TaskMerged { task: id("1.1"), attempt: 1, commit: "m".to_owned() });
    assert!(missing(&run).is_empty());
    assert!(run.state.missing_steps(&id("9.9")).is_empty());
}

#[test]
fn files_are_declared_before_the_work_on_a_task_begins() {
    let mut run = led(1, &[("1.1", &[], &[])]);
    let declared = || RunEvent::ScopeDeclared { task: id("1.1"), files: vec!["a".to_owned()] };
    run.tell(declared());
    run.tell(begin("1.1", "work", 1, None));
    run.start("1.1");

    assert_eq!(run.refused(declared()).code, RefusedCode::Illegal);
    run.tell(RunEvent::TaskStopRequested { task: id("1.1"), grace_ms: None });
    let worker = WorkerId::from_bits(run.workers);
    run.tell(RunEvent::WorkerLost { task: id("1.1"), worker, reason: "stopped".to_owned() });
    assert!(run.view("1.1").state.is_settled());
    assert_eq!(run.refused(declared()).code, RefusedCode::Illegal);
}

#[test]
fn a_paused_task_and_a_run_that_is_over_have_nothing_to_begin() {
    let mut run = led(1, &[("1.1", &[], &[])]);
    run.tell(RunEvent::TaskPaused { task: id("1.1"), cause: switchboard_protocol::run::TaskPauseCause::Requested });
    assert!(open(&run).is_empty());
    run.tell(RunEvent::TaskResumed { task: id("1.1") });
    assert_eq!(open(&run), ["1.1 work 1"]);

    run.tell(RunEvent::RunStopRequested);
    run.tell(RunEvent::RunFinished { outcome: switchboard_protocol::run::RunOutcome::Stopped });

    assert!(open(&run).is_empty());
}
