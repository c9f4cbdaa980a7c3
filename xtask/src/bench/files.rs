//! `cargo xtask bench files`: how fast message files that are dropped all at once are processed, and what they leave
//! behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::daemon::TestRepo;
use super::stats::{median, rate, rounded};

/// Options of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print only the JSON object
    #[arg(long)]
    json: bool,
    /// Files that are dropped at once
    #[arg(long, default_value_t = 1000)]
    files: usize,
    /// Repetitions, each with its own daemon
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Path of the binary; default `target/release/switchboard`
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Time limit of one repetition.
const LIMIT: Duration = Duration::from_secs(180);

/// Results of one repetition.
struct Burst {
    taken_s: f64,
    delivered_s: f64,
    receipts: usize,
}

/// Measures and prints the figures.
///
/// # Errors
/// When the binary is missing, or a file is not processed.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let binary = args.binary.clone().unwrap_or_else(|| root.join("target/release/switchboard"));
    let missing = || format!("{}: build it: cargo build --release", binary.display());
    let binary = binary.canonicalize().with_context(missing)?;
    let (mut taken, mut delivered, mut receipts) = (Vec::new(), Vec::new(), 0);
    for number in 1..=args.runs.max(1) {
        let burst = burst(&binary, args.files)?;
        if !args.json {
            println!("{number}: taken in {:.2} s, delivered in {:.2} s", burst.taken_s, burst.delivered_s);
        }
        taken.push(burst.taken_s);
        delivered.push(burst.delivered_s);
        receipts = receipts.max(burst.receipts);
    }
    println!("{}", report(args.files, median(taken), median(delivered), receipts));
    Ok(())
}

fn report(files: usize, taken_s: f64, delivered_s: f64, receipts: usize) -> Value {
    json!({
        "files": files,
        "taken_per_s": rounded(rate(files, taken_s)),
        "delivered_per_s": rounded(rate(files, delivered_s)),
        "receipt_files": receipts,
    })
}

/// Drops files for an agent that reads files, and waits until all are processed and in its inbox.
fn burst(binary: &Path, files: usize) -> anyhow::Result<Burst> {
    let test_repo = TestRepo::new(binary)?;
    let (_daemon, _) = test_repo.start()?;
    let mut client = test_repo.connect("bench")?;
    client.call("register_agent", json!({ "name": "ben" }), None)??;
    let folder = test_repo.repo().join(".switchboard");
    let (send, inbox) = (folder.join("outbox/ada/send"), folder.join("inbox/ben"));
    fs::create_dir_all(&inbox)?;
    fs::create_dir_all(&send)?;
    let began = Instant::now();
    for number in 0..files {
        let message = json!({
            "id": format!("msg_{number:05}"), "action": "request_review", "sender": "ada", "recipient": "ben",
            "payload": format!("Please look at file {number}."),
        });
        fs::write(send.join(".writing"), message.to_string())?;
        fs::rename(send.join(".writing"), send.join(format!("{number:05}.json")))?;
    }
    let taken_s = wait(began, || Ok(count(&send, "")? == 0))?;
    let delivered_s = wait(began, || Ok(count(&inbox, "msg_")? == files))?;
    let sent = client.call("list_messages", json!({}), None)??["sent"].clone();
    if sent != json!(files) {
        bail!("{sent} of {files} messages were sent");
    }
    Ok(Burst { taken_s, delivered_s, receipts: count(&folder.join("outbox/ada"), "receipt")? })
}

fn wait(began: Instant, mut is_done: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<f64> {
    while !is_done()? {
        if began.elapsed() > LIMIT {
            bail!("files are left after {} s", LIMIT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(began.elapsed().as_secs_f64())
}

/// Counts the files in a folder whose names begin with `start`.
fn count(folder: &Path, start: &str) -> anyhow::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        count += usize::from(entry?.file_name().to_string_lossy().starts_with(start));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_rates_and_the_number_of_receipts() {
        let report = report(1000, 0.5, 2.0, 100);

        assert_eq!(
            report.to_string(),
            r#"{"files":1000,"taken_per_s":2000.0,"delivered_per_s":500.0,"receipt_files":100}"#
        );
    }
}
