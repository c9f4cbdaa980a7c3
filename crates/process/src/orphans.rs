//! Orphans of dead processes: this process becomes their parent (subreaper), finds them and kills them.
//!
//! Every spawn of ours is registered here, so that an unregistered child is an orphan that the kernel gave to us.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Signal, WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};

use crate::clock::Deadline;
use crate::fingerprint::{self, Fingerprint};
use crate::spawn::Exit;
use crate::{Error, Result};

/// Maximum duration of a sweep while children of killed processes keep appearing.
const SWEEP_LIMIT: Duration = Duration::from_secs(5);

/// Maximum number of remembered exits of detached children; the oldest are removed first.
const MAX_EXITS: usize = 1024;

/// How a child is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// A handle waits for it.
    Owned,
    /// It is independent; only its exit is collected.
    Detached,
}

/// Result of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Swept {
    /// Orphans that were killed.
    pub killed: Vec<u32>,
    /// Detached children that had ended, with their exit.
    pub ended: Vec<(u32, Exit)>,
    /// Orphans that still existed at the end of the time limit.
    pub left: Vec<u32>,
}

/// Our children, and the exits of detached ones.
struct Children {
    held: BTreeMap<u32, Hold>,
    exits: VecDeque<(u32, Exit)>,
}

static CHILDREN: Mutex<Children> = Mutex::new(Children { held: BTreeMap::new(), exits: VecDeque::new() });

/// Makes orphaned descendants become our children instead of init's from now on.
///
/// # Errors
/// When the kernel refuses (before Linux 3.4).
pub fn become_subreaper() -> Result<()> {
    set_child_subreaper(Some(getpid())).map_err(|e| Error::io("become a subreaper")(e.into()))
}

/// Collects what has ended, and kills nothing: detached children, and orphans that are zombies.
#[must_use]
pub fn reap() -> Swept {
    // Listed before the lock is taken: listing takes milliseconds, and every spawn would wait. Only processes that are still our children
    // can be collected.
    let own = own_pids();
    let mut children = children();
    let mut swept = Swept::default();
    for pid in own {
        let hold = children.held.get(&pid).copied();
        if hold != Some(Hold::Owned) {
            collect(&mut children, pid, hold, &mut swept);
        }
    }
    swept
}

/// Returns the exit of a detached child; `None` while it runs, or if it was never ours.
#[must_use]
pub fn exit_of(pid: u32) -> Option<Exit> {
    let _ = reap();
    children().exits.iter().find(|(ended, _)| *ended == pid).map(|(_, exit)| *exit)
}

/// Kills every orphan that was given to us, and the orphans that this makes, until none is left. Detached children are left
/// alone. For a process whose own work is over; while a child of ours runs, its background processes may be among the orphans.
#[must_use]
pub fn sweep() -> Swept {
    let limit = Deadline::after(SWEEP_LIMIT);
    let mut all = Swept::default();
    loop {
        let left = sweep_once(&mut all);
        if left.is_empty() || limit.has_passed() {
            all.left = left;
            return all;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns the processes of this user whose environment holds `NAME=value`: the remains of a dead worker, wherever they were reparented
/// to.
#[must_use]
pub fn marked(name: &str, value: &str) -> Vec<Fingerprint> {
    let own = std::process::id();
    let marker = format!("{name}={value}");
    let has = |pid: &u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|b| *b == 0).any(|entry| entry == marker.as_bytes())
    };
    fingerprint::all_pids()
        .into_iter()
        .filter(|pid| *pid != own)
        .filter(has)
        .filter_map(Fingerprint::of)
        .filter(Fingerprint::is_alive)
        .collect()
}

/// Kills what [`marked`] finds until it finds nothing; returns what still existed at the end of the time limit.
#[must_use]
pub fn kill_marked(name: &str, value: &str) -> Vec<Fingerprint> {
    let limit = Deadline::after(SWEEP_LIMIT);
    loop {
        let found = marked(name, value);
        if found.is_empty() || limit.has_passed() {
            return found;
        }
        for process in &found {
            process.signal(Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(5));
        let _ = reap();
    }
}

/// Runs a spawn while no sweep can look, and registers the child.
pub(crate) fn register<T>(hold: Hold, spawn: impl FnOnce() -> Result<(u32, T)>) -> Result<T> {
    let mut children = children();
    let (pid, child) = spawn()?;
    children.exits.retain(|(ended, _)| *ended != pid);
    children.held.insert(pid, hold);
    Ok(child)
}

/// Removes a child that was reaped by its handle.
pub(crate) fn unregister(pid: u32) {
    children().held.remove(&pid);
}

/// Registers that a child has no handle any more, but may still run.
pub(crate) fn abandon(pid: u32) {
    children().held.insert(pid, Hold::Detached);
}

fn children() -> MutexGuard<'static, Children> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn own_pids() -> Vec<u32> {
    let own = std::process::id();
    let is_child = |pid: &u32| fingerprint::stat(*pid).is_some_and(|stat| stat.parent == own);
    fingerprint::all_pids().into_iter().filter(is_child).collect()
}

fn sweep_once(all: &mut Swept) -> Vec<u32> {
    // The lock prevents other spawns, so an unregistered child is an orphan.
    let mut children = children();
    let mut left = Vec::new();
    for pid in own_pids() {
        let hold = children.held.get(&pid).copied();
        match hold {
            Some(Hold::Owned) => {}
            Some(Hold::Detached) => collect(&mut children, pid, hold, all),
            None => {
                if let Some(pid) = fingerprint::raw(pid)
                    && rustix::process::kill_process(pid, Signal::KILL).is_err()
                {
                    tracing::debug!(pid = pid.as_raw_nonzero().get(), "an orphan was gone before it was killed");
                }
                all.killed.push(pid);
                left.push(pid);
                collect(&mut children, pid, hold, all);
            }
        }
    }
    all.killed.sort_unstable();
    all.killed.dedup();
    left
}

fn collect(children: &mut Children, pid: u32, hold: Option<Hold>, swept: &mut Swept) {
    let Some(raw) = fingerprint::raw(pid) else { return };
    let Ok(Some(status)) = waitid(WaitId::Pid(raw), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) else { return };
    if hold != Some(Hold::Detached) {
        return;
    }
    let exit = Exit::from_wait(&status);
    children.held.remove(&pid);
    children.exits.push_back((pid, exit));
    if children.exits.len() > MAX_EXITS {
        children.exits.pop_front();
    }
    swept.ended.push((pid, exit));
}
