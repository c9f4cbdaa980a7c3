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
