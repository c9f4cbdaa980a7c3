//! Tests by which names a call finds a run, a task, a phase or a slice, and what it says of a name that is none.

use switchboard_protocol::job::Coordination;
use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::verb::run::SetBudgetRequest;

use super::at_work::{LOOKS, plan_of_slices, with_worker};
use super::steering::{failed, read};
use super::*;

#[test]
fn a_task_is_found_by_its_own_name_in_the_newest_run_and_a_run_by_the_beginning_of_its_id() {
    with_worker(Coordination::Managed, async |at| {
        let show = async |task: &str| failed(at.daemon.show_task(&read(json!({ "task": task }))).await);
        let digits = at.run.as_str().trim_start_matches("run_");

        for named in ["1.2".to_owned(), at.unit("1.2"), format!("{}/1.2", &digits[..8])] {
            let shown = show(&named).await.unwrap();
            assert_eq!((shown.run, shown.task.id.as_str()), (at.run.clone(), "1.2"), "{named}");
        }
        for (named, code, says) in [
            ("run_none/1.1", "dispatch.unknown-run", "there is no run run_none"),
            ("none", "dispatch.unknown-run", "there is no run none"),
            ("", "dispatch.unknown-run", "there is no run "),
            ("7.7", "dispatch.unknown-task", "has no task 7.7"),
            ("1.11", "dispatch.unknown-task", "did you mean 1.1"),
            (&at.unit("../x"), "dispatch.unknown-task", "../x: "),
        ] {
            refused(show(named).await, code, says);
        }
    });
}

#[test]
fn a_name_is_refused_if_there_is_no_run_or_if_several_have_it() {
    with_daemon(async |daemon, request| {
        let show = async |run: Option<&str>| failed(daemon.get_run(&read(json!({ "run": run }))).await);
        refused(show(None).await, "dispatch.unknown-run", "there is no run yet");
        refused(show(None).await, "dispatch.unknown-run", "`switchboard status` lists runs");

        let mut last = None;
        for _ in 0..2 {
            let request = StartRunRequest { merge: false, ..request.clone() };
            last = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run;
            daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        }

        refused(show(Some("run_")).await, "dispatch.unknown-run", "run_ fits several runs");
        assert_eq!(Some(show(None).await.unwrap().summary.run), last);
    });
}

#[test]
fn a_phase_or_a_slice_stands_for_its_tasks_that_are_still_open() {
    with_worker(Coordination::Managed, async |at| {
        let ann = people::ann().unwrap().name;
        let pause =
            async |group: &str| failed(at.daemon.pause_run(&read(json!({ "what": at.unit(group) })), None).await);
        refused(pause("phase:9").await, "plan.unknown-scope", "has no tasks of phase 9");
        refused(pause("slice:none").await, "plan.unknown-scope", "has no tasks of slice none");
        let stop = read(json!({ "what": at.unit("slice:api"), "grace_ms": 0 }));
        at.daemon.stop_run(&stop, &ann, None).await.unwrap();
        let is_stopped = |views: &[switchboard_protocol::run::TaskView]| {
            views.iter().filter(|view| view.state.is_settled()).count() == 2
        };
        for _ in 0..LOOKS {
            if is_stopped(&at.daemon.views(&at.run).await.unwrap()) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }

        let reply = pause("phase:1").await.unwrap();

        let named: Vec<_> = reply.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!((named, reply.state.as_str()), (vec!["1.3"], "running"), "the others are settled");
        assert_eq!(at.events("task_paused").len(), 1);
        refused(pause("slice:api").await, "request.conflict", "all named tasks of");
    });
}

#[test]
fn a_call_without_a_run_concerns_the_named_tasks_of_the_newest() {
    with_worker(Coordination::Managed, async |at| {
        let ann = people::ann().unwrap().name;
        at.daemon.pause_run(&read(json!({ "what": at.unit("1.3") })), None).await.unwrap();

        let resume = read(json!({ "tasks": ["1.3"] }));
        let resumed = at.daemon.resume_run(&resume, &ann, None).await.unwrap();

        assert_eq!((resumed.run, at.events("task_resumed").len()), (at.run.clone(), 1));
        let rebase = read(json!({ "tasks": ["1.1"] }));
        assert_eq!(at.daemon.rebase_run(&rebase, None).await.unwrap().run, at.run);
        assert_eq!(at.events("task_rebase_requested").len(), 1);
        let budget: SetBudgetRequest = read(json!({ "task": { "task": "1.3", "ceiling": 5 } }));
        let set = at.daemon.set_budget(&budget, None).await.unwrap();
        assert_eq!((set.run, set.tasks.len(), set.more), (at.run.clone(), 0, 0));
    });
}

#[test]
fn runs_of_one_plan_side_by_side_are_named_apart() {
    // A task of another run can't be added to a call about the first.
    with_stage(SimSpec { work_ms: 600_000, ..SimSpec::kind() }, async |_, daemon, request| {
        let ann = people::ann().unwrap();
        let start = async |slice: &str| {
            let scope = Some(UnitId::Slice { phase: 1, name: slice.to_owned() });
            let request = StartRunRequest { plan: plan_of_slices(), scope, merge: false, ..request.clone() };
            daemon.start_run(request, &ann, None).await.unwrap().run.unwrap()
        };
        let (first, second) = (start("api").await, start("web").await);

        let stop = read(json!({ "what": format!("{first}/1.1"), "tasks": [format!("{second}/1.3")] }));
        refused(failed(daemon.stop_run(&stop, &ann.name, None).await), "request.bad-args", "is no task of");
        let stop = read(json!({ "what": first, "tasks": [format!("{first}/slice:api")] }));
        let stopped = daemon.stop_run(&stop, &ann.name, None).await.unwrap();

        assert_eq!(stopped.tasks.iter().filter(|task| !task.waits).count(), 2, "{stopped:?}");
    });
}
