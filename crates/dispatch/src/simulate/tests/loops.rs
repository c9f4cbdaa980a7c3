//! Tests where a loop over a plan goes on, what it leaves out, and how long it waits.

use switchboard_pipeline::plan_hash;
use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::run::{AutoTurn, AutoTurnKind, RunEvent, RunOutcome};
use switchboard_protocol::verb::auto::{Next, NextUnitReply, NextUnitRequest};
use switchboard_protocol::verb::run::StartRunReply;
use switchboard_protocol::worker::{WorkerEvent, WorkerFact};

use super::at_work::{plan_of_slices, slow};
use super::steering::{failed, read};
use super::*;
use crate::plan;

fn turn(number: u32) -> AutoTurn {
    AutoTurn { number, kind: AutoTurnKind::First, why: "it is next".to_owned() }
}

fn slice(name: &str) -> UnitId {
    UnitId::Slice { phase: 1, name: name.to_owned() }
}

async fn start(
    daemon: &Dispatch,
    request: &StartRunRequest,
    (number, unit): (u32, UnitId),
) -> Result<StartRunReply, Failure> {
    let (turn, scope) = (Some(turn(number)), Some(unit));
    let request = StartRunRequest { plan: plan_of_slices(), turn, scope, merge: false, ..request.clone() };
    failed(daemon.start_run(request, &people::ann().unwrap(), None).await)
}

/// Returns the turns of a run, each with its number, its unit and the run that it follows.
fn turns(daemon: &Dispatch, run: &RunId) -> Vec<(u32, Option<UnitId>, Option<RunId>)> {
    let all = daemon.world.store.events_of(&history::subject(run), 0, 10_000).unwrap();
    let turned = all.iter().filter_map(|event| match event.fact() {
        Some(RunEvent::LoopTurned { turn, unit, follows, .. }) => Some((turn, unit, follows)),
        Some(_) | None => None,
    });
    turned.collect()
}

#[test]
fn a_turn_of_a_loop_begins_at_what_the_last_run_has_merged_unless_nothing_is_left() {
    with_stage(SimSpec::kind(), async |stage, daemon, request| {
        let first = start(daemon, &request, (1, slice("web"))).await.unwrap();
        let run = first.run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        let tip = lock(&stage.repo).branch(&first.branch).unwrap();
        assert_ne!(tip.as_str(), first.base, "it has merged something");

        let again = start(daemon, &request, (2, slice("web"))).await;
        refused(again, "request.conflict", "everything that can be done in it is merged already");
        let second = start(daemon, &request, (2, slice("api"))).await.unwrap();

        assert_eq!(second.base, tip.as_str());
        assert_eq!(turns(daemon, &run), [(1, Some(slice("web")), None)]);
        assert_eq!(turns(daemon, &second.run.unwrap()), [(2, Some(slice("api")), Some(run))]);
        let job = read(json!({ "tasks": [{ "task": "look" }] }));
        let of_job = StartRunRequest { plan: String::new(), job: Some(job), turn: Some(turn(3)), ..request.clone() };
        let of_job = failed(daemon.start_run(of_job, &people::ann().unwrap(), None).await);
        refused(of_job, "request.bad-args", "a loop runs a plan, and a job is none");
    });
}

#[test]
fn a_turn_that_retries_goes_on_with_the_unit_that_the_loop_had_started() {
    with_stage(slow(), async |_, daemon, request| {
        let run = start(daemon, &request, (1, slice("web"))).await.unwrap().run.unwrap();
        daemon.stop_run(&read(json!({ "what": run })), &people::ann().unwrap().name, None).await.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();

        let retry = read(json!({ "what": run, "turn": { "number": 2, "kind": "retry", "why": "once more" } }));
        daemon.retry_task(&retry, None).await.unwrap();

        assert_eq!(turns(daemon, &run), [(1, Some(slice("web")), None), (2, Some(slice("web")), None)]);
    });
}

async fn next(daemon: &Dispatch, plan: &str, scope: Option<UnitId>) -> Result<NextUnitReply, Failure> {
    let (plan, source) = (plan.to_owned(), "plan.json".to_owned());
    let request = NextUnitRequest { plan, source, scope, base: None, since: None };
    failed(daemon.next_unit(&request, &people::ann().unwrap()).await)
}

