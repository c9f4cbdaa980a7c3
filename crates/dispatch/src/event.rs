//! What the dispatcher itself records beside [`RunEvent`](switchboard_protocol::run::RunEvent): how a run was set up, what a worker was
//! given, what a worker reported, and what became of the user's branch.

use serde::{Deserialize, Serialize};
use switchboard_protocol::frame::{Frame, WorkerEvent};
use switchboard_protocol::id::{AgentName, Digest, RunId, WorkerId};

/// Facts about runs and workers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum DispatchEvent {
    /// A run was set up; the plan's text is the body. Comes before `run_started`, in the same commit.
    RunConfigured {
        /// Which run.
        run: RunId,
        /// The plan's title, cut.
        title: String,
        /// The ledger hash of the plan.
        plan_hash: String,
        /// Where the plan came from.
        source: String,
        /// The user's branch.
        target: String,
        /// The commit that the run starts from.
        base: String,
        /// The run's branch.
        branch: String,
        /// Folder of its work trees.
        worktrees: String,
        /// Who does the tasks that name nobody.
        default_agent: Option<AgentName>,
        /// Whether to merge into the user's branch at the end.
        merge: bool,
        /// How many tasks it has.
        tasks: u64,
    },
    /// A worker was given what it needs. In the same commit as `worker_intended`.
    WorkerEquipped {
        /// Who.
        worker: WorkerId,
        /// For which run.
        run: RunId,
        /// For which task.
        task: String,
        /// For which attempt.
        attempt: u32,
        /// Which agent it is.
        agent: AgentName,
        /// `acp`, `exec` …
        driver: String,
        /// Whether the agent is a script.
        scripted: bool,
        /// The commit that its change will stand on.
        base: String,
        /// The commit that its tree began as; leaving just that is no change.
        start: String,
        /// Its work tree.
        worktree: String,
        /// SHA-256 of its token.
        token: Digest,
    },
    /// Something that a worker's shim reported; the numbers make it count once.
    WorkerReported {
        /// Who.
        worker: WorkerId,
        /// The shim's incarnation.
        epoch: u32,
        /// The frame's number.
        seq: u64,
        /// What it was.
        what: Report,
    },
    /// The run's branch is about to be merged into the user's: written before anything moves.
    RunMergeIntended {
        /// Which run.
        run: RunId,
        /// The user's branch.
        target: String,
        /// Its head now.
        from: String,
        /// Its head afterwards.
        to: String,
    },
    /// The user's branch has the run's work.
    RunMerged {
        /// Which run.
        run: RunId,
        /// The user's branch.
        target: String,
        /// Its head before.
        from: String,
        /// Its head now.
        to: String,
    },
    /// The merge that was intended did not happen; the user's branch is where it was.
    RunMergeAbandoned {
        /// Which run.
        run: RunId,
        /// Why.
        why: String,
    },
}

/// A worker's report as the log keeps it: small; the full text is the event's body or in the spool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// The agent's process runs.
    AgentStarted {
        /// Its process id.
        pid: u32,
        /// The program.
        program: String,
    },
    /// A session is open.
    SessionOpened {
        /// The agent's id of it.
        session: String,
    },
    /// A prompt is before the agent's eyes.
    TurnStarted {
        /// Its number.
        turn: u32,
        /// How many messages it showed.
        mail: u32,
    },
    /// A tool was used.
    ToolCalled {
        /// What the agent calls it.
        title: String,
        /// Its kind.
        tool_kind: String,
        /// How far it is.
        status: String,
        /// A few of the files it touches.
        paths: Vec<String>,
    },
    /// The agent asked for something.
    PermissionAsked {
        /// The shim's id of the question.
        ask: String,
    },
    /// The question is settled.
    PermissionSettled {
        /// The shim's id of the question.
        ask: String,
        /// What was chosen.
        option: Option<String>,
    },
    /// It used something.
    CostReported {
        /// Millionths of a US dollar.
        micro_usd: Option<u64>,
        /// Tokens read.
        input_tokens: u64,
        /// Tokens written.
        output_tokens: u64,
    },
    /// A turn is over; what it said is the body.
    TurnEnded {
        /// Its number.
        turn: u32,
        /// Why it ended.
        stop: String,
    },
    /// The process is gone; its last words are the body.
    AgentExited {
        /// Exit code.
        code: Option<i32>,
        /// Signal.
        signal: Option<i32>,
    },
    /// The shim could not do its part; the text is the body.
    Faulted {
        /// Code of the error table.
        code: String,
    },
    /// The spool is sealed.
    Sealed {
        /// Bytes kept.
        bytes: u64,
        /// Bytes dropped.
        dropped: u64,
        /// SHA-256 of it.
        digest: String,
    },
}

