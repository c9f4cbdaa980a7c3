//! An agent that only reads files: it checks its inbox for a while, takes what is there, is busy, or is not running.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use fastrand::Rng;
use serde_json::json;

use super::record::{Record, VisibleSpans};
use super::{Sender, ask};
use crate::bench::daemon::TestRepo;

const AGENT: &str = "reader";

/// Interval at which an idle agent checks its inbox.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Maximum time that it is idle, busy and dead, in milliseconds.
const STATES: [usize; 3] = [400, 400, 1_500];

/// Runs the agent while messages are sent to it; returns when it checked its inbox.
pub(super) fn run(test_repo: &TestRepo, messages: u64, seed: u64) -> anyhow::Result<(Record, VisibleSpans)> {
    let mut sender = Sender::new(test_repo, AGENT, seed)?;
    ask(&mut sender.client, "register_agent", json!({ "name": AGENT }))?;
    let inbox = test_repo.repo().join(".switchboard/inbox").join(AGENT);
    std::fs::create_dir_all(&inbox)?;
    let goes = Arc::new(AtomicBool::new(true));
    let reader = {
        let goes = Arc::clone(&goes);
        std::thread::spawn(move || read(&inbox, &goes, Rng::with_seed(seed)))
    };
    let sent = sender.send_all(messages, |_| Ok(()));
    goes.store(false, Ordering::SeqCst);
    let able = reader.join().map_err(|_| anyhow::anyhow!("the reader panicked"))??;
    sent?;
    Ok((sender.record()?, able))
}

fn read(inbox: &Path, goes: &AtomicBool, mut rng: Rng) -> anyhow::Result<VisibleSpans> {
    let mut able = VisibleSpans::default();
    let mut born = now()?;
    while goes.load(Ordering::SeqCst) {
        let began = now()?;
        let idle = Duration::from_millis(rng.usize(..STATES[0]) as u64);
        let until = Instant::now() + idle;
        while Instant::now() < until {
            take(inbox)?;
            std::thread::sleep(POLL_INTERVAL);
        }
        able.spans.push((began, now()?));
        if rng.usize(..8) == 0 {
            able.alive.push((born, now()?));
            std::thread::sleep(Duration::from_millis(rng.usize(..STATES[2]) as u64));
            born = now()?;
        } else {
            std::thread::sleep(Duration::from_millis(rng.usize(..STATES[1]) as u64));
        }
    }
    able.alive.push((born, now()?));
    Ok(able)
}

/// Takes the files that are there, as an agent does: reads each and removes it.
fn take(inbox: &Path) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(inbox)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("msg_") && name.ends_with(".json") {
            let text = std::fs::read(&path)?;
            serde_json::from_slice::<serde_json::Value>(&text).with_context(|| format!("{name} is not whole"))?;
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Returns the time of day, by the clock that the record's times come from.
#[expect(clippy::disallowed_methods, reason = "the record's times are compared with it")]
fn now() -> anyhow::Result<i64> {
    Ok(i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?)
}
