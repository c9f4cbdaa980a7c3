//! What wakes the loop: the folders, the log, the end.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio_util::sync::CancellationToken;

use super::Desk;

/// The doorbell; rings that nobody has answered yet count as one.
pub(super) struct Bell {
    rung: Receiver<()>,
    watching: Mutex<Watching>,
}

/// What tells us of changes, and for which folders; they may be swept away and made again.
struct Watching {
    watcher: Option<RecommendedWatcher>,
    inodes: [u64; 2],
}

// === impl Bell ===

impl Bell {
    pub(super) fn new(desk: &Desk, stop: &CancellationToken) -> Self {
        let (ring, rung) = sync_channel(1);
        let (of_log, of_folders) = (ring.clone(), ring);
        let (mut log, stop) = (desk.verbs.store.watch(), stop.clone());
        desk.runtime.spawn(async move {
            loop {
                let goes_on = tokio::select! {
                    () = stop.cancelled() => false,
                    changed = log.changed() => changed.is_ok(),
                };
                press(&of_log);
                if !goes_on {
                    return;
                }
            }
        });
        // Our own looking opens files, which is told too.
        let changes = |event: &notify::Event| {
            !event.kind.is_access() || matches!(event.kind, EventKind::Access(AccessKind::Close(AccessMode::Write)))
        };
        let heard = move |event: notify::Result<notify::Event>| {
            if event.as_ref().map_or(true, changes) {
                press(&of_folders);
            }
        };
        let watcher = notify::recommended_watcher(heard)
            .inspect_err(|error| tracing::warn!(%error, "folders can't be watched; they are polled"))
            .ok();
        Self { rung, watching: Mutex::new(Watching { watcher, inodes: [0, 0] }) }
    }

    /// Watches the folders that are there now.
    pub(super) fn attend(&self, project: &Path) {
        use std::os::unix::fs::MetadataExt as _;
        let mut watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        for (i, name) in ["inbox", "outbox"].into_iter().enumerate() {
            let path = project.join(name);
            let Ok(inode) = std::fs::symlink_metadata(&path).map(|found| found.ino()) else { continue };
            if watching.inodes[i] == inode {
                continue;
            }
            watching.inodes[i] = inode;
            if let Some(watcher) = &mut watching.watcher
                && let Err(error) = watcher.watch(&path, RecursiveMode::Recursive)
            {
                tracing::warn!(%error, name, "a folder can't be watched; it is polled");
            }
        }
    }

    /// Waits for a ring, or the time.
    pub(super) fn wait(&self, limit: Duration) {
        // Both ends of the wait mean the same: look.
        let _ = self.rung.recv_timeout(limit);
    }
}

/// A ring that finds one waiting changes nothing.
fn press(bell: &SyncSender<()>) {
    let _ = bell.try_send(());
}
