//! Needs: questions to a person, answered by `approve`, `deny` or `answer`.

use serde::{Deserialize, Serialize};

use crate::frame::PermissionOption;
use crate::id::{AgentName, Digest, MessageId, NeedId, RunId, WorkerId};
use crate::time::Millis;

/// A question to a person, open or closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
pub struct Need {
    /// Id of the question.
    pub id: NeedId,
    /// Kind of the question.
    #[serde(default)]
    pub kind: NeedKind,
    /// Run of the asking worker; `None` for questions that no worker asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Task of the asking worker; empty for questions that no worker asked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    /// The worker that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// The message that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The call that is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<HeldCall>,
    /// What the agent wants to do, in its own words; untrusted.
    pub title: String,
    /// Details: the command, the diff, the message or the arguments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Options to choose from.
    pub options: Vec<PermissionOption>,
    /// Time at which it was asked.
    pub asked_at: Millis,
    /// Time at which it counts as denied without an answer.
    pub expires_at: Millis,
    /// Outcome: `approved`, `denied`, `answered`, `expired`, `granted`, `withdrawn` …; `None` while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// Kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// A worker asks for permission.
    #[default]
    Permission,
    /// A worker ended without a permission that was denied: whether to allow it, try again, or give up.
    Denied,
    /// A change needs approval before it is merged.
    Change,
    /// A run's branch needs approval before it is merged into the user's.
    Merge,
    /// A team needs a person to continue: a question of its architect, a rejected plan, the next phase.
    Team,
    /// The policy holds a call until a person approves it.
    Call,
    /// A message could not be delivered.
    DeadLetter,
    /// A message file needs a permission that its sender lacks.
    HeldMessage,
}

/// A call that is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
pub struct HeldCall {
    /// Name of the verb.
    pub verb: String,
    /// Name of the caller.
    pub caller: AgentName,
}

/// What a question is about, as recorded in its event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(untagged)]
pub enum NeedAbout {
    /// A worker asks for permission.
    Permission {
        /// Id of the run.
        run: RunId,
        /// Id of the task.
        task: String,
        /// The worker that waits.
        worker: WorkerId,
        /// The shim's id of the question.
        ask: String,
    },
    /// A worker of a task ended without a permission that was denied.
    Denied {
        /// Id of the run.
        run: RunId,
        /// Id of the task.
        task: String,
        /// Id of the worker that ended.
        worker: WorkerId,
        /// Ids of its denied questions, at most ten.
        denied: Vec<NeedId>,
    },
    /// A task's change needs approval.
    Change {
        /// Id of the run.
        run: RunId,
        /// Id of the task.
        task: String,
        /// Commit of the change.
        commit: String,
    },
    /// The merge of a run's branch needs approval.
    Merge {
        /// Id of the run.
        run: RunId,
        /// Tip of its branch.
        commit: String,
    },
    /// A run led by a team waits at a step.
    Team {
        /// Id of the run.
        run: RunId,
        /// Number of the step.
        mode_step: u32,
    },
    /// The policy holds a call.
    Call {
        /// Name of the verb.
        verb: String,
        /// Name of the caller.
        caller: AgentName,
    },
}

/// Events about questions. Dead letters and held message files have their own events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::schema::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(tag = "kind", content = "facts")]
pub enum NeedEvent {
    /// A person was asked; the body is the detail.
    NeedAsked {
        /// Id of the question.
        id: NeedId,
        /// What the question is about.
        #[serde(flatten)]
        about: NeedAbout,
        /// What the agent wants to do.
        title: String,
        /// Options to choose from.
        options: Vec<PermissionOption>,
        /// Time at which the question counts as denied without an answer.
        expires_at: Millis,
    },
    /// The question was answered or expired; the body notes who answered.
    NeedSettled {
        /// Id of the question.
        id: NeedId,
        /// Outcome: `approved`, `denied`, `answered`, `expired`, `withdrawn`, or `granted` (allowed by an earlier permission for its task).
        outcome: String,
        /// Id of the chosen option, to be sent to the worker.
        option: Option<String>,
    },
}

// === impl NeedKind ===

impl NeedKind {
    /// All values.
    pub const ALL: [Self; 8] = [
        Self::Permission,
        Self::Denied,
        Self::Change,
        Self::Merge,
        Self::Team,
        Self::Call,
        Self::DeadLetter,
        Self::HeldMessage,
    ];

    /// Returns the value as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Denied => "denied",
            Self::Change => "change",
            Self::Merge => "merge",
            Self::Team => "team",
            Self::Call => "call",
            Self::DeadLetter => "dead_letter",
            Self::HeldMessage => "held_message",
        }
    }

    /// Returns the kind with this word; `None` if there is none.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

// === impl NeedAbout ===

impl NeedAbout {
    /// Returns the kind of the question.
    #[must_use]
    pub const fn kind(&self) -> NeedKind {
        match self {
            Self::Permission { .. } => NeedKind::Permission,
            Self::Denied { .. } => NeedKind::Denied,
            Self::Change { .. } => NeedKind::Change,
            Self::Merge { .. } => NeedKind::Merge,
            Self::Team { .. } => NeedKind::Team,
            Self::Call { .. } => NeedKind::Call,
        }
    }
}

impl NeedAbout {
    /// Returns the id of the question's run; `None` for a call.
    #[must_use]
    pub const fn run(&self) -> Option<&RunId> {
        match self {
            Self::Permission { run, .. }
            | Self::Denied { run, .. }
            | Self::Change { run, .. }
            | Self::Merge { run, .. }
            | Self::Team { run, .. } => Some(run),
            Self::Call { .. } => None,
        }
    }
}

// === impl NeedId ===

impl NeedId {
    /// Returns the id of the question about a dead letter, which is the same each time that the message dies.
    #[must_use]
    pub fn of_dead_letter(message: &MessageId) -> Self {
        Self::derived(&[b"dead letter", message.as_str().as_bytes()])
    }

    /// Returns the id of the question about a held message file.
    #[must_use]
    pub fn of_held_message(message: &MessageId) -> Self {
        Self::derived(&[b"held message", message.as_str().as_bytes()])
    }

    /// Derives an id from what the question is about.
    #[must_use]
    pub fn derived(parts: &[&[u8]]) -> Self {
        let digest = Digest::of_parts(parts);
        Self::from_bits(digest.0[..8].iter().fold(0, |bits, byte| (bits << 8) | u64::from(*byte)))
    }
}
