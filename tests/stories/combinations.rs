//! Runs of every dimension: a sample of the combinations of isolation, coordination, scope and mode that work, and how
//! many workers are live at once.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::job::{Coordination, Mode};

use super::sandbox::{Done, Sandbox};

/// Makes two agents that are commands: each prints its prompt and makes a file named after its task.
fn with_makers() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("start.txt", "start\n");
    sandbox.commit("a file");
    sandbox
}

fn agents() -> Value {
    let line = "cat; echo made > \"made-$SWITCHBOARD_TASK.txt\"";
    let agent = |name: &str| json!({ "name": name, "driver": { "driver": "exec", "argv": ["sh", "-c", line] }, "four_tools": true });
    json!([agent("ann"), agent("ben")])
}

fn plan() -> Value {
    let task = |id: &str| json!({ "id": id, "phase": 1, "description": format!("do {id}"), "x-switchboard": { "agent": "ann", "slice": "api" } });
    json!({ "schema_version": "1.0.0", "title": "A plan", "swarm": "story",
        "x-switchboard": { "agent": "ann", "debate": { "participants": [{ "agent": "ann" }, { "agent": "ben" }], "rounds": 1 } },
        "phases": [{ "id": 1, "name": "P", "tasks": [task("1.1"), task("1.2")] }] })
}

/// Makes the plan that a mode needs for one task.
fn plan_of_task(mode: Mode) -> Value {
    let mut plan = plan();
    let own = &mut plan["phases"][0]["tasks"][0]["x-switchboard"];
    match mode {
        Mode::Single => {}
        Mode::Parallel => own["best_of"] = json!(2),
        Mode::Debate => {
            own["debate"] = json!({ "participants": [{ "agent": "ann" }, { "agent": "ben" }], "rounds": 1 })
        }
        Mode::Chain => own["chain"] = json!([{ "prompt": "{task}" }, { "prompt": "{previous}" }]),
    }
    plan
}

