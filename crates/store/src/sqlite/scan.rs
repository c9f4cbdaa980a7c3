//! The check in the background after the start: reads again, slowly, what was intact at the last clean head, in case
//! the disk has changed it since.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;

use super::tx::Session;
use crate::core::{Core, lock};
use crate::log::{Chain, DamageSite, Finding};
use crate::{Error, Scan};

/// Number of events that are read before the scanner rests.
const CHUNK: u64 = 256;

/// Rest between chunks, so that the scanner uses a small part of one core.
const REST: Duration = Duration::from_millis(5);

/// A thread that reads the log once and ends.
pub(super) struct Scanner {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    stop: AtomicBool,
    state: Mutex<Scan>,
}

// === impl Scanner ===

impl Scanner {
    /// Starts the scan of the events up to an earlier known head.
    pub(super) fn start(core: Arc<Core>, connection: Connection, upto: (Lsn, Digest)) -> Result<Self, Error> {
        let state = if upto.0 == 0 { Scan::Whole } else { Scan::Running { checked: 0, of: upto.0 } };
        let shared = Arc::new(Shared { stop: AtomicBool::new(false), state: Mutex::new(state) });
        let thread = if upto.0 == 0 { None } else { Some(spawn(core, connection, upto, Arc::clone(&shared))?) };
        Ok(Self { shared, thread: Mutex::new(thread) })
    }

    pub(super) fn state(&self) -> Scan {
        lock(&self.shared.state).clone()
    }

    /// Stops the scan at the next chunk and joins its thread.
    pub(super) fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = lock(&self.thread).take() {
            thread.thread().unpark();
            if thread.join().is_err() {
                tracing::error!("the check behind the start ended with a panic");
            }
        }
    }
}

impl Drop for Scanner {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(
    core: Arc<Core>,
    connection: Connection,
    upto: (Lsn, Digest),
    shared: Arc<Shared>,
) -> Result<JoinHandle<()>, Error> {
    let run = move || {
        let end = scan(&core, &connection, upto, &shared).unwrap_or_else(|error| {
            let place = DamageSite::File;
            Scan::Damaged(Finding { place, what: error.to_string() })
        });
        if let Scan::Damaged(finding) = &end {
            tracing::error!(%finding, "the record is damaged");
        }
        *lock(&shared.state) = end;
    };
    let thread = std::thread::Builder::new().name("store-scan".to_owned()).spawn(run);
    thread.map_err(|error| Error::io("could not start the check behind the start", error))
}

/// Reads the log up to a head, until the first damage or until it is stopped.
fn scan(core: &Core, connection: &Connection, upto: (Lsn, Digest), shared: &Shared) -> Result<Scan, Error> {
    let (last, hash) = upto;
    let session = Session::new(connection, &core.schema);
    let mut chain = Chain::after(&core.chain_id, 0, Digest::ZERO);
    while chain.lsn < last && chain.findings.is_empty() {
        let (from, end) = (chain.lsn, (chain.lsn + CHUNK).min(last));
        let read = session.scan(from, true, &mut |record, body| {
            if record.lsn <= end {
                chain.follow(&record, body.as_ref());
            }
            Ok(if record.lsn < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        match read {
            Ok(()) if chain.lsn > from => {}
            Ok(()) => break,
            Err(Error::Corrupt { what, .. }) => chain.found(DamageSite::at(chain.lsn + 1), what),
            Err(error) => return Err(error),
        }
        let progress = Scan::Running { checked: chain.lsn, of: last };
        *lock(&shared.state) = progress.clone();
        if shared.stop.load(Ordering::Relaxed) {
            return Ok(progress);
        }
        std::thread::park_timeout(REST);
    }
    if chain.findings.is_empty() {
        chain.end(last, hash);
    }
    Ok(chain.findings.into_iter().next().map_or(Scan::Whole, Scan::Damaged))
}
