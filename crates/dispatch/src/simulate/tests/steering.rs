//! Tests control of live runs: calls and messages of people and, as far as they may, of the runs' own workers.

use switchboard_protocol::caller::{Caller, CallerKind};
use switchboard_protocol::coordination::Control;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::job::{Coordination, Mode};
use switchboard_protocol::message::MAX_PAYLOAD_BYTES;
use switchboard_protocol::run::{AtCeiling, Budget, RunEvent, TaskView};
use switchboard_protocol::verb::auto::{Next, NextUnitRequest};
use switchboard_protocol::verb::run::{
    MAX_GRACE_MS, MAX_OUTPUT_BYTES, OutputPart, PauseRunRequest, ReadOutputRequest, RetryTaskRequest, StopRunRequest,
};

use super::at_work::{LOOKS, plan_of_slices, slow, with_worker};
use super::*;
use crate::verb::Continuation;
use crate::verb::tell_worker::Telling;
use crate::worker_messages;

fn status(unit: Option<String>) -> Control {
    Control::Status { unit }
}

#[test]
fn a_person_pauses_and_resumes_a_run_or_a_task_of_it_by_a_message_once_however_often_it_comes() {
    with_worker(Coordination::Managed, async |at| {
        let ann = people::ann().unwrap();
        let pause = |unit: String| Control::Pause { unit: Some(unit) };

        let first = at.control(1, pause(at.run.to_string()), &ann).await.unwrap();
        let again = at.control(1, pause(at.run.to_string()), &ann).await.unwrap();
        assert_eq!((first.state.as_str(), json!(first)), ("running", json!(again)));
        assert_eq!(first.units.iter().map(|unit| unit.unit.as_str()).collect::<Vec<_>>(), ["1.1"], "who is at work");
        at.control(2, Control::Resume { unit: Some(at.run.to_string()) }, &ann).await.unwrap();
        at.control(3, pause(at.unit("1.3")), &ann).await.unwrap();
        let stands = at.control(4, status(Some(at.unit("1.3"))), &ann).await.unwrap();
        let [unit] = stands.units.as_slice() else { panic!("{stands:?}") };
        assert_eq!((unit.unit.as_str(), unit.pause.as_deref(), unit.attempts), ("1.3", Some("paused"), 0));
        at.control(5, Control::Resume { unit: Some(at.unit("1.3")) }, &ann).await.unwrap();

        let count = |kind| at.events(kind).len();
        assert_eq!(["run_paused", "run_resumed", "task_paused", "task_resumed"].map(count), [1, 1, 1, 1]);
        let own = at.control(6, status(Some(at.unit("1.1"))), &ann).await.unwrap().units.remove(0);
        assert_eq!((own.state.as_str(), own.worker.as_ref(), own.attempts), ("working", Some(&at.worker), 1));
    });
}

#[test]
fn a_message_that_names_no_unit_or_not_one_that_it_can_mean_is_refused() {
    with_worker(Coordination::Managed, async |at| {
        let ann = people::ann().unwrap();
        let block =
            |slice: Option<&str>| Control::BlockSlice { slice: slice.map(str::to_owned), reason: "r".to_owned() };
        let complete = |task: Option<String>| Control::CompleteTask { task, summary: String::new() };

        refused(at.control(1, status(None), &ann).await, "request.bad-args", "`unit` is missing");
        refused(at.control(2, complete(None), &ann).await, "request.bad-args", "`task` is missing");
        refused(at.control(3, block(None), &ann).await, "request.bad-args", "`slice` is missing");
        refused(at.control(4, complete(Some(at.run.to_string())), &ann).await, "request.bad-args", "name a task of it");
        refused(at.control(5, status(Some(at.unit("7.7"))), &ann).await, "dispatch.unknown-task", "7.7");
        refused(at.control(6, block(Some("app")), &ann).await, "plan.unknown-scope", "did you mean api?");
        refused(at.control(7, block(Some("database")), &ann).await, "plan.unknown-scope", "its slices are api, web");
        let stop = Control::Stop { unit: Some(at.unit("1.1")), grace_ms: Some(MAX_GRACE_MS + 1) };
        refused(at.control(8, stop, &ann).await, "request.bad-args", "grace_ms");
        let budget = Control::Budget { unit: Some(at.unit("1.1")), ceiling: Some(0) };
        refused(at.control(9, budget, &ann).await, "dispatch.budget", "");
        refused(at.control(10, complete(Some(at.unit("1.3"))), &ann).await, "request.conflict", "is not at work");
    });
}

