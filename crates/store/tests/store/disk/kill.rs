//! A process is killed, or fails on a disk error, in the middle of writing: everything that it had answered is there.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

use switchboard_store::{Batch, Config, Durability, Error, Query, Scope, Store};

use crate::board::{call, post, projections};

/// Environment variable with the path of the database for the child; without it, the child's test does nothing.
const PATH: &str = "STORE_TEST_CHILD";

/// Number of concurrent sender threads in the child.
const SENDERS: i64 = 4;

/// Number of kills in one test; the torture run does more.
const KILLS: usize = 12;

/// The child process: every sender commits note after note and reports each answer, until the process is killed or
/// the store fails.
#[test]
#[ignore = "the other tests here start it as a child"]
fn child_sends_until_it_ends() {
    #[expect(clippy::disallowed_methods, reason = "how a test talks to its child")]
    let Some(path) = std::env::var_os(PATH) else { return };
    let store = Store::open(Config::new(PathBuf::from(path)), projections()).unwrap();
    // The harness has printed the beginning of a line.
    say("\nready");
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let store = store.clone();
            scope.spawn(move || send(&store, sender));
        }
    });
}

fn send(store: &Store, sender: i64) {
    let owner = format!("sender{sender}");
    let first = store.count(&Query::table("notes").eq("owner", owner.as_str())).unwrap();
    for number in i64::try_from(first).unwrap().. {
        let durability = if number % 3 == 0 { Durability::Written } else { Durability::Synced };
        let batch = Batch::new(durability).event(post(&owner, number).with_body("x".repeat(300)));
        match store.commit_blocking(batch.idempotent(call(&format!("{owner}-{number}"), "a"))) {
            Ok(committed) => say(&format!("acked {sender} {number} {}", committed.first)),
            Err(error) => {
                let again = store.commit_blocking(Batch::written().event(post(&owner, number)));
                let read = store.read(&Query::table("notes"));
                let codes = [error, again.unwrap_err(), read.unwrap_err()].map(|error| error.failure().code);
                return say(&format!("failed {}", codes.join(" ")));
            }
        }
    }
}

/// Prints one whole line, bypassing the test harness's capture.
fn say(line: &str) {
    std::io::stdout().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Starts the child, with `front` as its launcher if that is not empty.
#[expect(clippy::disallowed_methods, reason = "a test starts itself as a child")]
fn start(path: &Path, front: &[&str]) -> Sender {
    let me = std::env::current_exe().unwrap();
    let mut argv: Vec<std::ffi::OsString> = front.iter().map(Into::into).collect();
    argv.push(me.into());
    let name = "disk::kill::child_sends_until_it_ends";
    let child = std::process::Command::new(&argv[0])
        .args(&argv[1..])
        .args(["--ignored", "--exact", name, "--nocapture", "--test-threads=1"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Sender(child)
}

/// The child process, which never outlives its test.
struct Sender(Child);

impl Sender {
    fn lines(&mut self) -> Lines<BufReader<ChildStdout>> {
        BufReader::new(self.0.stdout.take().unwrap()).lines()
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Reports of the child: `(sender, number) -> lsn`.
#[derive(Default)]
struct Reported {
    acked: BTreeMap<(i64, i64), i64>,
    failed: Vec<String>,
}

impl Reported {
    fn take(&mut self, line: &str) {
        let mut words = line.split(' ');
        match words.next() {
            Some("acked") => {
                let numbers: Vec<i64> = words.map(|word| word.parse().unwrap()).collect();
                let doubled = self.acked.insert((numbers[0], numbers[1]), numbers[2]);
                assert_eq!(doubled, None, "answered twice: {line}");
            }
            Some("failed") => self.failed.extend(words.map(str::to_owned)),
            _ => {}
        }
    }

    /// Checks that every acknowledged note is there once, at its position and in its sender's order, and no other
    /// notes.
    fn check(&self, path: &Path) {
        let store = Store::open(Config::new(path), projections()).unwrap();
        let report = store.verify(Scope::All).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        let mut found = BTreeMap::new();
        for sender in 0..SENDERS {
            let mine = Query::table("notes").eq("owner", format!("sender{sender}")).asc("lsn");
            for (number, row) in (0..).zip(store.read(&mine).unwrap()) {
                assert_eq!(row.get_int("weight"), Some(number), "sender {sender} is out of order");
                found.insert((sender, number), row.get_int("lsn").unwrap());
            }
        }
        for (sent, lsn) in &self.acked {
            assert_eq!(found.get(sent), Some(lsn), "{sent:?} was acknowledged");
        }
        assert_eq!(store.head().lsn, found.len() as u64);
        store.close();
    }
}

#[test]
fn a_killed_process_loses_nothing_that_it_had_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut reported = Reported::default();

    for kill in 0..KILLS {
        let mut child = start(&path, &[]);
        let mut lines = child.lines();
        let enough = reported.acked.len() + kill * 37 % 90;
        for line in lines.by_ref() {
            reported.take(&line.unwrap());
            if reported.acked.len() > enough {
                break;
            }
        }
        child.kill();
        lines.for_each(|line| reported.take(&line.unwrap()));
        reported.check(&path);
    }

    assert!(reported.acked.len() > KILLS);
}

#[test]
fn a_disk_that_refuses_a_write_ends_the_store_and_loses_nothing_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut reported = Reported::default();

    // Writes past 256 KiB of a file fail with EFBIG, which counts as a broken disk, not a full one.
    let mut child = start(&path, &["sh", "-c", "trap '' XFSZ; ulimit -f 512; exec \"$@\"", "sh"]);
    let lines = child.lines();
    lines.for_each(|line| reported.take(&line.unwrap()));
    drop(child);

    assert_eq!(reported.failed.len(), 3 * usize::try_from(SENDERS).unwrap());
    assert!(reported.failed.iter().all(|code| code == "store.fatal"), "{:?}", reported.failed);
    assert!(!reported.acked.is_empty());
    reported.check(&path);
}

#[test]
fn an_owner_that_was_killed_leaves_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut child = start(&path, &[]);
    let mut lines = child.lines();
    assert!(lines.any(|line| line.unwrap() == "ready"));

    let held = Store::open(Config::new(&path), projections()).map(|_| ()).unwrap_err();
    child.kill();
    let free = Store::open(Config::new(&path), projections());

    assert!(matches!(&held, Error::Locked { holder, .. } if holder.contains(&child.0.id().to_string())), "{held}");
    assert!(free.is_ok());
}
