//! Snapshots of what the calls that only read answer about a run: before it has begun, at work, over, and led by a
//! team. `INSTA_UPDATE=always cargo test -p switchboard-dispatch replies` accepts the new ones.

use std::fmt::Write as _;

use serde::Serialize;
use switchboard_protocol::coordination::Control;
use switchboard_protocol::id::MessageId;

use super::at_work::{at_work, slow};
use super::recorded::Names;
use super::seat::with_seat;
use super::steering::read;
use super::*;

/// Returns a plan with a task that is done, one that two others wait for, one that is blocked, and a subtask.
fn plan() -> String {
    let task = |id: &str, depends: &[&str], status: &str| {
        json!({ "id": id, "phase": 1, "description": format!("do {id}"), "acceptance": "it is done", "depends": depends,
            "status": status, "files_touched": [format!("t/{id}"), repo::removed_by(id)] })
    };
    let tasks = [
        task("1.1", &[], "pending"),
        task("1.2", &["1.1"], "pending"),
        task("1.3", &[], "completed"),
        task("1.4", &["1.3"], "pending"),
        task("1.5", &[], "blocked"),
    ];
    json!({ "schema_version": "1.0.0", "title": "Replies", "swarm": "sim", "x-switchboard": { "ports": 0 },
        "phases": [{ "id": 1, "name": "one", "tasks": tasks }] })
    .to_string()
}

/// Answers of a daemon as text.
struct Answers {
    text: String,
    names: Names,
}

impl Answers {
    fn add<T: Serialize>(&mut self, call: &str, answer: Result<T, crate::Error>) {
        let answer = answer.map_or_else(|error| json!({ "failure": error.to_failure() }), |answer| json!(answer));
        let text = format!("{call}\n{}", lines(&answer));
        self.text.push_str(&self.names.shorten(&text));
    }
}

/// Returns a line for each field of an answer, and for each item of a list.
fn lines(answer: &Value) -> String {
    let mut text = String::new();
    for (field, value) in answer.as_object().into_iter().flatten() {
        match value.as_array().filter(|items| items.iter().any(Value::is_object)) {
            Some(items) => items.iter().for_each(|item| writeln!(text, "  {field}: {item}").unwrap()),
            None => writeln!(text, "  {field}: {value}").unwrap(),
        }
    }
    text
}

/// Returns the answers of the calls that only read, about a run and these tasks of it.
async fn answers(daemon: &Dispatch, run: &RunId, tasks: &[&str]) -> String {
    let mut all = Answers { text: String::new(), names: Names::default() };
    let ann = people::ann().unwrap();
    all.add("get_run", daemon.get_run(&read(json!({ "run": run, "diff": true, "sizes": true }))).await);
    all.add("runs", daemon.runs(10).map(|runs| json!({ "runs": runs })));
    all.add("get_timeline", daemon.get_timeline(&read(json!({ "run": run }))).await);
    all.add("evidence_check", daemon.evidence_check(&read(json!({ "run": run }))).await);
    all.add("subagent", daemon.subagent(run).await);
    let status = Control::Status { unit: Some(run.to_string()) };
    all.add("status", daemon.control(&status, &MessageId::from_bits(1), &ann, None).await);
    for task in tasks {
        let unit = format!("{run}/{task}");
        let show = json!({ "task": unit, "diff": true, "answer_from": 0 });
        all.add(&format!("show_task {task}"), daemon.show_task(&read(show)).await);
        all.add(
            &format!("check_gate_status {task}"),
            daemon.check_gate_status(&read(json!({ "task_id": unit }))).await,
        );
        all.add(&format!("read_output {task}"), daemon.read_output(&read(json!({ "task": unit }))).await);
    }
    all.text
}

#[test]
fn a_run_at_work_is_answered_about_as_recorded() {
    with_stage(slow(), async |stage, daemon, request| {
        let request = StartRunRequest { plan: plan(), merge: false, ..request };
        let at = at_work(stage, daemon, request.clone()).await;
        at.daemon.pause_run(&read(json!({ "what": at.unit("1.4") })), None).await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;

        insta::assert_snapshot!("at_work", answers(daemon, &at.run, &["1.1", "1.4"]).await);

        let next = json!({ "plan": request.plan, "source": request.source });
        let next = daemon.next_unit(&read(next), &people::ann().unwrap()).await.unwrap();
        insta::assert_snapshot!("next_unit", lines(&json!(next)));
    });
}

#[test]
fn a_run_that_is_over_is_answered_about_as_recorded() {
    let refused = SimSpec { bad_gates: 500, bad_workers: 200, ..SimSpec::kind() };
    for (name, spec, team) in
        [("over", SimSpec::kind(), false), ("of_team", SimSpec::kind(), true), ("refused", refused, false)]
    {
        with_stage(spec, async |_, daemon, request| {
            let request = StartRunRequest { plan: plan(), team, ..request };
            let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
            daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
            tokio::time::sleep(Duration::from_secs(60)).await;

            insta::assert_snapshot!(name, answers(daemon, &run, &["1.1", "1.2", "1.3"]).await);
        });
    }
}

/// Returns a plan whose tasks are worked on by several workers each.
fn plan_of_modes() -> String {
    let task = |id: &str, settings: Value| {
        json!({ "id": id, "phase": 1, "description": format!("do {id}"), "acceptance": "it is done",
            "files_touched": [format!("t/{id}"), repo::removed_by(id)], "x-switchboard": settings })
    };
    let debate = json!({ "participants": [{ "agent": "ann" }, { "agent": "ann" }], "rounds": 1 });
    let tasks = [
        task("1.1", json!({ "best_of": 2 })),
        task("1.2", json!({ "chain": [{ "prompt": "look" }, { "prompt": "do it: {previous}" }] })),
        json!({ "id": "1.3", "phase": 1, "description": "talk", "x-switchboard": { "debate": debate } }),
        json!({ "id": "1.4", "phase": 1, "description": "look", "x-switchboard": { "result": "report" } }),
    ];
    json!({ "schema_version": "1.0.0", "title": "Modes", "swarm": "sim", "x-switchboard": { "ports": 0 },
        "phases": [{ "id": 1, "name": "one", "tasks": tasks }] })
    .to_string()
}

#[test]
fn a_run_with_several_workers_on_a_task_is_answered_about_as_recorded() {
    with_stage(SimSpec::kind(), async |_, daemon, request| {
        let request = StartRunRequest { plan: plan_of_modes(), ..request };
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();

        insta::assert_snapshot!("modes", answers(daemon, &run, &["1.1", "1.3"]).await);
    });
}

#[test]
fn a_run_that_a_team_leads_is_answered_about_as_recorded() {
    with_seat(async |led| {
        led.up_to_step("review").await;

        insta::assert_snapshot!("led", answers(led.daemon, &led.run, &["1.1", "1.2"]).await);
    });
}
