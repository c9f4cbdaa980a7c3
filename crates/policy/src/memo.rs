//! Cache of decisions. Agents repeat the same calls: whether something new has come, the state of a run.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::bundle::File;
use crate::decision::Decision;

/// Maximum number of decisions remembered; beyond it, all are forgotten.
const MAX_DECISIONS: usize = 512;
/// Maximum length of a remembered call, in bytes; longer ones are seldom repeated.
const MAX_CALL_BYTES: usize = 1024;

/// Decisions by their call.
#[derive(Debug, Default)]
pub(crate) struct Memo(Mutex<HashMap<String, Decision>>);

// === impl Memo ===

impl Memo {
    /// Creates an empty memo for rules that don't depend on the time of day; `None` for others. Such rules name each
    /// field of the input that they read, so none of them can be the time: a rule that reads `input` as a whole may
    /// read that too. Rego's own clock is not built in. Rules that use random numbers (`rand`) are evaluated each time.
    pub(crate) fn for_rules<'a>(files: impl IntoIterator<Item = &'a File>) -> Option<Self> {
        files.into_iter().all(|file| names_its_fields(&file.text) && !uses_random(&file.text)).then(Self::default)
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

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, Decision>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the text after each use of a word, without comment lines.
fn text_after<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let uses = lines.flat_map(move |line| line.match_indices(word).map(move |(at, _)| line.split_at(at)));
    uses.filter_map(move |(before, rest)| {
        let after = &rest[word.len()..];
        (!before.ends_with(is_word) && !after.starts_with(is_word)).then_some(after)
    })
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns true if rules use Rego's random numbers.
fn uses_random(text: &str) -> bool {
    text_after(text, "rand").next().is_some()
}

/// Returns true if `input` only occurs before a dot and the name of a field other than the time.
fn names_its_fields(text: &str) -> bool {
    text_after(text, "input").all(|after| {
        let field = after.strip_prefix('.').map(|field| field.split(|c| !is_word(c)).next().unwrap_or_default());
        field.is_some_and(|field| !field.is_empty() && field != "now")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_can_read_the_time_are_asked_each_time() {
        for timeless in
            ["allow if input.class == \"send\"", "# input\n\tinput.args[x] == 1", "my_input := 1; inputs := 2", ""]
        {
            assert!(names_its_fields(timeless), "{timeless}");
        }
        for timed in [
            "allow if input.now > 3",
            "some k; input[k] > 3",
            "f(input)",
            "import input as call",
            "import input\n",
            "x := input",
            "walk(input, [p, v])",
            "input . now > 3",
            "y if input.class; z if input.now",
        ] {
            assert!(!names_its_fields(timed), "{timed}");
        }
    }

    #[test]
    fn rules_that_draw_lots_are_asked_each_time() {
        assert!(uses_random("allow if rand.intn(\"x\", 9) == 1") && uses_random("x := rand . intn(\"x\", 9)"));
        assert!(!uses_random("brand.intn := 1; rands := 2") && !uses_random("# rand.intn"));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_a_failure_is_not() {
        let memo = Memo::default();
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
