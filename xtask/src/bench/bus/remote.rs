//! The bus behind a daemon's socket, compared with brokers and databases behind theirs.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};

use super::clients::{processes, sends, threads};
use super::workload::{AGENTS, BODY, MANY};
use super::{jetstream, postgres};
use crate::bench::daemon::{Daemon, TestRepo};
use crate::bench::stats::{median, quantile, rate, rounded};

/// Number of sends for each figure.
const ONE: usize = 300;
const EACH: usize = 100;
const PROCESSES: usize = 8;
const BY_PROCESS: usize = 150;
const WAKES: usize = 200;

/// Number of agents, and of messages of each, in a large daemon.
const LARGE: (usize, usize) = (1_000, 100);

fn test_repo(binary: &Path, agents: usize) -> anyhow::Result<(TestRepo, Daemon)> {
    let test_repo = TestRepo::new(binary)?;
    let (daemon, _) = test_repo.start()?;
    let mut client = test_repo.connect("bench")?;
    for number in 0..agents {
        let reply = client.call("register_agent", json!({ "name": format!("agent-{number}") }), None)?;
        reply.map_err(|failure| anyhow::anyhow!("{}", failure.what))?;
    }
    Ok((test_repo, daemon))
}

/// Measures the figures of one round.
pub(super) fn round(
    binary: &Path,
    floor: f64,
    nats: Option<&jetstream::Server>,
    database: Option<&postgres::Server>,
) -> anyhow::Result<Map<String, Value>> {
    let mut row = Map::new();
    let (test_repo, daemon) = test_repo(binary, AGENTS)?;
    let repo = test_repo.repo();
    row.insert("durability_tax_socket_p50".to_owned(), json!(quantile(sends(&repo, "one", ONE)?, 0.5) / floor));
    let ours = || -> anyhow::Result<f64> {
        let took = threads(MANY, |number| sends(&repo, &format!("many-{number}"), EACH).map(drop))?;
        Ok(rate(MANY * EACH, took))
    };
    let mut rates = vec![ours()?];
    let nats = nats.map(|nats| nats.rate(MANY, EACH)).transpose()?;
    let database = database.map(|database| database.rate(MANY, EACH)).transpose()?;
    rates.push(ours()?);
    let ours = median(rates);
    row.insert("socket_rate_64".to_owned(), json!(ours));
    row.insert("vs_jetstream_always_64".to_owned(), json!(nats.map(|theirs| ours / theirs)));
    row.insert("vs_postgres_64".to_owned(), json!(database.map(|theirs| ours / theirs)));
    let wake = wake(&test_repo)?;
    row.insert("wake_p99_over_fdatasync".to_owned(), json!(quantile(wake, 0.99) / floor));
    drop(daemon);
    row.insert("fairness_max_over_p50".to_owned(), json!(fairness(binary)?));
    Ok(row)
}

fn fairness(binary: &Path) -> anyhow::Result<f64> {
    let (test_repo, daemon) = test_repo(binary, AGENTS)?;
    let times = processes(&test_repo.repo(), PROCESSES, BY_PROCESS)?;
    drop(daemon);
    let p50 = quantile(times.clone(), 0.5);
    Ok(quantile(times, 1.0) / p50)
}

