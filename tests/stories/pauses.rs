//! Pauses of runs and tasks, and several tasks in one call.

use std::time::Duration;

use serde_json::json;
use switchboard_process::spawn::Spawn;

use super::sandbox::{Sandbox, within};

#[test]
fn a_paused_run_ends_its_turns_and_neither_merges_nor_starts_until_it_is_resumed() {
    let sandbox = Sandbox::new();
    let go = sandbox.folder().join("go").display().to_string();
    let waits = format!("while [ ! -e {go} ]; do sleep 0.05; done; echo done > done");
    let task = |id: &str, line: &str| json!({ "id": id, "phase": 1, "description": "d", "x-switchboard": { "command": ["sh", "-c", line] } });
    let plan = sandbox.trusted_plan(&json!([task("1.1", &waits), task("1.2", "echo two > two")]));
    let text = std::fs::read_to_string(plan).unwrap();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let run =
        sandbox.call(&["start_run", &format!("plan={text}"), "max_workers=1"])["run"].as_str().unwrap().to_owned();
    let state = |task: usize| sandbox.call(&["get_run"])["list"][task]["state"].as_str().unwrap().to_owned();
    assert!(within(Duration::from_secs(30), || state(0) == "working"), "{}", state(0));

    sandbox.switchboard(&["pause", &run]).ends_with(0).says("pausing: waits at its next tool or the end of its turn");
    std::fs::write(&go, "").unwrap();

    assert!(within(Duration::from_secs(30), || state(0) == "gating"), "{}", state(0));
    assert_eq!(sandbox.call(&["get_run"])["paused"], "requested");
    sandbox.switchboard(&["show", &run]).ends_with(0).says(&format!("paused: switchboard resume {run}"));
    let listed = sandbox.switchboard(&["status"]).ends_with(0).out;
    assert!(listed.lines().any(|line| line.starts_with(&run) && line.contains("paused")), "{listed}");
    sandbox.switchboard(&["pause", &format!("{run}/1.2")]).ends_with(0);
    sandbox.switchboard(&["pause", &format!("{run}/1.9")]).ends_with(2).says("dispatch.unknown-task");
    let resumed = sandbox.switchboard(&["resume", &format!("{run}/1.1")]).ends_with(0);
    resumed.says(&format!("{run} is paused")).says(&format!("its tasks go on once it does: switchboard resume {run}"));
    let stays = format!("1.2 stays paused: switchboard resume {run}/1.2");
    sandbox.switchboard(&["resume", &run]).ends_with(0).says(&stays);
    assert!(within(Duration::from_secs(30), || state(0) == "merged"), "{}", state(0));
    assert_eq!(state(1), "paused");

    sandbox.switchboard(&["resume", &format!("{run}/1.2")]).ends_with(0);

    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("2 of 2 tasks merged");
    sandbox.switchboard(&["pause", &run]).ends_with(1).says("is over");
}

