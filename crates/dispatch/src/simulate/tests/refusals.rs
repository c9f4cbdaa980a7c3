//! Tests what calls say that can't be carried out in the present state of a run.

use std::sync::atomic::AtomicUsize;

use switchboard_protocol::action::{StepState, WorkerAction};
use switchboard_protocol::coordination::Control;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::job::Coordination;
use switchboard_protocol::verb::lead::SeatReply;
use switchboard_protocol::verb::run::AgentChoice;
use switchboard_protocol::verb::step::{Fence, ReportStepRequest};
use tokio::sync::mpsc;

use super::at_work::{LOOKS, plan_of_slices, with_worker};
use super::merges::world;
use super::spec::MISSING;
use super::steering::{failed, read};
use super::*;
use crate::drive::SeatAsk;
use crate::handle::Handle;

#[test]
fn a_worker_reports_on_its_own_attempt_and_with_an_answer_only_if_its_step_wants_one() {
    with_worker(Coordination::Managed, async |at| {
        let report = async |worker: &WorkerId, answer: Option<Value>, attempt: Option<u32>| {
            let action = WorkerAction::ReportStep { state: StepState::Working, note: "half".to_owned(), answer };
            failed(at.daemon.act(worker, (action, Fence { task: None, attempt }), None).await)
        };

        refused(report(&at.worker, Some(json!({})), None).await, "request.bad-args", "your step wants no answer");
        refused(report(&at.worker, None, Some(9)).await, "dispatch.stale-worker", at.worker.as_str());
        refused(report(&WorkerId::from_bits(7), None, None).await, "dispatch.stale-worker", "does not work on that");
        assert_eq!(report(&at.worker, None, Some(1)).await.unwrap().task, "1.1");
    });
}

#[test]
fn a_run_that_is_over_has_nothing_to_stop_to_rebase_or_to_block() {
    with_daemon(async |daemon, request| {
        let ann = people::ann().unwrap();
        let run = daemon.start_run(request, &ann, None).await.unwrap().run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();

        let stop = daemon.stop_run(&read(json!({ "what": format!("{run}/1.1") })), &ann.name, None).await;
        refused(failed(stop), "request.conflict", "is merged: there is nothing to stop");
        let rebase = daemon.rebase_run(&read(json!({ "what": run })), None).await;
        refused(failed(rebase), "request.conflict", "makes a change now");
        let pause = daemon.pause_run(&read(json!({ "what": run })), None).await;
        refused(failed(pause), "request.conflict", "is over");
        let block = Control::BlockSlice { slice: Some(format!("{run}/api")), reason: "r".to_owned() };
        let block = daemon.control(&block, &MessageId::from_bits(1), &ann, None).await;
        refused(failed(block), "plan.unknown-scope", "no task says `x-switchboard.slice`");
        let unnamed = ReportStepRequest {
            state: StepState::Done,
            note: "done".to_owned(),
            answer: None,
            task: None,
            attempt: None,
            run: None,
            fence: None,
        };
        let lea = architect::agent("lea").unwrap();
        let unnamed = daemon.ask_seat::<SeatReply>(SeatAsk::Report(unnamed), lea, None).await;
        refused(failed(unnamed), "request.bad-args", "name the run");
    });
}

#[test]
fn a_run_of_which_tasks_are_missing_is_merged_only_in_part() {
    with_worker(Coordination::Managed, async |at| {
        let ann = people::ann().unwrap();
        at.daemon.stop_run(&read(json!({ "what": at.run })), &ann.name, None).await.unwrap();
        at.is_over().await;

        let merge = failed(at.daemon.merge_run(&read(json!({ "run": at.run })), &ann, None).await);

        let failure = merge.unwrap_err();
        assert_eq!((failure.code.as_str(), failure.cause.len()), ("dispatch.partial", 3), "{failure:?}");
        assert_eq!(failure.what, format!("0 of 3 tasks of {} are done", at.run));
        assert!(
            failure.cause[0].starts_with("task 1.1 is missing: ") && failure.hint.contains("--partial"),
            "{failure:?}"
        );
    });
}

