mod attempts;
mod branch;
mod ceilings;
mod compiled;
mod confirming;
mod control;
mod denied;
mod held;
mod landings;
mod led;
mod not_started;
mod opening;
mod random_plans;
mod rebasing;
mod reports;
mod retries;
mod subtasks;
mod team;
mod time_limits;
mod transitions;
mod unanswered;

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::run::way::{StepId, Way};
use switchboard_protocol::run::{
    Change, Effect, EffectKey, MAX_RATE_WAITS, RefusalCause, RunEvent, StartFrom, StopCause, TaskState, TurnOutcome,
    Verdict,
};

use super::*;

fn id(text: &str) -> TaskId {
    TaskId::new(text).unwrap()
}

/// A run that folds events task by task.
struct Run {
    state: RunState,
    now: i64,
    workers: u64,
    last: Vec<RunEvent>,
}

/// A task: id, dependencies and written paths.
type Spec = (&'static str, &'static [&'static str], &'static [&'static str]);

/// Returns the start of a run with this number of opening events.
fn started(parts: u32, max_workers: u32) -> RunEvent {
    let (title, plan_hash, base) = ("t".to_owned(), "h".to_owned(), "b".to_owned());
    RunEvent::RunStarted { title, plan_hash, base, parts, max_workers }
}

/// Returns a way of a worker, two gates and a merge.
fn way() -> Way {
    crate::way::recorded_before_ways(&["syntax".to_owned(), "secrets".to_owned()]).unwrap()
}

fn recorded(way: &Way) -> RunEvent {
    let text = serde_json::to_string(way).unwrap();
    RunEvent::WayRecorded { way: way.digest().unwrap(), part: 1, of: 1, text }
}

fn added(unit: UnitId, way: &Way, after: Vec<UnitId>, writes: &[&str]) -> RunEvent {
    RunEvent::UnitAdded {
        unit,
        within: None,
        way: way.digest().unwrap(),
        after,
        writes: writes.iter().map(|path| (*path).to_owned()).collect(),
        reads: Vec::new(),
        timeout_ms: Some(1000),
    }
}

fn unit(task: &str) -> UnitId {
    UnitId::Task(id(task))
}

/// Maximum number of units of a run that is examined after each event: that looks at all of them.
const MAX_EXAMINED: usize = 12;

/// Expects that everything which follows from an event was decided with it.
fn expect_decided(state: &RunState, after: &RunEvent) {
    if state.records.len() > MAX_EXAMINED {
        return;
    }
    let mut again = state.clone();
    assert_eq!(again.decide_more(), [], "after {after:?}");
    assert_eq!(again, *state, "after {after:?}");
}

/// Expects that every list of tasks is what another look at all tasks would make of it.
fn expect_indexed(state: &RunState, after: &RunEvent) {
    if state.records.len() > MAX_EXAMINED {
        return;
    }
    let mut anew = state.clone();
    for (at, record) in state.records.iter().enumerate() {
        if record.is_settled() {
            anew.queue.settled(at, &state.records);
        } else {
            anew.reindex(at);
        }
        // What is decided without an event was decided with the last one.
        anew.queue.set_deciding(at, false);
    }
    assert_eq!(anew.queue, state.queue, "after {after:?}");
}

impl Run {
    fn of(max_workers: u32, tasks: &[Spec]) -> Self {
        Self::on(&way(), max_workers, tasks)
    }

    fn on(way: &Way, max_workers: u32, tasks: &[Spec]) -> Self {
        let mut run = Self { state: RunState::new(), now: 0, workers: 0, last: Vec::new() };
        run.tell(started(tasks.len() as u32 + 1, max_workers));
        run.tell(recorded(way));
        for (task, depends, writes) in tasks {
            run.tell(added(unit(task), way, depends.iter().map(|on| unit(on)).collect(), writes));
        }
        run
    }

    fn tell(&mut self, event: RunEvent) {
        self.last = self.state.step(&event, Millis(self.now)).unwrap_or_else(|refused| panic!("{event:?}: {refused}"));
        expect_decided(&self.state, &event);
        expect_indexed(&self.state, &event);
    }

    fn refused(&mut self, event: RunEvent) -> Refused {
        self.state.step(&event, Millis(self.now)).unwrap_err()
    }

    fn effects(&self) -> Vec<Effect> {
        self.state.decide(Millis(self.now))
    }

    fn starting(&self) -> Vec<String> {
        let start = |effect: Effect| {
            let Effect::StartWorker { task, .. } = effect else { return None };
            Some(task.to_string())
        };
        self.effects().into_iter().filter_map(start).collect()
    }

    fn view(&self, task: &str) -> TaskView {
        self.state.task(&id(task)).unwrap()
    }

    fn start(&mut self, task: &str) -> WorkerId {
        self.workers += 1;
        let worker = WorkerId::from_bits(self.workers);
        let attempt = self.view(task).attempt;
        let step = StepId::work();
        self.tell(RunEvent::WorkerIntended { task: id(task), step, attempt, worker: worker.clone() });
        self.tell(RunEvent::WorkerStarted { task: id(task), worker: worker.clone() });
        worker
    }

    fn end_turn(&mut self, task: &str, outcome: TurnOutcome) {
        let worker = self.start(task);
        self.tell(RunEvent::TurnEnded { task: id(task), worker, outcome, reason: "said so".to_owned() });
    }

    fn capture(&mut self, task: &str) {
        self.end_turn(task, TurnOutcome::Finished);
        let attempt = self.view(task).attempt;
        let (commit, tree) = (format!("c-{task}-{attempt}"), format!("t-{task}-{attempt}"));
        self.captured(task, &Change { commit, tree, base: String::new(), files: 1, lines: 1 });
    }

    /// Captures the change of a task's worker.
    fn captured(&mut self, task: &str, change: &Change) {
        let Change { commit, tree, base, files: files_total, lines } = change.clone();
        let (attempt, files) = (self.view(task).attempt, vec!["a".to_owned(); files_total as usize]);
        let task = id(task);
        let left_out = Vec::new();
        self.tell(RunEvent::ChangeCaptured { task, attempt, commit, tree, base, files, files_total, lines, left_out });
    }

    fn judge(&mut self, task: &str, gate: &str, verdict: Verdict) {
        let attempt = self.view(task).attempt;
        let reasons = vec![format!("{gate} {attempt}")];
        self.tell(RunEvent::GateReported {
            task: id(task),
            attempt,
            gate: gate.to_owned(),
            input: None,
            verdict,
            asks: false,
            halts: false,
            reasons,
        });
    }

    fn pass(&mut self, task: &str) {
        self.capture(task);
        self.judge(task, "syntax", Verdict::Pass);
        self.judge(task, "secrets", Verdict::Pass);
    }

    fn intend_merge(&mut self, task: &str) {
        let attempt = self.view(task).attempt;
        let commit = format!("c-{task}-{attempt}");
        self.tell(RunEvent::MergeIntended { task: id(task), attempt, commit, onto: "head".to_owned() });
    }

    fn merge(&mut self, task: &str) {
        self.pass(task);
        self.intend_merge(task);
        let attempt = self.view(task).attempt;
        self.tell(RunEvent::TaskMerged { task: id(task), attempt, commit: format!("m-{task}") });
    }

    /// Plays one attempt that a gate refuses.
    fn fail(&mut self, task: &str) {
        self.capture(task);
        self.judge(task, "syntax", Verdict::Pass);
        self.judge(task, "secrets", Verdict::Fail);
    }

    fn block(&mut self, task: &str) {
        (0..switchboard_protocol::run::MAX_ATTEMPTS).for_each(|_| self.fail(task));
    }
}

#[test]
fn tasks_start_in_natural_order_as_workers_get_free() {
    let mut run = Run::of(2, &[("1.10", &[], &[]), ("1.2", &[], &[]), ("1.1", &[], &[]), ("1.3", &["1.1"], &[])]);
    assert_eq!(run.starting(), ["1.1", "1.2"]);

    run.pass("1.1");
    assert_eq!(run.starting(), ["1.2", "1.10"], "the worker of 1.1 is free while gates and merge go on");

    run.intend_merge("1.1");
    run.tell(RunEvent::TaskMerged { task: id("1.1"), attempt: 1, commit: "m".to_owned() });
    assert_eq!(run.starting(), ["1.2", "1.3"], "1.3 is ready at once");
}

#[test]
fn gates_are_left_out_while_they_are_under_way_and_starts_are_returned_separately() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &[], &[])]);
    run.capture("1.1");
    run.capture("1.2");
    let keys = |effects: Vec<Effect>| effects.iter().map(Effect::key).collect::<Vec<_>>();
    let beside = |is_under_way: &dyn Fn(&EffectKey) -> bool| keys(run.state.decide_beside(Millis(0), is_under_way));
    let [one, two, start] = &keys(run.effects())[..] else { panic!("{:?}", run.effects()) };

    assert_eq!(beside(&|_| false), [one.clone(), two.clone()]);
    assert_eq!(beside(&|key| key == one), std::slice::from_ref(two));
    assert_eq!(beside(&|_| true), []);
    let starts: Vec<_> =
        run.state.starts().iter().map(|it| (it.key(), it.task().to_string(), it.step().clone())).collect();
    assert_eq!(starts, [(start.clone(), "1.3".to_owned(), StepId::work())]);
}

