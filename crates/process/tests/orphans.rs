//! Orphans, in a separate process: it becomes a subreaper, and a sweep sees all of its children.

use std::time::Duration;

use switchboard_process::env::Env;
use switchboard_process::fingerprint::Fingerprint;
use switchboard_process::orphans;
use switchboard_process::spawn::{Exit, Spawn};

fn shell(script: &str) -> Spawn {
    Spawn::new(["sh", "-c", script]).env_only(Env::empty().inherit(["PATH"]))
}

/// Polls as long as a slow machine may need.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..10_000 {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("never: {what}");
}

/// One test, because separate ones would sweep each other's processes.
#[test]
fn what_escapes_its_group_is_found_and_ended_and_what_is_ours_is_left_alone() {
    orphans::become_subreaper().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");

    // A process that left its group and session while its leader ended.
    let escape =
        "setsid sh -c 'setsid sleep 1000 & echo $! $$; sleep 1000' > pids & while [ ! -s pids ]; do sleep 0.01; done";
    assert!(shell(escape).cwd(folder.path()).output().unwrap().succeeded());
    let pids = std::fs::read_to_string(folder.path().join("pids")).unwrap();
    let escaped: Vec<_> = pids.split_whitespace().map(|pid| Fingerprint::of(pid.parse().unwrap()).unwrap()).collect();
    assert!(escaped.iter().all(Fingerprint::is_alive), "it left the group");

    // A detached process of ours, and one that has ended.
    let detached = shell("echo started; exec sleep 1000").detached(Some(&log)).unwrap();
    let brief = shell("exit 7").detached(None).unwrap();
    let alive = detached.fingerprint.clone().unwrap();
    until("the log", || std::fs::read_to_string(&log).ok().filter(|text| text == "started\n"));

    let swept = orphans::sweep();

    assert!(escaped.iter().all(|process| !process.is_alive()));
    assert!(escaped.iter().all(|process| swept.killed.contains(&process.pid)), "{swept:?}");
    assert!(swept.left.is_empty(), "{swept:?}");
    assert!(alive.is_alive(), "what was detached lives on");
    assert_eq!(until("the exit", || orphans::exit_of(brief.pid)), Exit::Exited(7));
    assert_eq!(orphans::exit_of(brief.pid), Some(Exit::Exited(7)), "it is remembered");

    // A dead worker's processes are found by the mark in their environment.
    let marked = Spawn::new(["sh", "-c", "sleep 1000 & sleep 1000"])
        .env_only(Env::empty().inherit(["PATH"]).set("SWITCHBOARD_WORKER", "wrk_1"))
        .detached(None)
        .unwrap();
    until("both", || (orphans::marked("SWITCHBOARD_WORKER", "wrk_1").len() >= 2).then_some(()));
    assert_eq!(orphans::kill_marked("SWITCHBOARD_WORKER", "wrk_1"), []);
    assert!(!marked.fingerprint.unwrap().is_alive());

    assert!(alive.signal(switchboard_process::spawn::Signal::TERM));
    assert_eq!(until("the exit", || orphans::exit_of(detached.pid)), Exit::Signalled(15));
}