/// Returns the seconds from the answer to a send, which follows its commit, until the waiting reader receives it.
fn wake(test_repo: &TestRepo) -> anyhow::Result<Vec<f64>> {
    let (ready, begins) = channel::<()>();
    let (heard, news) = channel::<Instant>();
    let mut reader = test_repo.connect("agent-0")?;
    let mut sender = test_repo.connect("waker")?;
    let reading = std::thread::spawn(move || -> anyhow::Result<()> {
        let mut cursor = Value::from("now");
        loop {
            // The first call finds the end of the feed; the others wait there.
            let wait = if cursor == "now" { 0 } else { 20_000 };
            let asked = json!({ "agent": "agent-0", "cursor": cursor, "wait_ms": wait });
            let reply = reader
                .call("read_inbox_events", asked, None)?
                .map_err(|failure| anyhow::anyhow!("{}", failure.what))?;
            let at = Instant::now();
            cursor = reply["cursor"].clone();
            let got = reply["events"].as_array().is_some_and(|events| !events.is_empty());
            if got && heard.send(at).is_err() || ready.send(()).is_err() {
                return Ok(());
            }
        }
    });
    let mut took = Vec::with_capacity(WAKES);
    begins.recv().context("the reader ended")?;
    for number in 0..WAKES {
        std::thread::sleep(Duration::from_millis(3));
        let args = json!({ "recipient": "agent-0", "payload": format!("wake {number}") });
        sender.call("send_message", args, None)?.map_err(|failure| anyhow::anyhow!("{}", failure.what))?;
        let committed = Instant::now();
        let at = news.recv_timeout(Duration::from_secs(20)).context("nobody was woken")?;
        took.push(at.saturating_duration_since(committed).as_secs_f64());
        begins.recv().context("the reader ended")?;
    }
    drop((news, begins));
    let args = json!({ "recipient": "agent-0", "payload": "end" });
    sender.call("send_message", args, None)?.map_err(|failure| anyhow::anyhow!("{}", failure.what))?;
    reading.join().map_err(|_| anyhow::anyhow!("the reader panicked"))??;
    Ok(took)
}

/// Measures the figures about size, once.
pub(super) fn sizes(binary: &Path) -> anyhow::Result<Map<String, Value>> {
    let mut row = Map::new();
    let (agents, each) = LARGE;
    let (test_repo, daemon) = test_repo(binary, agents)?;
    let repo = test_repo.repo();
    let body = "x".repeat(BODY);
    threads(MANY, |number| {
        let mut client = crate::bench::daemon::Client::connect(&repo, &format!("filler-{number}"))?;
        for message in (number..agents * each).step_by(MANY) {
            let args = json!({ "recipient": format!("agent-{}", message % agents), "payload": body });
            client.call("send_message", args, None)?.map_err(|failure| anyhow::anyhow!("{}", failure.what))?;
        }
        Ok(())
    })?;
    std::thread::sleep(Duration::from_secs(2));
    row.insert("rss_mb_1k_agents_100k_messages".to_owned(), json!(rounded(daemon.resident_mb()?)));
    let mut reader = test_repo.connect("agent-1")?;
    let asked = json!({ "agent": "agent-1", "cursor": "start", "limit": 1 });
    let feed = reader.call("read_inbox_events", asked, None)?.map_err(|failure| anyhow::anyhow!("{}", failure.what))?;
    row.insert("wake_notice_bytes".to_owned(), json!(feed["events"][0].to_string().len()));
    // Last: from then on the daemon knows this process as the agent that started an MCP server.
    row.insert("tools_list_bytes".to_owned(), json!(tools_list(&test_repo)?));
    drop(daemon);
    Ok(row)
}

/// Returns the number of bytes of the list of tools for an MCP client.
fn tools_list(test_repo: &TestRepo) -> anyhow::Result<usize> {
    let mut bridge = test_repo
        .switchboard()
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut input = bridge.stdin.take().context("stdin")?;
    let mut lines = BufReader::new(bridge.stdout.take().context("stdout")?).lines();
    let client = json!({ "name": "bench", "version": "1" });
    let calls = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize",
                "params": { "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
    ];
    for call in calls {
        input.write_all(format!("{call}\n").as_bytes())?;
    }
    let found = loop {
        let Some(line) = lines.next() else { bail!("the bridge ended without its tools") };
        let answer: Value = serde_json::from_str(&line?)?;
        if answer["id"] == 2 {
            break answer["result"]["tools"].to_string().len();
        }
    };
    drop(input);
    bridge.kill()?;
    bridge.wait()?;
    Ok(found)
}