#[test]
fn nothing_starts_before_all_tasks_are_known() {
    let mut state = RunState::new();
    state.step(&started(3, 2), Millis(0)).unwrap();
    state.step(&recorded(&way()), Millis(0)).unwrap();
    state.step(&added(unit("1.1"), &way(), Vec::new(), &[]), Millis(0)).unwrap();
    assert_eq!(state.decide(Millis(0)), []);

    let (after, writes) = (Vec::new(), vec!["a".to_owned()]);
    state
        .step(&RunEvent::UnitExtended { unit: unit("1.1"), part: 2, after, writes, reads: Vec::new() }, Millis(0))
        .unwrap();

    assert_eq!(state.decide(Millis(0)).len(), 1);
}

#[test]
fn tasks_that_write_the_same_files_wait_for_each_other() {
    let mut run = Run::of(3, &[("1.1", &[], &["src"]), ("1.2", &[], &["src/a.rs"]), ("1.3", &[], &["docs/*.md"])]);
    assert_eq!(run.starting(), ["1.1", "1.3"]);

    run.fail("1.1");
    assert_eq!(run.starting(), ["1.1", "1.3"], "a refused attempt keeps its files");
    let refused = run.refused(RunEvent::WorkerIntended {
        task: id("1.2"),
        step: StepId::work(),
        attempt: 1,
        worker: WorkerId::from_bits(99),
    });
    assert_eq!(refused.code, RefusedCode::Limit);

    run.merge("1.1");
    assert_eq!(run.starting(), ["1.2", "1.3"]);
}