#[test]
fn a_message_sets_what_a_task_or_a_run_may_cost_and_leaves_the_rest_of_its_budget() {
    with_worker(Coordination::Managed, async |at| {
        let ann = people::ann().unwrap();
        let budget = |unit: String, ceiling| Control::Budget { unit: Some(unit), ceiling };
        let set = || at.events("budget_set").pop();

        at.control(1, budget(at.run.to_string(), Some(900)), &ann).await.unwrap();
        let new = Budget { ceiling: 900, task: None, reserve: None, at_ceiling: AtCeiling::default() };
        assert!(matches!(set(), Some(RunEvent::BudgetSet { budget: Some(budget), .. }) if budget == new));
        at.control(2, budget(at.unit("1.1"), Some(50)), &ann).await.unwrap();
        let of_task = at.events("task_budget_set");
        assert!(matches!(of_task.as_slice(), [RunEvent::TaskBudgetSet { ceiling: Some(50), .. }]), "{of_task:?}");
        at.control(3, budget(at.run.to_string(), None), &ann).await.unwrap();
        assert!(matches!(set(), Some(RunEvent::BudgetSet { budget: None, .. })));
    });
}

#[test]
fn a_call_that_a_run_at_work_can_not_carry_out_says_why_and_records_nothing() {
    with_worker(Coordination::Managed, async |at| {
        let (daemon, ann, run) = (at.daemon, people::ann().unwrap(), at.run.to_string());
        let before = daemon.world.store.head().lsn;
        let budget = async |facts: Value| failed(daemon.set_budget(&read(facts), None).await);
        for (facts, why) in [
            (json!({ "run": run, "budget": { "ceiling": 0 } }), "`ceiling` is 0: no worker could start"),
            (
                json!({ "run": run, "budget": { "ceiling": 5, "reserve": 6 } }),
                "`reserve` (6) is more than `ceiling` (5)",
            ),
            (json!({ "run": run, "budget": { "ceiling": 5, "task": 0 } }), "`task` is 0: no task could have a worker"),
            (json!({ "run": run, "budget": { "ceiling": 5, "task": 6 } }), "`task` is more than `ceiling`"),
            (json!({ "run": run, "plan": 0 }), "the plan's ceiling is 0"),
            (json!({ "run": run, "task": { "task": "1.1", "ceiling": 0 } }), "the task could have no worker"),
        ] {
            refused(budget(facts).await, "dispatch.budget", why);
        }
        let both = json!({ "run": run, "plan": 9, "task": { "task": "1.1", "ceiling": 1 } });
        refused(budget(both).await, "request.bad-args", "the ceiling of a task, or the budget of a run or a plan");
        let unknown = json!({ "run": run, "task": { "task": "7.7", "ceiling": 1 } });
        refused(budget(unknown).await, "dispatch.unknown-task", "7.7");

        let show = async |task: &str| failed(daemon.show_task(&read(json!({ "task": task }))).await);
        refused(show(&run).await, "request.bad-args", "name a task: RUN/TASK");
        refused(show(&at.unit("7.7")).await, "dispatch.unknown-task", "7.7");
        let retry = async |facts: Value| failed(daemon.retry_task(&read(facts), None).await);
        refused(retry(json!({ "what": run })).await, "request.conflict", "has no blocked or stopped task");
        let turn = json!({ "number": 2, "kind": "retry", "why": "w" });
        refused(retry(json!({ "what": run, "turn": turn })).await, "request.bad-args", "no loop has started");
        refused(retry(json!({ "what": at.unit("1.3") })).await, "request.conflict", "neither blocked nor stopped");
        let rebase = async |facts: Value| failed(daemon.rebase_run(&read(facts), None).await);
        refused(rebase(json!({ "what": at.unit("1.3") })).await, "request.conflict", "no tree that a rebase");
        let check = async |facts: Value| failed(daemon.evidence_check(&read(facts)).await);
        for pattern in ["x".repeat(101), "*".repeat(6)] {
            let facts = json!({ "run": run, "task_id": pattern });
            refused(check(facts).await, "request.bad-args", "the pattern of tasks is too long");
        }
        let widest = json!({ "run": run, "task_id": format!("{}{}", "*".repeat(5), "x".repeat(95)) });
        assert!(check(widest).await.is_ok());
        let merge = failed(daemon.merge_run(&read(json!({ "run": run })), &ann, None).await);
        refused(merge, "dispatch.not-finished", "is still at work");
        let undo = failed(daemon.undo_merge(&read(json!({ "run": run })), &ann.name, None).await);
        refused(undo, "dispatch.cannot-undo", "no branch was moved");

        assert_eq!(daemon.world.store.head().lsn, before);
    });
}

