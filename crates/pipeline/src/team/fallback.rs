//! Chooses the model after a failure: a transient error switches to the next of at most three fallback models, a
//! success back to the first.

mod cause;

pub use cause::{Cause, cause};

/// Models of a worker: its own, then its fallbacks. An empty name stands for the agent's own model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Models(Vec<String>);

// === impl Models ===

impl Models {
    /// Creates the list from a worker's model and its fallbacks.
    #[must_use]
    pub fn new(own: Option<String>, fallbacks: &[String]) -> Self {
        Self(std::iter::once(own.unwrap_or_default()).chain(fallbacks.iter().cloned()).collect())
    }

    /// Returns the model after so many transient errors in a row: each switches to the next, and the last is used
    /// again. `None` is the agent's own.
    #[must_use]
    pub fn after(&self, transients: u32) -> Option<&str> {
        let at = usize::try_from(transients).unwrap_or(usize::MAX).min(self.0.len() - 1);
        self.0.get(at).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Returns true if there is another model after the one that was asked.
    #[must_use]
    pub fn has_next(&self, asked: Option<&str>) -> bool {
        let at = self.0.iter().position(|model| model == asked.unwrap_or_default());
        at.is_some_and(|at| at + 1 < self.0.len())
    }

    /// Returns true if a failure comes from the model and may pass, so that it is no attempt. A missing model counts as
    /// such while another is left.
    #[must_use]
    pub fn passes(&self, failure: &str, asked: Option<&str>) -> bool {
        match cause(failure) {
            Cause::Transient => true,
            Cause::ModelAbsent => self.has_next(asked),
            Cause::Permanent => false,
        }
    }

    /// Describes the choice for a person after so many transient errors; `None` if there was none.
    #[must_use]
    pub fn describe(&self, transients: u32) -> Option<String> {
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
