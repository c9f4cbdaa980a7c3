//! Signal files: a person's pause, resume or stop while no daemon answers.
//!
//! They are read once the daemon has been away for a while, and each second from then on. Each is carried out once, in the order of the
//! numbers. A returning daemon reads the same files and records them; signals that it has recorded are not carried out again.

use std::path::PathBuf;
use std::time::Duration;

use switchboard_process::clock;
use switchboard_process::signal_files;
use switchboard_protocol::frame::WorkerSpec;
use switchboard_protocol::signal::{RunSignal, SignalDone};
use tokio::time::Instant;

/// How long the daemon must be away before files count.
const AWAY_BEFORE_FILES: Duration = Duration::from_secs(5);

/// Interval between two looks for files.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The signal files of a worker's run.
pub(super) struct SignalFiles {
    folder: Option<PathBuf>,
    worker: String,
    task: String,
    /// Number up to which all signals are carried out.
    upto: u32,
    due: Option<Instant>,
    /// True if an unreadable folder has been reported.
    is_told: bool,
}

// === impl SignalFiles ===

impl SignalFiles {
    /// Starts after the signals that exist already, because they were meant for earlier workers.
    pub(super) fn new(spec: &WorkerSpec) -> Self {
        let folder = spec.signals.as_ref().map(PathBuf::from);
        let upto = folder.as_deref().and_then(|folder| signal_files::last(folder).ok()).unwrap_or(0);
        let (worker, task) = (spec.worker.to_string(), spec.task.clone());
        Self { folder, worker, task, upto, due: Some(Instant::now() + AWAY_BEFORE_FILES), is_told: false }
    }

    /// Starts the wait, because there is no daemon from now on.
    pub(super) fn look_from(&mut self, now: Instant) {
        self.due = Some(now + AWAY_BEFORE_FILES);
    }

    /// Stops looking for files, because a daemon is connected.
    pub(super) fn rest(&mut self) {
        self.due = None;
    }

    /// Returns the time of the next look.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.filter(|_| self.folder.is_some())
    }

    /// Returns the next signal for this worker, if it is time to look and there is one.
    pub(super) fn next(&mut self, now: Instant) -> Option<RunSignal> {
        let folder = self.folder.clone().filter(|_| self.due.is_some_and(|due| now >= due))?;
        let found = match signal_files::read(&folder, self.upto, &self.worker) {
            Ok(found) => found,
            Err(error) => {
                if !std::mem::replace(&mut self.is_told, true) {
                    tracing::warn!(folder = %folder.display(), %error, "signal files can't be read");
                }
                return None;
            }
        };
        for found in found {
            self.upto = found.n;
            let refused = found.signal.as_ref().err().cloned().unwrap_or_default();
            if !refused.is_empty() {
                tracing::warn!(n = found.n, %refused, "a signal file does not count");
            }
            let is_meant = found.signal.as_ref().is_ok_and(|signal| signal.is_about(&self.task));
            if is_meant || !refused.is_empty() {
                let done = SignalDone { n: found.n, by: self.worker.clone(), refused, at: clock::now() };
                // Without the mark it is still not carried out again, because its number is remembered.
                if let Err(error) = signal_files::mark(&folder, &done) {
                    tracing::warn!(n = found.n, %error, "a signal can't be marked as done");
                }
            }
            if let Some(signal) = found.signal.ok().filter(|_| is_meant) {
                return Some(signal);
            }
        }
        self.due = Some(now + POLL_INTERVAL);
        None
    }
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::signal::SignalKind;
    use switchboard_protocol::time::Millis;

    use super::*;

    #[test]
    fn files_count_only_after_a_while_without_a_daemon_each_once_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("signals");
        let put = |kind, task: Option<&str>| {
            let task = task.map(|task| switchboard_protocol::plan::TaskId::new(task).unwrap());
            signal_files::write(&folder, kind, task.as_ref(), "person", Millis(1)).unwrap()
        };
        put(SignalKind::Stop, None);
        let now = Instant::now();
        let (worker, task) = ("wrk_1".to_owned(), "1.1".to_owned());
        let upto = signal_files::last(&folder).unwrap();
        let mut files = SignalFiles {
            folder: Some(folder.clone()),
            worker,
            task,
            upto,
            due: Some(now + AWAY_BEFORE_FILES),
            is_told: false,
        };
        put(SignalKind::Pause, None);
        put(SignalKind::Stop, Some("1.2"));
        std::fs::write(folder.join("4.json"), "{}").unwrap();
        put(SignalKind::Resume, Some("1.1"));
        let kinds = |files: &mut SignalFiles, now| {
            std::iter::from_fn(|| files.next(now)).map(|signal| signal.kind).collect::<Vec<_>>()
        };

        assert_eq!(kinds(&mut files, now + AWAY_BEFORE_FILES - Duration::from_millis(1)), []);
        assert_eq!(kinds(&mut files, now + AWAY_BEFORE_FILES), [SignalKind::Pause, SignalKind::Resume]);
        assert_eq!(files.due(), Some(now + AWAY_BEFORE_FILES + POLL_INTERVAL));
        put(SignalKind::Pause, None);
        assert_eq!(kinds(&mut files, now + AWAY_BEFORE_FILES), [], "not before the next look");
        assert_eq!(kinds(&mut files, now + AWAY_BEFORE_FILES + POLL_INTERVAL), [SignalKind::Pause]);
        files.rest();
        put(SignalKind::Stop, None);
        assert_eq!(files.due(), None);
        assert_eq!(kinds(&mut files, now + AWAY_BEFORE_FILES * 9), [], "a daemon is there");
        files.look_from(now);
        assert_eq!(kinds(&mut files, now + AWAY_BEFORE_FILES), [SignalKind::Stop]);
        let marks = |n| signal_files::done_by(&folder, n).unwrap();
        assert_eq!([marks(1), marks(2), marks(3), marks(4), marks(5)].map(|by| by.len()), [0, 1, 0, 1, 1]);
    }
}
