//! State shared by the simulated ports: the random numbers, the clock, the repository, the shims, and the observer that
//! checks the invariants.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use fastrand::Rng;
use switchboard_process::signal_files::Found;
use switchboard_protocol::id::RunId;
use switchboard_protocol::run::{AtCeiling, Budget, Limits};
use switchboard_protocol::signal::SignalDone;
use tokio::sync::{Notify, watch};

use super::clock::SimClock;
use super::folded::Folded;
use super::observer::Observer;
use super::repo::Repo;
use super::shim::SimShim;
use super::spec::{COST, Refusal, SimReport, SimSpec};
use crate::Dispatch;
use crate::lock::lock;

pub(super) struct Stage {
    pub(super) spec: SimSpec,
    /// Set if a team carries out its plans; true if security is then always reviewed.
    pub(super) team: Option<bool>,
    /// True if its plan has a command that fixes findings of a linter.
    pub(super) fixes_lint: bool,
    /// Initial budget of the run.
    pub(super) budget: Option<Budget>,
    /// Verb that the policy denies to workers.
    pub(super) denied_verb: Mutex<Option<&'static str>>,
    /// What this machine can't enforce of a sandbox.
    pub(super) sandbox_gaps: Mutex<Vec<String>>,
    /// The user's limits over all runs.
    pub(super) limits: Mutex<Limits>,
    pub(super) clock: SimClock,
    pub(super) repo: Mutex<Repo>,
    pub(super) shims: Mutex<ByPath<SimShim>>,
    /// Folders of the shims of which a process existed when one was started last, and the folder of that one.
    pub(super) here: Mutex<BTreeSet<PathBuf>>,
    pub(super) files: Mutex<ByPath<Vec<u8>>>,
    /// Signal files that are not marked as handled, and the marks of the others.
    pub(super) signals: Mutex<Vec<Found>>,
    pub(super) marked: Mutex<Vec<SignalDone>>,
    /// Work trees whose set-up has succeeded.
    pub(super) set_up: Mutex<BTreeSet<PathBuf>>,
    pub(super) observer: Mutex<Observer>,
    pub(super) report: Mutex<SimReport>,
    /// The daemon of the present life.
    pub(super) daemon: Mutex<Option<Dispatch>>,
    /// States of the runs folded from their logs up to the last check, across lives of the daemon.
    pub(super) folded: Mutex<BTreeMap<RunId, Folded>>,
    /// Decisions that follow from the plans of the history, in the order in which they show.
    #[cfg(test)]
    pub(super) trace: Mutex<Vec<String>>,
    /// Counts shims that ended.
    pub(super) gone: watch::Sender<u64>,
    /// The next failure of a call of git that changes something, and whether it has changed it by then.
    pub(super) next_git_failure: Mutex<Option<GitFailure>>,
    rng: Mutex<Rng>,
    crash: Notify,
    refuse_until: Mutex<i64>,
    disk_full_until: Mutex<i64>,
}

/// When a call of git fails that changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitFailure {
    Before,
    After,
}

/// Values by path. The hash of a path reads it part by part; here its bytes are hashed at once.
pub(super) struct ByPath<T>(HashMap<OsString, T>);

// === impl ByPath ===

impl<T> Default for ByPath<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> ByPath<T> {
    pub(super) fn get(&self, path: &Path) -> Option<&T> {
        self.0.get(path.as_os_str())
    }

    pub(super) fn get_mut(&mut self, path: &Path) -> Option<&mut T> {
        self.0.get_mut(path.as_os_str())
    }

    pub(super) fn insert(&mut self, path: PathBuf, value: T) {
        self.0.insert(path.into_os_string(), value);
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.0.remove(path.as_os_str());
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.0.keys().map(PathBuf::from)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.values_mut()
    }
}

// === impl Stage ===

