//! Tests verbs on a run that a team leads: which part of it each concerns, and what is said of the whole.

use std::collections::BTreeSet;

use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::job::Coordination;
use switchboard_protocol::modes::PartWork;
use switchboard_protocol::plan::TaskStatus;
use switchboard_protocol::verb::lead::{SeatReply, SeatStatusRequest, StepExecutor};
use switchboard_protocol::verb::run::{GetRunReply, InheritedEnv, MergeRunReply, RunReply, TellWorkerRequest};
use switchboard_store::Idempotency;

use super::at_work::plan_of_slices;
use super::seat::{LOOKS, Led, TASK, start, with_seat, with_seat_of};
use super::steering::{failed, read};
use super::*;
use crate::drive::{PartOf, SeatAsk, Setup};

async fn show(daemon: &Dispatch, run: &RunId) -> GetRunReply {
    daemon.get_run(&read(json!({ "run": run, "sizes": true }))).await.unwrap()
}

/// Answers all questions until no run is at work.
async fn is_over(stage: &Stage, daemon: &Dispatch) {
    for _ in 0..LOOKS {
        modes::answer(stage, daemon).await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        if *daemon.live_runs().borrow() == 0 {
            return;
        }
    }
    panic!("it does not end");
}

/// Merges the run into the user's branch as soon as nobody has reserved its files.
async fn merge(daemon: &Dispatch, run: &RunId, partial: bool) -> Result<MergeRunReply, Failure> {
    let request = read(json!({ "run": run, "partial": partial }));
    for _ in 0..LOOKS {
        match failed(daemon.merge_run(&request, &people::ann().unwrap(), None).await) {
            Err(failure) if failure.code == "lease.conflict" => {}
            answer => return answer,
        }
    }
    panic!("somebody has reserved its files");
}

/// Stops the run, and waits until nothing of it is at work.
async fn stop(led: &Led<'_>, key: &str) -> RunReply {
    let call =
        Idempotency { key: key.to_owned(), caller: "ann".to_owned(), verb: "stop_run", args: Digest::of(b"args") };
    let request = read(json!({ "what": led.run }));
    let stopped = led.daemon.stop_run(&request, &people::ann().unwrap().name, Some(call)).await.unwrap();
    led.daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
    stopped
}

#[test]
fn a_led_run_that_is_over_shows_each_task_of_its_phases_once_and_is_merged_as_a_whole() {
    with_stage(SimSpec { people: 1000, ..SimSpec::kind() }, async |stage, daemon, request| {
        let run = start(daemon, request).await;
        is_over(stage, daemon).await;

        let shown = show(daemon, &run).await;
        let ids: BTreeSet<_> = shown.list.iter().map(|task| task.id.as_str()).collect();
        assert_eq!((shown.summary.state.as_str(), ids.len()), ("succeeded", shown.list.len()), "{shown:?}");
        let whole = shown.list.iter().filter(|task| task.of.is_none()).count() as u64;
        assert!(whole > 0 && shown.parts.len() > 2, "{shown:?}");
        assert_eq!((shown.summary.tasks, shown.summary.merged, shown.summary.blocked), (whole, whole, 0));
        assert!(shown.list.iter().all(|task| task.worktree_bytes.is_none()), "no tree is left: {:?}", shown.list);
        let merged = merge(daemon, &run, false).await.unwrap();
        assert_eq!((merged.target.as_str(), merged.already, merged.notes.is_empty()), (repo::MAIN, false, false));
    });
}