impl Report {
    /// What the log keeps of a frame, and the text that goes into the body.
    pub(crate) fn of(event: &WorkerEvent) -> (Self, Option<String>) {
        match event.clone() {
            WorkerEvent::AgentStarted { pid, argv } => {
                let program = argv.first().map(|program| cut(program, 200)).unwrap_or_default();
                (Self::AgentStarted { pid, program }, None)
            }
            WorkerEvent::SessionOpened { session } => (Self::SessionOpened { session: cut(&session, 200) }, None),
            WorkerEvent::TurnStarted { turn, mail } => {
                (Self::TurnStarted { turn, mail: u32::try_from(mail.len()).unwrap_or(u32::MAX) }, None)
            }
            WorkerEvent::ToolCalled { call: _, title, tool_kind, status, paths } => {
                let paths = paths.iter().take(3).map(|path| cut(path, 120)).collect();
                let report = Self::ToolCalled {
                    title: cut(&title, 160),
                    tool_kind: cut(&tool_kind, 24),
                    status: cut(&status, 24),
                    paths,
                };
                (report, None)
            }
            WorkerEvent::PermissionAsked { ask, .. } => (Self::PermissionAsked { ask: cut(&ask, 80) }, None),
            WorkerEvent::PermissionSettled { ask, option } => {
                (Self::PermissionSettled { ask: cut(&ask, 80), option: option.map(|option| cut(&option, 80)) }, None)
            }
            WorkerEvent::CostReported { micro_usd, input_tokens, output_tokens } => {
                (Self::CostReported { micro_usd, input_tokens, output_tokens }, None)
            }
            WorkerEvent::TurnEnded { turn, stop, text } => (Self::TurnEnded { turn, stop: cut(&stop, 40) }, some(text)),
            WorkerEvent::AgentExited { code, signal, stderr } => (Self::AgentExited { code, signal }, some(stderr)),
            WorkerEvent::Faulted { code, what } => (Self::Faulted { code: cut(&code, 60) }, some(what)),
            WorkerEvent::Sealed { bytes, dropped, digest } => {
                (Self::Sealed { bytes, dropped, digest: cut(&digest, 80) }, None)
            }
        }
    }
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// Cuts a text at a character boundary, control characters replaced: what agents write is shown to people.
pub(crate) fn cut(text: &str, bytes: usize) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if out.len() + c.len_utf8() > bytes {
            out.push('…');
            break;
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
}

/// The number under which a frame counts once: epochs first.
pub(crate) fn frame_number(frame: &Frame) -> i64 {
    frame_key(frame.epoch, frame.seq)
}

/// Epoch and number of a frame by its key.
pub(crate) fn frame_parts(key: i64) -> (u32, u64) {
    (u32::try_from(key >> 40).unwrap_or(0), u64::try_from(key & ((1 << 40) - 1)).unwrap_or(0))
}

pub(crate) fn frame_key(epoch: u32, seq: u64) -> i64 {
    (i64::from(epoch) << 40) | i64::try_from(seq).unwrap_or(i64::MAX >> 24)
}
