//! What is simulated, and what came of it.

use switchboard_protocol::run::MAX_WORKERS;

/// The name of an agent that is no worker.
pub(super) const ANOTHERS: &str = "ann-2";

/// What a worker costs, in millionths of a US dollar.
pub(super) const COST: u64 = 3;

/// How the world treats the runs of a simulation. Rates are per mille of the occasions.
#[derive(Debug, Clone, Copy)]
pub struct SimSpec {
    /// Runs that are under way at the same time.
    pub runs: u64,
    /// Fewest tasks of each run.
    pub min_tasks: u64,
    /// Most tasks of each run.
    pub max_tasks: u64,
    /// Most workers at once; `None` draws one to four.
    pub max_workers: Option<u32>,
    /// What the user's settings say of workers over all runs, if anything.
    pub workers: Option<u32>,
    /// Most milliseconds that an agent takes beside the usual.
    pub work_ms: u64,
    /// A seed for the plans alone, so that they stay the same while everything else changes.
    pub plan_seed: Option<u64>,
    /// Workers that are lost, lie, hang, fail, or change more after they said that they are done.
    pub bad_workers: u64,
    /// Frames that come late, twice or not at all before the next connection.
    pub bad_frames: u64,
    /// Commits that are refused (`Busy`, `DiskFull`, `Conflict`).
    pub failed_commits: u64,
    /// Calls of git that fail.
    pub failed_git: u64,
    /// Gates that fail, break or time out.
    pub bad_gates: u64,
    /// Set-ups of work trees that fail.
    pub bad_setups: u64,
    /// Runs that have a budget, which is too small for them until people raise it.
    pub budgets: u64,
    /// Tasks on which several work, or that are reports.
    pub modes: u64,
    /// Plans that a team carries out: others than its makers review and test each change.
    pub teams: u64,
    /// Runs whose tasks reach the run's branch by slice.
    pub slices: u64,
    /// Phases of the plan of a run that a team leads, one or two.
    pub phases: usize,
    /// Steps at which the daemon dies.
    pub crashes: u64,
    /// Moments at which a person stops, retries, resumes, answers, or moves the run's branch.
    pub people: u64,
    /// Looks at the run at which a person has the trees of workers rebased.
    pub rebases: u64,
    /// One chosen commit that the store refuses, and for how long.
    pub refuse: Option<Refuse>,
    /// A time in which the disk is full.
    pub full_disk: Option<FullDisk>,
    /// The step (a commit, a call of git or of a check) at which the daemon dies, counted from 0.
    pub crash_at: Option<u64>,
    /// Looks at a run that a team carries out at which something is done about the architect's seat, or from it.
    pub seats: u64,
    /// Messages to an engine, and steps of a driver, at which it panics.
    pub panics: u64,
    /// A mistake to be made on purpose: the simulation must find it.
    pub defect: Option<Defect>,
    /// Whether people look at the run once it is over, merge it, take that back, and clean up.
    pub afterwards: bool,
}

/// A time in which nothing can be written to the disk but by the store.
#[derive(Debug, Clone, Copy)]
pub struct FullDisk {
    /// The first write of git or of a file that fails, counted from 0.
    pub write: u64,
    /// For how many milliseconds from then on.
    pub ms: i64,
}

/// A refusal of commits.
#[derive(Debug, Clone, Copy)]
pub struct Refuse {
    /// The first commit that is refused, counted from 0.
    pub commit: u64,
    /// With what.
    pub with: Refusal,
    /// For how many milliseconds from then on.
    pub ms: i64,
}

/// A passing failure of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Its queue is full.
    Busy,
    /// The disk is full.
    DiskFull,
    /// Somebody else wrote to the subject.
    Conflict,
}

/// A mistake that the engine makes on purpose, to see that the simulation finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// What can't be recorded at once is reported as recorded, and forgotten.
    ForgetsReports,
    /// The state is taken over whether the commit succeeded or not.
    TakesOverUncommitted,
    /// Workers of the last daemon are not watched.
    ForgetsWorkers,
    /// Gates are reported as passed whatever they found.
    PassesGates,
    /// A merge that is in doubt is done again without looking.
    MergesTwice,
    /// A worker starts in a tree whatever became of its set-up.
    SkipsSetup,
    /// All workers of an agent have its name.
    SharesNames,
    /// What a worker that judges has changed though it may not is not looked at.
    LetsJudgesWrite,
    /// An answer that can't be used counts as a yes.
    TakesAnyAnswer,
}

/// What came of a history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimReport {
    /// Daemons that died.
    pub crashes: u64,
    /// Engines that panicked.
    pub panics: u64,
    /// How often an agent was given the architect's seat.
    pub seats: u64,
    /// Calls from that seat that did something.
    pub led: u64,
    /// Commits that were tried.
    pub commits: u64,
    /// Commits that were refused on purpose.
    pub refused: u64,
    /// Steps at which a crash could come.
    pub steps: u64,
    /// Writes of git and of files that were tried.
    pub writes: u64,
    /// Pauses for a full disk.
    pub disk_pauses: u64,
    /// Trees of workers that were put on another commit than before.
    pub rebased: u64,
    /// Events in the log.
    pub events: u64,
    /// Tasks of the run.
    pub tasks: u64,
    /// Tasks that were merged.
    pub merged: u64,
    /// Workers that were started.
    pub workers: u64,
    /// Verdicts of workers that judge.
    pub answers: u64,
    /// Answers that could not be used.
    pub unusable: u64,
    /// Workers that were lost.
    pub lost: u64,
    /// Tasks that waited for a person, each time that one did.
    pub waited: u64,
    /// Calls of people.
    pub calls: u64,
    /// Simulated milliseconds.
    pub simulated_ms: u64,
    /// Most workers that were live at the same time.
    pub most_live: u64,
    /// Hash over the log: the same seed gives the same.
    pub digest: u64,
    /// Hash over the files of the runs' branches, but for the names of workers in them.
    pub tree: u64,
    /// Hash over the order in which tasks were merged.
    pub order: u64,
    /// How the run ended.
    pub outcome: String,
}

// === impl SimSpec ===

impl SimSpec {
    /// Nothing goes wrong.
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

    /// Everything goes wrong now and then.
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

    /// Runs of at most [`MAX_WORKERS`] workers each that bring so many to be live at once, with faults, pauses and a daemon that dies. A tenth more tasks than
    /// workers, so that those that are free are needed again; the user's settings lift the limit over all runs.
    #[must_use]
    pub fn fleet(workers: u64) -> Self {
        let most = u64::from(MAX_WORKERS);
        let runs = workers.div_ceil(most).max(1);
        let each = workers.div_ceil(runs);
        Self {
            runs,
            min_tasks: each + each / 10,
            max_tasks: each + each / 10,
            // A few more than are asked for: some have just ended, and the next are not there yet.
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

    /// One run of many trivial tasks.
    #[must_use]
    pub fn big(tasks: u64) -> Self {
        Self { min_tasks: tasks, max_tasks: tasks, max_workers: Some(16), ..Self::kind() }
    }
}
