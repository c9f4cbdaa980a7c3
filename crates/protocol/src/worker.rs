//! What happens in a worker, in one vocabulary for the drivers of agents, the frames of shims and the log.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::WorkerAction;
use crate::answer::AnswerKind;
use crate::frame::PermissionOption;
use crate::id::{AgentName, Digest, MessageId, RunId, WorkerId};
use crate::isolation::Isolation;
use crate::plan::TaskId;
use crate::run::way::{RoleId, StepId};
use crate::text::cut;

/// How a turn ended that was cancelled so that the next one tells the agent to finish: its soft limit has passed.
pub const WRAP_UP: &str = "wrap_up";

/// How a turn ends that was cancelled between two tools, because the worker is paused; another one goes on with it.
pub const PAUSED: &str = "paused";

/// Codes of faults after which no further attempt can succeed before a person has done something.
pub const HOPELESS: [&str; 4] = ["agent.missing", "agent.login", "agent.no-model", "agent.quota"];

/// The step whose verdict a worker's answer is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgingStep {
    /// Id of the step in the task's way.
    pub step: StepId,
    /// What the worker is in it.
    pub role: RoleId,
    /// What it has to answer with.
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
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum WorkerFact {
    /// A worker was given what it needs. In the same commit as `worker_intended`.
    WorkerEquipped {
        /// Id of the worker.
        worker: WorkerId,
        /// For which run.
        run: RunId,
        /// Id of the task.
        task: String,
        /// Attempt number, from 1.
        attempt: u32,
        /// Which agent it is.
        agent: AgentName,
        /// `acp`, `exec` …
        driver: String,
        /// Whether the agent is a script.
        scripted: bool,
        /// What it is where its answer is the verdict of a step; `None` for who makes the change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        judges: Option<JudgingStep>,
        /// The commit that its change will stand on.
        base: String,
        /// The commit that its tree began as; leaving just that is no change.
        start: String,
        /// Its work tree.
        worktree: String,
        /// SHA-256 of its token.
        token: Digest,
        /// The TCP ports that its tree has to itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ports: Option<PortRange>,
        /// How it is held.
        #[serde(default, skip_serializing_if = "Isolation::is_full")]
        isolation: Isolation,
        /// The model that its agent is told to use; its own choice where nothing is said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// Something was found about a worker of a team: that it makes no progress, reaches a limit of its role, begins with a fallback model, or mends a
    /// refused change.
    WorkerFlagged {
        /// Id of the worker.
        worker: WorkerId,
        /// The rule: `repetition`, `calls`, `minutes`, `errors`, `idle`, `no-change`, `runaway-output`, `model-fallback`
        /// or `retry`.
        rule: String,
        /// Whether the worker is stopped because of it.
        stops: bool,
        /// What was found.
        words: String,
    },
    /// A constrained worker is started on a machine that can't enforce all of it, as its run allows. In the same commit as `worker_equipped`.
    WorkerUnenforced {
        /// Id of the worker.
        worker: WorkerId,
        /// What is not enforced, a sentence each.
        gaps: Vec<String>,
    },
    /// Something that a worker's shim reported; the numbers make it count once.
    WorkerReported {
        /// Id of the worker.
        worker: WorkerId,
        /// The shim's incarnation.
        epoch: u32,
        /// The frame's number.
        seq: u64,
        /// What it was, fitted; its text is the event's body.
        what: WorkerEvent,
    },
    /// The worker has said how its task stands, or proposed another one. Its body is the whole action as JSON.
    WorkerActed {
        /// Id of the worker.
        worker: WorkerId,
        /// Its number in the worker's structured output, from 1; 0 for a call. The output's are in the commit of the turn's end.
        index: u32,
        /// What it was, fitted.
        action: WorkerAction,
    },
    /// A person has told the worker of a standalone run something, which is the event's body. It is shown with the next turn of the task's worker.
    WorkerTold {
        /// Who was at work then.
        worker: WorkerId,
        /// Its id, by which the turn names it that shows it.
        id: MessageId,
        /// Of which run.
        run: RunId,
        /// Id of the task.
        task: TaskId,
        /// Who told it.
        by: AgentName,
    },
    /// The policy has denied a call of the worker. The first ones of a kind are recorded one by one, further ones as a count, after a pause that grows
    /// while more come.
    CallDenied {
        /// Id of the worker.
        worker: WorkerId,
        /// Which verb, or which tool.
        verb: String,
        /// The rule that decided, cut where it is long.
        rule: String,
        /// The code that the caller was answered with.
        code: String,
        /// How many calls of this kind were denied since the daemon began, with this one.
        count: u64,
    },
    /// The worker's agent asked our MCP server which tools there are, so that its model can be offered them.
    WorkerToolsListed {
        /// Id of the worker.
        worker: WorkerId,
    },
    /// The worker's agent went through its first turn without asking our MCP server for its tools: it can neither read nor send mail.
    WorkerToolsMissed {
        /// Id of the worker.
        worker: WorkerId,
    },
}

/// TCP ports next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortRange {
    /// The first.
    pub first: u16,
    /// How many there are.
    pub count: u16,
}

impl PortRange {
    /// The variables by which a command finds the ports of its tree.
    #[must_use]
    pub fn env(self) -> Vec<(String, String)> {
        vec![
            ("SWITCHBOARD_PORT".to_owned(), self.first.to_string()),
            ("SWITCHBOARD_PORT_COUNT".to_owned(), self.count.to_string()),
        ]
    }
}

