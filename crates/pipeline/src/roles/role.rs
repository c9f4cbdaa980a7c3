//! A role, as its files have it.

use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::role::{Rights, RoleLimits};
use switchboard_protocol::run::way::RoleId;

/// Where a role, or a part of it, comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// It ships.
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
    /// Models that take over in turn when that one is not to be had, at most [`MAX_FALLBACK_MODELS`](switchboard_protocol::role::MAX_FALLBACK_MODELS).
    pub fallback_models: Vec<String>,
    /// The model's temperature, 0 to 2; the agent's where nothing is said.
    pub temperature: Option<f64>,
    /// Whether nobody takes it.
    pub is_disabled: bool,
    /// When a worker in it is stopped.
    pub limits: RoleLimits,
    /// What it may do.
    pub rights: Rights,
    /// Which answers it gives.
    pub answers: Vec<AnswerKind>,
    /// What a worker in it is told.
    pub prompt: String,
    /// The last file that had a say in it.
    pub origin: Origin,
}
