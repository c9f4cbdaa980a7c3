//! Tests starts of runs that are refused, repeated or dry.

use std::collections::BTreeSet;

use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent as Event;
use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::modes::OptionalSteps;
use switchboard_protocol::run::way::{RoleId, UnitId};
use switchboard_protocol::run::{AtCeiling, Budget, MAX_WORKERS, RunEvent, SkipCode, TeamLimits, WorkerTimeout};
use switchboard_protocol::verb::run::{AgentChoice, Drive, RoleChoice, StartRunReply, StartRunRequest};
use switchboard_store::{Guard, Idempotency};

use super::seat::led;
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
        let cases = [
            (
                with(&|request| request.agents.iter_mut().for_each(|agent| agent.instructions = long.clone())),
                "config.bad-value",
                "let the agent read a file",
            ),
            (with(&|request| request.max_workers = Some(0)), "request.bad-args", "1 to"),
            (with(&|request| request.max_workers = Some(MAX_WORKERS + 1)), "request.bad-args", "1 to"),
            (with(&|request| request.budget = budget(0, None, None)), "dispatch.budget", "`ceiling` is 0"),
            (
                with(&|request| request.budget = budget(5, None, Some(6))),
                "dispatch.budget",
                "is more than `ceiling` (5)",
            ),
            (with(&|request| request.budget = budget(5, Some(6), None)), "dispatch.budget", "`task` is more than"),
            (with(&|request| request.budget = budget(5, Some(0), None)), "dispatch.budget", "`task` is 0"),
            (with(&|request| request.plan_budget = Some(0)), "dispatch.budget", "the plan's ceiling is 0"),
            (
                with(&|request| request.worker_timeout_ms = timeout(None, Some(0))),
                "request.bad-args",
                "a time limit is 1",
            ),
            (
                with(&|request| request.worker_timeout_ms = timeout(Some(WorkerTimeout::MAX_MS + 1), None)),
                "request.bad-args",
                "a time limit is 1",
            ),
            (
                with(&|request| request.worker_timeout_ms = timeout(Some(60_000), Some(60_000))),
                "request.bad-args",
                "would be told to finish after 60000 ms",
            ),
            (
                with(&|request| {
                    let mut other = request.agents[0].clone();
                    other.instructions = "another".to_owned();
                    request.agents.push(other);
                }),
                "request.bad-args",
                "is described twice",
            ),
            (
                with(&|request| request.parent_trace = Some("x".repeat(17 << 10))),
                "request.bad-args",
                "should know has more than",
            ),
            (
                with(&|request| request.setup_env = vec![("PATH".to_owned(), "/tmp".to_owned())]),
                "request.bad-args",
                "PATH is no variable of a proxy",
            ),
        ];

        for (request, code, says) in cases {
            refused(start(daemon, request).await, code, says);
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
        let misspelt =
            RoleChoice { agent: AgentName::new("ben").ok(), ..RoleChoice::new(RoleId::new("architekt").unwrap()) };
        let unknown = StartRunRequest { roles: vec![misspelt], ..request.clone() };
        refused(start(daemon, unknown).await, "request.bad-args", "architekt");
        let unheeded = StartRunRequest { best_of: Some(2), ..request.clone() };
        refused(start(daemon, unheeded).await, "request.bad-args", "a run that a team leads does not heed best_of");

        let reply = start(daemon, request).await.unwrap();

        let names: Vec<_> = reply.agents.iter().map(|agent| agent.name.to_string()).collect();
        let once: BTreeSet<_> = names.iter().collect();
        assert!(!names.is_empty() && once.len() == names.len(), "{names:?}");
        assert!(reply.run.is_none() && daemon.world.store.read(&Query::table(RUNS)).unwrap().is_empty(), "{reply:?}");
    });
}

#[test]
fn each_command_of_a_plan_is_named_and_their_common_name_joins_once() {
    with_daemon(async |daemon, request| {
        let task = |number: u64, command: Value| {
            json!({ "id": format!("1.{number}"), "phase": 1, "description": "do it", "acceptance": "it is done",
                "files_touched": [format!("t/1.{number}")], "x-switchboard": command })
        };
        let of = |command: &[&str]| json!({ "command": command });
        let tasks = [
            task(1, of(&["make", "one"])),
            task(2, of(&["make", "two"])),
            task(3, of(&["make", "one"])),
            task(4, json!({ "agent": "ann" })),
            task(5, json!({ "agent": "ann", "command": ["make", "three"] })),
        ];
        let plan = json!({ "schema_version": "1.0.0", "title": "Commands", "swarm": "sim",
            "phases": [{ "id": 1, "name": "one", "tasks": tasks }] });
        let request = StartRunRequest { plan: plan.to_string(), ..request };

        let reply = start(daemon, request).await.unwrap();

        let named: Vec<_> = reply
            .agents
            .iter()
            .map(|agent| {
                let (DriverSpec::Acp { argv } | DriverSpec::Exec { argv }) = &agent.driver;
                format!("{}: {}", agent.name, argv.join(" "))
            })
            .collect();
        insta::assert_snapshot!(named.join("\n"));
        let joined = daemon.world.store.events(0, &Filter::kinds(["agent_joined".to_owned()]), 10).unwrap();
        let names: BTreeSet<_> = joined.iter().map(|event| event.facts.field("name").to_string()).collect();
        assert_eq!(names.len(), joined.len(), "{joined:?}");
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

        let full = start(daemon, StartRunRequest { dry_run: true, ..request.clone() }).await.unwrap();
        assert!(full.notes.iter().all(|note| !note.contains("Landlock")), "{:?}", full.notes);
        refused(start(daemon, constrained(false)).await, "isolation.unsupported", "no Landlock");
        let accepted = start(daemon, constrained(true)).await.unwrap();
        assert!(accepted.notes.iter().any(|note| note == "not enforced here: no Landlock"), "{:?}", accepted.notes);
        lock(&stage.sandbox_gaps).clear();
        assert!(start(daemon, constrained(false)).await.is_ok());
    });
}

