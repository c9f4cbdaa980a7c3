//! Findings of a team's guardrails about a worker, as facts of the log.

use switchboard_protocol::id::WorkerId;
use switchboard_protocol::worker::WorkerFact;

use crate::event::cut;

/// Maximum length of a finding as JSON, in bytes: it is one of the facts of an event.
const WORDS: usize = 700;

/// Returns a finding about a worker as a fact.
pub(crate) fn flagged(worker: &WorkerId, rule: &str, stops: bool, words: &str) -> WorkerFact {
    let mut words = cut(words, WORDS);
    // Quotation marks and line ends take two bytes each as JSON.
    while serde_json::json!(words).to_string().len() > WORDS {
        words = cut(&words, words.len() * 3 / 4);
    }
    WorkerFact::WorkerFlagged { worker: worker.clone(), rule: rule.to_owned(), stops, words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_finding_fit_into_a_fact_and_are_cut_no_further_than_that_needs() {
        let words = |words: &str| {
            let fact = flagged(&WorkerId::from_bits(1), "scope", false, words);
            let WorkerFact::WorkerFlagged { words, .. } = fact else { panic!("{fact:?}") };
            (words.len(), serde_json::json!(words).to_string().len())
        };

        assert_eq!(words("short").0, 5);
        let (plain, _) = words(&"x".repeat(2 * WORDS));
        assert!((WORDS * 3 / 4 - 3..=WORDS).contains(&plain), "{plain}");
        // Each takes two bytes as JSON; three quarters of three quarters of three quarters fit.
        let (quoted, as_json) = words(&"\"".repeat(WORDS));
        assert!(as_json <= WORDS && quoted >= WORDS * 27 / 64 - 9, "{quoted} {as_json}");
    }
}