/// Version of the facts of `worker_reported`: in version 1, events had shapes of their own.
pub const REPORTED_VERSION: u16 = 2;

/// What happens in a worker: the driver of its agent says it, the shim numbers it and sends it in a frame, the log keeps it [`fitted`](WorkerEvent::fitted).
/// Text volume stays in the spool: these are turns, tools, permissions, costs and states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkerEvent {
    /// The agent's process runs.
    AgentStarted {
        /// Its process id, which is also its process group.
        pid: u32,
        /// What was started, without the environment.
        argv: Vec<String>,
    },
    /// The driver has a session in which it can prompt.
    SessionOpened {
        /// The agent's own id of the session, for a later resume; empty where it has none.
        session: String,
    },
    /// A prompt was handed to the agent: whatever it carried is now before the agent's eyes.
    TurnStarted {
        /// Number of the turn, from 1; a driver leaves it 0.
        turn: u32,
        /// Messages that the prompt showed, which is the evidence that they were injected.
        mail: Vec<MessageId>,
    },
    /// The agent began or finished using a tool.
    ToolCalled {
        /// The agent's id of the call.
        call: String,
        /// What the agent calls it, at most 200 characters.
        title: String,
        /// `read`, `edit`, `execute`, … in ACP's words.
        tool_kind: String,
        /// `pending`, `in_progress`, `completed` or `failed`.
        status: String,
        /// Files it touches, as far as the agent says, at most 20.
        paths: Vec<String>,
        /// What a call that failed has told, as far as the agent passes it on; the log keeps it beside the facts.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// The agent asks before it does something; it waits.
    PermissionAsked {
        /// The shim's id of the question, to be named in the answer.
        ask: String,
        /// What it wants to do, at most 200 characters.
        title: String,
        /// What can be chosen.
        options: Vec<PermissionOption>,
        /// The command or the diff, cut at 4 KiB.
        detail: String,
        /// `edit`, `execute`, … in ACP's words; empty where the agent doesn't say.
        #[serde(default)]
        tool_kind: String,
        /// Files that it would touch, as the agent names them, at most 20.
        #[serde(default)]
        paths: Vec<String>,
    },
    /// The question was answered (by a person, a rule or a time-out).
    PermissionSettled {
        /// Which question.
        ask: String,
        /// The chosen option; `None` if it was cancelled.
        option: Option<String>,
        /// The rule that allowed it without asking a person, and what for: `edits: src/a.rs`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
    },
    /// The worker was told to wait, waits, or goes on.
    PauseChanged {
        /// How it stands.
        state: PauseState,
    },
    /// What the agent has used since the last report of this kind.
    CostReported {
        /// Millionths of a US dollar; `None` if the agent names no price.
        micro_usd: Option<u64>,
        /// Tokens read, cached ones included.
        input_tokens: u64,
        /// Tokens written.
        output_tokens: u64,
    },
    /// The turn is over. It says what the agent claims, never that the work is done.
    TurnEnded {
        /// Number of the turn; a driver leaves it 0.
        turn: u32,
        /// `end_turn`, `cancelled`, `refusal`, `max_tokens`, `error`, the exec driver's `exit`, [`WRAP_UP`] or [`PAUSED`].
        stop: String,
        /// End of what the agent said, at most 2 KiB.
        text: String,
    },
    /// The agent's process is gone and its group is reaped.
    AgentExited {
        /// Exit code, if it ended by itself.
        code: Option<i32>,
        /// Signal number, if one ended it.
        signal: Option<i32>,
        /// End of its standard error, at most 2 KiB.
        stderr: String,
        /// Whether the shim ended it, so that code and signal say nothing about the agent.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_us: bool,
    },
    /// The shim could not do its part: the program is missing, the handshake failed, a limit was passed.
    Faulted {
        /// Code of the error table.
        code: String,
        /// What happened, for a person.
        what: String,
        /// How long its service wants it to wait, in milliseconds; only with `agent.rate-limited`, and only where it says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// The last frame: the spool is sealed and the shim ends.
    Sealed {
        /// Bytes of raw output kept.
        bytes: u64,
        /// Bytes dropped by the cap.
        dropped: u64,
        /// SHA-256 of the sealed spool, in hex.
        digest: String,
    },
}

/// How a worker stands to a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PauseState {
    /// It was told to wait, and has not come to a boundary yet.
    Pausing,
    /// It waits: its process is alive, and its agent does nothing.
    Paused,
    /// It waits between two tools, or between two turns, and its tree is rebased meanwhile.
    Held,
    /// It goes on.
    Resumed,
}

// === impl PauseState ===

impl PauseState {
    /// What a word means; `None` if it means nothing.
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
    /// The text that the log keeps beside the facts, if there is any: what an agent said, asked, or last wrote.
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

    /// The event as the facts of the log hold it: its [`text`](Self::text) is left to the body, everything else is cut to a size.
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
            // The question is a fact of its own.
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

            let bytes = event.facts.to_string().len();
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
            assert!(NewEvent::of(&fact, "worker/x", "a").unwrap().facts.to_string().len() <= MAX_FACTS_BYTES);
        }
    }
}
