//! The turns of a loop, as the events of its runs tell of them.

use switchboard_protocol::error;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::run::{AutoTurnKind, RunEvent, RunOutcome};
use switchboard_protocol::time::Millis;
use switchboard_protocol::worker::HOPELESS;

/// What the operating system says where no attempt can help: no space, memory, descriptors or network.
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

/// Codes that say the same.
const OF_MACHINE: [&str; 4] = ["io.disk-full", "store.corrupt", "store.fatal", "store.network-file-system"];

/// Codes of what only a person can change, beside [`HOPELESS`].
const OF_PERSON: [&str; 4] = ["agent.denied", "config.untrusted", "isolation.tools", "isolation.unsupported"];

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Its run is at work.
    Running,
    /// All of its tasks were done.
    Succeeded,
    /// Tasks were blocked.
    Failed(Vec<TaskFailure>),
    /// Somebody stopped it.
    Stopped,
}

/// A task that was blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFailure {
    /// Which.
    pub task: TaskId,
    /// Code of the error table.
    pub code: String,
    /// Why.
    pub why: String,
    /// How long the service wants its clients to wait, where it said so.
    pub retry_after_ms: Option<u64>,
}

/// A turn of the loop and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Its number.
    pub number: u32,
    /// What it did.
    pub kind: AutoTurnKind,
    /// With which part of the plan; `None` is all of it.
    pub unit: Option<UnitId>,
    /// In which run.
    pub run: RunId,
    /// How it ended.
    pub ending: Ending,
    /// When it ended; when it began while it goes on.
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
    /// Reads the code out of the reason, which ends with it in brackets where there is one.
    #[must_use]
    pub fn new(task: TaskId, reason: &str) -> Self {
        let named = reason.strip_suffix(']').and_then(|why| why.rsplit_once('['));
        let code = named.map(|(_, code)| code).filter(|code| error::find(code).is_some());
        let code = code.unwrap_or("agent.failed").to_owned();
        Self { task, code, why: reason.to_owned(), retry_after_ms: None }
    }

    /// Whether the machine is at fault, so that no further attempt can help.
    #[must_use]
    pub fn is_of_machine(&self) -> bool {
        OF_MACHINE.contains(&self.code.as_str()) || MACHINE.iter().any(|words| self.why.contains(words))
    }

    /// Whether only a person can change it.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        [&HOPELESS, &OF_PERSON].iter().any(|codes| codes.contains(&self.code.as_str()))
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

    /// Whether nothing but rate limits kept its tasks from being done.
    pub(super) fn is_rate_limited(&self) -> bool {
        match &self.ending {
            Ending::Failed(failures) => !failures.is_empty() && failures.iter().all(TaskFailure::is_rate_limit),
            Ending::Running | Ending::Succeeded | Ending::Stopped => false,
        }
    }

    /// How long the services of its agents want it to wait: the longest of what they said.
    pub(super) fn retry_after_ms(&self) -> Option<u64> {
        self.failures().iter().filter_map(|failure| failure.retry_after_ms).max()
    }

    /// Its errors: task, code and words.
    pub(super) fn errors(&self) -> impl Iterator<Item = (&TaskId, &str, &str)> {
        self.failures().iter().map(|failure| (&failure.task, failure.code.as_str(), failure.why.as_str()))
    }

    /// The tasks that were blocked, to be told what more is known of them.
    pub fn failures_mut(&mut self) -> &mut [TaskFailure] {
        match &mut self.ending {
            Ending::Failed(failures) => failures,
            Ending::Running | Ending::Succeeded | Ending::Stopped => &mut [],
        }
    }

    /// The tasks that were blocked.
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

    /// The turns, oldest first.
    #[must_use]
    pub fn into_turns(self) -> Vec<Turn> {
        self.turns
    }

    /// A person tries something again: the last turn is at work again.
    fn reopen(&mut self, at: Millis) {
        if let Some(turn) = self.turns.last_mut() {
            (turn.ending, turn.ended_at) = (Ending::Running, at);
        }
    }
}
