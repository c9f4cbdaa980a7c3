//! Retries that a person requests: what begins anew, what is kept, and what continues with the task.

use serde_json::json;
use switchboard_protocol::run::{AtCeiling, Budget, PauseCause, TaskPauseCause};

use super::team::TASK;
use super::*;

fn retry(task: &str) -> RunEvent {
    RunEvent::TaskRetryRequested { task: id(task), note: String::new() }
}

fn stop(task: &str) -> RunEvent {
    RunEvent::TaskStopRequested { task: id(task), grace_ms: None }
}

fn blocked(run: &Run, task: &str) -> RunEvent {
    let attempt = run.view(task).attempt;
    RunEvent::TaskBlocked { task: id(task), attempt, retries: None, reason: "so".to_owned() }
}

/// Returns a run of phases, each of which waits for the one before; a task names its phase before the dot.
fn phases(tasks: &[&str]) -> Run {
    let phase = |task: &str| task.split('.').next().and_then(|number| number.parse::<u64>().ok()).unwrap();
    let last = tasks.iter().map(|task| phase(task)).max().unwrap();
    let mut run = Run { state: RunState::new(), now: 0, workers: 0, last: Vec::new() };
    run.tell(started(2 + last as u32 + tasks.len() as u32, 4));
    run.tell(recorded(&way()));
    run.tell(recorded(&opening::children()));
    for number in 1..=last {
        let after = if number > 1 { vec![UnitId::Phase(number - 1)] } else { Vec::new() };
        run.tell(added(UnitId::Phase(number), &opening::children(), after, &[]));
    }
    for task in tasks {
        run.tell(RunEvent::UnitAdded {
            unit: unit(task),
            within: Some(UnitId::Phase(phase(task))),
            way: way().digest().unwrap(),
            after: Vec::new(),
            writes: Vec::new(),
            reads: Vec::new(),
            timeout_ms: None,
        });
    }
    run
}

/// The start of a worker, as far as a retry matters for it.
#[derive(Debug, PartialEq)]
struct Begin {
    attempt: u32,
    resume: bool,
    again: Option<String>,
    tried: (u32, u32),
    transients: u32,
    note: String,
}

impl Run {
    fn begins(&self, task: &str) -> Begin {
        let begin = self.effects().into_iter().find_map(|effect| {
            let Effect::StartWorker { task: of, attempt, resume, again, tried, transients, note, .. } = effect else {
                return None;
            };
            (of == id(task)).then_some(Begin { attempt, resume, again, tried, transients, note })
        });
        begin.unwrap_or_else(|| panic!("{task} doesn't begin: {:?}", self.effects()))
    }

    fn root_of(&self, task: &str) -> Option<String> {
        let TaskState::DepFailed { root } = self.view(task).state else { return None };
        Some(root.to_string())
    }
}

#[test]
fn a_retry_begins_the_attempts_losses_and_waits_of_a_task_anew_and_passes_on_its_note() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.fail("1.1");
    run.end_turn("1.1", TurnOutcome::ModelFailed);
    let lost = |run: &mut Run| {
        let worker = run.start("1.1");
        run.tell(RunEvent::WorkerLost { task: id("1.1"), worker, reason: "killed".to_owned() });
    };
    (0..3).for_each(|_| lost(&mut run));
    assert!(run.view("1.1").state.is_settled());

    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: "use less memory".to_owned() });

    let note = "use less memory".to_owned();
    let fresh = Begin { attempt: 3, resume: false, again: None, tried: (0, 5), transients: 0, note };
    assert_eq!(run.begins("1.1"), fresh);
    assert_eq!((run.view("1.1").losses, run.view("1.1").refusals.len()), (0, 1), "what was refused is still told");
    for _ in 0..2 {
        lost(&mut run);
        assert!(run.begins("1.1").resume);
    }
    run.fail("1.1");
    assert_eq!((run.begins("1.1").attempt, run.begins("1.1").tried), (4, (1, 5)));
}

#[test]
fn a_task_that_has_waited_too_often_for_a_rate_limit_waits_as_often_again_after_a_retry() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    (0..=MAX_RATE_WAITS).for_each(|_| run.end_turn("1.1", TurnOutcome::RateLimited));
    assert!(run.view("1.1").state.is_settled());

    run.tell(retry("1.1"));

    (0..MAX_RATE_WAITS).for_each(|_| run.end_turn("1.1", TurnOutcome::RateLimited));
    assert_eq!(run.starting(), ["1.1"]);
    run.end_turn("1.1", TurnOutcome::RateLimited);
    assert!(run.view("1.1").state.is_settled());
}

