//! Kills the daemon with `kill -9` at random moments while hundreds of message files are dropped; at the end compares
//! the dropped files with the record, the inbox and the receipts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use fastrand::Rng;
use serde_json::{Value, json};

use crate::bench::daemon::TestRepo;
use crate::command::output;

/// Options of the torture.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of kills
    #[arg(long, default_value_t = 20)]
    kills: usize,
    /// Number of files that are dropped before each kill
    #[arg(long, default_value_t = 300)]
    files: usize,
    /// Seed for the moments of the kills
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Path of the binary; default `target/debug/switchboard`
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Maximum life of a daemon with work to do, in milliseconds.
const LIFE_MS: usize = 1_500;

/// Time limit for all files at the end.
const LIMIT: Duration = Duration::from_secs(300);

/// Maximum number of receipt files of a sender: a hundred, and one with all the others.
const RECEIPT_FILES: usize = 101;

/// Kills the daemon, and compares the results.
///
/// # Errors
/// When a file is lost, doubled, out of order or without a receipt.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let binary = args.binary.clone().unwrap_or_else(|| root.join("target/debug/switchboard"));
    let binary = binary.canonicalize().with_context(|| format!("{}: build it first", binary.display()))?;
    let test_repo = TestRepo::new(&binary)?;
    let folder = test_repo.repo().join(".switchboard");
    let (first, _) = test_repo.start()?;
    let send = folder.join("outbox/ada/send");
    fs::create_dir_all(&send)?;
    let (mut rng, mut dropped, mut running) = (Rng::with_seed(args.seed), 0, Some(first));
    for round in 0..args.kills {
        // An inbox holds a thousand messages, so each round has its own reader.
        fs::create_dir_all(folder.join("inbox").join(reader(round)))?;
        test_repo.connect("torture")?.call("register_agent", json!({ "name": reader(round) }), None)??;
        for _ in 0..args.files {
            drop_file(&send, dropped, args.files)?;
            dropped += 1;
        }
        std::thread::sleep(Duration::from_millis(rng.usize(..LIFE_MS) as u64));
        if let Some(daemon) = running.take() {
            daemon.kill()?;
        }
        // An agent that saw no receipt drops some of its files again.
        for number in (0..dropped).filter(|_| rng.usize(..50) == 0) {
            drop_file(&send, number, args.files)?;
        }
        running = Some(test_repo.start()?.0);
    }
    let began = Instant::now();
    for round in 0..args.kills {
        let inbox = folder.join("inbox").join(reader(round));
        while count(&send)? > 0 || count(&inbox)? < args.files {
            ensure!(began.elapsed() < LIMIT, "{} are not taken, {} are delivered", count(&send)?, count(&inbox)?);
            std::thread::sleep(Duration::from_millis(50));
        }
        in_order(&test_repo, round, args.files)?;
    }
    compare(&test_repo, &folder, dropped)?;
    output(test_repo.switchboard().args(["verify"]))?;
    let receipts = count(&folder.join("outbox/ada"))?;
    println!(
        "{}",
        json!({ "kills": args.kills, "files": dropped, "receipt_files": receipts, "lost": 0, "doubled": 0, "out_of_order": 0 })
    );
    Ok(())
}

/// Returns the agent that reads the files of a round.
fn reader(round: usize) -> String {
    format!("reader_{round:03}")
}

fn drop_file(send: &Path, number: usize, a_round: usize) -> anyhow::Result<()> {
    let message = json!({
        "id": format!("msg_{number:06}"), "action": "request_review", "sender": "ada", "recipient": reader(number / a_round),
        "payload": format!("Please look at file {number}."),
    });
    fs::write(send.join(".writing"), message.to_string())?;
    Ok(fs::rename(send.join(".writing"), send.join(format!("{number:06}.json")))?)
}

/// Counts the files in a folder.
fn count(folder: &Path) -> anyhow::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        count += usize::from(entry.file_type()?.is_file() && !entry.file_name().to_string_lossy().starts_with('.'));
    }
    Ok(count)
}

/// Checks whether the messages of a round are in the order of their files.
fn in_order(test_repo: &TestRepo, round: usize, files: usize) -> anyhow::Result<()> {
    let mut client = test_repo.connect(&reader(round))?;
    let mut seen = Vec::new();
    while seen.len() < files {
        let reply = client.call("receive_messages", json!({ "max": 100, "lease_ms": 600_000 }), None)??;
        let messages = reply["messages"].as_array().cloned().unwrap_or_default();
        if messages.is_empty() {
            bail!("the inbox of {} ends after {}", reader(round), seen.len());
        }
        for message in &messages {
            let id = message["id"].as_str().context("a message without an id")?;
            client.call("ack_message", json!({ "id": id, "lease_token": message["lease_token"] }), None)??;
            seen.push(id.to_owned());
        }
    }
    let wanted: Vec<_> = (round * files..(round + 1) * files).map(|number| format!("msg_{number:06}")).collect();
    ensure!(seen == wanted, "the order of {} is not that of the files", reader(round));
    Ok(())
}

/// Checks whether each file is one message, with a receipt.
fn compare(test_repo: &TestRepo, folder: &Path, dropped: usize) -> anyhow::Result<()> {
    let mut client = test_repo.connect("torture")?;
    let sent = client.call("list_messages", json!({}), None)??["sent"].clone();
    ensure!(sent == json!(dropped), "{sent} messages of {dropped} files");
    let wanted: Vec<_> = (0..dropped).map(|number| format!("msg_{number:06}")).collect();
    let outbox = folder.join("outbox/ada");
    ensure!(count(&outbox)? <= RECEIPT_FILES, "{} files of receipts", count(&outbox)?);
    let told = receipts(&outbox)?;
    let missing: Vec<_> = wanted.iter().filter(|id| !told.contains(*id)).collect();
    ensure!(missing.is_empty(), "{} files have no receipt, the first is {:?}", missing.len(), missing.first());
    Ok(())
}

/// Returns the messages with a receipt of their delivery.
fn receipts(outbox: &Path) -> anyhow::Result<BTreeSet<String>> {
    let mut told = BTreeSet::new();
    let mut tell = |text: &str| -> anyhow::Result<()> {
        let receipt: Value = serde_json::from_str(text)?;
        ensure!(receipt["status"] == "delivered", "{receipt}");
        told.insert(receipt["inReplyTo"].as_str().context("no message")?.to_owned());
        Ok(())
    };
    for entry in fs::read_dir(outbox)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() || entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let text = fs::read_to_string(entry.path())?;
        if entry.file_name() == "receipts.jsonl" {
            text.lines().try_for_each(&mut tell)?;
        } else {
            tell(&text)?;
        }
    }
    Ok(told)
}
