//! Events of workers, in one vocabulary for the drivers of agents, the frames of shims and the log.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::action::WorkerAction;
use crate::answer::AnswerKind;
use crate::frame::PermissionOption;
use crate::id::{AgentName, Digest, MessageId, RunId, WorkerId};
use crate::isolation::Isolation;
use crate::plan::TaskId;
use crate::run::way::{RoleId, StepId};
use crate::schema::JsonSchema;
use crate::text::cut;

/// Stop reason of a turn that was cancelled at the worker's soft limit, so that the next turn tells the agent to finish.
pub const WRAP_UP: &str = "wrap_up";

/// Stop reason of a turn that was cancelled between two tools because the worker is paused; a later turn continues it.
pub const PAUSED: &str = "paused";

/// Codes of faults after which no further attempt can succeed until a person has fixed the cause.
pub const NON_RETRYABLE_CODES: [&str; 4] = ["agent.missing", "agent.login", "agent.no-model", "agent.quota"];

/// Text between an agent's own reason for its failure and the end of its standard error.
pub const STDERR_TAIL: &str = "; its standard error ends with: ";

/// The step whose verdict is a worker's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgingStep {
    /// Id of the step.
    pub step: StepId,
    /// Role of the worker in the step.
    pub role: RoleId,
    /// Kind of answer.
    pub answer: AnswerKind,
}

impl fmt::Display for JudgingStep {
    /// Writes `review as reviewer`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as {}", self.step, self.role)
    }
}

/// Facts about a worker (subject `worker/…`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(tag = "kind", content = "facts")]
pub enum WorkerFact {
    /// A worker was set up. In the same commit as `worker_intended`.
    WorkerEquipped {
        /// Id of the worker.
        worker: WorkerId,
        /// For which run.
        run: RunId,
        /// Id of the task.
        task: String,
        /// Attempt number, from 1.
        attempt: u32,
        /// Name of the agent.
        agent: AgentName,
        /// Driver: `acp`, `exec` …
        driver: String,
        /// True if the agent is a script.
        scripted: bool,
        /// The step whose verdict is the worker's answer; `None` for a worker that makes the change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        judges: Option<JudgingStep>,
        /// Commit that its change will be based on.
        base: String,
        /// Commit that its tree starts from; a tree equal to it is no change.
        start: String,
        /// Path of its work tree.
        worktree: String,
        /// SHA-256 of its token.
        token: Digest,
        /// TCP ports reserved for its tree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ports: Option<PortRange>,
        /// Isolation of the worker.
        #[serde(default, skip_serializing_if = "Isolation::is_full")]
        isolation: Isolation,
        /// Model that its agent is told to use; by default the agent chooses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A rule about a worker of a team applied: the worker makes no progress, reaches a limit of its role, starts with a fallback model, or
    /// fixes a refused change.
    WorkerFlagged {
        /// Id of the worker.
        worker: WorkerId,
        /// Rule: `repetition`, `calls`, `minutes`, `errors`, `idle`, `no-change`, `runaway-output`, `stale`, `model-fallback`
        /// or `retry`.
        rule: String,
        /// True if the worker is stopped because of it.
        stops: bool,
        /// What was found.
        words: String,
    },
    /// The machine was suspended while the worker of a team ran. The time counts for none of its limits.
    WorkerSuspended {
        /// Id of the worker.
        worker: WorkerId,
        /// Milliseconds for which the machine was suspended.
        ms: u64,
    },
    /// A constrained worker is started on a machine that can't enforce all restrictions, as its run allows. In the same commit as
    /// `worker_equipped`.
    WorkerUnenforced {
        /// Id of the worker.
        worker: WorkerId,
        /// Restrictions that are not enforced, one sentence each.
        gaps: Vec<String>,
    },
    /// A report of a worker's shim; epoch and number ensure that it counts once.
    WorkerReported {
        /// Id of the worker.
        worker: WorkerId,
        /// Incarnation of the shim.
        epoch: u32,
        /// Number of the frame.
        seq: u64,
        /// The event, shortened; the event's body holds its text.
        what: WorkerEvent,
    },
    /// A worker reported the state of its task, or proposed another task. The body is the whole action as JSON.
    WorkerActed {
        /// Id of the worker.
        worker: WorkerId,
        /// Number in the worker's structured output, from 1; 0 for a call. Actions of the output are in the commit of the turn's end.
        index: u32,
        /// The action, shortened.
        action: WorkerAction,
    },
    /// A person sent a text to the worker of a standalone run; the body is the text. It is shown with the next turn of the task's worker.
    WorkerTold {
        /// Id of the worker at that time.
        worker: WorkerId,
        /// Id of the text, by which the turn that shows it refers to it.
        id: MessageId,
        /// Id of the run.
        run: RunId,
        /// Id of the task.
        task: TaskId,
        /// Name of the person.
        by: AgentName,
    },
    /// The policy denied a call of the worker. The first calls of a kind are recorded one by one, later ones as a count, after a pause that
    /// grows while more come.
    CallDenied {
        /// Id of the worker.
        worker: WorkerId,
        /// Name of the verb or tool.
        verb: String,
        /// Rule that decided, cut if it is long.
        rule: String,
        /// Error code that the caller got.
        code: String,
        /// Number of denied calls of this kind since the daemon started, including this one.
        count: u64,
    },
    /// The worker's agent listed the tools of Switchboard's MCP server, so that they can be offered to its model.
    WorkerToolsListed {
        /// Id of the worker.
        worker: WorkerId,
    },
    /// The worker's agent did not list the tools of Switchboard's MCP server in its first turn: it can neither read nor send mail.
    WorkerToolsMissed {
        /// Id of the worker.
        worker: WorkerId,
    },
}

/// A range of TCP ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortRange {
    /// First port.
    pub first: u16,
    /// Number of ports.
    pub count: u16,
}

