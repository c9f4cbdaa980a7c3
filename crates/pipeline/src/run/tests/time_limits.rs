//! Time limits of workers: a pause that lets a worker wait doesn't count.

use switchboard_protocol::run::{AtCeiling, Budget, PauseCause, TaskPauseCause};

use super::*;

fn pause(cause: TaskPauseCause) -> RunEvent {
    RunEvent::TaskPaused { task: id("1.1"), cause }
}

fn resume() -> RunEvent {
    RunEvent::TaskResumed { task: id("1.1") }
}

impl Run {
    fn tell_at(&mut self, now: i64, event: RunEvent) {
        self.now = now;
        self.tell(event);
    }

    /// Returns the next time limit of a worker after now.
    fn deadline(&self) -> Option<i64> {
        self.state.next_deadline(Millis(self.now)).map(|deadline| deadline.0)
    }
}

#[test]
fn the_time_that_a_worker_waits_for_a_pause_is_added_to_its_limit() {
    let stop = |cause| RunEvent::RunPaused { cause };
    let pauses = [
        (pause(TaskPauseCause::Requested), resume()),
        (stop(PauseCause::Requested), RunEvent::RunResumed),
        (stop(PauseCause::Disk), RunEvent::RunResumed),
    ];
    for (begin, end) in pauses {
        let mut run = Run::of(2, &[("1.1", &[], &[])]);
        run.start("1.1");
        run.now = 999;
        assert_eq!(run.deadline(), Some(1_000));

        run.tell_at(400, begin.clone());
        assert_eq!(run.deadline(), None, "{begin:?}");
        run.tell_at(450, begin.clone());
        run.tell_at(900, end.clone());
        assert_eq!(run.deadline(), Some(1_500), "{begin:?}");

        run.tell_at(1_000, begin.clone());
        run.now = 5_000;
        assert_eq!(run.effects(), [], "{begin:?} again");
        run.tell(end);
        assert_eq!(run.deadline(), Some(5_500), "{begin:?} again");
    }
}

#[test]
fn a_retry_of_another_task_that_ends_the_pause_of_the_run_lets_the_clocks_run_again() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.tell(RunEvent::TaskStopRequested { task: id("1.2"), grace_ms: None });
    run.start("1.1");
    run.tell_at(100, RunEvent::RunPaused { cause: PauseCause::Requested });

    run.tell_at(600, RunEvent::TaskRetryRequested { task: id("1.2"), note: String::new() });

    assert_eq!((run.state.pause(), run.deadline()), (None, Some(1_500)));
}

#[test]
fn a_worker_that_starts_in_a_pause_has_its_full_time_once_that_has_ended() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let worker = run.start("1.1");
    run.tell_at(100, pause(TaskPauseCause::Requested));
    run.tell_at(300, RunEvent::WorkerLost { task: id("1.1"), worker, reason: "gone".to_owned() });
    run.tell_at(400, resume());
    let (worker, step) = (WorkerId::from_bits(50), StepId::work());
    run.tell(RunEvent::WorkerIntended { task: id("1.1"), step, attempt: 1, worker: worker.clone() });
    run.tell_at(500, pause(TaskPauseCause::Requested));

    run.tell_at(600, RunEvent::WorkerStarted { task: id("1.1"), worker });

    assert_eq!(run.deadline(), None);
    run.tell_at(2_600, resume());
    assert_eq!(run.deadline(), Some(3_600), "neither the pause before nor the time of the lost worker counts");
}

#[test]
fn the_clock_of_a_worker_that_is_interrupted_for_want_of_budget_runs_on() {
    let budget = |ceiling| RunEvent::BudgetSet {
        budget: Some(Budget { ceiling, task: None, reserve: Some(1), at_ceiling: AtCeiling::Pause }),
        plan: None,
        day: false,
    };
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.tell(budget(10));
    let worker = run.start("1.1");
    run.tell_at(100, RunEvent::CostCounted { task: id("1.1"), worker, total_micro_usd: 10, estimated: false });
    assert_eq!((run.state.pause(), run.deadline()), (Some(PauseCause::Budget), Some(1_000)));

    run.tell_at(200, RunEvent::RunPaused { cause: PauseCause::Requested });
    assert_eq!(run.deadline(), None, "a requested pause lets it wait");
    run.tell_at(300, budget(100));
    assert_eq!(run.deadline(), None, "the request holds");
    run.tell_at(700, RunEvent::RunResumed);

    assert_eq!(run.deadline(), Some(1_500));
}

#[test]
fn a_late_worker_is_stopped_for_its_time_alone_and_not_if_its_stop_was_requested() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    let (late, other) = (run.start("1.1"), run.start("1.2"));
    run.tell_at(900, RunEvent::RunPaused { cause: PauseCause::Day });
    let stops = |run: &Run| -> Vec<(WorkerId, StopCause)> {
        let stop = |effect: Effect| {
            let Effect::StopWorker { worker, cause, .. } = effect else { return None };
            Some((worker, cause))
        };
        run.effects().into_iter().filter_map(stop).collect()
    };
    assert_eq!(stops(&run), [(late.clone(), StopCause::Budget), (other.clone(), StopCause::Budget)]);

    run.tell(RunEvent::TurnEnded {
        task: id("1.2"),
        worker: other,
        outcome: TurnOutcome::Paused,
        reason: String::new(),
    });
    run.now = 1_000;
    assert_eq!(stops(&run), [(late.clone(), StopCause::TimedOut)], "one effect for each worker");

    run.tell(RunEvent::TaskStopRequested { task: id("1.1"), grace_ms: None });
    assert_eq!(stops(&run), [(late, StopCause::Requested)]);
}
