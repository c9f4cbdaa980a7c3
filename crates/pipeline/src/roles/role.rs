//! A role, as merged from its files.

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::role::{Rights, RoleLimits};
use switchboard_protocol::run::way::RoleId;

/// Origin of a role file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The role is shipped with the binary.
    Shipped,
    /// A file in the user's settings folder.
    User,
    /// A file of a trusted repository.
    Project,
}

/// What a worker is in a step: its rights, prompt and answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Role {
    /// Name of the role.
    pub id: RoleId,
    /// Purpose of the role in one sentence.
    pub description: String,
    /// Model, by its agent's own name for it; `None` uses the agent's model.
    pub model: Option<String>,
    /// Models to use in this order if that one is not available, at most
    /// [`MAX_FALLBACK_MODELS`](switchboard_protocol::role::MAX_FALLBACK_MODELS).
    pub fallback_models: Vec<String>,
    /// Temperature of the model, 0 to 2; `None` uses the agent's.
    pub temperature: Option<f64>,
    /// True if no worker may be started in the role.
    pub is_disabled: bool,
    /// Limits at which a worker in the role is stopped.
    pub limits: RoleLimits,
    /// Rights of the role.
    pub rights: Rights,
    /// Kinds of answers that the role may give.
    pub answers: Vec<AnswerKind>,
    /// The role's part of the prompt.
    pub prompt: String,
    /// Origin of the last file that changed the role.
    pub origin: Origin,
}
