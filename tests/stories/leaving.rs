//! A person who leaves a run at work, comes back, or stops it; and agents that leave the team when their work is done.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use switchboard_process::spawn::Spawn;

use super::sandbox::{BINARY, Done, Sandbox, within};

/// Makes a plan whose one task waits for a file before it is done.
fn waiting_plan(sandbox: &Sandbox) -> String {
    let go = sandbox.folder().join("go").display().to_string();
    let line = format!("while [ ! -e {go} ]; do sleep 0.05; done; echo done > done");
    sandbox.trusted_plan(
        &json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "command": ["sh", "-c", line] } }]),
    )
}

/// Starts the run, waits until its worker works, and sends the command some signals.
fn interrupted(sandbox: &Sandbox, plan: &str, signals: &[Signal]) -> Done {
    let pidfile = sandbox.folder().join("pid").display().to_string();
    // The signal must reach the command alone, as that of a terminal does not reach the daemon.
    let line = format!("echo $$ > {pidfile}; exec {BINARY} run {plan} --yes");
    let spawn = Spawn::new(["sh", "-c", line.as_str()]).cwd(sandbox.root()).env_only(sandbox.environment());
    let spawn = spawn.wall(Duration::from_secs(60));
    let run = std::thread::spawn(move || spawn.output().unwrap());
    let works =
        within(Duration::from_secs(30), || sandbox.switchboard(&["show", "--json"]).out.contains("\"working\""));
    assert!(works, "the task does not start");
    let pid: i32 = std::fs::read_to_string(&pidfile).unwrap().trim().parse().unwrap();
    for signal in signals {
        kill_process(Pid::from_raw(pid).unwrap(), *signal).unwrap();
        std::thread::sleep(Duration::from_millis(500));
    }
    let output = run.join().unwrap();
    Done { code: output.exit.code().unwrap_or(-1), out: output.stdout.text(), err: output.stderr.text() }
}

#[test]
fn one_interrupt_leaves_the_run_at_work_and_says_how_to_come_back() {
    let sandbox = Sandbox::new();
    let plan = waiting_plan(&sandbox);

    interrupted(&sandbox, &plan, &[Signal::INT]).ends_with(130).says("switchboard run --resume run_");

    assert_eq!(sandbox.switchboard(&["show", "--json"]).ends_with(0).json()["state"], "running");
    let again = sandbox.switchboard(&["run", &plan, "--max-workers", "1", "--yes", "--json"]).ends_with(1);
    assert_eq!(again.failure()["code"], "dispatch.already-running");
    std::fs::write(sandbox.folder().join("go"), "").unwrap();
    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("1 of 1 tasks merged");
}

/// Suspends the command that follows a run until the run and its daemon have ended; returns what the command does then.
fn suspended(line: &str) -> (Sandbox, Done) {
    let sandbox = Sandbox::new();
    let [go, pidfile] = ["go", "pid"].map(|name| sandbox.folder().join(name).display().to_string());
    let line = format!("while [ ! -e {go} ]; do sleep 0.05; done; {line}");
    let plan = sandbox.trusted_plan(
        &json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "command": ["sh", "-c", line] } }]),
    );
    let follow = format!("echo $$ > {pidfile}; exec {BINARY} run {plan} --yes");
    let spawn = Spawn::new(["sh", "-c", follow.as_str()]).cwd(sandbox.root()).env_only(sandbox.environment());
    let run = std::thread::spawn(move || spawn.wall(Duration::from_secs(120)).output().unwrap());
    let sign = sandbox.root().join(".switchboard/server_info.json");
    // A daemon that `show` had to start would not end with the run.
    assert!(within(Duration::from_secs(30), || sign.exists()), "the run starts no daemon");
    let works =
        within(Duration::from_secs(30), || sandbox.switchboard(&["show", "--json"]).out.contains("\"working\""));
    assert!(works, "the task does not start");
    let pid = std::fs::read_to_string(&pidfile).unwrap().trim().parse().ok().and_then(Pid::from_raw).unwrap();

    kill_process(pid, Signal::STOP).unwrap();
    std::fs::write(go, "").unwrap();
    assert!(within(Duration::from_secs(60), || !sign.exists()), "the daemon does not end with its run");
    // Longer than the command looks for a daemon that is gone.
    std::thread::sleep(Duration::from_secs(6));
    kill_process(pid, Signal::CONT).unwrap();

    let output = run.join().unwrap();
    let done = Done { code: output.exit.code().unwrap_or(-1), out: output.stdout.text(), err: output.stderr.text() };
    (sandbox, done)
}

#[test]
fn a_command_that_stood_still_while_its_run_and_daemon_ended_says_what_it_came_to() {
    let (_sandbox, done) = suspended("echo done > done");

    done.ends_with(0).says("1 of 1 tasks merged").says("hash chain verified");
}

