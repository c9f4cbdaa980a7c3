//! Work without a plan, and the dimensions of a run: isolation, coordination, scope, mode.

use serde_json::{Value, json};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::job::{Coordination, Mode};

use super::sandbox::{Done, Sandbox};

/// Creates a repository with two agents that are commands: each prints its task's id and its prompt.
fn with_speakers() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["ann", "ben"] {
        let line = format!(
            "echo \"{name} on $SWITCHBOARD_TASK in $SWITCHBOARD_RUN:\" | cut -d' ' -f1-3; cat; test -e stop-{name} && exit 3; true"
        );
        let command = json!(["sh", "-c", line]);
        sandbox.settings(&format!("[agents.{name}]\ndriver = \"exec\"\ncommand = {command}\n"));
    }
    sandbox
}

/// Calls `start_run` with this request.
fn start(sandbox: &Sandbox, request: &Value) -> Done {
    let fields = request.as_object().unwrap().iter().map(|(name, value)| format!("{name}:={value}"));
    let words = ["call", "start_run"].map(str::to_owned).into_iter().chain(fields).chain(["--json".to_owned()]);
    sandbox.switchboard(&words.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns what the task's worker printed.
#[track_caller]
fn said(sandbox: &Sandbox, task: &str) -> String {
    sandbox.switchboard(&["show", task, "--answer"]).ends_with(0).out
}

#[test]
fn one_task_is_done_and_what_was_said_is_printed() {
    let sandbox = with_speakers();
    let before = sandbox.state_of_user();

    let done = sandbox.switchboard(&["dispatch", "Which licence is this?", "--agent", "ann", "--yes"]).ends_with(0);
    let done = done.says("keeps       what the agents say; what they change in files only with --change");

    assert!(done.out.contains("ann on 1.1") && done.out.contains("Which licence is this?"), "{}", done.out);
    assert_eq!(sandbox.state_of_user(), before);
    let json = sandbox.switchboard(&["dispatch", "first", "second", "--agent", "ann", "--yes", "--json"]).ends_with(0);
    let last: Value = serde_json::from_str(json.out.lines().last().unwrap()).unwrap();
    let answers: Vec<_> = last["answers"].as_array().unwrap().iter().map(|one| one["task"].clone()).collect();
    assert_eq!(answers, ["1.1", "1.2"]);
    assert!(last["answers"][1]["answer"]["text"].as_str().unwrap().contains("second"), "{last}");
}

#[test]
fn several_tasks_are_done_side_by_side_each_by_its_agent_and_one_that_fails_leaves_the_others_alone() {
    let sandbox = with_speakers();
    sandbox.write("stop-ben", "");
    sandbox.commit("ben fails");
    let tasks = ["dispatch", "first", "second", "third", "--agent", "ann", "--agent", "ben", "--agent", "ann", "--yes"];

    sandbox.switchboard(&tasks).ends_with(1);

    let report = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let states: Vec<_> = report["list"].as_array().unwrap().iter().map(|task| task["state"].clone()).collect();
    assert_eq!(states, ["done", "blocked", "done"], "{report}");
    assert!(said(&sandbox, "1.1").contains("first") && said(&sandbox, "1.3").contains("third"));
    let wrong = sandbox.switchboard(&["dispatch", "a", "b", "c", "--agent", "ann", "--agent", "ben", "--json"]);
    assert_eq!(wrong.ends_with(2).failure()["where"], "agent");
}

#[test]
fn a_chain_hands_on_what_was_said_and_a_debate_is_decided() {
    let sandbox = with_speakers();
    let chain = ["dispatch", "--mode", "chain", "Say $& \\1 {x}", "<{previous}>", "--agent", "ann", "--yes"];
    let shown = sandbox.switchboard(&chain).ends_with(0).says("1.1.s1 ann      found nothing to change");
    assert!(!shown.out.contains("so it is not done"), "{}", shown.out);
    let first = said(&sandbox, "1.1.s1");
    assert!(first.contains("the next step begins with the files as you leave them"), "{first}");
    let last = said(&sandbox, "1.1");
    assert!(last.contains("<ann on 1.1.s1") && last.contains("Say $& \\1 {x}"), "{last}");

    let debate =
        ["dispatch", "--topic", "Tabs or spaces?", "--agent", "ann", "--agent", "ben", "--decides", "ben", "--yes"];
    sandbox.switchboard(&debate).ends_with(0);
    let verdict = said(&sandbox, "1.1");
    assert!(verdict.contains("ben on 1.1") && verdict.contains("ann on 1.1.r2.p1"), "{verdict}");
    let second = said(&sandbox, "1.1.r2.p1");
    assert!(second.contains("ben on 1.1.r1.p2") && !second.contains("ben on 1.1.r2.p2"), "{second}");
}

#[test]
fn a_change_is_judged_and_merged_into_the_branch_of_the_run() {
    let sandbox = Sandbox::new();
    let command = json!(["sh", "-c", "echo made > made.txt"]);
    sandbox.settings(&format!("[agents.maker]\ndriver = \"exec\"\ncommand = {command}\n"));

    let done = sandbox.switchboard(&["dispatch", "make it", "--agent", "maker", "--change", "--yes"]).ends_with(0);
    assert!(!done.out.contains("keeps  "), "{}", done.out);
    done.says("merged");

    sandbox.switchboard(&["merge"]).ends_with(0);
    assert_eq!(sandbox.read("made.txt"), "made\n");
}

#[test]
fn workers_that_stand_alone_are_on_no_roster_and_have_no_mail_and_no_tools() {
    let sandbox = Sandbox::new();
    sandbox.script("lone", &json!([{ "steps": [{ "do": "say", "text": "alone" }] }]));
    for (coordination, joined) in [("standalone", 0), ("managed", 1)] {
        let args = ["dispatch", "Speak.", "--agent", "lone", "--coordination", coordination, "--yes"];
        sandbox.switchboard(&args).ends_with(0).says("alone");
        let events = sandbox.call(&["read_events", "kinds:=[\"agent_registered\"]"]);
        assert_eq!(events["events"].as_array().unwrap().len(), joined, "{coordination}: {events}");
    }
    let run = sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned();
    let shown = sandbox.call(&["show_task", "task=1.1"]);
    assert_eq!(shown["run"], run.as_str());
}

#[test]
fn each_of_the_64_combinations_is_prepared_or_refused_with_the_field() {
    let sandbox = with_speakers();
    let plan = json!({ "schema_version": "1.0.0", "title": "A plan", "swarm": "story", "phases": [{ "id": 1, "name": "P",
        "tasks": [{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "agent": "ann", "slice": "api" } }] }] });
    let agents: Vec<Value> = ["ann", "ben"]
        .map(|name| json!({ "name": name, "driver": { "driver": "exec", "argv": ["sh", "-c", "cat"] }, "four_tools": true }))
        .into();
    let scopes = [json!({ "phase": 1 }), json!({ "slice": { "phase": 1, "name": "api" } }), json!({ "task": "1.1" })];
    let (mut prepared, mut refused) = (0, 0);
    for isolation in Isolation::ALL {
        for coordination in Coordination::ALL {
            for mode in Mode::ALL {
                let common = json!({ "agents": agents, "default_agent": "ann", "isolation": isolation,
                    "coordination": coordination, "mode": mode, "dry_run": true, "unenforced": true });
                for scope in &scopes {
                    let mut request = common.clone();
                    (request["plan"], request["scope"]) = (json!(plan.to_string()), scope.clone());
                    let done = start(&sandbox, &request);
                    if done.code == 0 {
                        prepared += 1;
                    } else {
                        let failure = done.ends_with(2).failure();
                        assert_eq!((&failure["code"], &failure["where"]), (&json!("request.bad-args"), &json!("mode")));
                        refused += 1;
                    }
                }
                let count = if mode == Mode::Single { 1 } else { 2 };
                let mut request = common.clone();
                request["job"] = json!({ "tasks": vec![json!({ "task": "speak" }); count] });
                if mode == Mode::Debate {
                    request["job"]["topic"] = json!({ "task": "what" });
                }
                let reply = start(&sandbox, &request).ends_with(0).json();
                let constrained = reply["constrained"].as_array().map_or(0, Vec::len);
                assert_eq!(constrained > 0, isolation == Isolation::Constrained, "{reply}");
                prepared += 1;
            }
        }
    }
    assert_eq!((prepared, refused), (44, 20));
}

#[test]
fn tasks_that_write_the_same_files_are_shown_and_run_beside_each_other_where_that_is_asked_for() {
    let sandbox = Sandbox::new();
    let meet = sandbox.folder().join("meet").display().to_string();
    // Each waits for the other, at most five seconds, and prints whether it came.
    let line = format!(
        "mkdir -p {meet}; touch {meet}/$SWITCHBOARD_TASK; for i in $(seq 50); do test $(ls {meet} | wc -l) = 2 && break; sleep 0.1; done; ls {meet} | wc -l > $SWITCHBOARD_TASK.txt"
    );
    let task = |id: &str| {
        json!({ "id": id, "phase": 1, "description": "d", "files_touched": ["*.txt"],
            "x-switchboard": { "command": ["sh", "-c", line] } })
    };
    let path = sandbox.trusted_plan(&json!([task("1.1"), task("1.2")]));

    sandbox.switchboard(&["run", &path, "--dry-run"]).ends_with(0).says("1.1 and 1.2 write *.txt: one after the other");
    let shown = sandbox.switchboard(&["run", &path, "--dry-run", "--no-execution-graph", "--json"]).ends_with(0).json();
    assert_eq!(
        shown["conflicts"],
        json!([{ "a": "1.1", "b": "1.2", "paths": [{ "path": "*.txt", "a": "write", "b": "write" }] }]),
        "{shown}"
    );
    assert_eq!(shown["waves"], json!([["1.1", "1.2"]]));
    sandbox.switchboard(&["run", &path, "--no-execution-graph", "--yes", "--merge"]).ends_with(0);

    assert_eq!((sandbox.read("1.1.txt"), sandbox.read("1.2.txt")), ("2\n".to_owned(), "2\n".to_owned()));
}

#[test]
fn a_task_waits_for_what_another_makes_and_keeps_away_from_what_another_writes() {
    let sandbox = Sandbox::new();
    let task = |id: &str, line: &str, settings: Value| {
        let mut settings = settings;
        settings["command"] = json!(["sh", "-c", line]);
        json!({ "id": id, "phase": 1, "description": "d", "x-switchboard": settings })
    };
    let makes = || task("1.2", "mkdir -p api; echo made > api/schema.txt", json!({ "outputs": ["./api//schema.txt"] }));
    let path = sandbox.trusted_plan(&json!([
        task("1.1", "cp api/schema.txt copy.txt", json!({ "inputs": ["api"] })),
        makes(),
        task("1.3", "echo three > 3.txt", json!({ "reads": ["api/*.txt"] })),
    ]));

    let shown = sandbox.switchboard(&["run", &path, "--dry-run"]).ends_with(0);
    shown
        .says("derived     1.1 after 1.2: it needs api, which that one makes")
        .says("1.2 writes and 1.3 reads api/schema.txt: one after the other");
    let shown = sandbox.switchboard(&["run", &path, "--dry-run", "--json"]).ends_with(0).json();
    assert_eq!(shown["derived"], json!([{ "task": "1.1", "on": "1.2", "path": "api" }]), "{shown}");
    assert_eq!(shown["skipped"][0]["code"], "conflict-deferred", "{shown}");
    sandbox.switchboard(&["run", &path, "--yes", "--merge"]).ends_with(0);
    assert_eq!(sandbox.read("copy.txt"), "made\n");

    let refused = |tasks: &Value| {
        let plan = sandbox.plan(tasks);
        sandbox.switchboard(&["run", &plan, "--dry-run", "--json"]).ends_with(2).failure()
    };
    let circle = json!([
        task("1.1", "true", json!({ "inputs": ["b"], "outputs": ["a"] })),
        task("1.2", "true", json!({ "inputs": ["a"], "outputs": ["b"] }))
    ]);
    let failure = refused(&circle);
    assert_eq!(failure["code"], "plan.cycle");
    assert!(failure["what"].as_str().unwrap().contains("1.1 → 1.2 → 1.1"), "{failure}");
    let failure = refused(&json!([task("1.1", "true", json!({ "inputs": ["nowhere.txt"] }))]));
    assert_eq!(failure["code"], "plan.missing-input");
    assert!(failure["what"].as_str().unwrap().contains("needs nowhere.txt"), "{failure}");
    let lazy =
        sandbox.trusted_plan(&json!([task("1.1", "echo x > other.txt", json!({ "outputs": ["promised.txt"] }))]));
    sandbox.switchboard(&["run", &lazy, "--yes"]).ends_with(3).says("promised.txt is an output, and was not made");
}

#[test]
fn a_task_that_the_run_does_not_have_is_refused_with_the_near_one() {
    let sandbox = with_speakers();
    sandbox.switchboard(&["dispatch", "a", "b", "--agent", "ann", "--yes"]).ends_with(0);
    let run = sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned();

    for verb in ["stop_run", "pause_run", "retry_task"] {
        let done = sandbox.switchboard(&["call", verb, &format!("what={run}/1.22"), "--json"]).ends_with(2);
        let failure = done.failure();
        assert_eq!(failure["code"], "dispatch.unknown-task", "{verb}: {failure}");
        assert!(failure["hint"].as_str().unwrap().contains("1.2"), "{verb}: {failure}");
    }
    let done = sandbox.switchboard(&["call", "resume_run", &format!("run={run}/1.22"), "--json"]).ends_with(2);
    assert_eq!(done.failure()["code"], "dispatch.unknown-task");
}