/// Returns a plan of one task with these settings of the plan and of each of so many tasks.
fn plan_with(of_plan: &Value, of_task: &Value, tasks: u64) -> String {
    let task = |number: u64| {
        let id = format!("1.{number}");
        json!({ "id": id, "phase": 1, "description": format!("do {id}"), "acceptance": "it is done",
            "files_touched": [format!("t/{id}")], "x-switchboard": of_task })
    };
    json!({ "schema_version": "1.0.0", "title": "Settings", "swarm": "sim", "x-switchboard": of_plan,
        "phases": [{ "id": 1, "name": "one", "tasks": (1..=tasks).map(task).collect::<Vec<_>>() }] })
    .to_string()
}

#[test]
fn roles_that_nobody_has_and_inputs_that_are_nowhere_are_refused() {
    with_daemon(async |daemon, request| {
        let role =
            |id: &str| RoleChoice { agent: AgentName::new("ben").ok(), ..RoleChoice::new(RoleId::new(id).unwrap()) };
        let with = |inputs: Value, roles: Vec<RoleChoice>, team: bool| StartRunRequest {
            plan: plan_with(&json!({}), &json!({ "inputs": inputs }), 1),
            roles,
            team,
            dry_run: true,
            ..request.clone()
        };
        let cases = [
            (with(json!([]), vec![role("reviewer")], false), "request.bad-args", "no team carries the plan out"),
            (with(json!([]), vec![role("revewer")], true), "request.bad-args", "revewer"),
            (with(json!([]), vec![role("reviewer"), role("reviewer")], true), "request.bad-args", "is named twice"),
            (with(json!(["nowhere"]), Vec::new(), false), "plan.missing-input", "needs nowhere"),
        ];
        for (request, code, says) in cases {
            refused(start(daemon, request).await, code, says);
        }
        assert!(start(daemon, with(json!([]), vec![role("reviewer")], true)).await.is_ok());
    });
}

#[test]
fn a_job_is_run_as_a_whole_and_beside_no_plan() {
    with_daemon(async |daemon, request| {
        let job = |facts: Value| Some(serde_json::from_value(facts).unwrap());
        let one = || job(json!({ "tasks": [{ "task": "look" }] }));
        let of_job = StartRunRequest { plan: String::new(), dry_run: true, job: one(), ..request.clone() };

        assert!(start(daemon, of_job.clone()).await.is_ok());
        let both = StartRunRequest { plan: request.plan.clone(), ..of_job.clone() };
        refused(start(daemon, both).await, "request.bad-args", "a plan or a job, not both");
        let part = StartRunRequest { scope: Some(UnitId::Phase(1)), ..of_job.clone() };
        refused(start(daemon, part).await, "request.bad-args", "it has no parts to choose from");
        let empty = StartRunRequest { job: job(json!({ "tasks": [{ "task": " " }] })), ..of_job };
        refused(start(daemon, empty).await, "request.bad-args", "task number 1 is empty");
    });
}

#[test]
fn the_commands_of_a_plan_are_refused_with_a_list_of_them_until_they_are_trusted() {
    let change = |config: &mut Config, _: &mut Ports| config.trusts = Trust(Arc::new(|_| false));
    with_changed(SimSpec::kind(), change, async |_, daemon, request| {
        let with = |tasks, dry_run| {
            let plan = plan_with(&json!({}), &json!({ "command": ["make", "it"] }), tasks);
            start(daemon, StartRunRequest { plan, dry_run, ..request.clone() })
        };

        let one = with(1, false).await.unwrap_err();
        let many = with(22, false).await.unwrap_err();

        assert_eq!(one.code, "config.untrusted");
        assert_eq!(one.what, "the plan brings a command that you have not trusted");
        assert_eq!(one.cause, ["command of task 1.1: make it"]);
        assert_eq!(many.what, "the plan brings 22 commands that you have not trusted");
        assert_eq!((many.cause.len(), many.cause[19].as_str()), (20, "command of task 1.20: make it"));
        assert!(with(1, true).await.is_ok(), "nothing is started");
        let none = StartRunRequest { plan: plan_with(&json!({}), &json!({}), 1), ..request.clone() };
        assert!(start(daemon, none).await.is_ok());
    });
}

