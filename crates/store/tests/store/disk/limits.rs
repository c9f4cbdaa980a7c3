//! A full disk, and a process that can't open more files: answered commits stay, the rest are refused.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use switchboard_store::{Batch, Config, Error, Query, Scope, Store};

use crate::board::{post, projections};

/// Environment variable with the folder for the child; without it, the child's test does nothing.
const FOLDER: &str = "STORE_TEST_LIMITS";

fn folder() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "how a test talks to its child")]
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// Runs one of the tests below as a child of a shell command that ends with it. Returns the child's output, or
/// `None` if the command is not supported here (exit code 77).
#[expect(clippy::disallowed_methods, reason = "a test starts itself as a child")]
fn run(test: &str, line: &str, at: &std::path::Path) -> Option<String> {
    let me = std::env::current_exe().unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", line, "sh"])
        .arg(me)
        .args(["--ignored", "--exact", test, "--nocapture", "--test-threads=1"])
        .env(FOLDER, at)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if output.status.code() == Some(77) {
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
        return None;
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    Some(said)
}

#[test]
#[ignore = "the test below starts it on a small disk"]
fn child_fills_its_disk() {
    let Some(folder) = folder() else { return };
    let path = folder.join("store.db");
    let ballast = folder.join("ballast");
    let store = Store::open(Config::new(&path), projections()).unwrap();
    // More than twice the size of the log: the log as it was written, and the copy that a checkpoint makes of it.
    fs::write(&ballast, vec![1; 5 << 19]).unwrap();

    let (mut acked, mut refused) = (0, None);
    while refused.is_none() && acked < 10_000 {
        match store.commit_blocking(Batch::synced().event(post("ann", acked).with_body("x".repeat(20_000)))) {
            Ok(_) => acked += 1,
            Err(error) => refused = Some(error),
        }
    }

    assert!(matches!(refused, Some(Error::DiskFull)), "{refused:?}");
    assert!(store.dead().is_none(), "a full disk is no broken one");
    assert_eq!(store.count(&Query::table("notes")).unwrap(), acked as u64, "nothing of the refused batch is there");
    assert!(store.backup(&folder.join("copy.db")).is_err());
    assert!(!folder.join("copy.db").exists());
    fs::remove_file(ballast).unwrap();
    store.commit_blocking(Batch::synced().event(post("ann", acked))).unwrap();
    store.close();
    let store = Store::open(Config::new(&path), projections()).unwrap();
    assert_eq!(store.count(&Query::table("notes")).unwrap(), acked as u64 + 1);
    assert!(store.verify(Scope::All).unwrap().is_clean());
    println!("filled with {acked}");
}

#[test]
fn a_full_disk_refuses_what_does_not_fit_and_keeps_the_rest() {
    let at = tempfile::tempdir().unwrap();
    let line = format!(
        "unshare --mount sh -c 'mount -t tmpfs -o size=4m none {0} && exec \"$@\"' sh \"$@\" || \
         {{ code=$?; mountpoint -q {0} || [ $code -ne 101 ] && echo 'no small disk can be mounted here' >&2 && exit 77; exit $code; }}",
        at.path().display()
    );

    let said = run("disk::limits::child_fills_its_disk", &line, at.path());

    assert!(said.is_none_or(|said| said.contains("filled with ")));
}

#[test]
#[ignore = "the test below starts it with few files"]
fn child_runs_out_of_files() {
    let Some(folder) = folder() else { return };
    let path = folder.join("store.db");
    let store = Store::open(Config::new(&path), projections()).unwrap();
    store.commit_blocking(Batch::synced().event(post("ann", 0))).unwrap();
    let mut held = Vec::new();
    while let Ok(file) = fs::File::open("/dev/null") {
        held.push(file);
    }

    let committed = store.commit_blocking(Batch::synced().event(post("ann", 1)));
    let read = store.count(&Query::table("notes"));
    let verified = store.verify(Scope::Chain).map(|_| ()).unwrap_err();
    let second = Store::open(Config::new(folder.join("second.db")), projections()).map(|_| ()).unwrap_err();

    assert!(committed.is_ok(), "a store that is open needs no more files: {committed:?}");
    assert_eq!(read.unwrap(), 2);
    for error in [verified, second] {
        assert_eq!(error.failure().code, "io.denied", "{error}");
    }
    assert!(store.dead().is_none());
    drop(held);
    assert!(store.verify(Scope::All).unwrap().is_clean());
    println!("ran out");
}

#[test]
fn a_process_without_a_file_left_goes_on_with_what_is_open() {
    let at = tempfile::tempdir().unwrap();

    let said = run("disk::limits::child_runs_out_of_files", "ulimit -n 40 || exit 77; exec \"$@\"", at.path());

    assert!(said.is_none_or(|said| said.contains("ran out")));
}
