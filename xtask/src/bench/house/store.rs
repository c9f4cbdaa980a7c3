//! The store in this process: measures whether opening a run depends on the rest of the log.

use std::time::Instant;

use serde_json::json;
use switchboard_protocol::event::NewEvent;
use switchboard_store::{Batch, Checkpoint, Config, Store};
use tempfile::TempDir;

use crate::bench::stats::median;

/// Number of events of the run that is opened.
const RUN: usize = 20;
/// Numbers of foreign events in the two logs.
const FOREIGN: [usize; 2] = [1_000, 1_000_000];
/// Number of foreign events in one commit.
const BATCH: usize = 1_000;
/// Number of times that each log's run is opened.
const OPENINGS: usize = 400;

/// Returns the time to open a run of 20 events beside 1,000,000 foreign ones ÷ beside 1,000, measured alternately.
///
/// # Errors
/// When a store does not open.
pub(super) fn fold_ratio() -> anyhow::Result<f64> {
    let logs = [Log::new(FOREIGN[0])?, Log::new(FOREIGN[1])?];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..OPENINGS {
        for (log, times) in logs.iter().zip(&mut times) {
            times.push(log.open_run()?);
        }
    }
    let [few, many] = times;
    Ok(median(many) / median(few))
}

struct Log {
    store: Store,
    _folder: TempDir,
}

// === impl Log ===

impl Log {
    /// Creates a log on the disk with a run in the middle of foreign events.
    fn new(foreign: usize) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let store = Store::open(Config::new(folder.path().join("store.db")), switchboard_bus::projections())?;
        fill(&store, foreign / 2)?;
        for number in 0..RUN {
            let facts = json!({ "task": format!("1.{number}"), "attempt": 1, "reason": "because" });
            store.commit_blocking(Batch::written().event(NewEvent::new("run_noted", "run_ours", "bench", facts)))?;
        }
        fill(&store, foreign / 2)?;
        store.checkpoint(Checkpoint::Truncate)?;
        Ok(Self { store, _folder: folder })
    }

    /// Returns the seconds until the run's events are read and parsed.
    fn open_run(&self) -> anyhow::Result<f64> {
        let began = Instant::now();
        let events = self.store.events_of("run_ours", 0, usize::MAX)?;
        let took = began.elapsed().as_secs_f64();
        anyhow::ensure!(events.len() == RUN, "{} events of a run of {RUN}", events.len());
        Ok(took)
    }
}

fn fill(store: &Store, events: usize) -> anyhow::Result<()> {
    for first in (0..events).step_by(BATCH) {
        let mut batch = Batch::written();
        for number in first..(first + BATCH).min(events) {
            // As many subjects as a long project has: 20 events each.
            let subject = format!("run_{:08x}", number / RUN);
            let facts = json!({ "task": format!("1.{}", number % RUN), "attempt": 1, "reason": "because" });
            batch.events.push(NewEvent::new("run_noted", subject, "bench", facts));
        }
        store.commit_blocking(batch)?;
    }
    Ok(())
}
