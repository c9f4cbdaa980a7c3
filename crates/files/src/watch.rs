//! Wakes the loop: on changes of the folders, on commits, and at the end.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio_util::sync::CancellationToken;

use crate::service::Service;

/// How long wake-ups are collected, so that a burst of commits causes one pass.
pub(crate) const GATHER: Duration = Duration::from_millis(25);

/// Doorbell of the loop; pending rings count as one.
pub(super) struct Bell {
    rung: Receiver<()>,
    watching: Mutex<Watching>,
    /// True if a watched folder itself was removed or renamed; the present folder of that name must be watched instead.
    is_stale: Arc<AtomicBool>,
}

/// Watcher of changes, and its folders; they may be removed and created again.
struct Watching {
    watcher: Option<RecommendedWatcher>,
    is_watched: [bool; 2],
    /// True for each folder in which every change is announced.
    is_announced: [bool; 2],
}

/// Folders that are watched recursively.
const WATCHED: [&str; 2] = ["inbox", "outbox"];

/// File systems written only by this machine's kernel, so that notifications cover every change: magic numbers of
/// `linux/magic.h`, and those of ZFS and bcachefs from their own headers.
const ANNOUNCED: &[u64] = &[
    0xef53,      // ext2 to ext4
    0x9123_683e, // Btrfs
    0x5846_5342, // XFS
    0x0102_1994, // tmpfs
    0x794c_7630, // overlayfs
    0xf2f5_2010, // F2FS
    0x2fc1_2fc1, // ZFS
    0xca45_1a4e, // bcachefs
];

// === impl Bell ===

impl Bell {
    pub(super) fn new(service: &Service, stop: &CancellationToken) -> Self {
        let (ring, rung) = sync_channel(1);
        let (of_log, of_folders) = (ring.clone(), ring);
        let (mut log, stop) = (service.store.watch(), stop.clone());
        service.runtime.spawn(async move {
            loop {
                let goes_on = tokio::select! {
                    () = stop.cancelled() => false,
                    changed = log.changed() => changed.is_ok(),
                };
                press(&of_log);
                if !goes_on {
                    return;
                }
                // A burst of commits rings once: a pass for every commit would slow the commits down.
                tokio::time::sleep(GATHER).await;
            }
        });
        // Reads by this process are reported as well.
        let changes = |event: &notify::Event| {
            !event.kind.is_access() || matches!(event.kind, EventKind::Access(AccessKind::Close(AccessMode::Write)))
        };
        let is_stale = Arc::new(AtomicBool::new(false));
        let (project, stale) = (service.project().to_owned(), Arc::clone(&is_stale));
        let is_root = move |path: &PathBuf| WATCHED.iter().any(|name| *path == project.join(name));
        let heard = move |event: notify::Result<notify::Event>| {
            let Ok(event) = event else { return press(&of_folders) };
            let moves = event.kind.is_remove() || matches!(event.kind, EventKind::Modify(ModifyKind::Name(_)));
            if moves && event.paths.iter().any(&is_root) {
                stale.store(true, Ordering::Release);
            }
            if changes(&event) {
                press(&of_folders);
            }
        };
        let watcher = notify::recommended_watcher(heard)
            .inspect_err(|error| tracing::warn!(%error, "folders can't be watched; they are polled"))
            .ok();
        Self {
            rung,
            watching: Mutex::new(Watching { watcher, is_watched: [false; 2], is_announced: [false; 2] }),
            is_stale,
        }
    }

    /// Watches the present folders. Returns true if every change in them will ring.
    pub(super) fn attend(&self, project: &Path) -> bool {
        let mut watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        let watching = &mut *watching;
        if self.is_stale.swap(false, Ordering::AcqRel) {
            watching.is_watched = [false; 2];
        }
        let Some(watcher) = &mut watching.watcher else { return false };
        let folders = watching.is_watched.iter_mut().zip(&mut watching.is_announced);
        for (name, (is_watched, is_announced)) in WATCHED.into_iter().zip(folders) {
            if *is_watched {
                continue;
            }
            *is_watched = true;
            let folder = project.join(name);
            let watched = watcher.watch(&folder, RecursiveMode::Recursive);
            *is_announced = watched.is_ok() && announces(&folder);
            if let Err(error) = watched {
                tracing::warn!(%error, name, "a folder can't be watched; it is polled");
            }
        }
        watching.is_announced == [true; 2]
    }

    /// Waits for a ring, at most `limit`.
    pub(super) fn wait(&self, limit: Duration) {
        // A ring and a timeout have the same effect: a pass.
        let _ = self.rung.recv_timeout(limit);
    }
}

/// Returns true if the file system of a folder announces every change; a network mount or a folder shared with a host
/// does not.
#[cfg(target_os = "linux")]
fn announces(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|stat| {
        let magic = u64::try_from(stat.f_type).unwrap_or(0) & 0xffff_ffff;
        ANNOUNCED.contains(&magic)
    })
}

/// Returns false: only Linux reports the file system in a known form.
#[cfg(not(target_os = "linux"))]
fn announces(_: &Path) -> bool {
    false
}

/// Rings the bell. A full channel means that a ring is pending already.
fn press(bell: &SyncSender<()>) {
    let _ = bell.try_send(());
}
