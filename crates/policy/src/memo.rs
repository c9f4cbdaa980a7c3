//! Cache of decisions. Agents repeat the same calls: whether something new has come, the state of a run.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::bundle::File;
use crate::decision::Decision;
use crate::reads::Reads;

/// Maximum number of decisions remembered; beyond it, all are forgotten.
const MAX_DECISIONS: usize = 512;
/// Maximum length of a remembered call, in bytes; longer ones are seldom repeated.
const MAX_CALL_BYTES: usize = 1024;

/// Decisions by what the rules read of the call.
#[derive(Debug)]
pub(crate) struct Memo {
    pub(crate) reads: Reads,
    known: Mutex<HashMap<String, Decision>>,
}

// === impl Memo ===

impl Memo {
    /// Creates an empty memo for rules that don't depend on the time of day or on random numbers; `None` for others.
    pub(crate) fn for_rules<'a>(files: impl IntoIterator<Item = &'a File>) -> Option<Self> {
        Reads::of(files).map(|reads| Self { reads, known: Mutex::default() })
    }

    /// Returns the decision on a call, made by `decide` if it is new. Failures are not remembered.
    ///
    /// # Errors
    /// Those of `decide`.
    pub(crate) fn get(
        &self,
        call: String,
        decide: impl FnOnce() -> Result<Decision, String>,
    ) -> Result<Decision, String> {
        if let Some(known) = self.known().get(&call) {
            return Ok(known.clone());
        }
        let decision = decide()?;
        if call.len() <= MAX_CALL_BYTES {
            let mut known = self.known();
            if known.len() >= MAX_DECISIONS {
                known.clear();
            }
            known.insert(call, decision.clone());
        }
        Ok(decision)
    }

    /// Returns the number of decisions remembered.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.known().len()
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, Decision>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded_and_a_failure_is_not() {
        let memo = Memo::for_rules([]).unwrap();
        let made = |call: &str| {
            let mut is_made = false;
            let decision = memo.get(call.to_owned(), || {
                is_made = true;
                Ok(Decision::invalid(String::new()))
            });
            assert!(decision.is_ok());
            is_made
        };

        assert!(memo.get("a".to_owned(), || Err(String::new())).is_err());
        assert!(made("a") && !made("a"));
        assert!(made(&"x".repeat(MAX_CALL_BYTES + 1)) && made(&"x".repeat(MAX_CALL_BYTES + 1)));
        (0..3 * MAX_DECISIONS).for_each(|n| assert!(made(&n.to_string())));
        assert!(memo.known().len() <= MAX_DECISIONS);
    }
}
