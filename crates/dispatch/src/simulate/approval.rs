//! Answers of a simulated agent that approves a change.

use serde_json::{Value, json};
use switchboard_protocol::answer::{Answer, AnswerKind};

use super::repo::removed_by;

/// Categories of the OWASP Top 10.
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

/// Returns an answer that approves.
pub(crate) fn approval(kind: AnswerKind) -> Option<Answer> {
    Answer::read(kind, &yes(kind)).ok()
}

/// Same as a JSON value; for a role that is asked, an answer with which the run continues.
pub(super) fn yes(kind: AnswerKind) -> Value {
    match kind {
        AnswerKind::Review => json!({
            "verdict": "APPROVED", "risk": "low", "issues": [],
            "checked": { "correctness": true, "edge_cases": true, "performance": true },
        }),
        AnswerKind::SecurityReview => json!({ "verdict": "APPROVED", "categories": CATEGORIES, "findings": [] }),
        AnswerKind::Tests => json!({ "verdict": "PASS", "added": [{ "file": "tests/a", "names": ["does_it"] }] }),
        AnswerKind::Questions => json!({ "questions": [] }),
        AnswerKind::Exploration => json!({ "report": REPORT, "domains": ["rust"] }),
        AnswerKind::Reality => {
            json!({ "items": [{ "item": "the sum", "status": "NOT_STARTED", "evidence": "nothing in src" }] })
        }
        AnswerKind::Guidance => json!({ "domain": "rust", "points": ["Look for overflow."] }),
        AnswerKind::Spec => json!({ "requirements": [{ "id": "FR-001", "text": "It adds." }],
            "criteria": [{ "id": "SC-001", "text": "1 and 1 is 2." }] }),
        AnswerKind::PlanDraft => json!({ "plan": plan() }),
        AnswerKind::PlanReview => json!({ "verdict": "APPROVED", "reasons": ["It can begin."] }),
        AnswerKind::Drift | AnswerKind::Hallucination => json!({ "verdict": "APPROVED", "findings": [] }),
        AnswerKind::Retrospective => json!({ "phase_number": 1, "total_tool_calls": 1, "coder_revisions": 0,
            "reviewer_rejections": 0, "test_failures": 0, "security_findings": 0, "integration_issues": 0, "task_count": 1,
            "task_complexity": "simple" }),
        AnswerKind::Impact => json!({ "report": REPORT,
            "changes": [{ "change": "one()", "file": "src/a", "class": "COMPATIBLE", "consumers": [] }] }),
        AnswerKind::Design | AnswerKind::Docs | AnswerKind::Work | AnswerKind::Decision => json!({}),
    }
}

/// Returns the plan of an architect: two phases of one task each.
fn plan() -> Value {
    let task = |id: &str, phase: u64| {
        json!({ "id": id, "phase": phase, "description": format!("do {id}"), "acceptance": "it is done",
            "files_touched": [format!("t/{id}"), removed_by(id)] })
    };
    json!({ "schema_version": "1.0.0", "title": "a plan", "swarm": "team", "phases": [
        { "id": 1, "name": "one", "tasks": [task("1.1", 1)] }, { "id": 2, "name": "two", "tasks": [task("2.1", 2)] }] })
}

/// Report that meets the explorer's contract for any question.
const REPORT: &str = "STRUCTURE: one file\nOBSERVED CHANGES: none\nCONSUMERS_AFFECTED: none\nPATTERNS: none\nCOMPLEXITY INDICATORS: none\nRUNTIME/BEHAVIORAL CONCERNS: none\n\
    RELEVANT CONSTRAINTS: none\nFOLLOW-UP CANDIDATE AREAS: none\nDOMAINS: rust\nOBSERVATIONS: one file";