#[test]
fn with_one_worker_a_task_is_merged_before_the_next_starts() {
    let mut run = Run::of(1, &[("1.1", &[], &[]), ("1.2", &[], &[])]);
    run.pass("1.1");
    assert_eq!(run.starting(), Vec::<String>::new());

    run.intend_merge("1.1");
    run.tell(RunEvent::TaskMerged { task: id("1.1"), attempt: 1, commit: "m".to_owned() });

    assert_eq!(run.starting(), ["1.2"]);
}

#[test]
fn one_merge_at_a_time_in_natural_order() {
    let mut run = Run::of(3, &[("1.10", &[], &[]), ("1.2", &[], &[])]);
    run.pass("1.10");
    run.pass("1.2");
    let merge =
        |task: &str| Effect::Merge { task: id(task), attempt: 1, commit: format!("c-{task}-1"), base: String::new() };
    assert_eq!(run.effects(), [merge("1.2")]);

    run.intend_merge("1.2");

    assert_eq!(run.effects(), []);
    let other = RunEvent::MergeIntended {
        task: id("1.10"),
        attempt: 1,
        commit: "c-1.10-1".to_owned(),
        onto: "head".to_owned(),
    };
    assert_eq!(run.refused(other).code, RefusedCode::Limit);
    assert_eq!(run.state.in_doubt().map(|task| task.task).collect::<Vec<_>>(), [id("1.2")]);
}

