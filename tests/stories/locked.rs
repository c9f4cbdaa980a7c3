//! Another program holds a lock on the store's database: the daemon waits, reports it, and continues without help.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use switchboard_process::spawn::{Spawn, which};

use super::sandbox::{Sandbox, within};

/// Maximum wait for an expected state.
const PATIENCE: Duration = Duration::from_secs(60);

/// Program that holds the lock until a file exists, as a database browser does that has begun to write.
const HOLD: &str = "
import os, sqlite3, sys, time
database, held, go = sys.argv[1:]
connection = sqlite3.connect(database, isolation_level=None, timeout=30)
connection.execute('BEGIN IMMEDIATE')
open(held, 'w').close()
while not os.path.exists(go):
    time.sleep(0.05)
connection.execute('ROLLBACK')
";

fn database(sandbox: &Sandbox) -> PathBuf {
    let state = sandbox.folder().join("state/switchboard");
    let all = std::fs::read_dir(state).unwrap().map(|entry| entry.unwrap().path().join("store.db"));
    all.into_iter().find(|path| path.is_file()).unwrap()
}

#[test]
fn a_lock_on_the_database_is_answered_with_busy_and_the_run_goes_on_once_it_is_gone() {
    if which("python3").is_none() {
        eprintln!("python3 is not installed: nothing is tested here");
        return;
    }
    let sandbox = Sandbox::new();
    let at = |name: &str| sandbox.folder().join(name).display().to_string();
    let line = format!("while [ ! -e {} ]; do sleep 0.05; done; echo x > $SWITCHBOARD_TASK", at("go"));
    let task = |id: &str, depends: &[&str]| {
        json!({ "id": id, "phase": 1, "description": "d", "depends": depends,
            "x-switchboard": { "command": ["sh", "-c", line] } })
    };
    let plan = sandbox.trusted_plan(&json!([task("1.1", &[]), task("1.2", &["1.1"])]));
    let run = sandbox.run_aside(&[&plan, "--yes"]);
    let works = || sandbox.switchboard(&["show", "--json"]).out.contains("\"working\"");
    assert!(within(PATIENCE, works), "the task does not start");
    let daemon = sandbox.call(&["get_status"])["pid"].clone();
    let argv = ["python3", "-c", HOLD, &database(&sandbox).display().to_string(), &at("held"), &at("let-go")]
        .map(str::to_owned);
    let holder = Spawn::new(argv).cwd(sandbox.folder()).env_only(sandbox.environment()).wall(Duration::from_secs(180));
    let holder = std::thread::spawn(move || holder.output().unwrap());
    assert!(within(PATIENCE, || sandbox.folder().join("held").exists()), "nobody holds the lock");

    // The worker ends meanwhile, and its work is recorded: commits need no lock.
    std::fs::write(sandbox.folder().join("go"), "").unwrap();
    let is_busy = || {
        let done = sandbox.switchboard(&["call", "get_status", "--json"]);
        done.code == 1 && done.failure()["code"] == "store.busy"
    };
    assert!(within(PATIENCE, is_busy), "nobody is told that the database is locked");
    std::fs::write(sandbox.folder().join("let-go"), "").unwrap();
    assert!(holder.join().unwrap().succeeded());

    let answers = || sandbox.switchboard(&["call", "get_status"]).code == 0;
    assert!(within(PATIENCE, answers), "the daemon does not come back");
    sandbox.switchboard(&["run", "--resume"]).ends_with(0).says("2 of 2 tasks merged");
    run.join().unwrap().ends_with(0);
    assert_eq!(sandbox.call(&["get_status"])["pid"], daemon, "it is the same daemon");
    let blocked = sandbox.call(&["read_events", "kinds:=[\"task_blocked\", \"worker_lost\"]"]);
    assert_eq!(blocked["events"], json!([]));
    sandbox.switchboard(&["verify"]).ends_with(0).says("hash chain verified");
}