impl PortRange {
    /// Returns the environment variables by which a command finds the ports of its tree.
    #[must_use]
    pub fn env(self) -> Vec<(String, String)> {
        vec![
            ("SWITCHBOARD_PORT".to_owned(), self.first.to_string()),
            ("SWITCHBOARD_PORT_COUNT".to_owned(), self.count.to_string()),
        ]
    }
}

/// Version of the facts of `worker_reported`; in version 1 each event had a different shape.
pub const REPORTED_VERSION: u16 = 2;

/// An event of a worker: its agent's driver reports it, the shim numbers it and sends it in a frame, the log stores it
/// [`fitted`](WorkerEvent::fitted). Bulk text stays in the spool: these are turns, tools, permissions, costs and states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkerEvent {
    /// The agent's process runs.
    AgentStarted {
        /// Process id of the agent, which is also its process group.
        pid: u32,
        /// Program and arguments, without the environment.
        argv: Vec<String>,
    },
    /// The driver opened a session in which it can prompt.
    SessionOpened {
        /// The agent's own id of the session, for a later resume; empty if it has none.
        session: String,
    },
    /// A prompt was passed to the agent; its content counts as seen from now on.
    TurnStarted {
        /// Number of the turn, from 1; drivers set 0.
        turn: u32,
        /// Messages that the prompt showed, which is the evidence that they were injected.
        mail: Vec<MessageId>,
    },
    /// The agent began or finished using a tool.
    ToolCalled {
        /// The agent's id of the call.
        call: String,
        /// Title that the agent gives it, at most 200 characters.
        title: String,
        /// Kind of tool in ACP's words: `read`, `edit`, `execute`, …
        tool_kind: String,
        /// State: `pending`, `in_progress`, `completed` or `failed`.
        status: String,
        /// Files that it uses, as far as the agent reports them, at most 20.
        paths: Vec<String>,
        /// Error message of a failed call, as far as the agent passes it on; the log stores it in the body.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// The agent asks for a permission and waits.
    PermissionAsked {
        /// The shim's id of the question, to be repeated in the answer.
        ask: String,
        /// What the agent wants to do, at most 200 characters.
        title: String,
        /// Options to choose from.
        options: Vec<PermissionOption>,
        /// The command or the diff, cut at 4 KiB.
        detail: String,
        /// Kind of tool in ACP's words: `edit`, `execute`, …; empty if the agent reports none.
        #[serde(default)]
        tool_kind: String,
        /// Files that it would use, as the agent names them, at most 20.
        #[serde(default)]
        paths: Vec<String>,
    },
    /// The question was answered by a person, a rule or a time-out.
    PermissionSettled {
        /// Id of the question.
        ask: String,
        /// Id of the chosen option; `None` if it was cancelled.
        option: Option<String>,
        /// Rule that allowed it without asking a person, and its object: `edits: src/a.rs`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
    },
    /// The pause state of the worker changed.
    PauseChanged {
        /// The new state.
        state: PauseState,
    },
    /// Usage of the agent since the last report of this kind.
    CostReported {
        /// Cost in millionths of a US dollar; `None` if the agent reports no price.
        micro_usd: Option<u64>,
        /// Number of input tokens, cached ones included.
        input_tokens: u64,
        /// Number of output tokens.
        output_tokens: u64,
    },
    /// The turn ended. This is what the agent claims, never proof that the work is done.
    TurnEnded {
        /// Number of the turn; drivers set 0.
        turn: u32,
        /// Stop reason: `end_turn`, `cancelled`, `refusal`, `max_tokens`, `error`, the exec driver's `exit`, [`WRAP_UP`] or [`PAUSED`].
        stop: String,
        /// End of the agent's text, at most 2 KiB.
        text: String,
    },
    /// The agent's process exited, and its group was reaped.
    AgentExited {
        /// Exit code, if it ended by itself.
        code: Option<i32>,
        /// Signal number, if a signal ended it.
        signal: Option<i32>,
        /// End of its standard error, at most 2 KiB.
        stderr: String,
        /// True if the shim ended it, so that code and signal reveal nothing about the agent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_us: bool,
    },
    /// The shim failed: the program is missing, the handshake failed, or a limit was exceeded.
    Faulted {
        /// Code of the error table.
        code: String,
        /// Description for a person.
        what: String,
        /// Wait that the agent's service asks for, in milliseconds; only with `agent.rate-limited`, and only if the service names one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// Last frame: the spool is sealed and the shim exits.
    Sealed {
        /// Raw output kept, in bytes.
        bytes: u64,
        /// Raw output dropped because of the limit, in bytes.
        dropped: u64,
        /// SHA-256 of the sealed spool, in hex.
        digest: String,
    },
}

/// Pause state of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PauseState {
    /// A pause was requested, but the worker has not reached a boundary yet.
    Pausing,
    /// The worker waits: its process is alive, and its agent does nothing.
    Paused,
    /// The worker waits between two tools, or between two turns, while its tree is rebased.
    Held,
    /// The worker continues.
    Resumed,
}