#[test]
fn a_reviewer_that_is_asked_after_a_retry_is_told_of_no_earlier_answer() {
    let mut run = Run::of_team();
    let (step, worker, _) = run.work_on(TurnOutcome::Finished);
    run.tell(RunEvent::AnswerRefused { task: id(TASK), step, attempt: 1, worker, reason: "no JSON".to_owned() });
    assert_eq!(run.begins(TASK).again.as_deref(), Some("no JSON"));
    run.tell(blocked(&run, TASK));

    run.tell(retry(TASK));

    assert_eq!(run.begins(TASK).again, None);
}

#[test]
fn a_task_that_was_stopped_before_it_began_begins_with_its_first_attempt() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &[], &[])]);
    run.tell(stop("1.1"));
    let worker = run.start("1.2");
    run.tell(stop("1.2"));
    run.tell(RunEvent::TurnEnded { task: id("1.2"), worker, outcome: TurnOutcome::Stopped, reason: String::new() });
    run.tell(blocked(&run, "1.3"));

    ["1.1", "1.2", "1.3"].iter().for_each(|task| run.tell(retry(task)));

    let attempts = ["1.1", "1.2", "1.3"].map(|task| run.view(task).attempt);
    assert_eq!(attempts, [1, 2, 2], "a worker of 1.2 has begun, and 1.3 could not be done as it was");
}

#[test]
fn only_what_is_blocked_or_stopped_is_retried_and_nothing_while_the_run_stops() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &[], &[])]);
    run.merge("1.1");
    for task in ["1.1", "1.2"] {
        assert_eq!(run.refused(retry(task)).why, format!("task {task} is neither blocked nor stopped"));
    }
    let worker = run.start("1.2");
    run.tell(RunEvent::RunStopRequested);
    assert_eq!(run.refused(retry("1.3")).hint, "retry when it has stopped");
    run.tell(RunEvent::TurnEnded { task: id("1.2"), worker, outcome: TurnOutcome::Stopped, reason: String::new() });
    run.tell(RunEvent::RunFinished { outcome: RunOutcome::Stopped });

    run.tell(retry("1.3"));

    assert_eq!((run.state.outcome(), run.state.is_stopping()), (None, false));
    assert_eq!((run.starting(), run.view("1.2").state), (vec!["1.3".to_owned()], TaskState::Stopped));
    run.merge("1.3");
    assert_eq!(run.effects(), [Effect::Finish { outcome: RunOutcome::Stopped }]);
}

#[test]
fn a_retried_subtask_of_a_paused_task_is_paused_with_it() {
    let mut run = subtasks::run_of(&json!({ "best_of": 2 }));
    run.tell(stop("1.1.c1"));
    run.tell(RunEvent::TaskPaused { task: id("1.1"), cause: TaskPauseCause::Requested });

    run.tell(retry("1.1.c1"));

    assert_eq!(run.view("1.1.c1").paused, Some(TaskPauseCause::Requested));
    run.tell(RunEvent::TaskResumed { task: id("1.1") });
    assert_eq!(run.starting(), ["1.1.c1", "1.1.c2"]);
}

#[test]
fn a_retry_ends_the_pause_of_its_task_and_allows_a_high_cost_only_if_that_paused_it() {
    for cause in [TaskPauseCause::Requested, TaskPauseCause::Dear, TaskPauseCause::Budget] {
        let mut run = Run::of(2, &[("1.1", &[], &[])]);
        run.tell(RunEvent::TaskPaused { task: id("1.1"), cause });
        run.tell(blocked(&run, "1.1"));

        run.tell(retry("1.1"));

        assert_eq!((run.view("1.1").paused, run.starting()), (None, vec!["1.1".to_owned()]), "{cause:?}");
        let at = run.state.tasks[&id("1.1")];
        assert_eq!(run.state.records[at].is_high_cost_allowed, cause == TaskPauseCause::Dear, "{cause:?}");
    }
}

#[test]
fn a_retry_ends_a_requested_pause_of_its_run_if_one_worker_fits_below_the_ceiling() {
    for (reserve, pause) in [(60, None), (100, None), (101, Some(PauseCause::Budget))] {
        let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
        run.tell(stop("1.1"));
        run.tell(RunEvent::RunPaused { cause: PauseCause::Requested });
        let budget = Budget { ceiling: 100, task: None, reserve: Some(reserve), at_ceiling: AtCeiling::Pause };
        run.tell(RunEvent::BudgetSet { budget: Some(budget), plan: None, day: false });
        assert_eq!(run.last, []);

        run.tell(retry("1.1"));

        let event = pause.map_or(RunEvent::RunResumed, |cause| RunEvent::RunPaused { cause });
        assert_eq!((&run.last[..], run.state.pause()), (&[event][..], pause), "{reserve}");
    }
}

