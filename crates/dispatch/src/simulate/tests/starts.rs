//! Tests starts of runs that are refused, repeated or dry.

use std::collections::BTreeSet;

use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent as Event;
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::modes::OptionalSteps;
use switchboard_protocol::run::{AtCeiling, Budget, MAX_WORKERS, SkipCode, WorkerTimeout};
use switchboard_protocol::verb::run::{AgentChoice, Drive, StartRunReply, StartRunRequest};
use switchboard_store::Guard;

use super::*;

async fn start(daemon: &Dispatch, request: StartRunRequest) -> Result<StartRunReply, Failure> {
    daemon.start_run(request, &people::ann().unwrap(), None).await.map_err(|error| error.to_failure())
}

#[test]
fn what_can_not_be_done_is_refused_before_anything_starts() {
    with_daemon(async |daemon, request| {
        let with = |change: &dyn Fn(&mut StartRunRequest)| {
            let mut request = request.clone();
            change(&mut request);
            request
        };
        let budget = |ceiling, task, reserve| Some(Budget { ceiling, task, reserve, at_ceiling: AtCeiling::Pause });
        let timeout = |soft, hard| Some(WorkerTimeout { soft, hard });
        let long = "x".repeat(AgentChoice::MAX_INSTRUCTIONS + 1);
        let refused = [
            (
                with(&|request| request.agents.iter_mut().for_each(|agent| agent.instructions = long.clone())),
                "config.bad-value",
            ),
            (with(&|request| request.max_workers = Some(0)), "request.bad-args"),
            (with(&|request| request.max_workers = Some(MAX_WORKERS + 1)), "request.bad-args"),
            (with(&|request| request.budget = budget(0, None, None)), "dispatch.budget"),
            (with(&|request| request.budget = budget(5, None, Some(6))), "dispatch.budget"),
            (with(&|request| request.budget = budget(5, Some(6), None)), "dispatch.budget"),
            (with(&|request| request.budget = budget(5, Some(0), None)), "dispatch.budget"),
            (with(&|request| request.plan_budget = Some(0)), "dispatch.budget"),
            (with(&|request| request.worker_timeout_ms = timeout(None, Some(0))), "request.bad-args"),
            (
                with(&|request| request.worker_timeout_ms = timeout(Some(WorkerTimeout::MAX_MS + 1), None)),
                "request.bad-args",
            ),
            (with(&|request| request.worker_timeout_ms = timeout(Some(60_000), Some(60_000))), "request.bad-args"),
            (
                with(&|request| {
                    let mut other = request.agents[0].clone();
                    other.instructions = "another".to_owned();
                    request.agents.push(other);
                }),
                "request.bad-args",
            ),
            (with(&|request| request.parent_trace = Some("x".repeat(17 << 10))), "request.bad-args"),
            (with(&|request| request.setup_env = vec![("PATH".to_owned(), "/tmp".to_owned())]), "request.bad-args"),
        ];

        for (request, code) in refused {
            let answer = start(daemon, request).await;

            assert_eq!(answer.as_ref().unwrap_err().code, code, "{answer:?}");
        }
        assert!(daemon.world.store.read(&Query::table(RUNS)).unwrap().is_empty());
        let largest = with(&|request| {
            request.max_workers = Some(MAX_WORKERS);
            request.budget = budget(5, Some(5), Some(5));
            request.agents.iter_mut().for_each(|agent| agent.instructions = long[1..].to_owned());
            request.worker_timeout_ms = timeout(Some(60_000), Some(120_000));
            request.dry_run = true;
        });
        assert!(start(daemon, largest).await.is_ok());
    });
}

#[test]
fn a_start_of_what_a_run_works_on_is_that_run_or_refused() {
    with_daemon(async |daemon, request| {
        let first = start(daemon, request.clone()).await.unwrap();

        let again = start(daemon, request.clone()).await.unwrap();
        let other = start(daemon, StartRunRequest { max_workers: Some(31), ..request.clone() }).await;
        let dry = start(daemon, StartRunRequest { dry_run: true, ..request.clone() }).await.unwrap();

        assert!(!first.already && first.run.is_some(), "{first:?}");
        assert!(again.already, "{again:?}");
        let told = |reply: &StartRunReply| {
            let StartRunReply { run, branch, base, target, worktrees, .. } = reply.clone();
            (run, branch, base, target, worktrees)
        };
        assert_eq!(told(&again), told(&first));
        assert_eq!(other.unwrap_err().code, "dispatch.already-running");
        assert!(dry.run.is_none() && !dry.skipped.is_empty(), "{dry:?}");
        assert!(dry.skipped.iter().all(|skipped| skipped.code == SkipCode::AlreadyRunning), "{dry:?}");
        assert_eq!(daemon.world.store.read(&Query::table(RUNS)).unwrap().len(), 1);
    });
}

#[test]
fn a_dry_start_of_a_run_that_a_team_leads_names_each_agent_once_and_starts_nothing() {
    with_daemon(async |daemon, request| {
        let drive = Drive { lead: None, request: Some("Add".to_owned()), steps: OptionalSteps::default(), auto: true };
        let request = StartRunRequest {
            plan: String::new(),
            source: String::new(),
            budget: None,
            worker_timeout_ms: None,
            drive: Some(drive),
            dry_run: true,
            ..request
        };

        let reply = start(daemon, request).await.unwrap();

        let names: Vec<_> = reply.agents.iter().map(|agent| agent.name.to_string()).collect();
        let once: BTreeSet<_> = names.iter().collect();
        assert!(!names.is_empty() && once.len() == names.len(), "{names:?}");
        assert!(reply.run.is_none() && daemon.world.store.read(&Query::table(RUNS)).unwrap().is_empty(), "{reply:?}");
    });
}

#[test]
fn what_can_never_be_recorded_is_refused_however_patient_the_commit_is() {
    with_daemon(async |daemon, _| {
        let event = Event::new("message_noted", "note/ann", "ann", json!({ "id": 1 }));
        let refusal = Failure::new("request.conflict", "there is no such run");
        let guard = Guard::equals(RUNS, ["run_none".into()], "state", "running", refusal);

        let refused = daemon.world.commit_patiently(&Batch::synced().event(event).guard(guard)).await;

        assert_eq!(refused.unwrap_err().to_failure().code, "request.conflict");
    });
}

#[test]
fn a_machine_that_can_not_enforce_a_sandbox_starts_constrained_work_only_for_a_request_that_accepts_it() {
    with_stage(SimSpec::kind(), async |stage, daemon, request| {
        lock(&stage.sandbox_gaps).push("no Landlock".to_owned());
        let constrained = |unenforced| {
            let mut request = StartRunRequest { dry_run: true, unenforced, ..request.clone() };
            request.isolation = Some(Isolation::Constrained);
            request.agents.iter_mut().for_each(|agent| agent.four_tools = true);
            request
        };

        refused(start(daemon, constrained(false)).await, "isolation.unsupported", "no Landlock");
        let accepted = start(daemon, constrained(true)).await.unwrap();
        assert!(accepted.notes.iter().any(|note| note == "not enforced here: no Landlock"), "{:?}", accepted.notes);
        lock(&stage.sandbox_gaps).clear();
        assert!(start(daemon, constrained(false)).await.is_ok());
    });
}