#[test]
fn a_phase_and_a_slice_of_a_run_are_paused_resumed_and_stopped_by_their_names() {
    let sandbox = Sandbox::new();
    let go = sandbox.folder().join("go").display().to_string();
    let task = |id: &str, slice: &str, line: &str| {
        json!({ "id": id, "phase": id[..1].parse::<u64>().unwrap(), "description": "d",
            "x-switchboard": { "slice": slice, "command": ["sh", "-c", line] } })
    };
    let waits = format!("while [ ! -e {go} ]; do sleep 0.05; done; echo x > $SWITCHBOARD_TASK");
    let first = json!([task("1.1", "api", "echo x > one"), task("1.2", "api", &waits), task("1.3", "page", &waits)]);
    let second = json!([task("2.1", "page", &waits)]);
    let phase = |id: u64, tasks| json!({ "id": id, "name": "P", "tasks": tasks });
    let plan = sandbox.trusted_phases(&json!({ "barrier": false }), &json!([phase(1, first), phase(2, second)]));
    let text = std::fs::read_to_string(plan).unwrap();
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let run =
        sandbox.call(&["start_run", &format!("plan={text}"), "max_workers=4"])["run"].as_str().unwrap().to_owned();
    let states = || {
        let list = sandbox.call(&["get_run"])["list"].clone();
        list.as_array().unwrap().iter().map(|task| task["state"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(
        within(Duration::from_secs(60), || states() == ["merged", "working", "working", "working"]),
        "{:?}",
        states()
    );
    let named = |name: &str| format!("{run}/{name}");
    let tasks = |reply: &serde_json::Value| {
        reply["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| task["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };

    let paused = sandbox.call(&["pause_run", &format!("what={}", named("slice:api"))]);
    assert_eq!((tasks(&paused), &paused["state"]), (vec!["1.2".to_owned()], &json!("running")), "{paused}");
    sandbox.switchboard(&["pause", &named("slice:apj")]).ends_with(2).says("plan.unknown-scope");
    // Only the workers of the named tasks are waited for.
    let one = sandbox.switchboard(&["pause", &named("1.3"), "--json"]).ends_with(0).json();
    assert_eq!(one["workers"].as_array().unwrap().len(), 1, "{one}");
    let stopped = sandbox.call(&["stop_run", &format!("what={}", named("phase:2"))]);
    assert_eq!(tasks(&stopped), ["2.1"]);
    std::fs::write(&go, "").unwrap();
    assert!(within(Duration::from_secs(60), || states()[3] == "stopped"), "{:?}", states());
    sandbox.switchboard(&["pause", &named("phase:2")]).ends_with(1).says("are settled");

    sandbox.switchboard(&["resume", &named("slice:api"), "slice:page"]).ends_with(0);

    assert!(
        within(Duration::from_secs(60), || states() == ["merged", "merged", "merged", "stopped"]),
        "{:?}",
        states()
    );
}

#[test]
fn a_paused_agent_waits_alive_at_its_next_tool_also_over_a_restart_of_the_daemon_and_goes_on() {
    let sandbox = Sandbox::new();
    let go = sandbox.folder().join("go").display().to_string();
    let wait = format!("while [ ! -e {go} ]; do sleep 0.05; done");
    let write = json!({ "do": "write", "path": "done-{{task}}", "content": "x\n" });
    let first = json!([{ "do": "shell", "argv": ["sh", "-c", wait] }, { "do": "sleep_ms", "ms": 500 }, write]);
    sandbox.script("ada", &json!([{ "steps": first }, { "turn": 2, "steps": [write] }]));
    let task = |id: &str| json!({ "id": id, "phase": 1, "description": "d", "files_touched": [format!("done-{id}")] });
    let plan = sandbox.plan(&json!([task("1.1"), task("1.2"), task("1.3")]));
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let argv = [super::sandbox::BINARY, "run", &plan, "--agent", "ada", "--max-workers", "3", "--yes"];
    let spawn = Spawn::new(argv).cwd(sandbox.root()).env_only(sandbox.environment()).wall(Duration::from_secs(120));
    let follow = std::thread::spawn(move || spawn.output().is_ok());
    let is_begun = || sandbox.call(&["get_status"])["runs"].as_array().is_some_and(|runs| !runs.is_empty());
    assert!(within(Duration::from_secs(60), is_begun));
    let run = sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned();
    let of = |task: usize, field: &str| sandbox.call(&["get_run"])["list"][task][field].clone();
    let at_work = |task: usize| of(task, "state") == "working" && of(task, "doing") != json!(null);
    assert!(within(Duration::from_secs(60), || (0..3).all(at_work)), "{}", sandbox.call(&["get_run"]));

    sandbox.switchboard(&["pause", &format!("{run}/1.1"), "1.9"]).ends_with(2).says("dispatch.unknown-task");
    let paused = sandbox.switchboard(&["pause", &format!("{run}/1.1"), "1.2", "--json"]).ends_with(0).json();
    let workers = json!([{ "task": "1.1", "pause": "pausing" }, { "task": "1.2", "pause": "pausing" }]);
    assert_eq!(paused["workers"], workers, "{paused}");
    std::fs::write(&go, "").unwrap();

    let wait = |task: usize| within(Duration::from_secs(30), || of(task, "pause") == "paused");
    assert!(wait(0) && wait(1), "{}", sandbox.call(&["get_run"]));
    sandbox.switchboard(&["status"]).ends_with(0).says("paused");
    sandbox.switchboard(&["restart"]).ends_with(0);
    assert!(within(Duration::from_secs(30), || of(2, "state") == "merged"), "the task beside them goes on");
    let shown = sandbox.call(&["get_run"]);
    let both = json!(["paused", "paused"]);
    assert_eq!(json!([shown["list"][0]["pause"], shown["list"][1]["pause"]]), both, "{shown}");
    let stay = sandbox.switchboard(&["resume", &run]).ends_with(0).says("1.1 stays paused").says("1.2 stays paused");
    assert!(!stay.out.contains("1.3 stays"), "{}", stay.out);
    let named = sandbox.switchboard(&["resume", &format!("{run}/1.1"), "1.2"]).ends_with(0);
    assert!(!named.out.contains("stays paused"), "{}", named.out);

    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("3 of 3 tasks merged");
    follow.join().unwrap();
    let log = sandbox.switchboard(&["log", &format!("{run}/1.1")]).ends_with(0).out;
    assert!(log.contains("turn 1 ends: paused") && log.contains("goes on") && log.contains("turn 2"), "{log}");
    assert_eq!((of(0, "attempts"), of(1, "attempts")), (json!(1), json!(1)));
}

#[test]
fn workers_of_a_paused_run_say_so_within_two_seconds_stay_alive_and_go_on_as_the_same_attempts() {
    let sandbox = Sandbox::new();
    let go = sandbox.folder().join("go").display().to_string();
    let wait = json!({ "do": "shell", "argv": ["sh", "-c", format!("while [ ! -e {go} ]; do sleep 0.05; done")] });
    let write = json!({ "do": "write", "path": "done-{{task}}", "content": "x\n" });
    let first = json!([wait, { "do": "sleep_ms", "ms": 500 }, write]);
    sandbox.script("ada", &json!([{ "steps": first }, { "turn": 2, "steps": [write] }]));
    let task = |id: &str| json!({ "id": id, "phase": 1, "description": "d", "files_touched": [format!("done-{id}")] });
    let plan = sandbox.plan(&json!([task("1.1"), task("1.2"), task("1.3")]));
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let argv = [super::sandbox::BINARY, "run", &plan, "--agent", "ada", "--max-workers", "2", "--yes"];
    Spawn::new(argv).cwd(sandbox.root()).env_only(sandbox.environment()).detached(None).unwrap();
    let of = |task: usize, field: &str| sandbox.call(&["get_run"])["list"][task][field].clone();
    let is_begun = || sandbox.call(&["get_status"])["runs"].as_array().is_some_and(|runs| !runs.is_empty());
    assert!(within(Duration::from_secs(60), is_begun));
    let at_work = |task: usize| of(task, "state") == "working" && of(task, "doing") != json!(null);
    assert!(within(Duration::from_secs(60), || (0..2).all(at_work)), "{}", sandbox.call(&["get_run"]));
    let run = sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned();

    // The command waits two seconds at most until its workers have received it.
    let paused = sandbox.switchboard(&["pause", &run, "--json"]).ends_with(0).json();
    assert_eq!(
        paused["workers"],
        json!([{ "task": "1.1", "pause": "pausing" }, { "task": "1.2", "pause": "pausing" }]),
        "{paused}"
    );
    std::fs::write(&go, "").unwrap();
    let waits = |task: usize| within(Duration::from_secs(30), || of(task, "pause") == "paused");
    assert!(waits(0) && waits(1), "{}", sandbox.call(&["get_run"]));
    assert_eq!(of(2, "attempts"), 0, "nothing starts meanwhile");
    let started = || {
        let events = sandbox.call(&["read_events", "kinds:=[\"worker_started\",\"worker_lost\",\"nothing_changed\"]"]);
        events["events"].as_array().unwrap().len()
    };
    assert_eq!(started(), 2);
    sandbox.switchboard(&["resume", &run]).ends_with(0);

    sandbox.switchboard(&["run", "--resume", &run]).ends_with(0).says("3 of 3 tasks merged");
    assert_eq!([0, 1, 2].map(|task| of(task, "attempts")), [1, 1, 1].map(|attempts| json!(attempts)));
    assert_eq!(started(), 3, "each task had one worker, which was neither lost nor found idle");
}

#[test]
fn a_turn_that_ended_in_a_pause_is_not_done_again_after_the_daemon_and_its_workers_were_ended() {
    let sandbox = Sandbox::new();
    let go = sandbox.folder().join("go").display().to_string();
    let wait = format!("while [ ! -e {go} ]; do sleep 0.05; done");
    // The turn is not interrupted at the end of its tool, so that the pause begins at its end.
    let steps = json!([{ "do": "ignore_stop" }, { "do": "shell", "argv": ["sh", "-c", wait] },
        { "do": "append", "path": "done.txt", "content": "once\n" }, { "do": "cost", "usd": 0.25 }]);
    sandbox.script("ada", &json!([{ "steps": steps }]));
    let plan = sandbox.plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
    let follower = sandbox.run_aside(&[&plan, "--agent", "ada", "--yes"]);
    let of = |field: &str| sandbox.call(&["get_run"])["list"][0][field].clone();
    let is_begun = || sandbox.call(&["get_status"])["runs"].as_array().is_some_and(|runs| !runs.is_empty());
    assert!(within(Duration::from_secs(60), is_begun));
    let at_work = || of("state") == "working" && of("doing") != json!(null);
    assert!(within(Duration::from_secs(60), at_work), "{}", sandbox.call(&["get_run"]));
    let run = sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned();
    sandbox.switchboard(&["pause", &run]).ends_with(0);
    std::fs::write(&go, "").unwrap();
    assert!(within(Duration::from_secs(30), || of("pause") == "paused"), "{}", sandbox.call(&["get_run"]));
    let log = sandbox.switchboard(&["log", &format!("{run}/1.1")]).ends_with(0).out;
    assert!(log.contains("turn 1 ends: end_turn"), "{log}");

    sandbox.switchboard(&["down"]).ends_with(0);
    drop(follower.join());
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    sandbox.switchboard(&["resume", &run]).ends_with(0);

    sandbox.switchboard(&["run", "--resume", &run]).ends_with(0).says("1 of 1 tasks merged");
    let started = sandbox.call(&["read_events", "kinds:=[\"worker_started\",\"worker_lost\"]"]);
    assert_eq!(started["events"].as_array().unwrap().len(), 1, "{started}");
    let shown = sandbox.call(&["get_run"]);
    assert_eq!((&shown["list"][0]["attempts"], &shown["micro_usd"]), (&json!(1), &json!(250_000)), "{shown}");
    sandbox.switchboard(&["merge"]).ends_with(0);
    assert_eq!(sandbox.read("done.txt"), "once\n");
}
