//! A running child with piped standard streams, for async callers.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::watch;

use super::builder::Spawn;
use super::exit::Exit;
use super::leader::{self, Leader};
use super::thread::thread;
use crate::clock::Deadline;
use crate::fingerprint::Fingerprint;
use crate::orphans::Hold;
use crate::{Error, Result};

/// Poll interval for a group that is ending.
const TICK: Duration = Duration::from_millis(2);

/// A running process that leads its group. Dropping it kills its group.
#[derive(Debug)]
pub struct Child {
    /// Standard input, until it is taken; dropping it closes it.
    pub stdin: Option<ChildStdin>,
    /// Standard output, until it is taken.
    pub stdout: Option<ChildStdout>,
    /// Standard error, until it is taken.
    pub stderr: Option<ChildStderr>,
    leader: Leader,
    ended: watch::Receiver<bool>,
}

/// Result of ending a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminated {
    /// Exit of the leader.
    pub exit: Exit,
    /// True if it outlived the grace after SIGTERM, and was killed.
    pub was_killed: bool,
    /// Members of its group that even SIGKILL did not end in time.
    pub survivors: Vec<u32>,
}

pub(super) fn start(spawn: &Spawn) -> Result<Child> {
    let mut command = spawn.command()?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = spawn.start(&mut command, Hold::Owned)?;
    let leader = Leader::new(&child);
    let watched = || Error::io(format!("watch {:?}", spawn.argv()[0]));
    let stdin = child.stdin.take().map(ChildStdin::from_std).transpose().map_err(watched())?;
    let stdout = child.stdout.take().map(ChildStdout::from_std).transpose().map_err(watched())?;
    let stderr = child.stderr.take().map(ChildStderr::from_std).transpose().map_err(watched())?;
    let (sender, ended) = watch::channel(false);
    let pid = leader.pid();
    thread("wait-exit", move || {
        leader::wait_unreaped(pid);
        sender.send_replace(true);
    })?;
    Ok(Child { stdin, stdout, stderr, leader, ended })
}

// === impl Child ===

impl Child {
    /// Returns its process id, which is also the id of its group.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.leader.id()
    }

    /// Returns its fingerprint; `None` once it is reaped.
    #[must_use]
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        Fingerprint::of(self.pid()).filter(|_| self.leader.exit().is_none())
    }

    /// Sends a signal to its group.
    pub fn signal(&self, signal: Signal) {
        self.leader.signal_group(signal);
    }

    /// Waits only until it has ended: the rest of its group lives and it is not reaped. Safe to drop half-way.
    pub async fn ended(&self) {
        let mut ended = self.ended.clone();
        // An error means that the watching thread is gone, which only happens when there is nothing left to wait for.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Kills what is left of its group at once, and reaps it.
    pub async fn finish(&mut self) -> Terminated {
        self.signal(Signal::KILL);
        self.ended().await;
        let exit = self.leader.finish();
        let limit = Deadline::after(leader::VANISH_LIMIT);
        let mut survivors = self.leader.survivors();
        while !survivors.is_empty() && !limit.has_passed() {
            tokio::time::sleep(TICK).await;
            survivors = self.leader.survivors();
        }
        Terminated { exit, was_killed: false, survivors }
    }

    /// Waits until it has ended, kills what is left of its group, and reaps it.
    pub async fn wait(&mut self) -> Terminated {
        self.ended().await;
        self.finish().await
    }

    /// Ends its group: SIGTERM, `grace`, SIGKILL. A stopped (SIGSTOP) member is continued so that it can end.
    pub async fn terminate(&mut self, grace: Duration) -> Terminated {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
        let in_time = tokio::time::timeout(grace, self.ended()).await.is_ok();
        Terminated { was_killed: !in_time, ..self.finish().await }
    }
}