impl Stage {
    pub(super) fn new(seed: u64, spec: SimSpec) -> Self {
        let mut rng = Rng::with_seed(seed);
        // Drawn separately, so that the rest of each history stays unchanged.
        let mut apart = Rng::with_seed(seed ^ u64::MAX);
        let task = (apart.u8(..3) == 0).then_some(COST);
        let budget = (rng.u64(..1000) < spec.budgets).then(|| Budget {
            ceiling: COST * rng.u64(1..4),
            task,
            reserve: [None, Some(COST), Some(0)][rng.usize(..3)],
            at_ceiling: [AtCeiling::Pause, AtCeiling::Halt][usize::from(rng.u8(..4) == 0)],
        });
        let day = (apart.u64(..1000) < spec.budgets).then(|| COST * apart.u64(1..4));
        let workers = (apart.u8(..3) == 0).then(|| apart.u32(1..4));
        let fixes_lint = apart.u8(..4) == 0;
        let workers = spec.workers.or(workers.filter(|_| spec.budgets > 0));
        let mut of_team = Rng::with_seed(seed.wrapping_mul(31) ^ u64::MAX);
        let team = (of_team.u64(..1000) < spec.teams).then(|| of_team.bool());
        let halts = Rng::with_seed(seed.wrapping_mul(37) ^ u64::MAX).u8(..4) == 0;
        let at_ceiling = [AtCeiling::Pause, AtCeiling::Halt][usize::from(halts)];
        let limits = Limits { day, at_ceiling, workers, ..Limits::default() };
        Self {
            spec,
            team,
            fixes_lint,
            budget,
            denied_verb: Mutex::default(),
            sandbox_gaps: Mutex::default(),
            limits: Mutex::new(limits),
            clock: SimClock::new(),
            repo: Mutex::new(Repo::new()),
            shims: Mutex::default(),
            here: Mutex::default(),
            files: Mutex::default(),
            signals: Mutex::default(),
            marked: Mutex::default(),
            set_up: Mutex::default(),
            observer: Mutex::new(Observer::new(limits.workers)),
            report: Mutex::default(),
            daemon: Mutex::default(),
            folded: Mutex::default(),
            #[cfg(test)]
            trace: Mutex::default(),
            gone: watch::Sender::new(0),
            next_git_failure: Mutex::default(),
            rng: Mutex::new(rng),
            crash: Notify::new(),
            refuse_until: Mutex::new(i64::MIN),
            disk_full_until: Mutex::new(i64::MIN),
        }
    }

    // === random numbers ===

    pub(super) fn chance(&self, per_mille: u64) -> bool {
        per_mille > 0 && self.below(1000) < per_mille
    }

    pub(super) fn below(&self, end: u64) -> u64 {
        lock(&self.rng).u64(..end)
    }

    pub(super) fn bits(&self) -> u64 {
        lock(&self.rng).u64(..)
    }

    /// Waits a random time below `ms`.
    pub(super) async fn delay(&self, ms: u64) {
        let ms = self.below(ms);
        if ms == 0 {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
    }

    pub(super) fn git_fails(&self) -> bool {
        self.chance(self.spec.failed_git)
    }

    /// Returns true if a call that changes something is to fail now.
    pub(super) fn change_fails(&self, at: GitFailure) -> bool {
        lock(&self.next_git_failure).take_if(|failure| *failure == at).is_some()
    }

    // === the disk ===

    /// Counts a write to the disk; fails while the disk is full.
    pub(super) fn write(&self) -> Result<(), crate::Error> {
        let mut report = lock(&self.report);
        let (n, now) = (report.writes, self.clock.ms());
        report.writes += 1;
        let Some(full) = self.spec.full_disk else { return Ok(()) };
        let mut until = lock(&self.disk_full_until);
        if n == full.write {
            *until = now + full.ms;
        }
        if n < full.write || now >= *until {
            return Ok(());
        }
        let said = "fatal: could not write: No space left on device".to_owned();
        Err(switchboard_process::Error::Git { call: "write".to_owned(), said }.into())
    }

    // === crashes ===

    /// Marks a step at which the daemon may die; in that case it never returns.
    pub(super) async fn step(&self) {
        let step = {
            let mut report = lock(&self.report);
            report.steps += 1;
            report.steps - 1
        };
        if self.spec.crash_at == Some(step) || self.chance(self.spec.crashes) {
            self.crash.notify_one();
            std::future::pending::<()>().await;
        }
    }

    /// Returns when the daemon dies.
    pub(super) async fn crashed(&self) {
        self.crash.notified().await;
    }

    // === commits ===

    /// Counts a commit; returns the store's refusal, if any.
    pub(super) fn refuses(&self) -> Option<Refusal> {
        let mut report = lock(&self.report);
        let (n, now) = (report.commits, self.clock.ms());
        report.commits += 1;
        let chosen = self.spec.refuse.filter(|refuse| {
            let mut until = lock(&self.refuse_until);
            if n == refuse.commit {
                *until = now + refuse.ms;
            }
            n >= refuse.commit && now < *until
        });
        let kinds = [Refusal::Busy, Refusal::DiskFull, Refusal::Conflict];
        let drawn = || self.chance(self.spec.failed_commits).then(|| kinds[self.below(3) as usize]);
        let refusal = chosen.map(|refuse| refuse.with).or_else(drawn);
        report.refused += u64::from(refusal.is_some());
        refusal
    }
}