pub(super) fn read<T: serde::de::DeserializeOwned>(facts: Value) -> T {
    serde_json::from_value(facts).unwrap()
}

pub(super) fn failed<T>(done: Result<T, crate::Error>) -> Result<T, Failure> {
    done.map_err(|error| error.to_failure())
}

#[test]
fn a_slice_is_blocked_as_far_as_it_is_open_and_a_task_is_cancelled_without_grace() {
    with_worker(Coordination::Managed, async |at| {
        let ann = people::ann().unwrap();
        let block = || Control::BlockSlice { slice: Some(format!("{}/api", at.run)), reason: "r".to_owned() };

        at.control(1, block(), &ann).await.unwrap();
        assert_eq!(at.events("task_paused").len(), 2);
        at.control(2, Control::Cancel { unit: Some(at.unit("1.1")) }, &ann).await.unwrap();
        let stops = at.events("task_stop_requested");
        assert!(matches!(stops.as_slice(), [RunEvent::TaskStopRequested { grace_ms: Some(0), .. }]), "{stops:?}");
        at.control(3, Control::Stop { unit: Some(at.run.to_string()), grace_ms: None }, &ann).await.unwrap();
        at.is_over().await;
        refused(at.control(4, block(), &ann).await, "request.conflict", "nothing of the slice is open");
        refused(
            at.control(5, Control::Pause { unit: Some(at.run.to_string()) }, &ann).await,
            "request.conflict",
            "is over",
        );
    });
}

#[test]
fn a_call_stops_the_tasks_that_it_names_of_one_run() {
    with_worker(Coordination::Managed, async |at| {
        let ann = people::ann().unwrap().name;
        let stop = async |what: String, tasks: &[&str]| {
            let tasks = tasks.iter().map(|task| (*task).to_owned()).collect();
            let done = at.daemon.stop_run(&StopRunRequest { what, tasks, grace_ms: None }, &ann, None).await;
            done.map_err(|error| error.to_failure())
        };
        let run = || at.run.to_string();

        refused(stop(run(), &["7.7"]).await, "dispatch.unknown-task", "7.7");
        refused(stop(run(), &["1.1", "run_none/1.1"]).await, "dispatch.unknown-run", "run_none");
        assert!(at.events("task_stop_requested").is_empty());
        let reply = stop(run(), &["1.3", "1.2", "1.3"]).await.unwrap();
        assert_eq!((reply.state.as_str(), at.events("task_stop_requested").len()), ("running", 2), "{reply:?}");
        assert!(at.events("run_stop_requested").is_empty());
    });
}

#[test]
fn a_worker_speaks_of_its_own_task_and_slice_only() {
    with_worker(Coordination::Managed, async |at| {
        let (own, other) = (at.caller(), RunId::from_bits(99));
        let block =
            |slice: Option<&str>| Control::BlockSlice { slice: slice.map(str::to_owned), reason: "r".to_owned() };

        for unit in [None, Some("1.1".to_owned()), Some(at.unit("1.1"))] {
            let stands = at.control(1, status(unit), &own).await.unwrap();
            assert_eq!(stands.units[0].unit, "1.1");
        }
        for unit in ["1.2".to_owned(), at.unit("1.2"), format!("{other}/1.1"), "/1.1".to_owned()] {
            refused(at.control(2, status(Some(unit)), &own).await, "policy.denied", "is not the task of this worker");
        }
        refused(at.control(3, Control::Pause { unit: None }, &own).await, "policy.denied", "only a person decides");
        refused(at.control(4, block(Some("web")), &own).await, "policy.denied", "is not in the slice web");
        at.control(5, block(Some("api")), &own).await.unwrap();
        let paused = at.events("task_paused");
        assert!(
            matches!(paused.as_slice(), [RunEvent::TaskPaused { task, .. }] if task.as_str() == "1.1"),
            "{paused:?}"
        );
        let stranger = Caller {
            kind: CallerKind::Worker {
                run: at.run.clone(),
                worker: WorkerId::from_bits(7),
                task: "1.1".to_owned(),
                isolation: Isolation::Full,
            },
            ..own.clone()
        };
        let complete = || Control::CompleteTask { task: None, summary: String::new() };
        refused(at.control(6, complete(), &stranger).await, "request.conflict", "is not at work with this worker");
        at.control(7, complete(), &own).await.unwrap();
    });
}

