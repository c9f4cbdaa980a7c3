//! `cargo xtask torture machine`: a real daemon on a disk that fills up, one with few file descriptors, and one whose
//! time of day jumps. What it answered is kept, what it can't keep is refused, and it continues when there is room
//! again.

mod clock;

use std::collections::BTreeSet;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench::daemon::{Client, TestRepo};
use crate::command::{command, output};

/// Options of the torture.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Path of the binary; default `target/debug/switchboard`
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Size of the small disk in megabytes: room for the store and some hundred messages.
const DISK_MB: u64 = 16;

/// Size in bytes of a payload that fills the disk.
const PAYLOAD: usize = 32 << 10;

/// Maximum number of messages until the disk must be full.
const MAX_MESSAGES: u64 = 2_000;

/// Number of descriptors of the limited daemon. It uses some forty itself.
const DESCRIPTORS: u64 = 80;

/// Number of connections that exceeds the daemon's limit.
const CROWD: usize = 120;

/// Time limit until a daemon answers again.
const PATIENCE: Duration = Duration::from_secs(20);

/// Tries the faults, and prints the results.
///
/// # Errors
/// When a promise is broken.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let binary = args.binary.clone().unwrap_or_else(|| root.join("target/debug/switchboard"));
    let binary = binary.canonicalize().with_context(|| format!("{}: build it first", binary.display()))?;
    let full = match Disk::mount() {
        Ok(disk) => full_disk(&binary, &disk)?,
        Err(error) => json!(format!("skipped: no small disk can be mounted here: {error:#}")),
    };
    let narrow = few_descriptors(&binary)?;
    let jumps = clock::run(&binary, &root.join("target/peers"))?;
    println!("{}", json!({ "full_disk": full, "few_descriptors": narrow, "clock_jumps": jumps }));
    Ok(())
}

/// A small disk, unmounted when dropped.
struct Disk {
    folder: TempDir,
}

// === impl Disk ===

impl Disk {
    fn mount() -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let image = folder.path().join("image");
        std::fs::File::create(&image)?.set_len(DISK_MB << 20)?;
        std::fs::create_dir(folder.path().join("disk"))?;
        output(command("mkfs.ext4", folder.path()).args(["-q", "image"]))?;
        output(command("mount", folder.path()).args(["-o", "loop", "image", "disk"]))?;
        Ok(Self { folder })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, in case a daemon is still running; a failure is printed.
        if let Err(error) = output(command("umount", self.folder.path()).args(["-l", "disk"])) {
            eprintln!("{error:#}");
        }
    }
}

fn full_disk(binary: &Path, disk: &Disk) -> anyhow::Result<Value> {
    let test_repo = TestRepo::new(binary)?.with("XDG_STATE_HOME", &disk.path());
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![1; 4 << 20])?;
    let (daemon, _) = test_repo.start()?;
    let mut client = test_repo.connect("torture")?;
    ask(&mut client, "register_agent", json!({ "name": "ada" }))?;
    let mut accepted = BTreeSet::new();
    let mut refused = None;
    for number in 0..MAX_MESSAGES {
        let id = format!("msg_{number}");
        match client.call("send_message", message(&id, PAYLOAD), None)? {
            Ok(_) => drop(accepted.insert(id)),
            Err(failure) => {
                refused = Some(failure.code);
                break;
            }
        }
    }
    let refused = refused.context("the disk does not get full")?;
    ensure!(refused == "io.disk-full", "a full disk is answered with {refused}");
    std::fs::remove_file(&ballast)?;
    let began = Instant::now();
    while client.call("send_message", message("msg_again", 1), None)?.is_err() {
        ensure!(began.elapsed() < PATIENCE, "it takes nothing though there is room again");
        std::thread::sleep(Duration::from_millis(50));
    }
    accepted.insert("msg_again".to_owned());
    daemon.kill()?;
    let (_daemon, _) = test_repo.start()?;
    let mut client = test_repo.connect("torture")?;
    let kept = kept(&mut client)?;
    ensure!(kept == accepted, "{} were accepted, {} are there", accepted.len(), kept.len());
    ensure!(ask(&mut client, "verify_log", json!({}))?["is_intact"] == true, "the record is damaged");
    Ok(json!({ "accepted": accepted.len(), "refused_with": refused, "kept": kept.len() }))
}

fn few_descriptors(binary: &Path) -> anyhow::Result<Value> {
    let test_repo = TestRepo::new(binary)?.limited_to(DESCRIPTORS);
    let (_daemon, _) = test_repo.start()?;
    let mut client = test_repo.connect("torture")?;
    ask(&mut client, "register_agent", json!({ "name": "ada" }))?;
    let info: Value = serde_json::from_slice(&std::fs::read(test_repo.repo().join(".switchboard/server_info.json"))?)?;
    let socket = info["socket"].as_str().context("no socket")?;
    let mut accepted = BTreeSet::new();
    let mut crowd = Vec::new();
    for number in 0..CROWD {
        // A connection that is not accepted waits in the socket's queue, which is limited, too.
        crowd.extend(UnixStream::connect(socket).ok());
        let id = format!("msg_{number}");
        if client.call("send_message", message(&id, 100), None)?.is_ok() {
            accepted.insert(id);
        }
    }
    ensure!(crowd.len() as u64 > DESCRIPTORS, "there is no crowd");
    drop(crowd);
    let began = Instant::now();
    let mut client = loop {
        let come_back = Client::connect(&test_repo.repo(), "torture");
        match come_back.and_then(|mut client| ask(&mut client, "get_status", json!({})).map(|_| client)) {
            Ok(client) => break client,
            Err(error) if began.elapsed() > PATIENCE => bail!("nobody is let in any more: {error:#}"),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let kept = kept(&mut client)?;
    ensure!(kept == accepted, "{} were accepted, {} are there", accepted.len(), kept.len());
    Ok(json!({ "descriptors": DESCRIPTORS, "crowd": CROWD, "accepted": accepted.len(), "kept": kept.len() }))
}

fn message(id: &str, bytes: usize) -> Value {
    json!({ "id": id, "recipient": "ada", "payload": "x".repeat(bytes), "action": "status_update" })
}

/// Returns the messages in the inbox.
fn kept(client: &mut Client) -> anyhow::Result<BTreeSet<String>> {
    let all = ask(client, "list_messages", json!({ "agent": "ada", "limit": 1000 }))?;
    let ids = all["messages"].as_array().into_iter().flatten().filter_map(|message| message["id"].as_str());
    Ok(ids.map(str::to_owned).collect())
}

fn ask(client: &mut Client, verb: &str, args: Value) -> anyhow::Result<Value> {
    client.call(verb, args, None)?.map_err(|failure| anyhow::anyhow!("{verb}: {} [{}]", failure.what, failure.code))
}
