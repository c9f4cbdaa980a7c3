//! Folds the events of a loop's runs into the turns of the loop.

use switchboard_protocol::error;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::run::{AutoTurnKind, RunEvent, RunOutcome};
use switchboard_protocol::time::Millis;
use switchboard_protocol::worker::NON_RETRYABLE_CODES;

/// Messages of the operating system for errors that no further attempt can fix: no space, memory, descriptors or
/// network.
const MACHINE: [&str; 8] = [
    "No space left on device",
    "Disk quota exceeded",
    "Read-only file system",
    "Cannot allocate memory",
    "Too many open files",
    "Network is unreachable",
    "Connection refused",
    "Temporary failure in name resolution",
];

/// Error codes with the same meaning.
const OF_MACHINE: [&str; 4] = ["io.disk-full", "store.corrupt", "store.fatal", "store.network-file-system"];

/// Codes of errors that only a person can fix, beside [`NON_RETRYABLE_CODES`].
const OF_PERSON: [&str; 4] = ["agent.denied", "config.untrusted", "isolation.tools", "isolation.unsupported"];

/// Outcome of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The run is still active.
    Running,
    /// All tasks of the run were done.
    Succeeded,
    /// Tasks were blocked; their failures.
    Failed(Vec<TaskFailure>),
    /// The run was stopped.
    Stopped,
}

/// A task that was blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFailure {
    /// Id of the task.
    pub task: TaskId,
    /// Code of the error table.
    pub code: String,
    /// Why the task was blocked.
    pub why: String,
    /// Wait in milliseconds that the service wants of its clients, if it named one.
    pub retry_after_ms: Option<u64>,
}

/// A turn of the loop and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Number of the turn.
    pub number: u32,
    /// Kind of the turn.
    pub kind: AutoTurnKind,
    /// Part of the plan that the turn ran; `None` is the whole plan.
    pub unit: Option<UnitId>,
    /// Run of the turn.
    pub run: RunId,
    /// Outcome of the turn.
    pub ending: Ending,
    /// Time at which the turn ended; the time of its start while it is running.
    pub ended_at: Millis,
}

/// Folds the events of one run into its turns.
#[derive(Debug, Clone, Default)]
pub struct TurnLog {
    turns: Vec<Turn>,
    blocked: Vec<TaskFailure>,
}

// === impl TaskFailure ===

impl TaskFailure {
    /// Reads the code from the end of the reason, where it may stand in brackets.
    #[must_use]
    pub fn new(task: TaskId, reason: &str) -> Self {
        let named = reason.strip_suffix(']').and_then(|why| why.rsplit_once('['));
        let code = named.map(|(_, code)| code).filter(|code| error::find(code).is_some());
        let code = code.unwrap_or("agent.failed").to_owned();
        Self { task, code, why: reason.to_owned(), retry_after_ms: None }
    }

    /// Returns true if the machine caused the failure, so that no further attempt can help.
    #[must_use]
    pub fn is_of_machine(&self) -> bool {
        OF_MACHINE.contains(&self.code.as_str()) || MACHINE.iter().any(|words| self.why.contains(words))
    }

    /// Returns true if only a person can fix the failure.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        [&NON_RETRYABLE_CODES, &OF_PERSON].iter().any(|codes| codes.contains(&self.code.as_str()))
    }

    fn is_rate_limit(&self) -> bool {
        self.code == "agent.rate-limited"
    }
}

// === impl Turn ===

impl Turn {
    pub(super) const fn is_failed(&self) -> bool {
        matches!(self.ending, Ending::Failed(_))
    }

    /// Returns true if only rate limits kept its tasks from being done.
    pub(super) fn is_rate_limited(&self) -> bool {
        match &self.ending {
            Ending::Failed(failures) => !failures.is_empty() && failures.iter().all(TaskFailure::is_rate_limit),
            Ending::Running | Ending::Succeeded | Ending::Stopped => false,
        }
    }

    /// Returns the longest wait in milliseconds that the services of its agents want.
    pub(super) fn retry_after_ms(&self) -> Option<u64> {
        self.failures().iter().filter_map(|failure| failure.retry_after_ms).max()
    }

    /// Returns the task, code and reason of each failure.
    pub(super) fn errors(&self) -> impl Iterator<Item = (&TaskId, &str, &str)> {
        self.failures().iter().map(|failure| (&failure.task, failure.code.as_str(), failure.why.as_str()))
    }

    /// Returns the failures of blocked tasks, to add details to them.
    pub fn failures_mut(&mut self) -> &mut [TaskFailure] {
        match &mut self.ending {
            Ending::Failed(failures) => failures,
            Ending::Running | Ending::Succeeded | Ending::Stopped => &mut [],
        }
    }

    /// Returns the failures of blocked tasks.
    #[must_use]
    pub fn failures(&self) -> &[TaskFailure] {
        match &self.ending {
            Ending::Failed(failures) => failures,
            Ending::Running | Ending::Succeeded | Ending::Stopped => &[],
        }
    }
}

// === impl TurnLog ===

impl TurnLog {
    /// Folds an event of the run.
    pub fn take(&mut self, fact: &RunEvent, at: Millis) {
        if let RunEvent::LoopTurned { run, turn, turn_kind: kind, unit, .. } = fact {
            let (run, unit) = (run.clone(), unit.clone());
            self.blocked.clear();
            self.turns.push(Turn { number: *turn, kind: *kind, unit, run, ending: Ending::Running, ended_at: at });
        } else if let RunEvent::TaskBlocked { task, reason, .. } = fact {
            self.blocked.push(TaskFailure::new(task.clone(), reason));
        } else if let RunEvent::TaskRetryRequested { task, .. } = fact {
            self.blocked.retain(|failure| failure.task != *task);
            self.reopen(at);
        } else if let RunEvent::RunFinished { outcome } = fact {
            let ending = match outcome {
                RunOutcome::Succeeded => Ending::Succeeded,
                RunOutcome::Failed => Ending::Failed(self.blocked.clone()),
                RunOutcome::Stopped => Ending::Stopped,
            };
            if let Some(turn) = self.turns.last_mut() {
                (turn.ending, turn.ended_at) = (ending, at);
            }
        }
    }

    /// Returns the turns, oldest first.
    #[must_use]
    pub fn into_turns(self) -> Vec<Turn> {
        self.turns
    }

    /// Reopens the last turn after a person's retry.
    fn reopen(&mut self, at: Millis) {
        if let Some(turn) = self.turns.last_mut() {
            (turn.ending, turn.ended_at) = (Ending::Running, at);
        }
    }
}
