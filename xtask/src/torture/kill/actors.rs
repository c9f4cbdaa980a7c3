//! Users of the daemon while it is killed. Each repeats a call whose answer was lost, under the same key, and logs what
//! it was told.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use switchboard_protocol::error::Failure;

use crate::bench::daemon::Client;

/// Time limit for one call to be answered, across any number of daemons.
const PATIENCE: Duration = Duration::from_secs(60);

/// Milliseconds that a receiver holds a message; after a kill the message is delivered again when that time is over.
const LEASE_MS: u64 = 5_000;

/// Repository of the daemon, and the receivers.
pub(super) struct Target {
    repo: PathBuf,
    pub(super) receivers: Vec<String>,
    /// Counter of received answers: the order in which results were known.
    clock: AtomicU64,
}

/// Results that one or several actors received.
#[derive(Debug, Default)]
pub(super) struct CallLog {
    /// Accepted messages by id, with recipient, sender, and the sender's sequence number.
    pub(super) accepted: BTreeMap<String, (String, usize, u64)>,
    /// Messages that were tried.
    pub(super) tried: BTreeMap<String, String>,
    /// Deliveries in the order in which they were received.
    pub(super) delivered: Vec<(String, u32)>,
    /// Ids of acknowledged messages.
    pub(super) acked: Vec<String>,
    /// Leases: token, when its grant was known, and when it was returned or over.
    pub(super) leases: Vec<(u64, u64, u64)>,
    /// Number of calls that were repeated because their answer was lost.
    pub(super) retried: u64,
}

// === impl CallLog ===

impl CallLog {
    pub(super) fn add(&mut self, other: Self) {
        self.accepted.extend(other.accepted);
        self.tried.extend(other.tried);
        self.delivered.extend(other.delivered);
        self.acked.extend(other.acked);
        self.leases.extend(other.leases);
        self.retried += other.retried;
    }
}

// === impl Target ===

impl Target {
    /// Registers the receivers and the holders of leases.
    pub(super) fn new(repo: PathBuf, receivers: usize) -> anyhow::Result<Self> {
        let receivers: Vec<String> = (0..receivers).map(|number| format!("receiver-{number}")).collect();
        let post = Self { repo, receivers, clock: AtomicU64::new(1) };
        let mut line = RetryingCaller::new(&post, "torture");
        let holders = (0..8).map(|number| format!("holder-{number}"));
        for name in post.receivers.iter().cloned().chain(holders) {
            line.ask("register_agent", &json!({ "name": name }), None)?.map_err(call_error)?;
        }
        Ok(post)
    }

    /// Returns the number of unacknowledged messages.
    pub(super) fn unread(&self) -> anyhow::Result<u64> {
        let status = RetryingCaller::new(self, "torture").ask("get_status", &json!({}), None)?.map_err(call_error)?;
        status["unread"].as_u64().context("unread")
    }

    /// Returns all events about mail: kind, facts, and for a sent message its position and number.
    pub(super) fn events(&self) -> anyhow::Result<Vec<Value>> {
        let (mut all, mut after) = (Vec::new(), json!("start"));
        let mut line = RetryingCaller::new(self, "torture");
        loop {
            let page = line.ask("read_events", &json!({ "after": after, "limit": 1000 }), None)?.map_err(call_error)?;
            let events = page["events"].as_array().cloned().unwrap_or_default();
            if events.is_empty() {
                return Ok(all);
            }
            all.extend(events);
            after = page["cursor"].clone();
        }
    }

    /// Returns the result of `verify_log`.
    pub(super) fn verify(&self) -> anyhow::Result<Value> {
        RetryingCaller::new(self, "torture").ask("verify_log", &json!({}), None)?.map_err(call_error)
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }
}

fn call_error(failure: Failure) -> anyhow::Error {
    anyhow::anyhow!("{}: {}", failure.code, failure.what)
}

/// A caller that survives restarts of the daemon.
struct RetryingCaller<'a> {
    post: &'a Target,
    name: String,
    client: Option<Client>,
    retried: u64,
}

// === impl RetryingCaller ===

impl<'a> RetryingCaller<'a> {
    fn new(post: &'a Target, name: &str) -> Self {
        Self { post, name: name.to_owned(), client: None, retried: 0 }
    }