fn start(sandbox: &Sandbox, request: &Value) -> Done {
    let fields = request.as_object().unwrap().iter().map(|(name, value)| format!("{name}:={value}"));
    let words: Vec<_> =
        ["call", "start_run"].map(str::to_owned).into_iter().chain(fields).chain(["--json".to_owned()]).collect();
    sandbox.switchboard(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[track_caller]
fn carried_out(sandbox: &Sandbox, request: &Value) -> Value {
    let run = start(sandbox, request).ends_with(0).json()["run"].as_str().unwrap().to_owned();
    sandbox.switchboard(&["run", "--resume", &run]).ends_with(0);
    let shown = sandbox.call(&["get_run", &format!("run={run}")]);
    assert_eq!(shown["state"], "succeeded", "{shown}");
    shown
}

#[test]
fn a_sample_of_the_64_combinations_is_carried_out() {
    let sandbox = with_makers();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let scopes = [
        json!({ "phase": 1 }),
        json!({ "slice": { "phase": 1, "name": "api" } }),
        json!({ "task": "1.1" }),
        Value::Null,
    ];
    // Every scope in every mode; isolation and coordination alternate between the rows.
    for (at, scope) in scopes.iter().enumerate() {
        for (number, mode) in Mode::ALL.into_iter().enumerate() {
            let isolation = Isolation::ALL[(at + number) % 2];
            let coordination = Coordination::ALL[(at + number / 2) % 2];
            let mut request = json!({ "agents": agents(), "default_agent": "ann", "isolation": isolation,
                "coordination": coordination, "mode": mode, "unenforced": true });
            if scope.is_null() {
                let count = if mode == Mode::Single { 1 } else { 2 };
                request["job"] = json!({ "tasks": vec![json!({ "task": "speak" }); count] });
                if mode == Mode::Debate {
                    request["job"]["topic"] = json!({ "task": "what" });
                    request["job"]["rounds"] = json!(1);
                }
            } else {
                let plan = if scope.get("task").is_some() { plan_of_task(mode) } else { plan() };
                (request["plan"], request["scope"]) = (json!(plan.to_string()), scope.clone());
            }
            let shown = carried_out(&sandbox, &request);
            let list = shown["list"].as_array().unwrap();
            // A task that chooses among the changes of others has no worker.
            let chooses =
                |task: &Value| list.iter().any(|other| other["id"] == format!("{}.c1", task["id"].as_str().unwrap()));
            let held: BTreeSet<_> = list
                .iter()
                .filter(|task| task["attempts"].as_u64().unwrap_or(0) > 0 && !chooses(task))
                .map(|task| task["isolation"].as_str().unwrap_or("full").to_owned())
                .collect();
            assert_eq!(held, BTreeSet::from([isolation.as_str().to_owned()]), "{scope} {mode:?}: {shown}");
        }
    }
}

#[test]
fn a_debate_about_a_milestone_is_decided_before_its_tasks_and_told_to_their_workers() {
    let sandbox = with_makers();
    let agent =
        |name: &str, line: &str| json!({ "name": name, "driver": { "driver": "exec", "argv": ["sh", "-c", line] } });
    // One participant fails in its round; the quorum is reached without it.
    let speaks = "cat > told-$SWITCHBOARD_TASK.txt; echo \"ann on $SWITCHBOARD_TASK\"";
    let agents = json!([agent("ann", speaks), agent("ben", "exit 3")]);
    let mut plan = plan();
    plan["x-switchboard"]["debate"]["quorum"] = json!(1);
    let request = json!({ "agents": agents, "default_agent": "ann", "mode": "debate", "scope": { "phase": 1 },
        "plan": plan.to_string() });

    let shown = carried_out(&sandbox, &request);

    let state =
        |id: &str| shown["list"].as_array().unwrap().iter().find(|task| task["id"] == id).unwrap()["state"].clone();
    assert_eq!([state("1.debate"), state("1.1"), state("1.debate.r1.p2")], ["done", "merged", "blocked"], "{shown}");
    let branch = shown["branch"].as_str().unwrap();
    let told = sandbox.git(&["show", &format!("{branch}:told-1.2.txt")]);
    assert!(told.contains("--- 1.debate:\nann on 1.debate"), "{told}");
    plan["x-switchboard"] = json!({});
    let mut alone = request.clone();
    alone["plan"] = json!(plan.to_string());
    assert_eq!(start(&sandbox, &alone).ends_with(2).failure()["where"], "mode");
}

/// Makes a plan in which each task writes the times of its beginning and end, in nanoseconds.
fn timed(sandbox: &Sandbox, seconds: &str) -> String {
    let log = sandbox.folder().join("times").display().to_string();
    format!(
        "echo \"$SWITCHBOARD_TASK begin $(date +%s%N)\" >> {log}; sleep {seconds}; echo \"$SWITCHBOARD_TASK end $(date +%s%N)\" >> {log}; echo x > $SWITCHBOARD_TASK.txt"
    )
}

/// Returns begin (+1) and end (-1) of each task in order, with the time in milliseconds.
fn times(sandbox: &Sandbox) -> Vec<(u64, i32, String)> {
    let text = std::fs::read_to_string(sandbox.folder().join("times")).unwrap();
    let mut times: Vec<_> = text
        .lines()
        .map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            let step = if words[1] == "begin" { 1 } else { -1 };
            (words[2].parse::<u64>().unwrap() / 1_000_000, step, words[0].to_owned())
        })
        .collect();
    times.sort();
    times
}

fn most_at_once(times: &[(u64, i32, String)]) -> i32 {
    times
        .iter()
        .scan(0, |live, (_, step, _)| {
            *live += step;
            Some(*live)
        })
        .max()
        .unwrap()
}

#[test]
fn never_more_than_two_of_three_milestones_live_and_the_third_starts_as_soon_as_one_ends() {
    let sandbox = Sandbox::new();
    let phase = |id: u64, seconds: &str| {
        let command = json!(["sh", "-c", timed(&sandbox, seconds)]);
        json!({ "id": id, "name": "P", "tasks": [{ "id": format!("{id}.1"), "phase": id, "description": "d", "x-switchboard": { "command": command } }] })
    };
    let settings = json!({ "barrier": false, "merge": "milestone", "max_workers": 2 });
    let path = sandbox.trusted_phases(&settings, &json!([phase(1, "1"), phase(2, "6"), phase(3, "1")]));
    let (before, sent) = (sandbox.call(&["read_events", "kinds:=[\"message_sent\"]"]), "events");

    sandbox.switchboard(&["run", &path, "--coordination", "standalone", "--yes"]).ends_with(0);

    let times = times(&sandbox);
    assert_eq!(most_at_once(&times), 2, "{times:?}");
    let at = |task: &str, step: i32| times.iter().find(|time| time.2 == task && time.1 == step).unwrap().0;
    assert!(at("3.1", 1) < at("2.1", -1), "no batch is waited for: {times:?}");
    // Far below the five seconds and more for which 2.1 continues after 1.1.
    assert!(at("3.1", 1) - at("1.1", -1) < 5_000, "{times:?}");
    assert_eq!(sandbox.call(&["read_events", "kinds:=[\"message_sent\"]"])[sent], before[sent], "no row of the bus");
}

