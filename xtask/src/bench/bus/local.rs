//! The bus in this process, on a store on the disk.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::{Map, Value, json};
use switchboard_bus::{Call, LeaseBook, Limits, Uptime};
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::lease::LeaseId;
use switchboard_store::{Checkpoint, Config, Query, Store};
use tokio::runtime::Runtime;

use super::disk;
use super::workload::{BODY, MANY};
use crate::bench::stats::{quantile, rate, rounded, seconds};

/// Number of sends that are timed one by one.
const SENDS: usize = 300;

/// Number of sends of each of many senders: together more than the store keeps in memory before they are in SQLite.
const EACH: usize = 200;

/// Number of messages in a full inbox, and in a short one.
const FULL_INBOX: usize = 100_000;
const SHORT_INBOX: usize = 100;

/// Number of held leases, many and few, and of timed reservations.
const LEASES: (usize, usize) = (10_000, 10);
const RESERVES: usize = 200;

/// A bus on the disk.
struct Bus {
    store: Store,
    runtime: Runtime,
}

fn call(name: &str) -> Call {
    let name = AgentName::new(name).unwrap_or_else(|_| AgentName::from_bits(0));
    Call { limits: Limits { messages: 1 << 40, bytes: 1 << 40 }, ..Call::of(name) }
}

