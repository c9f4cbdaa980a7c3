//! Distinguishes a process from a later one with the same pid by its start time, so that the later one is never signalled.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal};
use serde::{Deserialize, Serialize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Poll interval for the end of a process where the system can't report it.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum length of the chain of parents that is followed.
const MAX_DEPTH: usize = 256;

/// Unique identity of a process: its pid, its start time, and the boot of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Process id.
    pub pid: u32,
    /// Start time in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start: u64,
    /// The kernel's id of this boot, or empty if there is none.
    pub boot: String,
}

/// Fields of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) state: char,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    /// Number of the controlling terminal, 0 if there is none.
    pub(crate) terminal: i64,
    /// Foreground group of that terminal, -1 if there is no terminal.
    pub(crate) foreground: i64,
    pub(crate) start: u64,
}

// === impl Fingerprint ===

impl Fingerprint {
    /// Returns the fingerprint of a process that exists now, including a zombie; `None` if there is none.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, start: stat(pid)?.start, boot: boot_id() })
    }

    /// Returns our own fingerprint.
    #[must_use]
    pub fn own() -> Self {
        let pid = std::process::id();
        Self::of(pid).unwrap_or(Self { pid, start: 0, boot: boot_id() })
    }

    /// Returns true if this process still runs; false for a zombie, or for another process with the same pid.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.boot == boot_id()
            && stat(self.pid).is_some_and(|stat| stat.start == self.start && !matches!(stat.state, 'Z' | 'X' | 'x'))
    }

    /// Sends a signal to this process. Returns true if it was sent. The pid can't be reused in between.
    pub fn signal(&self, signal: Signal) -> bool {
        let Some(pid) = raw(self.pid) else { return false };
        let Ok(handle) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return false };
        self.is_alive() && rustix::process::pidfd_send_signal(handle, signal).is_ok()
    }

    /// Sends a signal to the group that this process leads; does nothing if the process is gone or leads none.
    pub fn signal_group(&self, signal: Signal) -> bool {
        let Some(pid) = raw(self.pid) else { return false };
        let leads = stat(self.pid).is_some_and(|stat| stat.group == self.pid);
        leads && self.is_alive() && rustix::process::kill_process_group(pid, signal).is_ok()
    }

    /// Returns when this process has ended, at once if it already has.
    pub async fn ended(&self) {
        let handle = raw(self.pid).and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
        if !self.is_alive() {
            return;
        }
        let watched = handle.and_then(watch);
        if let Some(watched) = watched
            && watched.readable().await.is_ok()
        {
            return;
        }
        // A system without pidfds.
        while self.is_alive() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns true if `pid` is this process or one of its descendants at this moment.
    #[must_use]
    pub fn is_ancestor_of(&self, pid: u32) -> bool {
        if !self.is_alive() {
            return false;
        }
        let mut next = pid;
        for _ in 0..MAX_DEPTH {
            if next == self.pid {
                return true;
            }
            match stat(next) {
                Some(stat) if stat.parent > 1 => next = stat.parent,
                _ => return false,
            }
        }
        false
    }
}

/// Registers a descriptor with the runtime, such as a pidfd, which becomes readable when its process has ended.
#[expect(unsafe_code, reason = "tokio can't see that nobody else closes the descriptor")]
pub(crate) fn watch(handle: OwnedFd) -> Option<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor is owned by the `AsyncFd` alone and stays open until that is dropped.
    unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) }.ok()
}

/// Returns the kernel's id of this boot; empty if there is none.
#[must_use]
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

pub(crate) fn raw(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

pub(crate) fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Returns all processes that `/proc` lists.
pub(crate) fn all_pids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Parses a `stat` line. The name in parentheses may contain anything, so fields are counted after the last parenthesis.
fn parse_stat(line: &[u8]) -> Option<Stat> {
    let end = line.iter().rposition(|b| *b == b')')?;
    let rest = std::str::from_utf8(line.get(end + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        terminal: fields.get(4)?.parse().ok()?,
        foreground: fields.get(5)?.parse().ok()?,
        start: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_process_whose_name_tries_to_confuse() {
        let line = b"42 (a) R 7 (b) S 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 1";

        let stat = parse_stat(line).unwrap();

        assert_eq!(
            stat,
            Stat { state: 'S', parent: 1, group: 42, session: 42, terminal: 0, foreground: -1, start: 98765 }
        );
        assert_eq!(parse_stat(b"42 (short) S 1"), None);
    }

    #[test]
    fn this_process_is_alive_and_descends_from_its_parent() {
        let own = Fingerprint::own();
        let parent = Fingerprint::of(std::os::unix::process::parent_id()).unwrap();

        assert!(own.is_alive());
        assert!(parent.is_ancestor_of(own.pid));
        assert!(!own.is_ancestor_of(parent.pid));
    }

    #[tokio::test]
    async fn the_end_of_a_process_is_noticed() {
        let detached =
            crate::spawn::Spawn::new(["sleep", "30"]).env_only(crate::env::Env::plain()).detached(None).unwrap();
        let process = detached.fingerprint.unwrap();
        let waiting = tokio::spawn({
            let process = process.clone();
            async move { process.ended().await }
        });
        assert!(process.is_alive());

        process.signal(Signal::KILL);

        waiting.await.unwrap();
        assert!(!process.is_alive());
        process.ended().await;
    }

    #[test]
    fn a_stranger_under_a_reused_pid_is_neither_ours_nor_signalled() {
        let own = Fingerprint::own();
        let reused = Fingerprint { start: own.start + 1, ..own.clone() };
        let other_boot = Fingerprint { boot: "another".to_owned(), ..own };

        for stranger in [reused, other_boot] {
            assert!(!stranger.is_alive());
            assert!(!stranger.is_ancestor_of(std::process::id()));
            assert!(!stranger.signal(Signal::TERM));
            assert!(!stranger.signal_group(Signal::TERM));
        }
    }
}
