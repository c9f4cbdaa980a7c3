//! Chooses the model after a failure: transient errors go to the next of at most three fallback models, a success goes back to the first.

mod cause;

pub use cause::{Cause, cause};

use switchboard_protocol::role::MAX_FALLBACK_MODELS;

use super::repeat::Reaction;

/// What became of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model answered.
    Answered,
    /// It failed.
    Failed(Cause),
}

/// What follows from the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The model to ask next: 0 is the role's own, 1 the first fallback.
    pub model: usize,
    /// Whether the error counts against the limit of errors in a row.
    pub counts: bool,
    /// What a person sees, where the model changes or no fallback is left.
    pub shown: Option<(Reaction, String)>,
}

/// The models of a worker, and which one is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    models: Vec<String>,
    index: usize,
    is_exhausted: bool,
}

// === impl Fallback ===

impl Fallback {
    /// A worker with a model and its fallbacks, of which [`MAX_FALLBACK_MODELS`] count. An empty name stands for the agent's own model.
    #[must_use]
    pub fn new(model: &str, fallbacks: &[String]) -> Self {
        let fallbacks = fallbacks.iter().take(MAX_FALLBACK_MODELS).cloned();
        Self { models: [model.to_owned()].into_iter().chain(fallbacks).collect(), index: 0, is_exhausted: false }
    }

    /// The model that is asked.
    #[must_use]
    pub fn model(&self) -> &str {
        self.models.get(self.index).map_or("", String::as_str)
    }

    /// Whether a transient error has come after the last fallback; a success resets it.
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// Takes the end of a turn. A transient error, or a model that is not there, goes to the next model and doesn't count while one is left.
    pub fn step(&mut self, end: TurnEnd) -> Next {
        match end {
            TurnEnd::Answered => {
                (self.index, self.is_exhausted) = (0, false);
                self.stay(false)
            }
            TurnEnd::Failed(Cause::Permanent) => self.stay(true),
            TurnEnd::Failed(Cause::Transient | Cause::ModelAbsent) if self.index + 1 < self.models.len() => {
                let words = format!("{} failed for now, {} is asked", self.name(self.index), self.name(self.index + 1));
                self.index += 1;
                Next { shown: Some((Reaction::Warn, words)), ..self.stay(false) }
            }
            TurnEnd::Failed(Cause::Transient | Cause::ModelAbsent) => {
                let is_new = !std::mem::replace(&mut self.is_exhausted, true);
                let words = match self.models.len() - 1 {
                    0 => format!("{} failed for now, and there is no fallback model", self.name(0)),
                    count => format!("{} failed for now, the last of {count} fallback models", self.name(self.index)),
                };
                Next { shown: is_new.then_some((Reaction::Warn, words)), ..self.stay(true) }
            }
        }
    }

    fn stay(&self, counts: bool) -> Next {
        Next { model: self.index, counts, shown: None }
    }

    fn name(&self, index: usize) -> &str {
        self.models.get(index).map(String::as_str).filter(|name| !name.is_empty()).unwrap_or("the agent's own model")
    }
}

#[cfg(test)]
mod tests;