/// Makes an id as a daemon does: ids of consecutive messages are not adjacent.
fn id(number: u64) -> MessageId {
    MessageId::from_bits(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn failed(error: switchboard_bus::Error) -> anyhow::Error {
    let failure = switchboard_protocol::error::Failure::from(error);
    anyhow::anyhow!("{}: {}", failure.code, failure.what)
}

fn body() -> String {
    "x".repeat(BODY)
}

// === impl Bus ===

impl Bus {
    fn new(folder: &Path, agents: &[&str]) -> anyhow::Result<Self> {
        Self::with(Config::new(folder.join("store.db")), agents)
    }

    fn with(config: Config, agents: &[&str]) -> anyhow::Result<Self> {
        let store = Store::open(config, switchboard_bus::projections())?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        for name in agents {
            let request = serde_json::from_value(json!({ "name": name }))?;
            runtime.block_on(switchboard_bus::register_agent(&store, &call(name), request)).map_err(failed)?;
        }
        Ok(Self { store, runtime })
    }

    fn send(&self, recipient: &str, number: u64) -> anyhow::Result<f64> {
        let request = serde_json::from_value(json!({ "recipient": recipient, "payload": body() }))?;
        let (store, sender) = (&self.store, call("ada"));
        let sent = async { switchboard_bus::send_message(store, &sender, request, id(number)).await };
        seconds(|| self.runtime.block_on(sent).map_err(failed)).map(|(_, took)| took)
    }

    /// Sends from many senders at once; returns the time until all were answered and the tables were up to date.
    fn send_many(&self, recipients: &Arc<Vec<String>>, each: usize, first: u64) -> anyhow::Result<f64> {
        let work = async {
            let mut senders = tokio::task::JoinSet::new();
            for sender in 0..MANY {
                let (store, recipients) = (self.store.clone(), Arc::clone(recipients));
                senders.spawn(async move {
                    let by = call(&format!("sender-{sender}"));
                    for number in 0..each {
                        let recipient = &recipients[(sender + number) % recipients.len()];
                        let args = json!({ "recipient": recipient, "payload": body() });
                        let request = serde_json::from_value(args).context("a request")?;
                        let id = id(first + (sender * each + number) as u64);
                        switchboard_bus::send_message(&store, &by, request, id).await.map_err(failed)?;
                    }
                    anyhow::Ok(())
                });
            }
            while let Some(done) = senders.join_next().await {
                done.context("a sender")??;
            }
            // A read first brings the table up to date.
            self.store.read(&Query::table("inboxes").limit(1))?;
            anyhow::Ok(())
        };
        seconds(|| self.runtime.block_on(work)).map(|((), took)| took)
    }

    fn fetch(&self, owner: &str) -> anyhow::Result<f64> {
        let request = serde_json::from_value(json!({ "limit": 20 }))?;
        let reader = call(owner);
        let look = switchboard_bus::check_inbox(&self.store, &reader, request);
        let (reply, took) = seconds(|| self.runtime.block_on(look).map_err(failed))?;
        anyhow::ensure!(reply.messages.len() == 20, "an inbox with {} messages", reply.messages.len());
        Ok(took)
    }
}

/// Measures the figures of one round.
pub(super) fn round(folder: &Path, floor: f64) -> anyhow::Result<Map<String, Value>> {
    let mut row = Map::new();
    let place = folder.join("tax");
    let bus = Bus::new(&place, &["ada", "ben"])?;
    let took: anyhow::Result<Vec<f64>> = (0..SENDS).map(|number| bus.send("ben", number as u64)).collect();
    row.insert("durability_tax_p50".to_owned(), json!(quantile(took?, 0.5) / floor));
    let recipients = Arc::new(vec!["ada".to_owned(), "ben".to_owned()]);
    let raw = disk::group_rate(folder)?;
    let ours = rate(MANY * EACH, bus.send_many(&recipients, EACH, 1 << 32)?);
    row.insert("rate_64_vs_raw_log_64".to_owned(), json!(ours / raw));
    row.insert("rate_64".to_owned(), json!(ours));
    bus.store.close();
    row.insert("lease_check_10k".to_owned(), json!(lease_check(folder)?));
    Ok(row)
}

fn lease_check(folder: &Path) -> anyhow::Result<f64> {
    let place = folder.join("leases");
    let bus = Bus::new(&place, &["ada"])?;
    let Bus { store, runtime } = bus;
    let book = runtime.block_on(LeaseBook::open(store.clone(), Uptime::system())).map_err(failed)?;
    let holder = call("ada");
    let mut number = 0_u64;
    let mut reserve = |glob: String| -> anyhow::Result<f64> {
        number += 1;
        let request = serde_json::from_value(json!({ "globs": [glob] }))?;
        let held = book.reserve_files(&holder, request, LeaseId::from_bits(number));
        seconds(|| runtime.block_on(held).map_err(failed)).map(|(_, took)| took)
    };
    let mut timed = |upto: usize, from: usize| -> anyhow::Result<f64> {
        for lease in from..upto {
            reserve(format!("crates/c{}/src/f{lease}.rs", lease % 97))?;
        }
        let took: anyhow::Result<Vec<f64>> =
            (0..RESERVES).map(|lease| reserve(format!("more/{upto}/f{lease}.rs"))).collect();
        Ok(quantile(took?, 0.5))
    };
    let few = timed(LEASES.1, 0)?;
    let many = timed(LEASES.0, LEASES.1)?;
    store.close();
    Ok(many / few)
}

/// Measures the figures about size, once.
pub(super) fn sizes() -> anyhow::Result<Map<String, Value>> {
    let mut row = Map::new();
    let folder = tempfile::TempDir::new_in(disk::home()?)?;
    let names: Vec<String> = (0..MANY).map(|number| format!("agent-{number}")).collect();
    let agents: Vec<&str> = names.iter().map(String::as_str).chain(["ada", "full", "short"]).collect();
    let bus = Bus::new(folder.path(), &agents)?;
    // A short inbox and a full one in one store: only the inbox differs.
    bus.send_many(&Arc::new(vec!["short".to_owned()]), SHORT_INBOX.div_ceil(MANY), 1)?;
    bus.send_many(&Arc::new(vec!["full".to_owned()]), FULL_INBOX.div_ceil(MANY), 1 << 20)?;
    let mut times = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for number in 0..200_u64 {
        for (place, inbox) in ["short", "full"].into_iter().enumerate() {
            times[place].push(bus.send(inbox, (1 << 40) + number * 2 + place as u64)?);
            times[place + 2].push(bus.fetch(inbox)?);
        }
    }
    let [short_send, full_send, short_fetch, full_fetch] = times.map(|took| quantile(took, 0.5));
    row.insert("flat_inbox_100k_send".to_owned(), json!(rounded(full_send / short_send)));
    row.insert("flat_inbox_100k_fetch".to_owned(), json!(rounded(full_fetch / short_fetch)));
    row.insert("flat_inbox_100k".to_owned(), json!(rounded((full_send / short_send).max(full_fetch / short_fetch))));
    bus.store.checkpoint(Checkpoint::Truncate)?;
    let bytes = std::fs::metadata(folder.path().join("store.db"))?.len();
    let payload = (FULL_INBOX + SHORT_INBOX + 400) * BODY;
    #[expect(clippy::cast_precision_loss, reason = "bytes of a file")]
    row.insert("disk_over_payload".to_owned(), json!(rounded(bytes as f64 / payload as f64)));
    bus.store.close();
    row.insert("fsync_per_message_64".to_owned(), json!(fsyncs()?));
    Ok(row)
}

/// Returns the number of syncs of the store's files for each message of 64 senders.
fn fsyncs() -> anyhow::Result<f64> {
    let folder = tempfile::TempDir::new_in(disk::home()?)?;
    // The first count installs the hook: only files opened after it are counted.
    crate::torture::count_syncs()?;
    let config = Config { io_hook: crate::torture::io_hook(), ..Config::new(folder.path().join("store.db")) };
    let bus = Bus::with(config, &["ada", "ben"])?;
    let recipients = Arc::new(vec!["ada".to_owned(), "ben".to_owned()]);
    let before = crate::torture::count_syncs()?;
    bus.send_many(&recipients, 200, 1)?;
    let syncs = crate::torture::count_syncs()? - before;
    bus.store.close();
    anyhow::ensure!(syncs > 0, "no sync was counted");
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    Ok((syncs as f64 / (MANY * 200) as f64 * 1e4).round() / 1e4)
}