#[test]
fn a_run_at_a_ceiling_that_it_shares_is_not_resumed_until_the_ceiling_is_raised() {
    for (of, says) in [("day", "for all runs of the day is reached"), ("plan", "for all runs of this plan is reached")]
    {
        with_stage(SimSpec { max_workers: Some(1), ..SimSpec::kind() }, async |stage, daemon, request| {
            let ann = people::ann().unwrap();
            lock(&stage.limits).day = (of == "day").then_some(1);
            let plan_budget = (of == "plan").then_some(1);
            let request = StartRunRequest { plan: plan_of_slices(), plan_budget, merge: false, ..request };
            let run = daemon.start_run(request, &ann, None).await.unwrap().run.unwrap();
            let paused = || {
                let row = daemon.world.store.get(RUNS, &[run.as_str().into()]).unwrap().unwrap();
                row.get_text("paused").map(str::to_owned)
            };
            for _ in 0..LOOKS {
                if paused().is_some() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            assert_eq!(paused().as_deref(), Some(of));

            let resumed = daemon.resume_run(&read(json!({ "run": run })), &ann.name, None).await;

            refused(failed(resumed), "dispatch.budget", says);
            let resume = Control::Resume { unit: Some(run.to_string()) };
            let resumed = daemon.control(&resume, &MessageId::from_bits(1), &ann, None).await;
            refused(failed(resumed), "dispatch.budget", says);
            assert_eq!(paused().as_deref(), Some(of));
            if of == "day" {
                // Settings that nobody has read since.
                lock(&stage.limits).day = Some(1_000_000);
                daemon.control(&resume, &MessageId::from_bits(2), &ann, None).await.unwrap();
                assert_eq!(paused(), None);
            }
        });
    }
}

#[test]
fn a_start_that_could_not_begin_says_what_is_in_the_way() {
    with_stage(SimSpec::kind(), async |stage, daemon, request| {
        let start = async |driver: DriverSpec, model: Option<&str>| {
            let name = AgentName::new("ann").unwrap();
            let agents = vec![AgentChoice { model: model.map(str::to_owned), ..AgentChoice::new(name, driver) }];
            let request = StartRunRequest { plan: plan_of_slices(), agents, dry_run: true, ..request.clone() };
            failed(daemon.start_run(request, &people::ann().unwrap(), None).await)
        };
        let acp = |program: &str| DriverSpec::Acp { argv: vec![program.to_owned()] };
        let exec = || DriverSpec::Exec { argv: vec!["make".to_owned()] };

        refused(start(acp(MISSING), None).await, "agent.missing", "needs the program");
        refused(start(exec(), Some("m")).await, "agent.no-model", "has no way to choose one");
        assert!(start(exec(), None).await.is_ok() && start(acp("agent"), Some("m")).await.is_ok());
        let head = lock(&stage.repo).branch(repo::MAIN).unwrap();
        lock(&stage.repo).branches.insert("switchboard".to_owned(), head);
        refused(start(acp("agent"), None).await, "dispatch.worktree", "there is a branch switchboard");
    });
}

#[tokio::test]
async fn a_request_whose_engine_ends_meanwhile_is_made_of_the_next_one_unless_the_daemon_ends() {
    let stage = Arc::new(Stage::new(1, SimSpec::kind()));
    let daemon = Dispatch::with(world(&stage).1);
    let (sender, _inbox) = mpsc::channel(1);
    let asked = AtomicUsize::new(0);
    let find = || Ok(Handle::new(sender.clone()));
    let ask = |_| {
        let number = asked.fetch_add(1, Ordering::Relaxed);
        async move { if number == 0 { Err(crate::Error::Stopping) } else { Ok(json!(number)) } }
    };

    assert_eq!(daemon.ask(find, ask).await.unwrap(), json!(1));

    asked.store(0, Ordering::Relaxed);
    daemon.world.stop.cancel();
    assert!(matches!(daemon.ask(find, ask).await, Err(crate::Error::Stopping)));
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}
