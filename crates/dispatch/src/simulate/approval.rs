//! What an agent says that approves of a change.

use serde_json::{Value, json};
use switchboard_protocol::answer::{Answer, AnswerKind};

/// All of the OWASP Top 10.
const CATEGORIES: [&str; 10] = [
    "broken_access_control",
    "cryptographic_failures",
    "injection",
    "insecure_design",
    "security_misconfiguration",
    "vulnerable_components",
    "authentication_failures",
    "integrity_failures",
    "logging_failures",
    "server_side_request_forgery",
];

/// An answer that approves.
pub(crate) fn approval(kind: AnswerKind) -> Option<Answer> {
    Answer::read(kind, &yes(kind)).ok()
}

#[expect(clippy::wildcard_enum_match_arm, reason = "no step of the histories wants another answer")]
/// The same as a value.
pub(super) fn yes(kind: AnswerKind) -> Value {
    match kind {
        AnswerKind::Review => json!({
            "verdict": "APPROVED", "risk": "low", "issues": [],
            "checked": { "correctness": true, "edge_cases": true, "performance": true },
        }),
        AnswerKind::SecurityReview => json!({ "verdict": "APPROVED", "categories": CATEGORIES, "findings": [] }),
        _ => json!({ "verdict": "PASS", "added": [{ "file": "tests/a", "names": ["does_it"] }] }),
    }
}