#[test]
fn a_command_that_stood_still_while_its_run_failed_ends_with_the_code_of_that() {
    let (_sandbox, done) = suspended("exit 3");

    let done = done.ends_with(1).says("0 of 1 tasks merged");
    assert!(!done.err.contains("daemon."), "{}", done.err);
}

#[test]
fn two_interrupts_stop_the_workers() {
    let sandbox = Sandbox::new();
    let plan = waiting_plan(&sandbox);

    interrupted(&sandbox, &plan, &[Signal::INT, Signal::INT]).ends_with(130).says("is told to stop");

    let stopped =
        within(Duration::from_secs(30), || sandbox.switchboard(&["show", "--json"]).json()["state"] == "stopped");
    assert!(stopped, "the run goes on");
}

#[test]
fn a_run_that_is_stopped_is_tried_again_on_request() {
    let sandbox = Sandbox::new();
    let plan = waiting_plan(&sandbox);
    interrupted(&sandbox, &plan, &[Signal::TERM]).ends_with(143);
    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json()["run"].as_str().unwrap().to_owned();

    sandbox.switchboard(&["stop", &run]).ends_with(0);
    sandbox.switchboard(&["run", "--resume", &run]).ends_with(1).says("the run was stopped");
    std::fs::write(sandbox.folder().join("go"), "").unwrap();
    sandbox.switchboard(&["retry", &format!("{run}/1.1")]).ends_with(0);

    sandbox.switchboard(&["run", "--resume", &run]).ends_with(0).says("1 of 1 tasks merged");
}

/// Returns the status of an agent in the roster.
fn status_of(sandbox: &Sandbox, agent: &str) -> String {
    let roster = sandbox.call(&["get_team_roster"]);
    let entry = roster["agents"].as_array().unwrap().iter().find(|entry| entry["name"] == agent).cloned();
    entry.map_or_else(|| "unknown".to_owned(), |entry| entry["status"].as_str().unwrap().to_owned())
}

#[test]
fn an_agent_whose_work_is_done_leaves_and_whoever_waits_for_its_answer_is_told() {
    let sandbox = Sandbox::new();
    let plan = waiting_plan(&sandbox);
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    sandbox.call(&["register_agent", "name=ada"]);
    interrupted(&sandbox, &plan, &[Signal::INT]).ends_with(130);
    let there = status_of(&sandbox, "exec");
    let ask = ["call", "send_request", "recipient=exec", "payload=how far are you?", "timeout_ms=60000", "--json"];
    let spawn = Spawn::new([BINARY].into_iter().chain(ask)).cwd(sandbox.root()).env_only(sandbox.environment());
    let asked = std::thread::spawn(move || spawn.wall(Duration::from_secs(90)).output().unwrap());
    assert!(within(Duration::from_secs(30), || sandbox.call(&["list_messages"])["sent"] == 1), "nothing is asked");

    std::fs::write(sandbox.folder().join("go"), "").unwrap();
    let answer = asked.join().unwrap();

    assert_eq!(there, "active");
    assert!(answer.stderr.text().contains("bus.no-responder"), "{} {}", answer.stdout.text(), answer.stderr.text());
    assert_eq!(status_of(&sandbox, "exec"), "left");
    let late = sandbox.switchboard(&["call", "send_message", "recipient=exec", "payload=x", "--json"]).ends_with(1);
    assert_eq!(late.failure()["code"], "bus.recipient-closed");
}

#[test]
fn an_agent_whose_run_ended_while_the_daemon_died_has_left_when_the_next_one_is_there() {
    let mut sandbox = Sandbox::new();
    let plan = waiting_plan(&sandbox);
    std::fs::write(sandbox.folder().join("go"), "").unwrap();
    sandbox.set("SWITCHBOARD_CRASH_AT", "run-finished");
    sandbox.switchboard(&["run", &plan, "--yes"]);
    sandbox.unset("SWITCHBOARD_CRASH_AT");

    // The query starts the next daemon, unless the command has done so before it gave up.
    assert!(within(Duration::from_secs(30), || status_of(&sandbox, "exec") == "left"), "it is still there");
}

#[test]
fn what_a_killed_daemon_left_of_a_work_tree_that_it_was_making_is_removed_by_the_next_one() {
    let sandbox = Sandbox::new();
    let of = |name: &str| sandbox.root().join(".git/worktrees").join(name);
    for (name, reason) in [("1.1", "initializing by switchboard\n"), ("usb-stick", "not plugged in\n")] {
        std::fs::create_dir_all(of(name)).unwrap();
        std::fs::write(of(name).join("locked"), reason).unwrap();
    }

    sandbox.switchboard(&["up", "--detach"]).ends_with(0);

    assert!(!of("1.1").exists());
    assert!(of("usb-stick").join("locked").exists(), "somebody else has locked it");
}

