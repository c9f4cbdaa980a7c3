//! A real daemon over its socket: a read, sends with waiting readers, status with open mail. Ratios are measured
//! alternately.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::bench::daemon::{Client, Daemon, TestRepo, call};
use crate::bench::stats::median;

/// Number of reads that are timed.
const READS: usize = 4_000;
/// Number of pairs of sends that are timed.
const SENDS: usize = 600;
/// Number of waiting readers.
pub(super) const WAITERS: usize = 64;
/// Number of open messages of the daemon with mail.
const OPEN: usize = 8_000;
/// Number of recipients that share them: an inbox takes 1,000.
const RECIPIENTS: usize = 16;
/// Number of pairs of `get_status` that are timed.
const LOOKS: usize = 400;
/// Number of calls before the timed ones.
const WARM: usize = 50;

/// A repository with a daemon.
pub(super) struct Running {
    pub(super) repo: TestRepo,
    pub(super) daemon: Daemon,
}

// === impl Running ===

impl Running {
    /// Starts a daemon in a new repository.
    ///
    /// # Errors
    /// When it does not start.
    pub(super) fn start(binary: &Path) -> anyhow::Result<Self> {
        let repo = TestRepo::new(binary)?;
        let (daemon, _) = repo.start()?;
        Ok(Self { repo, daemon })
    }

    /// Registers an agent and returns its connection.
    ///
    /// # Errors
    /// When the daemon refuses it.
    pub(super) fn agent(&self, name: &str) -> anyhow::Result<Client> {
        let mut client = self.repo.connect(name)?;
        call(&mut client, "register_agent", json!({ "name": name }))?;
        Ok(client)
    }
}

/// Returns the microseconds of one call.
fn timed(client: &mut Client, verb: &str, args: Value) -> anyhow::Result<f64> {
    let began = Instant::now();
    call(client, verb, args)?;
    Ok(began.elapsed().as_secs_f64() * 1e6)
}

/// Returns the median time of a read of an inbox with three messages, in microseconds.
///
/// # Errors
/// When the daemon fails.
pub(super) fn verb_us(binary: &Path) -> anyhow::Result<f64> {
    let running = Running::start(binary)?;
    let mut reader = running.agent("reader")?;
    let mut sender = running.agent("sender")?;
    for number in 0..3 {
        send(&mut sender, "reader", number)?;
    }
    let args = json!({ "agent": "reader", "verbose": false });
    for _ in 0..WARM {
        call(&mut reader, "check_inbox", args.clone())?;
    }
    let times = (0..READS).map(|_| timed(&mut reader, "check_inbox", args.clone())).collect::<anyhow::Result<_>>()?;
    Ok(median(times))
}

/// Returns the median time of a send with waiting readers ÷ median without, measured alternately.
///
/// # Errors
/// When a daemon fails.
pub(super) fn waiters_tax(binary: &Path) -> anyhow::Result<f64> {
    let (alone, crowded) = (Running::start(binary)?, Running::start(binary)?);
    let mut senders = Vec::new();
    for running in [&alone, &crowded] {
        running.agent("reader")?;
        senders.push(running.agent("sender")?);
    }
    let waiters = Waiters::start(&crowded)?;
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..WARM + SENDS {
        for (sender, times) in senders.iter_mut().zip(&mut times) {
            let began = Instant::now();
            send(sender, "reader", number)?;
            if number >= WARM {
                times.push(began.elapsed().as_secs_f64());
            }
        }
        // Keeps the inboxes short on both sides.
        if number % 100 == 99 {
            for running in [&alone, &crowded] {
                drain(running, "reader")?;
            }
        }
    }
    waiters.end();
    let [without, with] = times;
    Ok(median(with) / median(without))
}

/// Returns the median time of `get_status` with open messages ÷ median without, measured alternately.
///
/// # Errors
/// When a daemon fails.
pub(super) fn status_growth(binary: &Path) -> anyhow::Result<f64> {
    let (empty, full) = (Running::start(binary)?, Running::start(binary)?);
    for number in 0..RECIPIENTS {
        // The same team on both sides: only the mail differs.
        for running in [&empty, &full] {
            running.agent(&format!("agent-{number}"))?;
        }
    }
    let repo = full.repo.repo();
    std::thread::scope(|scope| {
        let fill = |number: usize| {
            let mut client = Client::connect(&repo, &format!("agent-{number}"))?;
            (0..OPEN / RECIPIENTS).try_for_each(|message| send(&mut client, &format!("agent-{number}"), message))
        };
        let threads: Vec<_> = (0..RECIPIENTS).map(|number| scope.spawn(move || fill(number))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow::anyhow!("a sender panicked"))?)
    })?;
    let mut clients = [empty.repo.connect("agent-0")?, full.repo.connect("agent-0")?];
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..WARM + LOOKS {
        for (client, times) in clients.iter_mut().zip(&mut times) {
            let took = timed(client, "get_status", json!({}))?;
            if number >= WARM {
                times.push(took);
            }
        }
    }
    let [none, many] = times;
    Ok(median(many) / median(none))
}

fn send(client: &mut Client, recipient: &str, number: usize) -> anyhow::Result<()> {
    let args = json!({ "recipient": recipient, "payload": format!("message {number}") });
    call(client, "send_message", args).map(|_| ())
}

/// Acknowledges all messages of an agent.
fn drain(running: &Running, name: &str) -> anyhow::Result<()> {
    let mut client = running.repo.connect(name)?;
    loop {
        let reply = call(&mut client, "receive_messages", json!({ "max": 100 }))?;
        let messages = reply["messages"].as_array().context("no messages")?;
        if messages.is_empty() {
            return Ok(());
        }
        for message in messages {
            let args = json!({ "id": message["id"], "lease_token": message["lease_token"] });
            call(&mut client, "ack_message", args)?;
        }
    }
}

/// Readers that wait for mail to themselves, which never comes.
pub(super) struct Waiters(std::sync::Arc<std::sync::atomic::AtomicBool>);

/// Maximum wait of one call, in milliseconds.
const WAIT_MS: u64 = 30_000;

// === impl Waiters ===

impl Waiters {
    /// Starts the readers and gives them a moment to begin waiting.
    ///
    /// # Errors
    /// When the daemon refuses one.
    pub(super) fn start(running: &Running) -> anyhow::Result<Self> {
        let is_over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        for number in 0..WAITERS {
            let mut client = running.agent(&format!("waiter-{number}"))?;
            client.wait_longer()?;
            let is_over = std::sync::Arc::clone(&is_over);
            std::thread::spawn(move || {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    // The end of the daemon ends the wait.
                    if call(&mut client, "receive_messages", json!({ "wait_ms": WAIT_MS })).is_err() {
                        break;
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        Ok(Self(is_over))
    }

    /// Ends the readers: none makes another call after its current wait.
    pub(super) fn end(self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}