#[test]
fn a_person_gives_a_blocked_task_all_its_attempts_anew_and_its_dependents_a_chance() {
    let mut run = Run::of(1, &[("1.1", &[], &[]), ("1.2", &["1.1"], &[])]);
    run.block("1.1");
    run.tell(RunEvent::RunFinished { outcome: RunOutcome::Failed });
    let hint = run.refused(RunEvent::TaskRetryRequested { task: id("1.2"), note: String::new() }).hint;
    assert_eq!(hint, "retry 1.1");

    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });

    assert_eq!((run.view("1.1").attempt, run.view("1.2").state), (6, TaskState::Pending));
    (0..4).for_each(|_| run.fail("1.1"));
    assert_eq!(run.view("1.1").state, TaskState::Ready, "a fifth attempt is left");
    run.merge("1.1");
    run.merge("1.2");
    assert_eq!(run.effects(), [Effect::Finish { outcome: RunOutcome::Succeeded }]);
}

#[test]
fn a_state_tells_which_tasks_were_settled_or_opened_again_since_an_earlier_one() {
    let mut run = Run::of(2, &[("1.1", &[], &["a"]), ("1.2", &["1.1"], &["b"]), ("1.3", &[], &["c"])]);
    let opened = run.state.clone();
    run.tell(RunEvent::TaskStopRequested { task: id("1.1"), grace_ms: None });
    let stopped = run.state.clone();
    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });

    let unlike = |state: &RunState, earlier: &RunState| -> Vec<String> {
        state.settled_difference(earlier).into_iter().map(ToString::to_string).collect()
    };
    assert_eq!(unlike(&stopped, &opened), ["1.1", "1.2"]);
    assert_eq!(unlike(&run.state, &stopped), ["1.1", "1.2"]);
    assert!(unlike(&run.state, &opened).is_empty(), "they are as they were");
}

#[test]
fn a_retry_leaves_alone_what_another_task_holds_up() {
    let mut run =
        Run::of(1, &[("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &["1.1", "1.2"], &[]), ("1.4", &["1.3"], &[])]);
    run.block("1.1");
    run.block("1.2");

    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });

    let by_other = TaskState::DepFailed { root: id("1.2") };
    assert_eq!((run.view("1.3").state, run.view("1.4").state), (by_other.clone(), by_other));
    assert_eq!(run.last.len(), 2);
}

#[test]
fn a_worker_over_its_time_is_stopped_and_the_attempt_refused() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let worker = run.start("1.1");
    assert_eq!((run.effects(), run.state.next_deadline(Millis(0))), (Vec::new(), Some(Millis(1000))));

    run.now = 1000;
    let stop =
        Effect::StopWorker { task: id("1.1"), worker: worker.clone(), cause: StopCause::TimedOut, grace_ms: None };
    assert_eq!((run.effects(), run.state.next_deadline(Millis(1000))), (vec![stop], None));
    let (outcome, reason) = (TurnOutcome::TimedOut, "17 min".to_owned());
    run.tell(RunEvent::TurnEnded { task: id("1.1"), worker, outcome, reason });

    assert_eq!(run.view("1.1").refusals[0].cause, RefusalCause::TimedOut);
}

#[test]
fn a_stopped_task_stops_its_worker_and_holds_up_what_needs_it() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &["1.1"], &[]), ("1.3", &[], &[])]);
    let worker = run.start("1.1");

    run.tell(RunEvent::TaskStopRequested { task: id("1.1"), grace_ms: None });
    let stop =
        Effect::StopWorker { task: id("1.1"), worker: worker.clone(), cause: StopCause::Requested, grace_ms: None };
    assert!(run.effects().contains(&stop));
    let (outcome, reason) = (TurnOutcome::Finished, String::new());
    run.tell(RunEvent::TurnEnded { task: id("1.1"), worker, outcome, reason });

    assert_eq!(run.view("1.1").state, TaskState::Stopped, "what it finished meanwhile is not merged");
    assert_eq!(run.view("1.2").state, TaskState::DepFailed { root: id("1.1") });
    run.merge("1.3");
    assert_eq!(run.effects(), [Effect::Finish { outcome: RunOutcome::Stopped }]);
}

