//! A run that an agent leads over MCP, from the architect's seat.

use std::time::Duration;

use serde_json::{Value, json};

use super::driven::{Team, plan};
use super::held_calls::{Client, runtime};
use super::sandbox::{Done, Sandbox, within};

/// An agent that uses `switchboard mcp`.
struct Agent {
    client: Client,
    run: String,
    fence: u64,
    calls: u32,
}

/// A call that was refused.
#[derive(Debug)]
struct Refusal {
    code: String,
    what: String,
    hint: String,
}

impl Refusal {
    #[track_caller]
    fn is(&self, code: &str, words: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.what.contains(words) || self.hint.contains(words), "{words:?}: {self:?}");
    }
}

impl Agent {
    async fn open(sandbox: &Sandbox, name: &str, run: &str) -> Self {
        Self { client: Client::open_as(sandbox, name).await, run: run.to_owned(), fence: 0, calls: 1 }
    }

    /// Calls a verb with the run and the fence added to its arguments.
    async fn call(&mut self, verb: &str, args: Value) -> Result<Value, Refusal> {
        let mut all = args;
        all["run"] = json!(self.run);
        if self.fence > 0 && !matches!(verb, "seat_status" | "lead_run") {
            all["fence"] = json!(self.fence);
        }
        self.calls += 1;
        self.client.ask(self.calls, verb, &all).await;
        let answer = self.client.line().await;
        assert_eq!(answer["id"], self.calls, "{answer}");
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        if result["isError"] != true {
            return Ok(serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {answer}")));
        }
        let failure = &result["structuredContent"];
        let failure = if failure["code"].is_string() { failure.clone() } else { serde_json::from_str(text).unwrap() };
        let said = |key: &str| failure[key].as_str().unwrap_or_default().to_owned();
        Err(Refusal { code: said("code"), what: said("what"), hint: said("hint") })
    }

    async fn refused(&mut self, verb: &str, args: Value) -> Refusal {
        let answer = self.call(verb, args.clone()).await;
        answer.err().unwrap_or_else(|| panic!("{verb} {args} is not refused"))
    }

    /// Returns the open steps, once there are any.
    async fn open_steps(&mut self) -> Vec<Value> {
        for _ in 0..20 {
            let status = self.call("seat_status", json!({ "wait_ms": 5000 })).await.unwrap();
            self.fence = status["fence"].as_u64().unwrap_or(self.fence);
            let open = status["open"].as_array().unwrap().clone();
            if !open.is_empty() {
                return open;
            }
        }
        panic!("nothing may be done: {:?}", self.call("seat_status", json!({})).await)
    }

    /// Completes open steps as an architect would, until a task is open.
    async fn follow_remedies(&mut self) -> Value {
        loop {
            let open = self.open_steps().await.remove(0);
            let step = open["step"].as_str().unwrap().to_owned();
            match (open["verb"].as_str().unwrap(), step.as_str()) {
                ("begin_step", _) if open["task"].is_string() => return open,
                ("begin_step", _) => drop(self.call("begin_step", json!({ "step": step })).await.unwrap()),
                ("save_plan", _) => {
                    let mut loose = plan(&[1, 2]);
                    loose["x-switchboard"] = json!({ "gates": ["-test_integrity"], "turbo": true });
                    let refused = self.refused("save_plan", json!({ "plan": loose })).await;
                    refused.is("request.bad-args", "gate -test_integrity of the plan");
                    self.call("save_plan", json!({ "plan": plan(&[1, 2]) })).await.unwrap();
                }
                ("report_step", "questions") => self.answer(json!({ "questions": [] })).await,
                ("report_step", "retrospective") => return open,
                (verb, step) => panic!("{verb} {step}"),
            }
        }
    }

    async fn answer(&mut self, answer: Value) {
        self.call("report_step", json!({ "state": "done", "note": "as asked", "answer": answer })).await.unwrap();
    }

    async fn look_back(&mut self, phase: u64) {
        let counts =
            ["total_tool_calls", "coder_revisions", "reviewer_rejections", "test_failures", "security_findings"];
        let mut answer =
            json!({ "phase_number": phase, "integration_issues": 0, "task_count": 1, "task_complexity": "simple" });
        for count in counts {
            answer[count] = json!(1);
        }
        self.answer(answer).await;
    }
}

/// Starts a run that lea leads; returns it with its id.
fn led(team: &Team, more: &[&str]) -> (std::thread::JoinHandle<Done>, String) {
    let wish = ["Print one and two", "--lead", "lea", "--budget", "50", "--auto", "--merge", "--without", "docs"];
    let run = team.run_aside(&[&wish[..], more].concat());
    let mut id = String::new();
    let is_there = within(Duration::from_secs(60), || {
        let shown = team.sandbox.switchboard(&["show", "--json"]);
        if shown.code == 0 {
            id = shown.json()["run"].as_str().unwrap_or_default().to_owned();
        }
        !id.is_empty()
    });
    assert!(is_there, "the run has not begun");
    (run, id)
}

#[test]
fn an_architect_over_mcp_is_refused_each_shortcut_and_gets_there_by_the_remedies_alone() {
    let team = Team::new(&[]);
    let (run, id) = led(&team, &[]);

    runtime().block_on(async {
        let mut lea = Agent::open(&team.sandbox, "lea", &id).await;
        let first = lea.open_steps().await.remove(0);
        assert_eq!((&first["verb"], &first["step"]), (&json!("report_step"), &json!("questions")), "{first}");
        assert!(first["question"].as_str().unwrap().contains("Print one and two"), "{first}");
        // No plan is accepted before the repository is explored, and no other agent plans.
        lea.refused("save_plan", json!({ "plan": plan(&[1]) }))
            .await
            .is("seat.not-open", "report_step: `state` is done");
        lea.refused("begin_step", json!({})).await.is("seat.not-open", "only the architect answers");
        lea.refused("begin_step", json!({ "task": "1.1" })).await.is("seat.not-open", "no phase is carried out");
        lea.answer(json!({ "questions": [] })).await;
        assert_eq!(lea.open_steps().await[0]["step"], "exploration");
        lea.refused("begin_step", json!({ "step": "plan_review" })).await.is("seat.not-open", "exploration is open");
        lea.refused("begin_step", json!({ "by": "seat" })).await.is("seat.not-open", "another one than who plans");
        let report = json!({ "state": "done", "note": "x", "answer": { "report": "all is well", "domains": [] } });
        lea.refused("report_step", report).await.is("seat.not-open", "begin_step");

        let task = lea.follow_remedies().await;
        assert_eq!((&task["task"], &task["step"]), (&json!("1.1"), &json!("work")), "{task}");
        shortcuts_of_a_task(&mut lea, &team).await;

        // By the architect itself, in a tree that is not the user's.
        let begun = lea.call("begin_step", json!({ "task": "1.1", "by": "seat" })).await.unwrap();
        let tree = begun["worktree"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
        assert!(begun["prompt"].as_str().unwrap().contains("Make 1.1.sh"), "{begun}");
        assert!(begun["branch"].as_str().unwrap().starts_with("switchboard-task/"), "{begun}");
        lea.refused("begin_step", json!({ "task": "1.1" })).await.is("seat.not-open", "task 1.1 is working");
        std::fs::write(format!("{tree}/1.1.sh"), "echo 1.1\n").unwrap();
        lea.call("report_step", json!({ "task": "1.1", "state": "done", "note": "made" })).await.unwrap();

        for step in ["review", "tests", "adversarial_tests"] {
            let open = loop {
                let open = lea.open_steps().await.remove(0);
                // A step that the change doesn't need is skipped when it is begun.
                if open["step"] != "security_review" && open["step"] != "impact" {
                    break open;
                }
                lea.call("begin_step", json!({ "task": "1.1" })).await.unwrap();
            };
            assert_eq!((&open["task"], &open["step"]), (&json!("1.1"), &json!(step)), "{open}");
            lea.refused("begin_step", json!({ "task": "1.1", "by": "seat" }))
                .await
                .is("seat.not-open", "judges the change");
            let status = json!({ "task": "1.1", "status": "completed" });
            lea.refused("update_task_status", status).await.is("seat.not-earned", step);
            lea.call("begin_step", json!({ "task": "1.1", "step": step })).await.unwrap();
        }
        end_of_both_phases(&mut lea).await;
        lea.client.close().await;
    });

    let out = run.join().unwrap().ends_with(0).out;
    assert!(out.contains("lea leads the run") && out.contains("work is begun, by lea itself"), "{out}");
    assert_eq!((team.sandbox.read("1.1.sh"), team.sandbox.read("2.1.sh")), ("echo 1.1\n".into(), "echo 2.1\n".into()));
    assert_eq!((team.count("plan_draft"), team.count("questions"), team.count("retrospective")), (0, 0, 0));
    assert_eq!(team.count("work"), 1, "one task was done by a worker, the other by lea");
    team.sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
}

async fn shortcuts_of_a_task(lea: &mut Agent, team: &Team) {
    let completed = json!({ "task": "1.1", "status": "completed" });
    lea.refused("update_task_status", completed).await.is("seat.not-earned", "begin_step work of task 1.1");
    let in_progress = json!({ "task": "1.1", "status": "in_progress" });
    lea.refused("update_task_status", in_progress).await.is("seat.not-earned", "nobody works on it");
    lea.refused("begin_step", json!({ "task": "1.1", "step": "review" })).await.is("seat.not-open", "work is open");
    lea.refused("begin_step", json!({ "task": "1.2" })).await.is("dispatch.unknown-task", "1.1");
    lea.refused("report_step", json!({ "task": "1.1", "state": "done", "note": "done!" }))
        .await
        .is("seat.not-open", "task 1.1");
    lea.refused("declare_scope", json!({ "task": "1.1", "files": ["other.sh"] }))
        .await
        .is("seat.not-open", "files_touched");
    lea.refused("declare_scope", json!({ "task": "1.1", "files": ["../x"] })).await.is("request.bad-args", "no path");
    lea.call("declare_scope", json!({ "task": "1.1", "files": ["1.1.sh"] })).await.unwrap();
    lea.refused("set_qa_gates", json!({ "add": ["-review"] })).await.is("request.bad-args", "only added");
    lea.refused("set_qa_gates", json!({ "add": ["lint"] })).await.is("seat.not-open", "phase 1 is carried out");
    lea.refused("merge_run", json!({})).await.is("policy.denied", "only a person");
    let fence = std::mem::replace(&mut lea.fence, 99);
    lea.refused("begin_step", json!({ "task": "1.1" })).await.is("seat.not-yours", "99");
    lea.fence = fence;

    // A second architect is refused with the holder's name, and no person is asked for it; the fence of another agent has no
    // effect.
    let mut eve = Agent::open(&team.sandbox, "eve", &lea.run).await;
    eve.fence = fence;
    eve.refused("begin_step", json!({ "task": "1.1" })).await.is("seat.not-yours", "lea has the architect's seat");
    eve.refused("lead_run", json!({ "budget": { "ceiling": 5_000_000 } }))
        .await
        .is("seat.taken", "lea has the architect's seat");
    assert_eq!(team.sandbox.call(&["list_needs"])["needs"], json!([]));
    eve.client.close().await;
}

async fn end_of_both_phases(lea: &mut Agent) {
    let mut phases = 0;
    while phases < 2 {
        let open = lea.follow_remedies().await;
        if open["step"] == "retrospective" {
            phases += 1;
            lea.look_back(phases).await;
            continue;
        }
        lea.call("begin_step", json!({ "task": open["task"] })).await.unwrap();
    }
}

#[test]
fn a_seat_that_is_lost_is_a_persons_question_and_nothing_is_lost_with_it() {
    let team = Team::new(&[]);
    let (run, id) = led(&team, &[]);
    // A shorter lease, which only a person can set.
    team.sandbox.call(&["lead_run", &format!("run={id}"), "agent=lea", "lease_ms=4000"]);

    let tree = runtime().block_on(async {
        let mut lea = Agent::open(&team.sandbox, "lea", &id).await;
        lea.follow_remedies().await;
        let begun = lea.call("begin_step", json!({ "task": "1.1", "by": "seat" })).await.unwrap();
        let tree = begun["worktree"].as_str().unwrap().to_owned();
        std::fs::write(format!("{tree}/1.1.sh"), "echo half\n").unwrap();
        lea.client.close().await;
        tree
    });

    let need = team.sandbox.question_within(Duration::from_secs(60));
    assert!(need["title"].as_str().unwrap().contains("lea has lost the architect's seat"), "{need}");
    team.sandbox.switchboard(&["lead", &id]).ends_with(0).says("waits for somebody who leads it");
    assert_eq!(std::fs::read_to_string(format!("{tree}/1.1.sh")).unwrap(), "echo half\n", "what was begun stays");
    team.sandbox.switchboard(&["answer", need["id"].as_str().unwrap(), "drive"]).ends_with(0);

    let out = run.join().unwrap().ends_with(0).out;
    assert!(
        out.contains("is stopped: lea has lost the architect's seat: nothing was heard of it in its lease"),
        "{out}"
    );
    let log = team.sandbox.switchboard(&["log", "1.1"]).ends_with(0).out;
    assert!(log.contains("nothing was heard of it in its lease") && !log.contains("RETRY"), "{log}");
    assert_eq!((team.sandbox.read("1.1.sh"), team.sandbox.read("2.1.sh")), ("echo 1.1\n".into(), "echo 2.1\n".into()));
    assert_eq!(team.count("retrospective"), 2, "the engine asks the architect's worker again");
}

#[test]
fn a_run_changes_its_form_both_ways_and_an_older_fence_is_worth_nothing() {
    let team = Team::new(&[]);
    let (run, id) = led(&team, &[]);
    runtime().block_on(async {
        let mut lea = Agent::open(&team.sandbox, "lea", &id).await;
        lea.open_steps().await;
        let first = lea.fence;
        team.sandbox.switchboard(&["lead", &id, "--end"]).ends_with(0).says("is driven by the engine");
        lea.refused("begin_step", json!({})).await.is("seat.not-yours", "the engine drives the run");
        team.sandbox.switchboard(&["lead", &id, "lea", "--lease", "5"]).ends_with(0).says("is led by lea");
        lea.refused("begin_step", json!({})).await.is("seat.not-yours", &format!("{first} is not that one"));
        lea.open_steps().await;
        assert!(lea.fence > first, "{} and {first}", lea.fence);
        let status = team.sandbox.switchboard(&["lead", &id, "--json"]).ends_with(0).json();
        assert_eq!((&status["form"], &status["agent"]), (&json!("led"), &json!("lea")));
        assert!(status["fence"].is_null(), "the fence is told to who has the seat: {status}");
        let left = lea.call("leave_seat", json!({})).await.unwrap();
        assert_eq!(left["form"], "driven");
        lea.client.close().await;
    });

    run.join().unwrap().ends_with(0);
    assert_eq!(team.sandbox.read("2.1.sh"), "echo 2.1\n");
}

#[test]
fn a_plan_that_can_not_have_the_gates_that_were_added_is_refused_when_it_is_saved() {
    let team = Team::new(&[]);
    let (run, id) = led(&team, &[]);

    runtime().block_on(async {
        let mut lea = Agent::open(&team.sandbox, "lea", &id).await;
        lea.open_steps().await;
        lea.call("set_qa_gates", json!({ "add": ["test_runner"] })).await.unwrap();
        lea.answer(json!({ "questions": [] })).await;
        while lea.open_steps().await[0]["verb"] != "save_plan" {
            lea.call("begin_step", json!({})).await.unwrap();
        }

        lea.refused("save_plan", json!({ "plan": plan(&[1]) })).await.is("request.bad-args", "test_runner");

        lea.client.close().await;
    });
    team.sandbox.switchboard(&["stop", &id]).ends_with(0);
    run.join().unwrap();
}

#[test]
fn a_seat_wants_a_team_a_ceiling_and_an_agent_that_is_who_it_says() {
    let team = Team::new(&[]);
    team.run(&["Print one", "--lead", "lea"]).ends_with(2).says("--budget");
    let plan_file = team
        .sandbox
        .trusted_plan(&json!([{ "id": "1.1", "phase": 1, "description": "Make 1.1.sh", "files_touched": ["1.1.sh"] }]));
    team.sandbox.switchboard(&["run", &plan_file, "--yes", "--agent", "ada"]).ends_with(0);
    let plain = team.shown()["run"].as_str().unwrap().to_owned();
    team.sandbox.switchboard(&["lead", &plain, "lea", "--budget", "5"]).ends_with(1).says("no team carries it out");

    let run = team.run_aside(&["Print one and two", "--auto"]);
    let mut id = plain.clone();
    assert!(within(Duration::from_secs(60), || {
        let shown = team.sandbox.switchboard(&["show", "--json"]);
        id = shown.json()["run"].as_str().unwrap_or_default().to_owned();
        id != plain
    }));
    team.sandbox.switchboard(&["lead", &id, "lea"]).ends_with(2).says("--budget USD");
    team.sandbox.switchboard(&["lead", &id, "lea", "--budget", "50"]).ends_with(0).says("may cost $50");
    // A script that only claims to be lea.
    let caller = team.sandbox.switchboard(&["call", "save_plan", &format!("run={id}"), "fence=1", "plan={}"]);
    caller.ends_with(2).says("lea has the architect's seat");
    team.sandbox.switchboard(&["lead", &id, "--end"]).ends_with(0);
    run.join().unwrap().ends_with(0);
}

#[test]
fn a_daemon_that_dies_between_the_record_and_its_effect_goes_on_with_the_same_seat() {
    for point in ["seat-recorded", "hands-reported"] {
        let mut team = Team::new(&[]);
        team.sandbox.set("SWITCHBOARD_CRASH_AT", point);
        let (run, id) = led(&team, &[]);
        let before = team.sandbox.call(&["get_status"])["pid"].clone();
        runtime().block_on(async {
            let mut lea = Agent::open(&team.sandbox, "lea", &id).await;
            // The daemon dies during one of these calls, and the next one has the seat's record.
            let open = lea.open_steps().await.remove(0);
            assert_eq!(open["step"], "questions");
            if point == "seat-recorded" {
                let answer = json!({ "state": "done", "note": "as asked", "answer": { "questions": [] } });
                let _died = lea.call("report_step", answer).await;
            } else {
                lea.follow_remedies().await;
                let begun = lea.call("begin_step", json!({ "task": "1.1", "by": "seat" })).await.unwrap();
                std::fs::write(format!("{}/1.1.sh", begun["worktree"].as_str().unwrap()), "echo 1.1\n").unwrap();
                let _died = lea.call("report_step", json!({ "task": "1.1", "state": "done", "note": "made" })).await;
            }
            lea.client.close().await;
        });
        team.sandbox.unset("SWITCHBOARD_CRASH_AT");
        let after = team.sandbox.call(&["get_status"])["pid"].clone();
        assert!(before.is_number() && before != after, "{point}: the daemon did not die: {before}, {after}");
        team.sandbox.call(&["shutdown", "keep_workers=true"]);
        drop(run.join());
        let run = team.sandbox.run_aside(&["--resume", &id]);
        runtime().block_on(async {
            let mut lea = Agent::open(&team.sandbox, "lea", &id).await;
            end_of_both_phases(&mut lea).await;
            lea.client.close().await;
        });
        run.join().unwrap().ends_with(0);
        let shown = team.shown();
        assert_eq!((&shown["state"], &shown["merged"]), (&json!("succeeded"), &json!(2)), "{point}: {shown}");
        let by_workers = if point == "hands-reported" { 1 } else { 2 };
        assert_eq!(team.count("work"), by_workers, "{point}: nothing is done twice");
    }
}