#[test]
fn roles_and_limits_of_a_team_are_those_of_its_request_also_once_the_run_is_over() {
    with_daemon(async |daemon, request| {
        let turbo = start(daemon, StartRunRequest { turbo: true, dry_run: true, ..request.clone() }).await;
        refused(turbo, "plan.no-effect", "no team carries it out");
        let reviewer = RoleChoice {
            agent: Some(AgentName::new("ben").unwrap()),
            ..RoleChoice::new(RoleId::new("reviewer").unwrap())
        };
        let limits = TeamLimits { text_turns: 7, ..TeamLimits::default() };
        let of_team = StartRunRequest {
            plan: plan_with(&json!({}), &json!({}), 1),
            team: true,
            turbo: true,
            roles: vec![reviewer.clone()],
            team_limits: limits,
            ..request
        };
        let out = StartRunRequest { team_limits: TeamLimits { text_turns: 0, ..limits }, ..of_team.clone() };
        refused(start(daemon, out).await, "request.bad-args", "team_limits");

        let run = start(daemon, of_team).await.unwrap().run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();

        let plan = daemon.plan_of(&run).unwrap();
        assert_eq!(plan.roles.values().collect::<Vec<_>>(), [&reviewer]);
        assert_eq!(plan.limits, limits);
    });
}

#[test]
fn without_its_execution_graph_a_run_does_not_look_at_what_tasks_say_they_write() {
    with_daemon(async |daemon, request| {
        let request = StartRunRequest { plan: plan_with(&json!({}), &json!({}), 2), ..request };
        for use_execution_graph in [true, false] {
            let request = StartRunRequest { use_execution_graph, merge: false, ..request.clone() };
            let run = start(daemon, request).await.unwrap().run.unwrap();
            daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();

            let all = daemon.world.store.events_of(&history::subject(&run), 0, 10_000).unwrap();
            let written = all.iter().filter_map(|event| match event.fact() {
                Some(RunEvent::UnitAdded { unit, writes, .. }) => unit.task().map(|_| writes.len()),
                Some(_) | None => None,
            });
            assert_eq!(written.collect::<Vec<_>>(), [usize::from(use_execution_graph); 2]);
        }
    });
}

#[test]
fn a_repeated_start_keeps_its_answer_under_its_own_key() {
    with_daemon(async |daemon, request| {
        let request = StartRunRequest { merge: false, ..request };
        let start = async |key: &str| {
            let (key, caller, args) = (key.to_owned(), "ann".to_owned(), Digest::of(b"args"));
            let call = Idempotency { key, caller, verb: "start_run", args };
            daemon.start_run(request.clone(), &people::ann().unwrap(), Some(call)).await.unwrap()
        };
        let (first, beside) = tokio::join!(start("a"), start("a"));
        assert_eq!(json!(beside), json!(first));
        let second = start("b").await;
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();

        let again = start("b").await;

        assert!(second.already && second.run == first.run, "{second:?}");
        assert_eq!((again.already, again.run), (true, first.run.clone()));
        assert_ne!(start("c").await.run, first.run, "another call starts another run");
    });
}

#[test]
fn the_trace_of_a_request_stands_in_the_body_of_its_runs_first_event_and_none_is_made_up() {
    with_daemon(async |daemon, request| {
        for trace in [None, Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned())] {
            let request = StartRunRequest { parent_trace: trace.clone(), ..request.clone() };
            let run = start(daemon, request).await.unwrap().run.unwrap();

            let all = daemon.world.store.events_of(&history::subject(&run), 0, 10_000).unwrap();
            let configured = all.iter().find(|event| event.kind == "run_configured").unwrap();
            assert_eq!(daemon.world.store.body(configured.lsn).unwrap(), trace);
            daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        }
    });
}

#[test]
fn a_run_that_a_team_leads_is_started_once_for_a_key() {
    with_daemon(async |daemon, request| {
        let request = led(request, OptionalSteps::default());
        let start = async |key: &str| {
            let (key, caller) = (key.to_owned(), "ann".to_owned());
            let call = Idempotency { key, caller, verb: "start_run", args: Digest::of(b"args") };
            daemon.start_run(request.clone(), &people::ann().unwrap(), Some(call)).await.unwrap().run
        };

        let (first, beside) = tokio::join!(start("a"), start("a"));

        assert!(first.is_some() && beside == first, "{beside:?}");
        assert_eq!(start("a").await, first);
        assert_ne!(start("b").await, first);
    });
}
