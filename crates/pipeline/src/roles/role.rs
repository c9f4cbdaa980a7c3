//! A role, as its files have it.

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::role::{Rights, RoleLimits};
use switchboard_protocol::run::way::RoleId;

/// Where a role file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// It ships with the binary.
    Shipped,
    /// A file in the user's settings folder.
    User,
    /// A file of a trusted repository.
    Project,
}

/// What a worker is in a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Role {
    /// Its name.
    pub id: RoleId,
    /// What it is for, in a sentence.
    pub description: String,
    /// The model, by its agent's own name for it; the agent's where nothing is said.
    pub model: Option<String>,
    /// Models that take over one after the other when that one is not available, at most [`MAX_FALLBACK_MODELS`](switchboard_protocol::role::MAX_FALLBACK_MODELS).
    pub fallback_models: Vec<String>,
    /// The model's temperature, 0 to 2; the agent's where nothing is said.
    pub temperature: Option<f64>,
    /// Whether no worker may be started in it.
    pub is_disabled: bool,
    /// What a worker in it may use up before it is stopped.
    pub limits: RoleLimits,
    /// What it may do.
    pub rights: Rights,
    /// The kinds of answers that it may give.
    pub answers: Vec<AnswerKind>,
    /// Its part of the prompt.
    pub prompt: String,
    /// The kind of file that changed it last.
    pub origin: Origin,
}