#[test]
fn a_task_that_several_parts_of_a_phase_had_is_shown_once_and_one_that_was_dropped_still_counts() {
    with_stage(SimSpec::kind(), async |stage, daemon, request| {
        let ann = people::ann().unwrap();
        let earlier = StartRunRequest { plan: plan_of_slices(), merge: false, budget: None, ..request.clone() };
        let earlier = daemon.start_run(earlier, &ann, None).await.unwrap().run.unwrap();
        is_over(stage, daemon).await;
        let run = start(daemon, request).await;
        is_over(stage, daemon).await;
        let before = show(daemon, &run).await;
        let (step, what, work) = (1, "phase 1 of plan 0".to_owned(), PartWork::Phase);
        let of = PartOf { run: run.clone(), step, what, work, is_led: false };
        let linked = Batch::synced().event(of.event(&earlier).unwrap());
        daemon.world.store.commit(linked).await.unwrap();

        let shown = show(daemon, &run).await;

        let ids: Vec<_> = shown.list.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["1.2", "1.3", "1.1", "2.1"], "of the phase without these two, the newer part counts");
        let latest = |reply: &GetRunReply| reply.list.iter().find(|task| task.id == TASK).unwrap().commit.clone();
        assert!(latest(&shown).is_some() && latest(&shown) == latest(&before));
        assert_eq!((shown.summary.tasks, shown.summary.merged), (4, 4));
    });
}

#[test]
fn a_blocked_task_of_a_led_run_is_counted_and_retried_in_the_part_that_has_it() {
    with_seat(async |led| {
        led.up_to_step("work").await;
        led.set(TASK, TaskStatus::Blocked, Some("the service is down")).await.unwrap();
        let shown = show(led.daemon, &led.run).await;
        assert_eq!((shown.summary.merged, shown.summary.blocked), (0, 1), "{:?}", shown.list);
        let phase = shown.parts.iter().rev().find(|part| part.what.starts_with("phase 1")).unwrap();

        let retried = led.daemon.retry_task(&read(json!({ "what": led.run })), None).await.unwrap();

        assert_eq!(retried.run, phase.run);
        assert_eq!(led.events("task_retry_requested").len(), 1);
        assert_eq!(show(led.daemon, &led.run).await.summary.blocked, 0);
    });
}

#[test]
fn tasks_of_a_stopped_led_run_are_not_retried_and_it_is_merged_only_in_part() {
    with_seat(async |led| {
        led.up_to_step("work").await;
        let stopped = stop(&led, "a").await;
        let again = stop(&led, "a").await;
        assert_eq!((stopped.state.as_str(), json!(again)), ("stopping", json!(stopped)), "once for a key");
        let over = led.daemon.stop_run(&read(json!({ "what": led.run })), &led.lea.name, None).await;
        refused(failed(over), "request.conflict", "is over");

        for what in [led.run.to_string(), format!("{}/{TASK}", led.run)] {
            let retried = led.daemon.retry_task(&read(json!({ "what": what })), None).await;
            refused(failed(retried), "request.conflict", "let it go on first: switchboard run --resume");
        }
        assert!(led.events("task_retry_requested").is_empty());
        refused(merge(led.daemon, &led.run, false).await, "dispatch.partial", "the team has not ended");
        assert!(merge(led.daemon, &led.run, true).await.is_ok());
    });
}

#[test]
fn a_phase_of_a_led_run_is_named_as_that_of_any_run() {
    with_seat(async |led| {
        led.up_to_step("work").await;
        let pause = async |of: &str| {
            let request = read(json!({ "what": format!("{}/{of}", led.run) }));
            failed(led.daemon.pause_run(&request, None).await)
        };
        refused(pause("phase:9").await, "plan.unknown-scope", "has no tasks of phase 9");
        refused(pause("9.9").await, "dispatch.unknown-task", "nothing with a task 9.9 has begun");

        let paused = pause("phase:1").await.unwrap();

        assert_ne!(paused.run, led.run, "the part that has the tasks");
        assert!(!paused.tasks.is_empty() && led.events("task_paused").len() == paused.tasks.len(), "{paused:?}");
    });
}