    /// Repeats a call until it is answered.
    fn ask(&mut self, verb: &str, args: &Value, key: Option<&str>) -> anyhow::Result<Result<Value, Failure>> {
        let began = Instant::now();
        let mut lost = false;
        while began.elapsed() < PATIENCE {
            if self.client.is_none() {
                self.client = Client::connect(&self.post.repo, &self.name).ok();
            }
            let Some(client) = &mut self.client else {
                std::thread::sleep(Duration::from_millis(3));
                continue;
            };
            match client.call(verb, args.clone(), key.map(str::to_owned)) {
                Ok(Err(failure)) if failure.code == "daemon.unreachable" || failure.code == "store.fatal" => {
                    self.client = None;
                }
                Ok(answer) => {
                    self.retried += u64::from(lost);
                    return Ok(answer);
                }
                Err(_) => {
                    lost = true;
                    self.client = None;
                }
            }
        }
        bail!("no answer to {verb} within {} s", PATIENCE.as_secs())
    }
}

/// Sends numbered messages to the receivers in turn.
pub(super) fn send(post: &Target, number: usize, goes: &AtomicBool) -> anyhow::Result<CallLog> {
    let mut line = RetryingCaller::new(post, &format!("sender-{number}"));
    let mut log = CallLog::default();
    let mut count = 0_u64;
    while goes.load(Ordering::SeqCst) {
        count += 1;
        let receivers = post.receivers.len() as u64;
        let recipient = &post.receivers[usize::try_from((count + number as u64) % receivers)?];
        let id = format!("msg_{number}_{count}");
        let args = json!({ "id": id, "recipient": recipient, "payload": format!("{id} to {recipient}"), "options": { "max_attempts": 50 } });
        log.tried.insert(id.clone(), recipient.clone());
        match line.ask("send_message", &args, None)? {
            Ok(_) => {
                log.accepted.insert(id, (recipient.clone(), number, count));
            }
            Err(failure) if failure.code == "bus.inbox-full" => std::thread::sleep(Duration::from_millis(20)),
            Err(failure) => return Err(call_error(failure)),
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    log.retried = line.retried;
    Ok(log)
}

/// Receives and acknowledges messages, a few at a time.
pub(super) fn receive(post: &Target, number: usize, goes: &AtomicBool) -> anyhow::Result<CallLog> {
    let mut line = RetryingCaller::new(post, &post.receivers[number]);
    let mut log = CallLog::default();
    while goes.load(Ordering::SeqCst) {
        let args = json!({ "max": 20, "lease_ms": LEASE_MS, "wait_ms": 100 });
        let reply = line.ask("receive_messages", &args, None)?.map_err(call_error)?;
        for message in reply["messages"].as_array().into_iter().flatten() {
            let id = message["id"].as_str().context("a message without an id")?.to_owned();
            let attempt = message["attempt"].as_u64().and_then(|attempt| u32::try_from(attempt).ok()).unwrap_or(0);
            if log.acked.contains(&id) {
                bail!("{id} was delivered after its acknowledgement was confirmed");
            }
            log.delivered.push((id.clone(), attempt));
            let args = json!({ "id": id, "lease_token": message["lease_token"] });
            match line.ask("ack_message", &args, None)? {
                Ok(_) => log.acked.push(id),
                Err(failure) if failure.code == "bus.lease-lost" => {}
                Err(failure) => return Err(call_error(failure)),
            }
        }
    }
    log.retried = line.retried;
    Ok(log)
}

/// Leases the same files as the other holders, exclusively, and returns them.
pub(super) fn hold(post: &Target, number: usize, goes: &AtomicBool) -> anyhow::Result<CallLog> {
    let mut line = RetryingCaller::new(post, &format!("holder-{number}"));
    let mut log = CallLog::default();
    let mut count = 0;
    while goes.load(Ordering::SeqCst) {
        count += 1;
        let key = format!("reserve-{number}-{count}");
        let args = json!({ "globs": ["src/**"], "mode": "exclusive", "ttl_seconds": 600 });
        let granted = match line.ask("reserve_files", &args, Some(&key))? {
            Ok(granted) => granted,
            Err(failure) if failure.code.starts_with("lease.") => {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            }
            Err(failure) => return Err(call_error(failure)),
        };
        let since = post.tick();
        let token = granted["lease"]["token"].as_u64().context("a lease without a token")?;
        std::thread::sleep(Duration::from_millis(2));
        let until = post.tick();
        log.leases.push((token, since, until));
        let args = json!({ "lease": granted["lease"]["id"], "token": token });
        line.ask("release_files", &args, Some(&format!("release-{number}-{count}")))?.map_err(call_error)?;
    }
    log.retried = line.retried;
    Ok(log)
}