// === impl PauseState ===

impl PauseState {
    /// Returns the state with this word; `None` if there is none.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        match word {
            "pausing" => Some(Self::Pausing),
            "paused" => Some(Self::Paused),
            "held" => Some(Self::Held),
            "resumed" => Some(Self::Resumed),
            _ => None,
        }
    }
}

// === impl WorkerEvent ===

impl WorkerEvent {
    /// Returns the text that goes into the event's body, if there is any: what an agent said, asked, or last wrote.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        let text = match self {
            Self::TurnEnded { text, .. } => text,
            Self::AgentExited { stderr, .. } => stderr,
            Self::Faulted { what, .. } => what,
            Self::ToolCalled { why, .. } => why,
            Self::AgentStarted { .. }
            | Self::SessionOpened { .. }
            | Self::TurnStarted { .. }
            | Self::PermissionAsked { .. }
            | Self::PermissionSettled { .. }
            | Self::PauseChanged { .. }
            | Self::CostReported { .. }
            | Self::Sealed { .. } => return None,
        };
        (!text.is_empty()).then_some(text)
    }

    /// Returns the event for the facts of the log: without its [`text`](Self::text), which goes into the body, and with everything else
    /// shortened.
    #[must_use]
    pub fn fitted(mut self) -> Self {
        let short = |text: &mut String, bytes| *text = cut(text, bytes);
        match &mut self {
            Self::AgentStarted { argv, .. } => {
                argv.truncate(1);
                argv.iter_mut().for_each(|program| short(program, 200));
            }
            Self::SessionOpened { session } => short(session, 200),
            Self::TurnStarted { mail, .. } => mail.truncate(10),
            Self::ToolCalled { call, title, tool_kind, status, paths, why } => {
                why.clear();
                short(call, 40);
                short(title, 160);
                short(tool_kind, 24);
                short(status, 24);
                paths.truncate(3);
                paths.iter_mut().for_each(|path| short(path, 120));
            }
            // The question is recorded in a separate event (`need_asked`).
            Self::PermissionAsked { ask, title, options, detail, tool_kind, paths } => {
                short(ask, 80);
                short(tool_kind, 24);
                title.clear();
                options.clear();
                detail.clear();
                paths.clear();
            }
            Self::PermissionSettled { ask, option, rule } => {
                short(ask, 80);
                rule.iter_mut().for_each(|rule| short(rule, 200));
                option.iter_mut().for_each(|option| short(option, 80));
            }
            Self::PauseChanged { .. } | Self::CostReported { .. } => {}
            Self::TurnEnded { stop, text, .. } => {
                short(stop, 40);
                text.clear();
            }
            Self::AgentExited { stderr, .. } => stderr.clear(),
            Self::Faulted { code, what, .. } => {
                short(code, 60);
                what.clear();
            }
            Self::Sealed { digest, .. } => short(digest, 80),
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::{MAX_FACTS_BYTES, NewEvent};

    #[test]
    fn the_largest_events_fit_into_the_log_with_their_text_beside_it() {
        let long = || "ü\"\n".repeat(3000);
        let events = [
            WorkerEvent::ToolCalled {
                call: long(),
                title: long(),
                tool_kind: long(),
                status: long(),
                paths: vec![long(); 20],
                why: long(),
            },
            WorkerEvent::TurnEnded { turn: u32::MAX, stop: long(), text: long() },
            WorkerEvent::AgentExited { code: Some(1), signal: Some(9), stderr: long(), by_us: true },
            WorkerEvent::Faulted { code: long(), what: long(), retry_after_ms: Some(u64::MAX) },
            WorkerEvent::TurnStarted { turn: 1, mail: vec![MessageId::from_bits(u64::MAX); 50] },
            WorkerEvent::PermissionAsked {
                ask: long(),
                title: long(),
                options: Vec::new(),
                detail: long(),
                tool_kind: long(),
                paths: vec![long()],
            },
            WorkerEvent::PermissionSettled { ask: long(), option: Some(long()), rule: Some(long()) },
        ];

        for event in events {
            let (has_text, worker) = (event.text().is_some(), WorkerId::from_bits(u64::MAX));
            let what = event.fitted();
            assert_eq!(what.text(), None);
            let fact = WorkerFact::WorkerReported { worker, epoch: u32::MAX, seq: u64::MAX, what };

            let event = NewEvent::of(&fact, "worker/x", "a").unwrap();

            let bytes = event.facts.as_str().len();
            assert!(bytes <= MAX_FACTS_BYTES, "{bytes}, {has_text}: {}", event.facts);
        }
    }

    #[test]
    fn a_frame_says_what_happened_in_the_shape_that_shims_before_this_one_wrote() {
        let event = WorkerEvent::TurnEnded { turn: 1, stop: "end_turn".to_owned(), text: "did it".to_owned() };

        let written = json!({ "kind": "turn_ended", "turn": 1, "stop": "end_turn", "text": "did it" });

        assert_eq!(json!(event), written);
        assert_eq!(serde_json::from_value::<WorkerEvent>(written).unwrap(), event);
    }

    #[test]
    fn the_largest_actions_fit_into_the_log() {
        let long = || "\"\n".repeat(1000);
        let after = vec![crate::plan::TaskId::new("9".repeat(20)).unwrap(); 20];
        let actions = [
            WorkerAction::ReportStep { state: crate::action::StepState::Working, note: long(), answer: None },
            WorkerAction::ProposeTask { description: long(), files: vec![long(); 20], after },
        ];

        for action in actions {
            let worker = WorkerId::from_bits(u64::MAX);
            let fact = WorkerFact::WorkerActed { worker, index: u32::MAX, action: action.fitted() };
            assert!(NewEvent::of(&fact, "worker/x", "a").unwrap().facts.as_str().len() <= MAX_FACTS_BYTES);
        }
    }
}