#[test]
fn a_merge_that_is_under_way_is_brought_to_its_end_before_the_run_stops() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &["1.1"], &[])]);
    run.pass("1.1");
    run.intend_merge("1.1");

    run.tell(RunEvent::RunStopRequested);
    assert_eq!((run.effects(), run.view("1.2").state), (Vec::new(), TaskState::Stopped));
    run.tell(RunEvent::TaskMerged { task: id("1.1"), attempt: 1, commit: "m".to_owned() });

    assert_eq!(run.effects(), [Effect::Finish { outcome: RunOutcome::Stopped }]);
    run.tell(RunEvent::RunFinished { outcome: RunOutcome::Stopped });
    run.tell(RunEvent::TaskRetryRequested { task: id("1.2"), note: String::new() });
    assert_eq!(run.starting(), ["1.2"], "a stopped run can be taken up again");
}

#[test]
fn late_events_change_nothing() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.fail("1.1");
    let stale = RunEvent::GateReported {
        task: id("1.1"),
        attempt: 1,
        gate: "secrets".to_owned(),
        input: None,
        verdict: Verdict::Pass,
        asks: false,
        halts: false,
        reasons: Vec::new(),
    };

    assert_eq!(run.refused(stale).code, RefusedCode::Stale);
    let stranger = RunEvent::WorkerStarted { task: id("1.1"), worker: WorkerId::from_bits(99) };
    assert_eq!(run.refused(stranger).code, RefusedCode::Stale);
    let unknown = RunEvent::TaskStopRequested { task: id("9.9"), grace_ms: None };
    assert_eq!(run.refused(unknown).code, RefusedCode::UnknownTask);
    assert_eq!(run.refused(RunEvent::RunFinished { outcome: RunOutcome::Succeeded }).code, RefusedCode::Illegal);
}

#[test]
fn a_gate_that_repeats_itself_changes_nothing_and_one_that_contradicts_itself_is_refused() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    run.capture("1.1");
    let said = |verdict| RunEvent::GateReported {
        task: id("1.1"),
        attempt: 1,
        gate: "secrets".to_owned(),
        input: None,
        verdict,
        asks: false,
        halts: false,
        reasons: Vec::new(),
    };
    run.tell(said(Verdict::Pass));
    let view = run.view("1.1");

    run.tell(said(Verdict::Pass));
    assert_eq!((run.last.len(), run.view("1.1").gates), (0, view.gates));
    let refused = run.refused(said(Verdict::Fail));
    assert_eq!(refused.code, RefusedCode::Stale, "{refused}");
}

#[test]
fn a_dependency_that_is_not_known_yet_is_refused_so_that_no_circle_can_come_to_be() {
    let mut state = RunState::new();
    state.step(&started(3, 2), Millis(0)).unwrap();
    state.step(&recorded(&way()), Millis(0)).unwrap();

    for on in ["1.1", "1.2"] {
        let added = added(unit("1.1"), &way(), vec![unit(on)], &[]);
        assert_eq!(state.step(&added, Millis(0)).unwrap_err().code, RefusedCode::Illegal, "{on}");
    }
}

#[test]
fn a_task_may_be_blocked_from_outside_unless_somebody_is_at_work_on_it() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &["1.1"], &[]), ("1.3", &[], &[])]);
    let blocked =
        |task: &str| RunEvent::TaskBlocked { task: id(task), attempt: 1, retries: None, reason: "no agent".to_owned() };
    run.start("1.3");

    run.tell(blocked("1.1"));
    assert_eq!(run.last, [RunEvent::TaskDepFailed { task: id("1.2"), root: id("1.1") }]);
    run.tell(blocked("1.1"));
    assert_eq!((run.last.len(), run.refused(blocked("1.3")).hint.as_str()), (0, "stop it first"));

    run.tell(RunEvent::TaskRetryRequested { task: id("1.1"), note: String::new() });
    assert_eq!(run.refused(blocked("1.1")).code, RefusedCode::Stale, "what was said before the retry is past");
}