#[test]
fn a_loop_leaves_out_what_is_blocked_and_what_needs_it_and_knows_its_units() {
    with_daemon(async |daemon, _| {
        let task = |id: &str, status: &str, depends: &[&str]| {
            let facts = json!({ "id": id, "phase": 1, "description": id, "status": status });
            let mut facts = facts.as_object().unwrap().clone();
            facts.insert("depends".to_owned(), json!(depends));
            Value::from(facts)
        };
        let tasks = [
            task("1.1", "blocked", &[]),
            task("1.2", "pending", &["1.1"]),
            task("1.3", "completed", &[]),
            task("1.4", "pending", &[]),
        ];
        let plan = json!({ "schema_version": "1.0.0", "title": "Loop", "swarm": "sim",
            "phases": [{ "id": 1, "name": "one", "tasks": tasks }] })
        .to_string();

        let left_out = next(daemon, &plan, None).await.unwrap().left_out;
        let unknown = next(daemon, &plan, Some(UnitId::Phase(9))).await;

        assert_eq!(left_out.iter().map(TaskId::as_str).collect::<Vec<_>>(), ["1.1", "1.2"]);
        refused(unknown, "plan.unknown-scope", "9");
        assert!(next(daemon, &plan, Some(UnitId::Phase(1))).await.is_ok());
    });
}

/// Returns the events of a run of a plan that ended because of a rate limit, and of the worker that reported it.
fn limited(run: &RunId, plan: &str, retry_after_ms: Option<u64>) -> Vec<NewEvent> {
    let (task, worker) = (TaskId::new("1.1").unwrap(), switchboard_protocol::id::WorkerId::from_bits(2));
    let hash = plan_hash::whole(&plan::read(plan, "plan.json").unwrap());
    let configured = json!({ "kind": "run_configured", "facts": { "run": run, "title": "Slices", "plan_hash": hash,
        "source": "plan.json", "target": repo::MAIN, "base": "1".repeat(40), "branch": "b", "worktrees": "/w",
        "default_agent": null, "merge": false, "tasks": 1 } });
    let AutoTurn { number, kind, why } = turn(1);
    let unit = Some(UnitId::Phase(1));
    let of_run = [
        super::merges::fact(&configured),
        RunEvent::LoopTurned { run: run.clone(), turn: number, turn_kind: kind, unit, follows: None, why },
        RunEvent::TaskBlocked { task, attempt: 1, retries: None, reason: "wait [agent.rate-limited]".to_owned() },
        RunEvent::RunFinished { outcome: RunOutcome::Failed },
    ];
    let what = WorkerEvent::Faulted { code: "agent.rate-limited".to_owned(), what: "wait".to_owned(), retry_after_ms };
    let of_worker = [
        WorkerFact::WorkerEquipped {
            worker: worker.clone(),
            run: run.clone(),
            task: "1.1".to_owned(),
            attempt: 1,
            agent: AgentName::new("ann").unwrap(),
            driver: "acp".to_owned(),
            scripted: false,
            judges: None,
            base: "b".to_owned(),
            start: "s".to_owned(),
            worktree: "/w/1.1".to_owned(),
            token: Digest::of(b"token"),
            ports: None,
            isolation: Isolation::Full,
            model: None,
        },
        WorkerFact::WorkerReported { worker: worker.clone(), epoch: 1, seq: 1, what },
    ];
    let of_run = of_run.map(|fact| NewEvent::of(&fact, history::subject(run), "daemon").unwrap());
    let of_worker = of_worker.map(|fact| NewEvent::of(&fact, format!("worker/{worker}"), "daemon").unwrap());
    of_run.into_iter().chain(of_worker).collect()
}

#[test]
fn a_loop_waits_after_a_rate_limit_as_long_as_the_service_of_the_agent_asks() {
    for (asked, least, most) in [(Some(2_000), 2_000, 3_000), (Some(50_000), 50_000, 51_000), (None, 30_000, 40_000)] {
        with_daemon(async |daemon, _| {
            let (run, plan) = (RunId::from_bits(7), plan_of_slices());
            let batch = limited(&run, &plan, asked).into_iter().fold(Batch::synced(), Batch::event);
            daemon.world.store.commit(batch).await.unwrap();
            let began = daemon.world.store.now().0;

            let next = next(daemon, &plan, None).await.unwrap().next;

            let Next::Wait { until: Some(until), .. } = next else { panic!("{next:?}") };
            assert!((began + least..began + most).contains(&until.0), "{asked:?}: {until:?} from {began}");
        });
    }
}