#[test]
fn an_agent_whose_task_is_tried_again_is_back() {
    let sandbox = Sandbox::new();
    let plan = waiting_plan(&sandbox);
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    interrupted(&sandbox, &plan, &[Signal::TERM]).ends_with(143);
    let run = sandbox.switchboard(&["show", "--json"]).ends_with(0).json()["run"].as_str().unwrap().to_owned();
    sandbox.switchboard(&["stop", &run]).ends_with(0);
    assert!(within(Duration::from_secs(30), || status_of(&sandbox, "exec") == "left"), "it is still there");

    sandbox.switchboard(&["retry", &format!("{run}/1.1")]).ends_with(0);

    assert_eq!(status_of(&sandbox, "exec"), "active");
    std::fs::write(sandbox.folder().join("go"), "").unwrap();
    sandbox.switchboard(&["run", "--resume", &run]).ends_with(0);
}

/// Returns processes whose command line names the sandbox.
fn processes_of(sandbox: &Sandbox) -> Vec<String> {
    let folder = sandbox.folder().display().to_string();
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let line = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    all.filter(|line| line.contains(&folder)).collect()
}

#[test]
fn what_starts_while_the_daemon_goes_down_does_not_stay() {
    for pause in [0, 40, 120, 300] {
        let sandbox = Sandbox::new();
        let plan = std::fs::read_to_string(waiting_plan(&sandbox)).unwrap();
        sandbox.switchboard(&["up", "--detach"]).ends_with(0);
        sandbox.call(&["start_run", &format!("plan={plan}")]);
        std::thread::sleep(Duration::from_millis(pause));

        sandbox.switchboard(&["down"]).ends_with(0);

        let is_quiet = within(Duration::from_secs(10), || processes_of(&sandbox).is_empty());
        assert!(is_quiet, "{pause} ms after the start: {:?}", processes_of(&sandbox));
    }
}

#[test]
fn a_runs_verbs_repeated_under_their_key_answer_as_the_first_time() {
    let sandbox = Sandbox::new();
    let plan = waiting_plan(&sandbox);
    interrupted(&sandbox, &plan, &[Signal::INT, Signal::INT]).ends_with(130);
    let state = |wanted: &str| {
        let is_so = || sandbox.switchboard(&["show", "--json"]).out.contains(&format!("\"state\":\"{wanted}\""));
        assert!(within(Duration::from_secs(30), is_so), "the run is never {wanted}");
    };
    state("stopped");
    let run = sandbox.call(&["get_run"])["run"].as_str().unwrap().to_owned();
    // Only the events of the verb itself: the run continues meanwhile.
    let events = |kinds: &[&str]| {
        let page = sandbox.call(&["read_events", "limit=1000", &format!("kinds:={}", json!(kinds))]);
        page["events"].as_array().unwrap().clone()
    };
    let twice = |words: &[&str], key: &str, kinds: &[&str]| {
        let words = [words, &["--key", key]].concat();
        let before = events(kinds).len();
        let first = sandbox.call(&words);
        let once = events(kinds).split_off(before);
        let second = sandbox.call(&words);

        assert_eq!(first, second, "{words:?}");
        assert_eq!(events(kinds).split_off(before), once, "{words:?} was done twice");
        once.into_iter().map(|event| event["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };

    let retried = twice(&["retry_task", &format!("what={run}")], "k-retry", &["task_retry_requested"]);
    assert_eq!(retried, ["task_retry_requested"]);
    state("running");
    let stopped = twice(&["stop_run", &format!("what={run}")], "k-stop", &["run_stop_requested"]);
    assert_eq!(stopped, ["run_stop_requested"]);
    state("stopped");
    std::fs::write(sandbox.folder().join("go"), "").unwrap();
    let resumed = twice(&["resume_run", &format!("run={run}")], "k-resume", &["task_retry_requested"]);
    assert_eq!(resumed, ["task_retry_requested"], "a stopped run is tried again");
    state("succeeded");
    let merged = twice(&["merge_run", &format!("run={run}")], "k-merge", &["run_merge_intended", "run_merged"]);
    assert_eq!(merged, ["run_merge_intended", "run_merged"], "an intent, and the outcome with the answer");
}

#[test]
fn a_daemon_in_the_foreground_that_is_told_to_end_stops_its_workers_and_ends_with_the_code_of_the_signal() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let sandbox = Sandbox::new();
        let plan = waiting_plan(&sandbox);
        let spawn = Spawn::new([BINARY, "up", "--yes"]).cwd(sandbox.root()).env_only(sandbox.environment());
        let spawn = spawn.wall(Duration::from_secs(120));
        let daemon = std::thread::spawn(move || spawn.output().unwrap());
        let answers = || sandbox.root().join(".switchboard/server_info.json").exists();
        assert!(within(Duration::from_secs(30), answers), "no daemon");
        interrupted(&sandbox, &plan, &[Signal::INT]).ends_with(130);
        let pid = sandbox.call(&["get_status"])["pid"].as_i64().unwrap();

        kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();

        assert_eq!(daemon.join().unwrap().exit.code(), Some(code));
        let left = || processes_of(&sandbox);
        assert!(within(Duration::from_secs(20), || left().is_empty()), "these still run: {:?}", left());
    }
}
