//! Tests what is shown of tasks, and within which limits checks and looks are made.

use std::sync::Mutex;

use switchboard_protocol::finding::{CheckReport, CheckRequest};
use switchboard_protocol::frame::ANSWER_FILE;
use switchboard_protocol::job::Coordination;
use switchboard_protocol::verb::check::CheckCall;
use switchboard_protocol::verb::run::{TaskReport, TellWorkerRequest};

use super::at_work::{first_worker, slow, with_worker};
use super::steering::{failed, read};
use super::*;
use crate::future::BoxFuture;
use crate::plan;
use crate::port::Checks;

/// Checks that note the calls of verbs and the time that each may take.
#[derive(Default)]
struct Noted(Mutex<Vec<(String, bool, Duration)>>);

impl Checks for Noted {
    fn check<'a>(
        &'a self,
        _request: &'a CheckRequest,
        _limit: Duration,
    ) -> BoxFuture<'a, Result<Vec<CheckReport>, Error>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn call<'a>(
        &'a self,
        call: &'a CheckCall,
        runs_commands: bool,
        limit: Duration,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        lock(&self.0).push((call.verb.clone(), runs_commands, limit));
        Box::pin(async { Ok(json!({})) })
    }
}

#[test]
fn a_check_that_runs_commands_may_take_as_long_as_gates_and_another_two_minutes() {
    let noted = Arc::new(Noted::default());
    let checks = Arc::clone(&noted);
    let change = |config: &mut Config, ports: &mut Ports| {
        config.gate_limit = Duration::from_secs(777);
        ports.checks = checks;
    };
    with_changed(SimSpec::kind(), change, async |_, daemon, _| {
        for verb in ["secretscan", "lint"] {
            daemon.check(verb, json!({}), &people::ann().unwrap()).await.unwrap();
        }
    });

    let (secretscan, lint) = (Duration::from_secs(120), Duration::from_secs(777));
    assert_eq!(*lock(&noted.0), [("secretscan".to_owned(), false, secretscan), ("lint".to_owned(), true, lint)]);
}

#[test]
fn the_answer_of_a_tasks_worker_is_shown_and_the_sizes_of_trees_only_on_request() {
    let state = tempfile::tempdir().unwrap();
    let change = |config: &mut Config, _: &mut Ports| config.state = state.path().to_owned();
    with_changed(slow(), change, async |_, daemon, request| {
        let ann = people::ann().unwrap();
        let run = daemon.start_run(StartRunRequest { merge: false, ..request }, &ann, None).await.unwrap().run.unwrap();
        let (task, worker) = ("1.1", first_worker(daemon, &run).await);
        let folder = plan::worker_folder(&daemon.world.config, &run, &worker);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(ANSWER_FILE), "it works").unwrap();
        let show = async |from: Option<u64>| {
            let request = read(json!({ "task": format!("{run}/{task}"), "answer_from": from }));
            daemon.show_task(&request).await.unwrap().answer.map(|answer| answer.text)
        };
        let sizes = async |sizes: bool| {
            let list = daemon.get_run(&read(json!({ "run": run, "sizes": sizes }))).await.unwrap().list;
            list.into_iter().find(|report| report.id == task).unwrap().worktree_bytes
        };

        assert_eq!((show(Some(0)).await.as_deref(), show(Some(3)).await.as_deref()), (Some("it works"), Some("works")));
        assert_eq!(show(None).await, None);
        assert_eq!((sizes(false).await, sizes(true).await), (None, Some(repo::TREE_BYTES)));
    });
}

#[test]
fn the_results_of_a_job_say_why_a_task_has_failed_and_nothing_of_one_that_is_done() {
    with_stage(SimSpec { bad_gates: 1_000, max_workers: Some(4), ..SimSpec::kind() }, async |_, daemon, request| {
        let task = |id: &str, result: &str| {
            json!({ "id": id, "phase": 1, "description": id, "acceptance": "it is done",
                "files_touched": [format!("t/{id}"), repo::removed_by(id)], "x-switchboard": { "result": result } })
        };
        let plan = json!({ "schema_version": "1.0.0", "title": "Results", "swarm": "sim",
            "phases": [{ "id": 1, "name": "one", "tasks": [task("1.1", "change"), task("1.2", "report")] }] });
        let request = StartRunRequest { plan: plan.to_string(), merge: false, ..request };
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();

        let results = daemon.subagent(&run).await.unwrap().results;

        let [failed, done] = results.as_slice() else { panic!("{results:?}") };
        assert_eq!((failed.status.as_str(), failed.code.as_str()), ("blocked", "gate.refused"), "{failed:?}");
        assert!(failed.why.starts_with("blocked: "), "{failed:?}");
        assert_eq!((done.status.as_str(), done.code.as_str(), done.why.as_str()), ("done", "", ""), "{done:?}");
    });
}