#[test]
fn a_retry_in_a_run_that_a_ceiling_pauses_waits_with_it() {
    for cause in [PauseCause::Budget, PauseCause::Plan, PauseCause::Day] {
        let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
        run.tell(stop("1.1"));
        let budget = Budget { ceiling: 100, task: None, reserve: Some(10), at_ceiling: AtCeiling::Pause };
        run.tell(RunEvent::BudgetSet { budget: Some(budget), plan: None, day: false });
        run.tell(RunEvent::RunPaused { cause });

        run.tell(retry("1.1"));

        assert_eq!((&run.last[..], run.state.pause(), run.starting()), (&[][..], Some(cause), Vec::new()));
    }
}

#[test]
fn a_later_phase_stays_failed_while_another_task_of_the_phase_before_it_has() {
    let mut run = phases(&["1.1", "1.2", "2.1", "3.1"]);
    run.tell(blocked(&run, "1.1"));
    run.tell(blocked(&run, "1.2"));
    assert_eq!((run.root_of("2.1").as_deref(), run.root_of("3.1").as_deref()), (Some("1.1"), Some("1.1")));

    run.tell(retry("1.1"));

    assert_eq!((run.root_of("2.1").as_deref(), run.root_of("3.1").as_deref()), (Some("1.2"), Some("1.2")));
    assert_eq!(run.state.unsettled().map(ToString::to_string).collect::<Vec<_>>(), ["1.1"]);
    run.tell(retry("1.2"));
    assert_eq!((run.view("2.1").state, run.view("3.1").state), (TaskState::Pending, TaskState::Pending));
    for task in ["1.1", "1.2", "2.1", "3.1"] {
        run.merge(task);
    }
    assert_eq!(run.effects(), [Effect::Finish { outcome: RunOutcome::Succeeded }]);
}

#[test]
fn the_phases_of_a_stopped_run_go_on_with_the_retry_of_each_task() {
    let mut run = phases(&["1.1", "2.1", "2.2"]);
    run.tell(RunEvent::RunStopRequested);
    run.tell(RunEvent::RunFinished { outcome: RunOutcome::Stopped });

    run.tell(retry("2.1"));
    assert_eq!(run.root_of("2.1").as_deref(), Some("1.1"), "the phase before it was stopped");
    run.tell(retry("1.1"));
    assert_eq!((run.view("2.1").state, run.view("2.2").state), (TaskState::Pending, TaskState::Stopped));
    run.merge("1.1");

    assert_eq!(run.starting(), ["2.1"]);
}

#[test]
fn the_tasks_that_wait_for_another_are_those_behind_it_that_are_not_settled() {
    let waiting = |run: &Run, task: &str| {
        run.state.waiting_for(&id(task)).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let mut run = phases(&["1.1", "1.2", "2.1", "2.2", "3.1"]);
    assert_eq!(waiting(&run, "1.1"), "2.1 2.2 3.1");
    assert_eq!((waiting(&run, "3.1"), waiting(&run, "9.9")), (String::new(), String::new()));
    run.tell(stop("2.1"));
    assert_eq!(waiting(&run, "1.1"), "2.2");

    let mut run =
        Run::of(2, &[("1.1", &[], &[]), ("1.2", &["1.1"], &[]), ("1.3", &["1.2"], &[]), ("1.4", &["1.1"], &[])]);
    assert_eq!(waiting(&run, "1.1"), "1.2 1.3 1.4");
    run.tell(stop("1.2"));
    assert_eq!((waiting(&run, "1.1").as_str(), run.state.unsettled_count()), ("1.4", 2));
}

#[test]
fn a_refusal_without_a_reason_is_described_by_its_cause_alone() {
    let describe = |reasons: &[&str]| {
        let reasons: Vec<_> = reasons.iter().map(|reason| (*reason).to_owned()).collect();
        attempt::describe(&RefusalCause::NothingChanged, &reasons)
    };

    assert_eq!(describe(&["it read only", "and said so"]), "nothing changed: it read only");
    assert_eq!(describe(&[""]), "nothing changed");
    assert_eq!(describe(&[]), "nothing changed");
}
