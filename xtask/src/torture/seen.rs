//! `cargo xtask torture seen`: messages at random moments to agents that are busy, about to be idle, idle, dead and
//! started again. Each message must be shown to its recipient, with evidence, within two seconds of time in which the
//! recipient was able to see it; and no work may be cancelled for it.

mod acp;
mod file;
mod record;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use clap::{Args as ClapArgs, ValueEnum};
use fastrand::Rng;
use serde_json::{Value, json};
use switchboard_protocol::error::Failure;

use crate::bench::daemon::{Client, TestRepo};
use record::Record;

/// Options of the torture.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Number of messages over each channel
    #[arg(long, default_value_t = 1_000)]
    messages: u64,
    /// Use only this channel; default both, one after the other
    #[arg(long)]
    channel: Option<Channel>,
    /// Seed for the moments
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Path of the binary; default the release one if it exists, else the debug one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Way in which mail reaches an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Channel {
    /// Prompts of a worker's session.
    Acp,
    /// Files in its inbox.
    Files,
}

/// Maximum time in which a recipient is able to see a message and does not, in milliseconds.
const PATIENCE_MS: i64 = 2_000;

/// Mean pause between two messages, in milliseconds.
const PAUSE_MS: usize = 30;

/// Maximum wait for unseen messages after all are sent.
const REST: Duration = Duration::from_secs(60);

/// Sends the messages, prints the results, and fails when one was not seen in time.
///
/// # Errors
/// When a message was not seen in time, or nothing could be tried.
pub(crate) fn run(root: &std::path::Path, args: &Args) -> anyhow::Result<()> {
    let built = ["release", "debug"].map(|profile| root.join("target").join(profile).join("switchboard"));
    let binary = args.binary.clone().or_else(|| built.iter().find(|file| file.exists()).cloned());
    let binary = binary.context("no binary: build it first")?;
    let binary = binary.canonicalize().with_context(|| format!("{}: build it first", binary.display()))?;
    let channels = args.channel.map_or(vec![Channel::Acp, Channel::Files], |channel| vec![channel]);
    let mut lines = serde_json::Map::new();
    for channel in channels {
        let test_repo = TestRepo::new(&binary)?;
        let (_daemon, _) = test_repo.start()?;
        let (name, record, able) = match channel {
            Channel::Acp => {
                let record = acp::run(&test_repo, &binary, args.messages, args.seed)?;
                let able = acp::able(&record)?;
                ("acp", record, able)
            }
            Channel::Files => {
                let (record, able) = file::run(&test_repo, args.messages, args.seed)?;
                ("files", record, able)
            }
        };
        let line = record.judge(&able, args.messages, PATIENCE_MS)?;
        eprintln!("{name}: {line}");
        lines.insert(name.to_owned(), line);
    }
    println!("{}", Value::Object(lines));
    Ok(())
}

/// A sender that records what it sends.
struct Sender {
    client: Client,
    recipient: &'static str,
    rng: Rng,
    sent: u64,
    acked: BTreeSet<String>,
    looked: Instant,
}

// === impl Sender ===

impl Sender {
    fn new(test_repo: &TestRepo, recipient: &'static str, seed: u64) -> anyhow::Result<Self> {
        let client = test_repo.connect("sender")?;
        Ok(Self {
            client,
            recipient,
            rng: Rng::with_seed(seed),
            sent: 0,
            acked: BTreeSet::new(),
            looked: Instant::now(),
        })
    }

    /// Sends this many messages at random moments; calls `between` before each, and waits until all were seen or the
    /// time limit is over.
    fn send_all(
        &mut self,
        messages: u64,
        mut between: impl FnMut(&mut Client) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        while self.sent < messages {
            std::thread::sleep(Duration::from_millis(self.rng.usize(..2 * PAUSE_MS) as u64));
            between(&mut self.client)?;
            let id = format!("msg_seen_{}", self.sent + 1);
            let args = json!({ "id": id, "recipient": self.recipient, "payload": id, "action": "status_update" });
            match self.client.call("send_message", args, None)? {
                Ok(_) => self.sent += 1,
                // The recipient is away for a moment, or its inbox is full; nothing was promised.
                Err(failure) if ["bus.recipient-closed", "bus.inbox-full"].contains(&failure.code.as_str()) => {}
                Err(failure) => bail!(failure_text(&failure)),
            }
            self.acknowledge()?;
        }
        let began = Instant::now();
        while (self.acked.len() as u64) < messages && began.elapsed() < REST {
            std::thread::sleep(Duration::from_millis(50));
            between(&mut self.client)?;
            self.acknowledge()?;
        }
        Ok(())
    }

    /// Makes room in the inbox: acknowledges seen messages from time to time, as a person.
    fn acknowledge(&mut self) -> anyhow::Result<()> {
        if self.looked.elapsed() < Duration::from_millis(500) {
            return Ok(());
        }
        self.looked = Instant::now();
        let seen = ask(&mut self.client, "list_messages", json!({ "agent": self.recipient, "limit": 1000 }))?;
        for message in
            seen["messages"].as_array().into_iter().flatten().filter(|message| message["state"] == "injected")
        {
            let id = message["id"].as_str().context("an id")?.to_owned();
            ask(&mut self.client, "ack_message", json!({ "id": id }))?;
            self.acked.insert(id);
        }
        Ok(())
    }

    /// Reads the whole record.
    fn record(&mut self) -> anyhow::Result<Record> {
        let (mut record, mut after) = (Record::default(), json!("start"));
        loop {
            let page = ask(&mut self.client, "read_events", json!({ "after": after, "limit": 1000 }))?;
            let events = page["events"].as_array().cloned().unwrap_or_default();
            if events.is_empty() {
                ensure!(!record.events.is_empty(), "the record is empty");
                return Ok(record);
            }
            record.events.extend(events);
            after = page["cursor"].clone();
        }
    }
}

fn ask(client: &mut Client, verb: &str, args: Value) -> anyhow::Result<Value> {
    client.call(verb, args, None)?.map_err(|failure| anyhow::anyhow!("{verb}: {}", failure_text(&failure)))
}

fn failure_text(failure: &Failure) -> String {
    format!("{} [{}] {}", failure.what, failure.code, failure.hint)
}