#[test]
fn a_turn_of_a_debate_that_has_not_begun_is_not_said_to_be_omitted() {
    with_stage(slow(), async |_, daemon, request| {
        let debate = json!({ "participants": [{ "agent": "ann" }, { "agent": "ben" }], "rounds": 2 });
        let tasks = json!([{ "id": "1.1", "phase": 1, "description": "talk", "x-switchboard": { "debate": debate } }]);
        let plan = json!({ "schema_version": "1.0.0", "title": "Debate", "swarm": "sim",
            "phases": [{ "id": 1, "name": "one", "tasks": tasks }] });
        let request = StartRunRequest { plan: plan.to_string(), merge: false, ..request };
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();

        let results = daemon.subagent(&run).await.unwrap().results;

        assert!(
            results.len() > 4 && results.iter().filter(|result| result.worker.is_none()).count() > 2,
            "{results:?}"
        );
        assert!(results.iter().all(|result| result.status != "omitted" && result.status != "no-reply"), "{results:?}");
    });
}

#[test]
fn a_command_that_does_a_task_is_told_nothing() {
    with_stage(slow(), async |_, daemon, request| {
        let ann = people::ann().unwrap();
        let tasks = json!([{ "id": "1.1", "phase": 1, "description": "make", "files_touched": ["t/1.1"],
            "x-switchboard": { "command": ["make", "it"] } }]);
        let plan = json!({ "schema_version": "1.0.0", "title": "Command", "swarm": "sim",
            "phases": [{ "id": 1, "name": "one", "tasks": tasks }] });
        let coordination = Coordination::Standalone;
        let request = StartRunRequest { plan: plan.to_string(), merge: false, coordination, ..request };
        let run = daemon.start_run(request, &ann, None).await.unwrap().run.unwrap();
        first_worker(daemon, &run).await;

        let request = TellWorkerRequest { task: format!("{run}/1.1"), text: "hurry".to_owned() };
        let told = daemon.tell_worker(&request, &ann, switchboard_protocol::id::MessageId::from_bits(1), None).await;

        refused(failed(told), "request.conflict", "is done by a command: it takes no further prompts");
    });
}

#[test]
fn a_page_of_a_timeline_and_the_gates_of_a_task_are_of_what_there_is() {
    with_worker(Coordination::Managed, async |at| {
        let page = async |limit: u32| failed(at.daemon.get_timeline(&read(json!({ "limit": limit }))).await);
        let gates = async |task: &str| failed(at.daemon.check_gate_status(&read(json!({ "task_id": task }))).await);

        refused(page(0).await, "request.bad-args", "a page has 1 to ");
        refused(page(u32::MAX).await, "request.bad-args", "a page has 1 to ");
        assert_eq!(page(1).await.unwrap().run, at.run);
        refused(gates(at.run.as_str()).await, "dispatch.unknown-task", "has no task run_");
        refused(gates(&at.unit("7.7")).await, "dispatch.unknown-task", "7.7");
        assert_eq!(gates(&at.unit("1.1")).await.unwrap().task_id, "1.1");
    });
}

#[test]
fn a_prompt_is_sent_to_a_task_and_not_to_a_whole_run() {
    with_worker(Coordination::Managed, async |at| {
        let ann = people::ann().unwrap();
        let prompt = |unit: String| read(json!({ "type": "prompt", "unit": unit, "text": "hurry" }));

        let to_run = at.control(1, prompt(at.run.to_string()), &ann).await;
        let to_task = at.control(2, prompt(at.unit("1.1")), &ann).await;

        refused(to_run, "request.bad-args", "is a run: name a task of it");
        assert_eq!(to_task.unwrap().units[0].unit, "1.1");
    });
}

#[test]
fn a_change_whose_base_an_older_version_did_not_record_is_shown_against_that_of_its_worker() {
    with_stage(SimSpec { max_workers: Some(1), ..SimSpec::kind() }, async |stage, daemon, request| {
        let request = StartRunRequest { merge: false, ..request };
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        let all = daemon.world.store.events(0, &Filter::all(), 10_000).unwrap();
        let at = all.iter().position(|event| event.kind == "change_captured").unwrap();
        let task = all[at].facts.field("task").as_str().unwrap().to_owned();
        let store = Store::in_memory(vec![Box::new(Work), Box::new(switchboard_needs::Needs)], stage.clock.for_store());
        for event in &all[..=at] {
            let mut facts = event.facts.to_value().unwrap();
            if event.kind == "change_captured" {
                facts.as_object_mut().unwrap().remove("base").unwrap();
            }
            let copy = NewEvent::new(&event.kind, event.subject.clone(), &event.actor, facts);
            let copy = event.body.as_ref().map_or(copy.clone(), |body| copy.with_body(body));
            store.commit(Batch::synced().event(copy)).await.unwrap();
        }
        let world = World::new(store.clone(), config(stage), ports::ports(stage, &store), CancellationToken::new());

        let request = read(json!({ "task": format!("{run}/{task}"), "diff": true }));
        let shown = Dispatch::with(world).show_task(&request).await.unwrap();

        assert!(shown.diff.as_ref().is_some_and(|diff| diff.contains(&format!("t/{task}\n"))), "{:?}", shown.diff);
    });
}

#[test]
fn the_files_of_each_tasks_last_change_are_listed() {
    with_daemon(async |daemon, request| {
        let request = StartRunRequest { merge: false, ..request };
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();

        let list = daemon.get_run(&read(json!({ "run": run }))).await.unwrap().list;

        let has_its_file = |task: &TaskReport| task.files.contains(&format!("t/{}", task.id));
        assert!(!list.is_empty() && list.iter().all(has_its_file), "{list:?}");
    });
}