#[test]
fn variables_that_are_passed_for_a_task_of_a_led_run_go_to_its_later_parts_as_well() {
    with_seat(async |led| {
        led.up_to_step("work").await;
        let env = vec![("KEY".to_owned(), "new".to_owned())];
        let driver = DriverSpec::Acp { argv: vec!["agent".to_owned()] };
        let given = ["ann", "ben"].map(|name| InheritedEnv {
            agent: AgentName::new(name).unwrap(),
            driver: driver.clone(),
            env: env.clone(),
        });
        let agents = || Setup::read(&led.daemon.world, &led.run).unwrap().template.agents;
        assert!(agents().iter().all(|agent| agent.env.is_empty()), "{:?}", agents());

        let request = read(json!({ "run": format!("{}/{TASK}", led.run), "env": given }));
        led.daemon.resume_run(&request, &people::ann().unwrap().name, None).await.unwrap();

        assert!(!agents().is_empty() && agents().iter().all(|agent| agent.env == env), "{:?}", agents());
    });
}

#[test]
fn the_budget_of_a_led_run_is_not_that_of_a_plan() {
    with_seat(async |led| {
        let set = async |facts: Value| failed(led.daemon.set_budget(&read(facts), None).await);

        let of_plan = json!({ "run": led.run, "plan": 9 });
        refused(set(of_plan).await, "request.bad-args", "have plans of their own");

        let before = led.events("budget_set").len();
        let reply = set(json!({ "run": led.run, "budget": { "ceiling": 2_000_000 } })).await.unwrap();
        assert_eq!((reply.run, reply.state.as_str(), reply.more), (led.run.clone(), "running", 0));
        assert!(led.events("budget_set").len() > before);
    });
}

#[test]
fn the_size_of_a_tree_is_shown_of_tasks_of_a_led_run_too() {
    with_seat(async |led| {
        led.up_to_step("work").await;
        led.begin(Some(TASK), None, StepExecutor::Seat).await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;

        let list = show(led.daemon, &led.run).await.list;

        let task = list.iter().find(|task| task.id == TASK).unwrap();
        assert_eq!(task.worktree_bytes, Some(repo::TREE_BYTES), "{list:?}");
    });
}

#[test]
fn a_task_that_its_leader_does_by_hand_is_told_nothing_while_it_works() {
    with_seat_of(Coordination::Standalone, async |led| {
        led.up_to_step("work").await;
        led.begin(Some(TASK), None, StepExecutor::Seat).await.unwrap();

        let request = TellWorkerRequest { task: format!("{}/{TASK}", led.run), text: "hurry".to_owned() };
        let id = switchboard_protocol::id::MessageId::from_bits(1);
        let told = led.daemon.tell_worker(&request, &people::ann().unwrap(), id, None).await;

        refused(failed(told), "request.conflict", "is done by who leads the run, with its own hands");
    });
}

#[test]
fn a_call_from_the_seat_waits_for_a_run_that_is_about_to_start() {
    with_seat(async |led| {
        let ask = async || {
            let ask = SeatAsk::Status(SeatStatusRequest { run: led.run.to_string(), wait_ms: None });
            failed(led.daemon.ask_seat::<SeatReply>(ask, led.lea.clone(), None).await)
        };
        stop(&led, "a").await;
        refused(ask().await, "seat.not-open", "is over, or stopped");
        let starting = led.daemon.world.starting.lock().await;
        let start = async {
            // Longer than the call takes to find that nobody drives the run yet.
            tokio::time::sleep(Duration::from_secs(10)).await;
            led.daemon.start_driver(&led.run, Some(&led.lea.name)).await.unwrap();
            drop(starting);
        };

        let (answer, ()) = tokio::join!(ask(), start);

        assert_eq!(answer.unwrap().run, led.run);
    });
}

#[test]
fn a_run_that_nobody_leads_has_no_seat() {
    with_daemon(async |daemon, request| {
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        let lea = architect::agent("lea").unwrap();

        let ask = SeatAsk::Status(SeatStatusRequest { run: run.to_string(), wait_ms: None });
        let answer = failed(daemon.ask_seat::<SeatReply>(ask, lea, None).await);

        refused(answer, "seat.not-open", "has no architect's seat: no team carries it out");
    });
}