#[test]
fn the_worker_of_a_managed_run_has_an_address_and_mail() {
    with_worker(Coordination::Managed, async |at| {
        let address = async |unit: &str| at.daemon.address(&format!("worker:{unit}")).await;

        let name = address(&at.unit("1.1")).await.unwrap();
        assert_eq!(at.daemon.address("ben").await.unwrap(), "ben");
        assert_eq!(at.daemon.workers(Some(at.run.as_str())).unwrap(), [name.as_str()]);
        assert_eq!(at.daemon.workers(None).unwrap(), [name.as_str()]);
        assert_eq!(at.daemon.unit_named(&at.unit("1.1")).unwrap(), at.unit("1.1"));
        refused(at.daemon.unit_named(at.run.as_str()), "request.bad-args", "is a run");
        refused(address(at.run.as_str()).await, "bus.unknown-recipient", "names a run");
        refused(address(&at.unit("1.3")).await, "bus.unknown-recipient", "has no worker yet");
        assert!(matches!(at.tell(&at.unit("1.1"), "hurry", 1).await, Ok(Telling::Mail { .. })));

        let stop = |grace_ms| StopRunRequest { what: at.run.to_string(), tasks: Vec::new(), grace_ms };
        let (too_long, ann) = (stop(Some(MAX_GRACE_MS + 1)), people::ann().unwrap().name);
        let long = at.daemon.stop_run(&too_long, &ann, None).await;
        refused(long.map_err(|error| error.to_failure()), "request.bad-args", "grace_ms");
        assert_eq!(at.daemon.stop_run(&stop(Some(MAX_GRACE_MS)), &ann, None).await.unwrap().state, "stopping");
        at.is_over().await;
        refused(address(&at.unit("1.3")).await, "bus.recipient-closed", "is over");
        refused(at.daemon.workers(None), "bus.no-responder", "");
    });
}

#[test]
fn the_worker_of_a_standalone_run_is_told_up_to_a_bound_and_has_no_address() {
    with_worker(Coordination::Standalone, async |at| {
        let (one, ann) = (at.unit("1.1"), people::ann().unwrap());

        refused(at.tell(&one, " \n", 1).await, "request.bad-args", "`text` is empty");
        refused(at.tell(&one, &"x".repeat(MAX_PAYLOAD_BYTES + 1), 1).await, "bus.payload-too-large", "");
        refused(at.tell(at.run.as_str(), "x", 1).await, "request.bad-args", "name a task");
        refused(at.tell(&at.unit("1.3"), "x", 1).await, "bus.unknown-recipient", "has no worker now");
        for number in 1..=worker_messages::MAX_UNSEEN {
            let told = at.tell(&one, &"x".repeat(MAX_PAYLOAD_BYTES.min(10)), number).await;
            assert!(matches!(told, Ok(Telling::Told(_))), "{told:?}");
        }
        refused(at.tell(&one, "x", 1_000).await, "bus.inbox-full", "64 messages unseen");
        refused(at.daemon.address(&format!("worker:{one}")).await, "bus.unknown-recipient", "is standalone");
        refused(at.daemon.workers(None), "bus.no-responder", "");
        refused(at.control(1, status(Some(one.clone())), &ann).await, "bus.unknown-recipient", "is standalone");

        let stop = StopRunRequest { what: at.run.to_string(), tasks: Vec::new(), grace_ms: None };
        at.daemon.stop_run(&stop, &ann.name, None).await.unwrap();
        at.is_over().await;
        refused(at.tell(&one, "x", 1_001).await, "bus.recipient-closed", "is over");
    });
}

