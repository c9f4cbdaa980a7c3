//! Needs: questions to a person, answered by `approve`, `deny` or `answer`.

use serde::{Deserialize, Serialize};

use crate::frame::PermissionOption;
use crate::id::{AgentName, Digest, MessageId, NeedId, RunId, WorkerId};
use crate::time::Millis;

/// A question that waits for a person, or one that was settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Need {
    /// Its id.
    pub id: NeedId,
    /// What it is about.
    #[serde(default)]
    pub kind: NeedKind,
    /// The run it belongs to; `None` for other questions than a worker's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The task it belongs to; empty for other questions than a worker's.
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
    /// What the agent wants to do, in its own words: untrusted.
    pub title: String,
    /// The command, the diff, the message or the arguments.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// What can be chosen.
    pub options: Vec<PermissionOption>,
    /// When it was asked.
    pub asked_at: Millis,
    /// When it is refused by itself.
    pub expires_at: Millis,
    /// The outcome: `approved`, `denied`, `answered`, `expired`, `granted`, `withdrawn` …; `None` while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
}

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// A worker asks for a permission.
    #[default]
    Permission,
    /// A worker ended without what it was denied: whether to allow it, try again, or give up.
    Denied,
    /// A change waits for a yes before it is merged.
    Change,
    /// A run's branch waits for a yes before it is merged into the user's.
    Merge,
    /// A team can't go on without a person: a question of its architect, a plan that was rejected, the next phase.
    Team,
    /// The policy holds a call until a person says yes.
    Call,
    /// A message came to nothing.
    DeadLetter,
    /// A message file asks for more than its sender may.
    HeldMessage,
}

/// A call that is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HeldCall {
    /// The verb.
    pub verb: String,
    /// Who calls.
    pub caller: AgentName,
}

/// Who asks, in the event that asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum NeedAbout {
    /// A worker, for a permission.
    Permission {
        /// The run.
        run: RunId,
        /// The task.
        task: String,
        /// The worker that waits.
        worker: WorkerId,
        /// The shim's id of the question.
        ask: String,
    },
    /// A task whose worker ended without what it was denied.
    Denied {
        /// The run.
        run: RunId,
        /// The task.
        task: String,
        /// The worker that has ended.
        worker: WorkerId,
        /// Its questions that were refused, at most ten.
        denied: Vec<NeedId>,
    },
    /// A task, for a yes to its change.
    Change {
        /// The run.
        run: RunId,
        /// The task.
        task: String,
        /// The change.
        commit: String,
    },
    /// A run, for a yes to the merge of its branch.
    Merge {
        /// The run.
        run: RunId,
        /// Tip of its branch.
        commit: String,
    },
    /// A run that a team carries out, at one of its steps.
    Team {
        /// The run.
        run: RunId,
        /// The number of the step that waits.
        mode_step: u32,
    },
    /// The policy, for a call that it holds.
    Call {
        /// The verb.
        verb: String,
        /// Who calls.
        caller: AgentName,
    },
}

/// What happens to questions. Dead letters and held message files are questions by events of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]
pub enum NeedEvent {
    /// A person was asked; the detail is the body.
    NeedAsked {
        /// The question's id.
        id: NeedId,
        /// Who asks.
        #[serde(flatten)]
        about: NeedAbout,
        /// What it wants to do.
        title: String,
        /// What can be chosen.
        options: Vec<PermissionOption>,
        /// When it is refused by itself.
        expires_at: Millis,
    },
    /// Somebody or the clock settled it; a note of who answered is the body.
    NeedSettled {
        /// Which.
        id: NeedId,
        /// `approved`, `denied`, `answered`, `expired`, `withdrawn`, or `granted`: allowed by what a person allowed its task before.
        outcome: String,
        /// The chosen option, to be sent to the worker.
        option: Option<String>,
    },
}

// === impl NeedKind ===

impl NeedKind {
    /// Every kind.
    const ALL: [Self; 8] = [
        Self::Permission,
        Self::Denied,
        Self::Change,
        Self::Merge,
        Self::Team,
        Self::Call,
        Self::DeadLetter,
        Self::HeldMessage,
    ];

    /// Its word.
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

    /// The kind of a word; `None` if no kind has it.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

// === impl NeedAbout ===

impl NeedAbout {
    /// What the question is about.
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
    /// The run that it belongs to; `None` for a call.
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
    /// The question that belongs to a dead letter: the same one each time that the message dies.
    #[must_use]
    pub fn of_dead_letter(message: &MessageId) -> Self {
        Self::derived(&[b"dead letter", message.as_str().as_bytes()])
    }

    /// The question that belongs to a held message file.
    #[must_use]
    pub fn of_held_message(message: &MessageId) -> Self {
        Self::derived(&[b"held message", message.as_str().as_bytes()])
    }

    /// An id that follows from what it is about.
    #[must_use]
    pub fn derived(parts: &[&[u8]]) -> Self {
        let digest = Digest::of_parts(parts);
        Self::from_bits(digest.0[..8].iter().fold(0, |bits, byte| (bits << 8) | u64::from(*byte)))
    }
}