#[test]
fn eight_tasks_run_four_at_a_time_answer_in_their_order_and_one_that_fails_cancels_no_other() {
    let sandbox = Sandbox::new();
    // The first four wait for each other, so that on a slow machine fewer are not counted as live at once.
    let begun = sandbox.folder().join("times").display().to_string();
    let barrier =
        format!("n=0; while [ $(grep -c begin {begun}) -lt 4 ] && [ $n -lt 300 ]; do sleep 0.1; n=$((n + 1)); done");
    let line = format!(
        "{}; echo \"said by $SWITCHBOARD_TASK\"; test $SWITCHBOARD_TASK != 1.3",
        timed(&sandbox, &format!("0.1; {barrier}; sleep 0.5"))
    );
    sandbox.settings(&format!("[agents.ann]\ndriver = \"exec\"\ncommand = {}\n", json!(["sh", "-c", line])));
    let words: Vec<_> = (1..=8).map(|n| format!("task {n}")).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();

    let done = sandbox.switchboard(&[&["dispatch"], &words[..], &["--agent", "ann", "--yes", "--json"]].concat());

    let done = done.ends_with(1);
    let last: Value = serde_json::from_str(done.out.lines().last().unwrap()).unwrap();
    assert!(last["answers"].is_array(), "{}\n{}", done.out, done.err);
    let answers: Vec<_> =
        last["answers"].as_array().unwrap().iter().map(|one| one["task"].as_str().unwrap().to_owned()).collect();
    let mut sorted = answers.clone();
    sorted.sort();
    assert_eq!(answers, sorted, "{last}");
    let shown = sandbox.switchboard(&["show", "--json"]).ends_with(0).json();
    let states: Vec<_> = shown["list"].as_array().unwrap().iter().map(|task| task["state"].clone()).collect();
    assert_eq!(states, ["done", "done", "blocked", "done", "done", "done", "done", "done"]);
    assert_eq!(most_at_once(&times(&sandbox)), 4);
}

#[test]
fn slices_and_milestones_are_one_engine_whose_logs_differ_in_the_names_of_their_units_alone() {
    let log = |merge: &str| {
        let sandbox = Sandbox::new();
        let task = |id: &str| {
            json!({ "id": id, "phase": 1, "description": "d",
            "x-switchboard": { "slice": "api", "command": ["sh", "-c", "echo $SWITCHBOARD_TASK > $SWITCHBOARD_TASK.txt"] } })
        };
        let path =
            sandbox.trusted_plan_with(&json!({ "merge": merge, "max_workers": 1 }), &json!([task("1.1"), task("1.2")]));
        sandbox.switchboard(&["run", &path, "--yes"]).ends_with(0);
        let events = sandbox.call(&["read_events", "limit=1000"]);
        let of_run = |event: &&Value| event["subject"].as_str().unwrap().starts_with("run/");
        let short = |event: &Value| {
            format!("{} {}", event["kind"].as_str().unwrap(), event["facts"]["task"].as_str().unwrap_or_default())
        };
        let events = events["events"].as_array().unwrap();
        events
            .iter()
            .filter(of_run)
            .map(short)
            .collect::<Vec<_>>()
            .join("\n")
            .replace("1.slice-api", "LANDING")
            .replace("1.milestone", "LANDING")
    };

    assert_eq!(log("slice"), log("milestone"));
}

#[test]
fn the_best_of_several_tries_is_merged_where_a_flag_asks_for_it() {
    let sandbox = Sandbox::new();
    // The second try changes the fewest lines of those that pass the gate.
    let line = "case $SWITCHBOARD_TASK in *.c1) printf '1\\n2\\n3\\n' > made.txt;; *.c2) echo 2 > made.txt;; *) echo bad > bad.txt;; esac";
    sandbox.settings(&format!("[agents.maker]\ndriver = \"exec\"\ncommand = {}\n", json!(["sh", "-c", line])));
    let task = json!({ "id": "1.1", "phase": 1, "description": "make it" });
    let path = sandbox.trusted_plan_with(&json!({ "test": "test ! -e bad.txt" }), &json!([task]));

    sandbox.switchboard(&["run", &path, "--agent", "maker", "--best-of", "3", "--yes", "--merge"]).ends_with(0);
    assert_eq!(sandbox.read("made.txt"), "2\n");
    for count in ["1", "9"] {
        sandbox.switchboard(&["run", &path, "--agent", "maker", "--best-of", count, "--dry-run"]).ends_with(2);
    }
    sandbox
        .switchboard(&["dispatch", "make it", "--agent", "maker", "--best-of", "2", "--dry-run"])
        .ends_with(0)
        .says("1.1.c2");
}