#[test]
fn an_output_is_read_of_a_worker_that_there_was_within_bounds() {
    with_worker(Coordination::Managed, async |at| {
        let none =
            || ReadOutputRequest { task: None, attempt: None, worker: None, from: None, part: None, bytes: None };
        let of = |task: &str| ReadOutputRequest { task: Some(at.unit(task)), ..none() };
        let read = async |request| at.daemon.read_output(&request).await.map_err(|error| error.to_failure());
        let by_id = || ReadOutputRequest { worker: Some(at.worker.clone()), ..none() };

        for bytes in [0, 3, MAX_OUTPUT_BYTES + 1] {
            let request = ReadOutputRequest { bytes: Some(bytes), ..of("1.1") };
            refused(read(request).await, "request.bad-args", "bytes are not between");
        }
        let both = ReadOutputRequest { from: Some(0), part: Some(OutputPart::Head), ..of("1.1") };
        refused(read(both).await, "request.bad-args", "can't be asked for together");
        refused(read(none()).await, "request.bad-args", "name a task or a worker");
        refused(
            read(ReadOutputRequest { task: Some(at.unit("1.1")), ..by_id() }).await,
            "request.bad-args",
            "by its id alone",
        );
        refused(read(ReadOutputRequest { attempt: Some(1), ..by_id() }).await, "request.bad-args", "by its id alone");
        refused(
            read(ReadOutputRequest { task: Some(at.run.to_string()), ..none() }).await,
            "request.bad-args",
            "RUN/TASK",
        );
        refused(read(of("1.3")).await, "dispatch.no-worker", "task 1.3 of");
        refused(read(ReadOutputRequest { attempt: Some(2), ..of("1.1") }).await, "dispatch.no-worker", "attempt 2 of");
        let stranger = ReadOutputRequest { worker: Some(WorkerId::from_bits(7)), ..none() };
        refused(read(stranger).await, "dispatch.no-worker", "there is no worker");

        for request in [of("1.1"), by_id(), ReadOutputRequest { attempt: Some(1), bytes: Some(4), ..of("1.1") }] {
            let output = read(request).await.unwrap();
            let known = (output.worker, output.attempt, output.total_bytes, output.is_complete);
            assert_eq!(known, (at.worker.clone(), 1, 0, false), "it is at work, and simulated agents print nothing");
        }
        let stop = StopRunRequest { what: at.run.to_string(), tasks: Vec::new(), grace_ms: None };
        at.daemon.stop_run(&stop, &people::ann().unwrap().name, None).await.unwrap();
        at.is_over().await;
        assert!(read(of("1.1")).await.unwrap().is_complete);
    });
}

#[test]
fn a_job_is_waited_for_shown_and_gone_on_with_once_it_is_over() {
    with_worker(Coordination::Managed, async |at| {
        let go_on = async |named: &str, follow_up| {
            at.daemon.go_on(named, follow_up, None).await.map_err(|error| error.to_failure())
        };
        let minute = Duration::from_secs(60);

        assert!(!at.daemon.wait_for_run(&at.run, Duration::from_millis(1)).await.unwrap());
        let shown = at.daemon.subagent(&at.run).await.unwrap();
        assert_eq!((shown.state.as_str(), shown.mode, shown.results.len()), ("running", Mode::Parallel, 3));
        assert!(shown.next.contains("with wait_ms"), "{shown:?}");
        assert_eq!(shown.results[0].worker.as_ref(), Some(&at.worker));
        refused(go_on(at.run.as_str(), None).await, "request.conflict", "is at work");

        let stop = StopRunRequest { what: at.run.to_string(), tasks: Vec::new(), grace_ms: None };
        at.daemon.stop_run(&stop, &people::ann().unwrap().name, None).await.unwrap();
        assert!(at.daemon.wait_for_run(&at.run, 10 * minute).await.unwrap());
        assert_eq!(at.daemon.subagent(&at.run).await.unwrap().next, "");
        refused(go_on(at.run.as_str(), Some("more")).await, "request.bad-args", "has 3 tasks");
        refused(go_on(&at.unit("7.7"), Some("more")).await, "dispatch.unknown-task", "7.7");
        let Continuation::Fresh { task, agent } = go_on(&at.unit("1.1"), Some("more")).await.unwrap() else { panic!() };
        assert!(task.contains("do 1.1") && task.contains("more") && agent == "ann", "{task} {agent}");
        let same = go_on(at.run.as_str(), None).await.unwrap();
        assert!(matches!(same, Continuation::Same(run) if run == at.run));
    });
}

