//! Workers that make no progress: a hanging shim is found and ended, a quiet one is left alone, and no process is
//! mistaken for another.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use switchboard_process::fingerprint::Fingerprint;
use switchboard_process::lock;
use switchboard_process::spawn::Spawn;

use super::sandbox::{BINARY, Sandbox, within};

/// Maximum wait for an expected state.
const PATIENCE: Duration = Duration::from_secs(30);

/// Milliseconds between two beats of a shim. A hanging one is found after eight of them.
const HEARTBEAT_MS: u64 = 150;

/// Starts a run of one task whose first worker, and no later one, works until it is ended.
fn begun() -> (Sandbox, String) {
    let mut sandbox = Sandbox::new();
    sandbox.set("SWITCHBOARD_HEARTBEAT_MS", &HEARTBEAT_MS.to_string());
    let begun = sandbox.folder().join("begun").display().to_string();
    let line = format!("[ -e {begun} ] || {{ touch {begun}; sleep 1000 & sleep 1000; }}; echo done > done");
    let plan = sandbox.trusted_plan(
        &json!([{ "id": "1.1", "phase": 1, "description": "d", "x-switchboard": { "command": ["sh", "-c", line] } }]),
    );
    sandbox.switchboard(&["up", "--detach"]).ends_with(0);
    let run = Spawn::new([BINARY, "run", &plan, "--yes"]).cwd(sandbox.root()).env_only(sandbox.environment());
    run.detached(None).unwrap();
    let file = sandbox.folder().join("begun");
    assert!(within(PATIENCE, || file.exists()), "the worker does not begin");
    let run = sandbox.switchboard(&["show", "--json"]).json()["run"].as_str().unwrap().to_owned();
    (sandbox, run)
}

fn state(sandbox: &Sandbox) -> String {
    sandbox.switchboard(&["show", "--json"]).json()["state"].as_str().unwrap().to_owned()
}

/// Returns the folder of the task's last worker.
fn folder(sandbox: &Sandbox, run: &str) -> PathBuf {
    let task = sandbox.call(&["show_task", &format!("task={run}/1.1")]);
    PathBuf::from(task["folder"].as_str().unwrap())
}

fn shim(sandbox: &Sandbox, run: &str) -> Fingerprint {
    lock::holder(&folder(sandbox, run).join("lock")).unwrap().expect("a shim").fingerprint()
}

/// Returns what the log records after a worker was lost; empty if none was.
fn losses(sandbox: &Sandbox) -> String {
    let log = sandbox.switchboard(&["log", "1.1"]).out;
    let words: Vec<_> = log.split_whitespace().collect();
    words.join(" ").split_once("was lost").map(|(_, since)| since.to_owned()).unwrap_or_default()
}

/// Returns the daemon's process.
fn daemon(sandbox: &Sandbox) -> Fingerprint {
    let pid = sandbox.call(&["get_status"])["pid"].as_u64().unwrap();
    Fingerprint::of(u32::try_from(pid).unwrap()).unwrap()
}

/// Kills the daemon, as a crash would.
fn crash(sandbox: &Sandbox) {
    let daemon = daemon(sandbox);
    assert!(daemon.signal(Signal::KILL));
    assert!(within(PATIENCE, || !daemon.is_alive()), "the daemon does not die");
}

#[test]
fn a_shim_that_hangs_is_ended_with_its_agent_and_the_task_goes_on() {
    let (sandbox, run) = begun();
    let hung = shim(&sandbox, &run);
    let workers = sandbox.processes();

    assert!(hung.signal(Signal::STOP));

    assert!(within(PATIENCE, || state(&sandbox) == "succeeded"), "{}", state(&sandbox));
    assert!(!hung.is_alive());
    assert!(losses(&sandbox).contains("its shim hung"), "{}", losses(&sandbox));
    let daemon = daemon(&sandbox).pid;
    let left: Vec<_> = sandbox.processes().into_iter().filter(|pid| workers.contains(pid) && *pid != daemon).collect();
    assert!(left.is_empty(), "these outlive the worker: {left:?}");
}

#[test]
fn a_shim_that_hung_while_the_daemon_was_away_is_ended_by_the_next_one() {
    let (sandbox, run) = begun();
    let hung = shim(&sandbox, &run);
    assert!(hung.signal(Signal::STOP));
    crash(&sandbox);

    sandbox.switchboard(&["up", "--detach"]).ends_with(0);

    assert!(within(PATIENCE, || state(&sandbox) == "succeeded"), "{}", state(&sandbox));
    assert!(!hung.is_alive());
    assert!(losses(&sandbox).contains("did not come back"), "{}", losses(&sandbox));
}

#[test]
fn a_worker_that_is_quiet_for_long_is_not_taken_for_hung_nor_is_it_when_the_daemon_stood_still() {
    let (sandbox, run) = begun();
    let quiet = shim(&sandbox, &run);
    let daemon = daemon(&sandbox);
    let limit = Duration::from_millis(8 * HEARTBEAT_MS);

    std::thread::sleep(2 * limit);
    assert!(daemon.signal(Signal::STOP));
    std::thread::sleep(2 * limit);
    assert!(daemon.signal(Signal::CONT));
    let until = Instant::now() + 2 * limit;
    while Instant::now() < until {
        assert!(quiet.is_alive(), "{}", losses(&sandbox));
    }

    assert_eq!(losses(&sandbox), "");
    sandbox.switchboard(&["stop", &run]).ends_with(0);
}

#[test]
fn a_process_under_the_pid_of_a_dead_shim_is_neither_taken_for_it_nor_signalled() {
    let (sandbox, run) = begun();
    let (dead, folder) = (shim(&sandbox, &run), folder(&sandbox, &run));
    crash(&sandbox);
    assert!(dead.signal(Signal::KILL));
    let stranger = Spawn::new(["sleep", "300"]).env_only(sandbox.environment()).detached(None).unwrap();
    let stranger = stranger.fingerprint.unwrap();
    // As if the kernel had given the stranger the shim's pid: every file that names the shim names that pid.
    for file in ["lock", "shim.json"] {
        let path = folder.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let changed = text.replace(&dead.pid.to_string(), &stranger.pid.to_string());
        assert_ne!(text, changed, "{file} does not name the shim");
        std::fs::write(&path, changed).unwrap();
    }

    sandbox.switchboard(&["up", "--detach"]).ends_with(0);

    assert!(within(PATIENCE, || state(&sandbox) == "succeeded"), "{}", state(&sandbox));
    assert!(losses(&sandbox).contains("its shim is gone"), "{}", losses(&sandbox));
    assert!(stranger.is_alive());
    stranger.signal(Signal::KILL);
}
