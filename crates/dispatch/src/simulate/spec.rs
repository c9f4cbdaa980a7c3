//! Settings of a simulation, and its report.

use switchboard_protocol::run::MAX_WORKERS;

/// Name of an agent that is not a worker.
pub(super) const ANOTHERS: &str = "ann-2";

/// Name of a program that is not installed.
pub(super) const MISSING: &str = "no-such-program";

/// Id and start time of the process of each shim.
pub(super) const PROCESS: (u32, u64) = (77, 5);

/// Cost of a worker, in millionths of a US dollar.
pub(super) const COST: u64 = 3;

/// Settings of a simulation: its size, and the rates of failures. Rates are per mille of the occasions.
#[derive(Debug, Clone, Copy)]
pub struct SimSpec {
    /// Number of simultaneous runs.
    pub runs: u64,
    /// Minimum number of tasks of each run.
    pub min_tasks: u64,
    /// Maximum number of tasks of each run.
    pub max_tasks: u64,
    /// Maximum number of simultaneous workers; `None` draws one to four.
    pub max_workers: Option<u32>,
    /// Limit of workers over all runs in the user's settings, if any.
    pub workers: Option<u32>,
    /// Maximum extra time that an agent takes, in milliseconds.
    pub work_ms: u64,
    /// Seed for the plans alone, so that they stay the same while everything else changes.
    pub plan_seed: Option<u64>,
    /// Rate of workers that are lost, lie, hang, fail, or make changes after they reported being done.
    pub bad_workers: u64,
    /// Rate of frames that come late, twice or only with the next connection.
    pub bad_frames: u64,
    /// Rate of commits that are refused (`Busy`, `DiskFull`, `Conflict`).
    pub failed_commits: u64,
    /// Rate of failing calls of git.
    pub failed_git: u64,
    /// Rate of gates that fail, break or time out.
    pub bad_gates: u64,
    /// Rate of failing set-ups of work trees.
    pub bad_setups: u64,
    /// Rate of runs with a budget that is too small until people raise it.
    pub budgets: u64,
    /// Rate of tasks with several workers, or whose results are reports.
    pub modes: u64,
    /// Rate of plans for a team: other agents than its makers review and test each change.
    pub teams: u64,
    /// Rate of runs whose tasks reach the run's branch by slice.
    pub slices: u64,
    /// Number of phases in the plan of a run led by a team, one or two.
    pub phases: usize,
    /// Rate of steps at which the daemon dies.
    pub crashes: u64,
    /// Rate of moments at which a person stops, retries, resumes, answers, or moves the run's branch.
    pub people: u64,
    /// Rate of checks of the run at which a person requests a rebase of the workers' trees.
    pub rebases: u64,
    /// One chosen refusal of commits by the store, and its duration.
    pub refuse: Option<Refuse>,
    /// Period in which the disk is full.
    pub full_disk: Option<FullDisk>,
    /// Number of the step (a commit, a call of git or of a check) at which the daemon dies, from 0.
    pub crash_at: Option<u64>,
    /// Rate of checks of a run led by a team at which the architect's seat is changed or used.
    pub seats: u64,
    /// Rate of messages to an engine, and of steps of a driver, at which it panics.
    pub panics: u64,
    /// Defect to be injected: the simulation must find it.
    pub defect: Option<Defect>,
    /// True if people look at the finished run, merge it, undo that, and clean up.
    pub afterwards: bool,
}

/// Period in which only the store can write to the disk.
#[derive(Debug, Clone, Copy)]
pub struct FullDisk {
    /// Number of the first write of git or of a file that fails, from 0.
    pub write: u64,
    /// Duration of the period, in milliseconds.
    pub ms: i64,
}

/// Chosen refusal of commits.
#[derive(Debug, Clone, Copy)]
pub struct Refuse {
    /// Number of the first refused commit, from 0.
    pub commit: u64,
    /// Kind of refusal.
    pub with: Refusal,
    /// Duration of the refusal, in milliseconds.
    pub ms: i64,
}

/// Transient failure of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The queue is full.
    Busy,
    /// The disk is full.
    DiskFull,
    /// Another writer wrote to the subject.
    Conflict,
}

/// Defect injected into the engine, to check that the simulation finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// What can't be recorded at once is reported as recorded, and forgotten.
    ForgetsReports,
    /// The state is taken over even if the commit failed.
    TakesOverUncommitted,
    /// Workers of the last daemon are not watched.
    ForgetsWorkers,
    /// Gates are reported as passed regardless of their findings.
    PassesGates,
    /// A merge in doubt is repeated without a check.
    MergesTwice,
    /// A worker starts in a tree even if its set-up failed.
    SkipsSetup,
    /// All workers of an agent have its name.
    SharesNames,
    /// Forbidden changes of a worker that judges are ignored.
    LetsJudgesWrite,
    /// An unusable answer counts as a yes.
    TakesAnyAnswer,
}