#[test]
fn a_loop_goes_on_with_what_the_last_run_of_the_plan_has_not_merged() {
    with_stage(SimSpec { max_workers: Some(3), ..SimSpec::kind() }, async |_, daemon, request| {
        let ann = people::ann().unwrap();
        let plan = plan_of_slices();
        let next = async || {
            let request = NextUnitRequest {
                plan: plan.clone(),
                source: "plan.json".to_owned(),
                scope: None,
                base: None,
                since: None,
            };
            daemon.next_unit(&request, &ann).await.unwrap()
        };
        let request = StartRunRequest { plan: plan.clone(), merge: false, ..request };
        let before = next().await;
        assert!(matches!(before.next, Next::Start(_)), "{before:?}");
        assert_eq!((before.done.len(), before.follows), (0, None));

        let run = daemon.start_run(request.clone(), &ann, None).await.unwrap().run.unwrap();
        let pause = PauseRunRequest { what: format!("{run}/1.2"), tasks: Vec::new() };
        daemon.pause_run(&pause, None).await.unwrap();
        let is_merged = |view: &TaskView| matches!(view.state, TaskState::Merged { .. });
        for _ in 0..LOOKS {
            if daemon.views(&run).await.unwrap().iter().filter(|view| is_merged(view)).count() == 2 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let stop = StopRunRequest { what: run.to_string(), tasks: Vec::new(), grace_ms: None };
        daemon.stop_run(&stop, &ann.name, None).await.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();

        let after = next().await;
        let done: Vec<_> = after.done.iter().map(TaskId::as_str).collect();
        assert_eq!((done, after.follows.as_ref()), (vec!["1.1", "1.3"], Some(&run)), "{:?}", after.next);
        // The run does not count for another text of the plan in which this task differs.
        let other = plan.replace("do 1.1", "do something else");
        let request = NextUnitRequest { plan: other, source: String::new(), scope: None, base: None, since: None };
        let other = daemon.next_unit(&request, &ann).await.unwrap();
        assert!(!other.done.iter().any(|task| task.as_str() == "1.1"), "{:?}", other.done);
    });
}

#[test]
fn a_task_that_another_run_of_its_plan_works_on_is_not_retried() {
    with_stage(slow(), async |_, daemon, request| {
        let ann = people::ann().unwrap();
        let request = StartRunRequest { plan: plan_of_slices(), merge: false, ..request };
        let start = async || daemon.start_run(request.clone(), &ann, None).await.unwrap().run.unwrap();
        let first = start().await;
        let stop = StopRunRequest { what: first.to_string(), tasks: Vec::new(), grace_ms: None };
        daemon.stop_run(&stop, &ann.name, None).await.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        let second = start().await;

        let retry = RetryTaskRequest { what: format!("{first}/1.1"), tasks: Vec::new(), turn: None, env: Vec::new() };
        let answer = daemon.retry_task(&retry, None).await.map_err(|error| error.to_failure());

        assert_ne!(first, second);
        refused(answer, "dispatch.already-running", second.as_str());
    });
}

#[test]
fn a_resume_of_a_task_tells_whether_its_run_stays_paused() {
    with_worker(Coordination::Managed, async |at| {
        let ann = people::ann().unwrap().name;
        let resumed = async |what: String| {
            let resume = ResumeRunRequest { run: Some(what), ..ResumeRunRequest::default() };
            at.daemon.resume_run(&resume, &ann, None).await.unwrap().state
        };
        let paused = async |what: String| at.daemon.pause_run(&read(json!({ "what": what })), None).await.unwrap();

        paused(at.unit("1.3")).await;
        assert_eq!(resumed(at.unit("1.3")).await, "running");
        paused(at.run.to_string()).await;
        paused(at.unit("1.3")).await;
        assert_eq!(resumed(at.unit("1.3")).await, "paused");
        assert_eq!(resumed(at.run.to_string()).await, "running");
    });
}

#[test]
fn a_resume_of_a_run_that_is_over_tells_its_end_and_wakes_nothing() {
    with_daemon(async |daemon, request| {
        let ann = people::ann().unwrap();
        let run = daemon.start_run(request, &ann, None).await.unwrap().run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();

        let resume = ResumeRunRequest { run: Some(run.to_string()), ..ResumeRunRequest::default() };
        let state = daemon.resume_run(&resume, &ann.name, None).await.unwrap().state;

        assert_eq!(state, "succeeded");
        assert!(daemon.engine(&run).is_none());
    });
}

#[test]
fn a_task_has_a_state_of_the_swarm_if_a_team_carries_it_out() {
    for teams in [0, 1000] {
        with_stage(SimSpec { teams, ..SimSpec::kind() }, async |_, daemon, request| {
            let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
            daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();

            let request = GetRunRequest { run: Some(run.to_string()), ..GetRunRequest::default() };
            let tasks = daemon.get_run(&request).await.unwrap().list;

            assert!(
                !tasks.is_empty() && tasks.iter().all(|task| task.swarm_state.is_empty() == (teams == 0)),
                "{tasks:?}"
            );
        });
    }
}
