//! A child that leads its group. Its pid is not reused before it is reaped, so signals can't hit another process.

use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, waitid, waitpgid};

use super::exit::Exit;
use crate::clock::Deadline;
use crate::{fingerprint, orphans};

/// Maximum time for the members of a killed group to vanish.
pub(super) const VANISH_LIMIT: Duration = Duration::from_secs(2);

/// Handle of a group's leader.
#[derive(Debug)]
pub(super) struct Leader {
    pid: Pid,
    exit: Option<Exit>,
}

// === impl Leader ===

impl Leader {
    pub(super) fn new(child: &std::process::Child) -> Self {
        Self { pid: Pid::from_child(child), exit: None }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    pub(super) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Signals the whole group; does nothing once the leader is reaped.
    pub(super) fn signal_group(&self, signal: Signal) {
        if self.exit.is_none()
            && let Err(e) = kill_process_group(self.pid, signal)
        {
            tracing::debug!(pid = self.id(), error = %e, "a group could not be signalled");
        }
    }

    /// Kills the rest of the group, then reaps the leader (blocking until it has ended) and its zombies.
    pub(super) fn finish(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        self.signal_group(Signal::KILL);
        let exit = wait(self.pid, WaitIdOptions::EXITED).unwrap_or(Exit::Signalled(9));
        self.exit = Some(exit);
        orphans::unregister(self.id());
        exit
    }

    /// Returns members of the group that still live after [`Leader::finish`]; collects zombies that are ours.
    pub(super) fn survivors(&self) -> Vec<u32> {
        while let Ok(Some(_)) = waitpgid(self.pid, WaitOptions::NOHANG) {}
        match rustix::process::test_kill_process_group(self.pid) {
            Ok(()) => self.members(),
            Err(_) => Vec::new(),
        }
    }

    /// As [`Leader::survivors`], after they have had time to vanish. Blocks.
    pub(super) fn survivors_at_last(&self) -> Vec<u32> {
        let limit = Deadline::after(VANISH_LIMIT);
        loop {
            let left = self.survivors();
            if left.is_empty() || limit.has_passed() {
                return left;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn members(&self) -> Vec<u32> {
        let group = self.id();
        let lives = |pid: &u32| fingerprint::stat(*pid).is_some_and(|s| s.group == group && s.state != 'Z');
        fingerprint::all_pids().into_iter().filter(lives).collect()
    }
}

impl Drop for Leader {
    /// Kills the group. The leader is collected later if it has not ended at once.
    fn drop(&mut self) {
        if self.exit.is_none() {
            self.signal_group(Signal::KILL);
            orphans::abandon(self.id());
            let _ = orphans::reap();
        }
    }
}

/// Waits until the leader has ended, without reaping it. Blocks.
pub(super) fn wait_unreaped(pid: Pid) -> Option<Exit> {
    wait(pid, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
}

fn wait(pid: Pid, options: WaitIdOptions) -> Option<Exit> {
    loop {
        match waitid(WaitId::Pid(pid), options) {
            Ok(Some(status)) => return Some(Exit::from_wait(&status)),
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) | Err(_) => return None,
        }
    }
}
