//! Chooses the model after a failure: transient errors go to the next of at most three fallback models, a success goes back to the first.

mod cause;

pub use cause::{Cause, cause};

/// The models of a worker: its own, then those that take over. An empty name stands for the agent's own model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Models(Vec<String>);

// === impl Models ===

impl Models {
    /// A worker's model and its fallbacks.
    #[must_use]
    pub fn new(own: Option<String>, fallbacks: &[String]) -> Self {
        Self(std::iter::once(own.unwrap_or_default()).chain(fallbacks.iter().cloned()).collect())
    }

    /// The model after so many transient errors in a row: each goes to the next one, and the last is asked again and again. `None` is the agent's own.
    #[must_use]
    pub fn after(&self, transients: u32) -> Option<&str> {
        let at = usize::try_from(transients).unwrap_or(usize::MAX).min(self.0.len() - 1);
        self.0.get(at).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Whether a model comes after the one that was asked.
    #[must_use]
    pub fn has_next(&self, asked: Option<&str>) -> bool {
        let at = self.0.iter().position(|model| model == asked.unwrap_or_default());
        at.is_some_and(|at| at + 1 < self.0.len())
    }

    /// Whether a failure is the model's and passes, so that it is no attempt of the task. A model that is not there is one as long as another is left.
    #[must_use]
    pub fn passes(&self, failure: &str, asked: Option<&str>) -> bool {
        match cause(failure) {
            Cause::Transient => true,
            Cause::ModelAbsent => self.has_next(asked),
            Cause::Permanent => false,
        }
    }

    /// What a person reads about the choice after so many transient errors; `None` where there was none.
    #[must_use]
    pub fn told(&self, transients: u32) -> Option<String> {
        let before = transients.checked_sub(1)?;
        let name = |after| self.after(after).unwrap_or("the agent's own model").to_owned();
        let has_next = usize::try_from(before).is_ok_and(|before| before + 1 < self.0.len());
        Some(match (has_next, self.0.len()) {
            (true, _) => format!("{} failed for now, {} is asked", name(before), name(transients)),
            (false, 1) => format!("{} failed for now and is asked again: there is no fallback model", name(before)),
            (false, _) => format!("{} failed for now and is asked again: it is the last fallback model", name(before)),
        })
    }
}

#[cfg(test)]
mod tests;