/// Report on a simulated history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimReport {
    /// Number of daemons that died.
    pub crashes: u64,
    /// Number of engines that panicked.
    pub panics: u64,
    /// Number of times an agent was given the architect's seat.
    pub seats: u64,
    /// Number of calls from the seat that had an effect.
    pub led: u64,
    /// Number of attempted commits.
    pub commits: u64,
    /// Number of commits refused on purpose.
    pub refused: u64,
    /// Number of steps at which a crash is possible.
    pub steps: u64,
    /// Number of attempted writes of git and of files.
    pub writes: u64,
    /// Number of pauses for a full disk.
    pub disk_pauses: u64,
    /// Number of rebased trees of workers.
    pub rebased: u64,
    /// Number of rebases that failed otherwise than by a conflict.
    pub failed_rebases: u64,
    /// Number of events in the log.
    pub events: u64,
    /// Number of tasks of the run.
    pub tasks: u64,
    /// Number of merged tasks.
    pub merged: u64,
    /// Number of started workers.
    pub workers: u64,
    /// Number of verdicts of workers that judge.
    pub answers: u64,
    /// Number of unusable answers.
    pub unusable: u64,
    /// Number of lost workers.
    pub lost: u64,
    /// Number of times a task waited for a person.
    pub waited: u64,
    /// Number of calls of people.
    pub calls: u64,
    /// Simulated time, in milliseconds.
    pub simulated_ms: u64,
    /// Maximum number of simultaneously live workers.
    pub most_live: u64,
    /// Hash of the log: the same for the same seed.
    pub digest: u64,
    /// Hash of the files of the runs' branches, without the names of workers in them.
    pub tree: u64,
    /// Hash of the order in which tasks were merged.
    pub order: u64,
    /// Outcome of the run.
    pub outcome: String,
}

// === impl SimSpec ===

impl SimSpec {
    /// Returns settings without any failure.
    #[must_use]
    pub fn kind() -> Self {
        Self {
            runs: 1,
            min_tasks: 3,
            max_tasks: 8,
            max_workers: None,
            workers: None,
            work_ms: 0,
            plan_seed: None,
            bad_workers: 0,
            bad_frames: 0,
            failed_commits: 0,
            failed_git: 0,
            bad_gates: 0,
            bad_setups: 0,
            budgets: 0,
            modes: 0,
            teams: 0,
            slices: 0,
            phases: 2,
            crashes: 0,
            people: 0,
            rebases: 0,
            refuse: None,
            full_disk: None,
            crash_at: None,
            seats: 0,
            panics: 0,
            defect: None,
            afterwards: false,
        }
    }

    /// Returns settings in which everything fails sometimes.
    #[must_use]
    pub fn rough() -> Self {
        Self {
            bad_workers: 300,
            bad_frames: 60,
            failed_commits: 30,
            failed_git: 8,
            bad_gates: 120,
            bad_setups: 30,
            budgets: 250,
            modes: 150,
            teams: 300,
            slices: 250,
            crashes: 6,
            people: 300,
            ..Self::kind()
        }
    }

    /// Returns settings for runs of at most [`MAX_WORKERS`] workers each that bring so many workers live at once, with
    /// faults, pauses and a daemon that dies. There are a tenth more tasks than workers, so that free workers are
    /// needed again; the user's settings lift the limit over all runs.
    #[must_use]
    pub fn fleet(workers: u64) -> Self {
        let most = u64::from(MAX_WORKERS);
        let runs = workers.div_ceil(most).max(1);
        let each = workers.div_ceil(runs);
        Self {
            runs,
            min_tasks: each + each / 10,
            max_tasks: each + each / 10,
            // Slightly more than requested: some have just ended, and the next have not started yet.
            max_workers: u32::try_from((each + each / 32).min(most)).ok(),
            workers: u32::try_from(2 * workers).ok(),
            work_ms: 600_000,
            bad_workers: 50,
            bad_frames: 5,
            failed_commits: 1,
            bad_gates: 20,
            people: 100,
            crash_at: Some(workers * 6),
            ..Self::kind()
        }
    }

    /// Returns settings for one run of many trivial tasks.
    #[must_use]
    pub fn big(tasks: u64) -> Self {
        Self { min_tasks: tasks, max_tasks: tasks, max_workers: Some(16), ..Self::kind() }
    }
}