#[test]
fn a_task_that_the_run_does_not_have_is_settled_and_has_nothing() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let (known, unknown) = (id("1.1"), id("9.9"));
    assert!(!run.state.is_settled(&known) && run.state.is_settled(&unknown));

    run.tell(RunEvent::TaskStopRequested { task: known.clone(), grace_ms: None });
    run.tell(RunEvent::TaskRetryRequested { task: known.clone(), note: String::new() });

    assert_eq!((run.state.retries_of(&known), run.state.retries_of(&unknown)), (1, 0));
    let cause = switchboard_protocol::run::TaskPauseCause::Requested;
    run.tell(RunEvent::TaskPaused { task: known.clone(), cause });
    assert_eq!((run.state.is_paused(&known), run.state.is_paused(&unknown)), (true, false));
    assert_eq!(run.state.paused_tasks().collect::<Vec<_>>(), [(&known, cause)]);
    assert!(run.state.task(&unknown).is_none() && run.state.parent_of(&unknown).is_none());
}

#[test]
fn a_task_that_has_begun_goes_before_others_that_are_ready() {
    let mut run = Run::of(2, &[("1.1", &[], &[]), ("1.2", &[], &[]), ("1.3", &[], &[])]);

    run.fail("1.2");

    assert_eq!(run.starting(), ["1.2", "1.1"]);
    run.merge("1.2");
    assert_eq!(run.starting(), ["1.1", "1.3"]);
}

#[test]
fn a_worker_is_live_from_its_intent_to_the_end_of_its_turn() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let (worker, other) = (WorkerId::from_bits(7), WorkerId::from_bits(8));
    let is_live = |run: &Run| (run.state.is_live(&id("1.1"), &worker), run.state.is_live(&id("1.1"), &other));
    assert_eq!(is_live(&run), (false, false));

    run.tell(RunEvent::WorkerIntended { task: id("1.1"), step: StepId::work(), attempt: 1, worker: worker.clone() });
    assert_eq!(is_live(&run), (true, false));
    run.tell(RunEvent::WorkerStarted { task: id("1.1"), worker: worker.clone() });
    assert_eq!((is_live(&run), run.state.is_live(&id("9.9"), &worker)), ((true, false), false));
    let (outcome, reason) = (TurnOutcome::Finished, String::new());
    run.tell(RunEvent::TurnEnded { task: id("1.1"), worker: worker.clone(), outcome, reason });

    assert_eq!(is_live(&run), (false, false), "its change is being captured");
}

#[test]
fn what_is_told_again_about_a_worker_changes_nothing_also_once_the_task_has_gone_on() {
    let mut run = Run::of(1, &[("1.1", &[], &[])]);
    let (task, worker) = (id("1.1"), WorkerId::from_bits(7));
    let events = [
        RunEvent::WorkerIntended { task: task.clone(), step: StepId::work(), attempt: 1, worker: worker.clone() },
        RunEvent::WorkerStarted { task: task.clone(), worker: worker.clone() },
        RunEvent::TurnEnded { task, worker, outcome: TurnOutcome::Failed, reason: "no".to_owned() },
    ];
    let repeat = |run: &mut Run, told: &[RunEvent]| {
        let before = run.state.clone();
        told.iter().for_each(|event| run.tell(event.clone()));
        assert_eq!(run.state, before, "{told:?}");
    };
    for number in 1..=events.len() {
        run.tell(events[number - 1].clone());
        repeat(&mut run, &events[number - 1..number]);
    }
    repeat(&mut run, &events);
    run.start("1.1");
    repeat(&mut run, &events);
    assert_eq!(run.view("1.1").refusals.len(), 1);
}
