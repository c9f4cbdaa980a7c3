//! A daemon whose time of day is moved forward and back while it works, and which is killed and started again with a
//! time before its record's.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::{Client, TestRepo, ask};
use crate::command::command;

/// Library that shifts a program's time of day, from Debian's `libfaketime`; it leaves the monotonic clock alone.
const LIBRARY: &str = "libfaketime.so.1";

/// Jumps in seconds relative to the true time, one after the other.
const JUMPS: [i64; 3] = [86_400, -86_400, 0];

/// Milliseconds that deliveries are held.
const HELD_MS: i64 = 300;

/// Maximum time in milliseconds until a held message must come again: a second after the end of its time, and some for
/// a slow machine.
const SOON_MS: u64 = 10_000;

/// Duration of a granted lease, in milliseconds.
const LEASE_MS: u64 = 3_600_000;

/// Maximum duration of the whole test in milliseconds; a lease has at least the rest left.
const SPENT_MS: u64 = 120_000;

/// Makes the jumps, or prints why it can't be tried here.
///
/// # Errors
/// When a promise is broken.
pub(super) fn run(binary: &Path, peers: &Path) -> anyhow::Result<Value> {
    let Some(library) = install(&peers.join("faketime")) else {
        return Ok(json!("skipped: libfaketime is not there and can't be fetched"));
    };
    let test_repo = TestRepo::new(binary)?;
    let offset = test_repo.repo().join(".git/offset");
    let test_repo = test_repo
        .with("LD_PRELOAD", &library)
        .with("FAKETIME_TIMESTAMP_FILE", &offset)
        .with("FAKETIME_NO_CACHE", Path::new("1"))
        .with("FAKETIME_DONT_FAKE_MONOTONIC", Path::new("1"));
    let jump = |seconds: i64| std::fs::write(&offset, format!("{seconds:+}\n"));
    jump(0)?;
    let (daemon, _) = test_repo.start()?;
    let (mut ada, mut ben) = (test_repo.connect("ada")?, test_repo.connect("ben")?);
    for (client, name) in [(&mut ada, "ada"), (&mut ben, "ben")] {
        ask(client, "register_agent", json!({ "name": name }))?;
    }
    ask(&mut ada, "reserve_files", json!({ "globs": ["src/a.rs"], "ttl_seconds": LEASE_MS / 1000 }))?;
    let start = at(&mut ada)?;
    send(&mut ada, 0)?;
    ensure!(receive(&mut ben)?.0 == message(0), "the first message was not delivered");

    let mut last = start;
    for (number, seconds) in JUMPS.into_iter().enumerate() {
        jump(seconds)?;
        let now = at(&mut ada)?;
        ensure!(now >= last, "the time went back from {last} to {now}");
        ensure!(number > 0 || now - start > 80_000_000, "blind: the time of day has not jumped for the daemon");
        still_held(&mut ada, &mut ben)?;
        send(&mut ada, number + 1)?;
        take_again(&mut ben, number)?;
        last = at(&mut ada)?;
        ensure!(last >= now + HELD_MS, "the time stands still at {last}");
    }

    daemon.kill()?;
    let (_daemon, _) = test_repo.start()?;
    let (mut ada, mut ben) = (test_repo.connect("ada")?, test_repo.connect("ben")?);
    still_held(&mut ada, &mut ben)?;
    send(&mut ada, JUMPS.len() + 1)?;
    take_again(&mut ben, JUMPS.len())?;
    let now = at(&mut ada)?;
    ensure!(now >= last + HELD_MS, "after a restart the time went from {last} to {now}");
    ensure!(ask(&mut ada, "verify_log", json!({}))?["is_intact"] == true, "the record is damaged");
    Ok(json!({ "jumps_s": JUMPS, "sent": JUMPS.len() + 2, "delivered_again": JUMPS.len() + 1, "leases_lost": 0 }))
}

/// Checks that a message held during the jump comes again, and acknowledges it; then receives the next one, which is
/// held from here on.
fn take_again(ben: &mut Client, number: usize) -> anyhow::Result<()> {
    let (id, token) = receive(ben)?;
    ensure!(id == message(number), "{id} came instead of {}", message(number));
    ask(ben, "ack_message", json!({ "id": id, "lease_token": token }))?;
    let (id, _) = receive(ben)?;
    ensure!(id == message(number + 1), "{id} came instead of {}", message(number + 1));
    Ok(())
}

/// Checks that the lease exists with its time, and excludes others.
fn still_held(ada: &mut Client, ben: &mut Client) -> anyhow::Result<()> {
    let leases = ask(ada, "list_leases", json!({}))?;
    let left = leases["leases"][0]["left_ms"].as_u64().context("the lease is gone")?;
    ensure!((LEASE_MS - SPENT_MS..=LEASE_MS).contains(&left), "the lease has {left} ms left");
    let other = ben.call("reserve_files", json!({ "globs": ["src/*.rs"] }), None)?;
    let code = other.err().map(|failure| failure.code);
    ensure!(code.as_deref() == Some("lease.conflict"), "another one's reservation was answered with {code:?}");
    Ok(())
}

fn message(number: usize) -> String {
    format!("msg_{number}")
}

fn send(client: &mut Client, number: usize) -> anyhow::Result<()> {
    let args = json!({ "id": message(number), "recipient": "ben", "payload": "x", "action": "status_update" });
    ask(client, "send_message", args).map(drop)
}

/// Returns the next delivery with its token; it must come soon, whatever the time of day.
fn receive(client: &mut Client) -> anyhow::Result<(String, u64)> {
    let reply = ask(client, "receive_messages", json!({ "lease_ms": HELD_MS, "wait_ms": SOON_MS }))?;
    let message = &reply["messages"][0];
    let id = message["id"].as_str().with_context(|| format!("nothing was delivered within {SOON_MS} ms"))?;
    Ok((id.to_owned(), message["lease_token"].as_u64().context("no token")?))
}

/// Returns the daemon's time in milliseconds.
fn at(client: &mut Client) -> anyhow::Result<i64> {
    let reply = ask(client, "list_messages", json!({ "agent": "ben", "limit": 1 }))?;
    reply["at"].as_i64().context("no time")
}

/// Returns the library of this machine, or of the package, which is fetched once and unpacked beside other tools.
fn install(folder: &Path) -> Option<PathBuf> {
    let known = || [Path::new("/"), folder].into_iter().find_map(find);
    if let Some(library) = known() {
        return Some(library);
    }
    std::fs::create_dir_all(folder).ok()?;
    let quietly = |program: &str, args: &[&str]| {
        let done = command(program, folder).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    };
    let _is_fetched =
        quietly("apt-get", &["download", "libfaketime"]) && quietly("sh", &["-c", "dpkg -x libfaketime_*.deb ."]);
    known()
}

/// Finds the library below a root, in the folder of any architecture.
fn find(root: &Path) -> Option<PathBuf> {
    let folders = std::fs::read_dir(root.join("usr/lib")).ok()?;
    folders.flatten().map(|folder| folder.path().join("faketime").join(LIBRARY)).find(|library| library.is_file())
}
