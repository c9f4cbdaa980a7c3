//! Tests what is reported of a task while its worker is at work, while it waits, and once it is over, and what is
//! reported of the whole run.

use switchboard_protocol::frame::{PermissionOption, WorkerEvent};
use switchboard_protocol::job::Coordination;
use switchboard_protocol::run::{BudgetScope, PauseCause, RunEvent, TaskPauseCause};
use switchboard_protocol::verb::check::CheckGateStatusRequest;
use switchboard_protocol::verb::run::TaskReport;

use super::super::shim::Act;
use super::super::spec::COST;
use super::at_work::{AtWork, LOOKS, plan_of_slices, with_worker};
use super::seat::with_seat;
use super::steering::read;
use super::*;
use crate::work::WORKERS;

async fn report(at: &AtWork<'_>, task: &str) -> TaskReport {
    at.daemon.show_task(&read(json!({ "task": at.unit(task) }))).await.unwrap().task
}

/// Returns the report on a task as soon as the condition holds.
async fn once(at: &AtWork<'_>, task: &str, is_there: impl Fn(&TaskReport) -> bool) -> TaskReport {
    for _ in 0..LOOKS {
        let report = report(at, task).await;
        if is_there(&report) {
            return report;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("it does not come: {:?}", report(at, task).await);
}

#[test]
fn what_a_worker_does_is_reported_while_it_works_and_a_task_that_nobody_has_begun_has_no_attempts() {
    with_worker(Coordination::Managed, async |at| {
        at.does(vec![Act::Say(WorkerEvent::ToolCalled {
            call: "1".to_owned(),
            title: "make test".to_owned(),
            tool_kind: "execute".to_owned(),
            status: "in_progress".to_owned(),
            paths: Vec::new(),
            why: String::new(),
        })]);

        let working = once(&at, "1.1", |report| !report.doing.is_empty()).await;
        let untried = report(&at, "1.3").await;

        assert_eq!((working.state.as_str(), working.doing.as_str(), working.attempts), ("working", "make test", 1));
        assert!(working.heard_at.is_some() && !working.waits_for_you, "{working:?}");
        assert_eq!((untried.state.as_str(), untried.attempts, untried.agent.as_str()), ("ready", 0, "ann"));
        assert!(untried.heard_at.is_none() && untried.micro_usd.is_none(), "{untried:?}");
        at.daemon.stop_run(&read(json!({ "what": at.run })), &people::ann().unwrap().name, None).await.unwrap();
        at.is_over().await;
        let stopped = report(&at, "1.1").await;
        assert_eq!((stopped.state.as_str(), stopped.doing.as_str(), stopped.attempts), ("stopped", "", 1));
        assert!(stopped.heard_at.is_none() && stopped.micro_usd == Some(COST), "{stopped:?}");
        assert_eq!(report(&at, "1.3").await.attempts, 0);
    });
}

#[test]
fn a_task_is_paused_unless_its_worker_still_works_or_it_is_over() {
    with_worker(Coordination::Managed, async |at| {
        let pause = read(json!({ "what": at.run, "tasks": ["1.1", "1.3"] }));
        at.daemon.pause_run(&pause, None).await.unwrap();
        let of = async |task: &str| {
            let report = report(&at, task).await;
            (report.state, report.paused)
        };

        assert_eq!(of("1.1").await, ("working".to_owned(), None));
        assert_eq!(of("1.3").await, ("paused".to_owned(), Some(TaskPauseCause::Requested)));
        at.daemon.stop_run(&read(json!({ "what": at.run })), &people::ann().unwrap().name, None).await.unwrap();
        at.is_over().await;
        assert_eq!(of("1.3").await, ("stopped".to_owned(), None));
    });
}

#[test]
fn a_task_waits_for_a_person_as_long_as_a_question_of_its_worker_is_open() {
    with_worker(Coordination::Managed, async |at| {
        let option =
            |id: &str| PermissionOption { id: id.to_owned(), name: id.to_owned(), kind: "allow_once".to_owned() };
        at.does(vec![Act::Say(WorkerEvent::PermissionAsked {
            ask: "a1".to_owned(),
            title: "run it".to_owned(),
            detail: "make".to_owned(),
            options: vec![option("yes")],
            tool_kind: "execute".to_owned(),
            paths: Vec::new(),
        })]);

        once(&at, "1.1", |report| report.waits_for_you).await;
        assert!(!report(&at, "1.3").await.waits_for_you);
        let asked = switchboard_needs::list(&at.daemon.world.store, false).unwrap().remove(0);
        let yes = ("answered", Some("yes".to_owned()), None);
        switchboard_needs::resolve(&at.daemon.world.store, &asked.id, yes, "ann", Batch::synced()).await.unwrap();

        assert!(!report(&at, "1.1").await.waits_for_you);
    });
}

#[test]
fn each_gate_of_a_task_is_said_to_have_passed_when_it_did_so_for_this_task() {
    with_daemon(async |daemon, request| {
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        let all = daemon.world.store.events_of(&history::subject(&run), 0, 10_000).unwrap();
        let mut times = BTreeMap::new();
        for event in &all {
            if let Some(RunEvent::GateReported { task, gate, .. }) = event.fact() {
                times.insert((task.to_string(), gate), event.ts.to_string());
            }
        }
        let distinct: BTreeSet<_> = times.values().collect();
        assert!(distinct.len() > 2, "{times:?}");

        for view in daemon.views(&run).await.unwrap() {
            let request = CheckGateStatusRequest { task_id: format!("{run}/{}", view.task), working_directory: None };
            let gates = daemon.check_gate_status(&request).await.unwrap().gates;

            assert!(!gates.is_empty(), "{}", view.task);
            for (gate, passed) in gates {
                let at = &times[&(view.task.to_string(), gate)];
                assert!(json!(passed).to_string().contains(at.as_str()), "{passed:?} is not at {at}");
            }
        }
    });
}

#[test]
fn a_run_is_shown_with_its_own_ceiling_that_of_its_plan_and_that_of_the_day() {
    with_stage(SimSpec { max_workers: Some(1), ..SimSpec::kind() }, async |stage, daemon, request| {
        lock(&stage.limits).day = Some(900_000_000);
        let budget = Some(read(json!({ "ceiling": 500_000_000, "at_ceiling": "halt" })));
        let start = async |plan_budget| {
            let request =
                StartRunRequest { plan: plan_of_slices(), budget, plan_budget, merge: false, ..request.clone() };
            let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
            daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
            daemon.get_run(&read(json!({ "run": run }))).await.unwrap()
        };

        let first = start(Some(300_000_000)).await;
        let second = start(Some(700_000_000)).await;
        let third = start(None).await;

        let of = |shown: &switchboard_protocol::verb::run::GetRunReply| {
            shown.ceilings.iter().map(|of| (of.of, of.ceiling, of.spent)).collect::<Vec<_>>()
        };
        let spent = 3 * COST;
        let ceilings = |plan, times| {
            vec![
                (BudgetScope::Run, 500_000_000, spent),
                (BudgetScope::Plan, plan, times * spent),
                (BudgetScope::Day, 900_000_000, times * spent),
            ]
        };
        assert_eq!(
            (of(&first), first.total_micro_usd, first.is_budget_exceeded),
            (ceilings(300_000_000, 1), spent, false)
        );
        assert_eq!(of(&second), ceilings(700_000_000, 2), "with what the first one has cost");
        assert_eq!(of(&third).len(), 2, "{:?}", third.ceilings);
    });
}

#[test]
fn a_led_run_costs_what_the_workers_of_all_its_parts_cost_and_is_paused_with_the_part_at_work() {
    with_seat(async |led| {
        let status = led.up_to_step("work").await;
        let rows = led.daemon.world.store.read(&Query::table(WORKERS)).unwrap();
        let cost: i64 = rows.iter().filter_map(|row| row.get_int("micro_usd")).sum();
        let summary = async || led.daemon.get_run(&read(json!({ "run": led.run }))).await.unwrap().summary;

        let before = summary().await;
        assert!(
            cost > i64::try_from(COST).unwrap() && before.micro_usd == u64::try_from(cost).ok(),
            "{before:?} {cost}"
        );
        assert_eq!(status.left, status.ceiling.map(|ceiling| ceiling - before.micro_usd.unwrap()));
        assert_eq!(before.paused, None);
        led.daemon.pause_run(&read(json!({ "what": led.run })), None).await.unwrap();
        assert_eq!(summary().await.paused, Some(PauseCause::Requested));
        let listed = |limit| led.daemon.runs(limit).unwrap().into_iter().map(|run| run.run).collect::<Vec<_>>();
        assert_eq!((listed(10), listed(0).len()), (vec![led.run.clone()], 0), "parts are listed with their run");
    });
}

#[test]
fn the_part_at_work_of_a_led_run_may_cost_what_the_others_have_left_of_a_new_budget() {
    with_seat(async |led| {
        led.up_to_step("work").await;
        let shown = led.daemon.get_run(&read(json!({ "run": led.run }))).await.unwrap();
        let spent = shown.summary.micro_usd.unwrap();

        // What is spent already leaves the least that is a budget.
        for (ceiling, left) in [(1_000_000, 1_000_000 - spent), (5, 1)] {
            let before = led.events("budget_set").len();
            let request = read(json!({ "run": led.run, "budget": { "ceiling": ceiling } }));
            led.daemon.set_budget(&request, None).await.unwrap();

            let ceiling_of = |event: &RunEvent| {
                let RunEvent::BudgetSet { budget: Some(budget), .. } = event else { panic!("{event:?}") };
                budget.ceiling
            };
            let set: Vec<_> = led.events("budget_set")[before..].iter().map(ceiling_of).collect();
            assert_eq!(set, [left, ceiling], "of the part, and of the whole");
        }
    });
}
