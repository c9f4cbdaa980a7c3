//! One short example of each kind of answer, for prompts. Each matches its schema but is refused as an answer, so that an agent that repeats its
//! prompt approves nothing.

use std::sync::OnceLock;

use serde_json::{Value, json};

use super::AnswerKind;

/// Returns the example of a kind.
#[must_use]
pub fn example(kind: AnswerKind) -> &'static Value {
    static EXAMPLES: [OnceLock<Value>; AnswerKind::ALL.len()] = [const { OnceLock::new() }; AnswerKind::ALL.len()];
    EXAMPLES[kind as usize].get_or_init(|| made(kind))
}

fn made(kind: AnswerKind) -> Value {
    match kind {
        AnswerKind::Review => json!({
            "verdict": "REJECTED", "risk": "medium",
            "issues": [{ "severity": "error", "message": "The last item is skipped.", "file": "src/list.rs", "line": 12 }],
            "checked": { "correctness": true, "edge_cases": true, "performance": true },
            "required_fix": "Include the last item and add a test of a list of one.",
        }),
        AnswerKind::SecurityReview => json!({
            "verdict": "REJECTED", "categories": ["injection"],
            "findings": [{ "category": "injection", "severity": "high", "message": "The name goes into the query as it is.",
                "file": "src/db.rs", "line": 3, "fix": "Bind it as a parameter." }],
        }),
        AnswerKind::Tests => json!({
            "verdict": "FAIL", "added": [{ "file": "tests/list.rs", "names": ["keeps_the_last_item"] }],
            "failures": [{ "name": "keeps_the_last_item", "message": "left: 1, right: 2" }],
            "bugs_found": ["The last item is skipped."],
        }),
        AnswerKind::Exploration => {
            json!({ "report": "STRUCTURE\n- src/main.rs calls list::load, which calls parse::line", "domains": ["rust"] })
        }
        AnswerKind::Reality => json!({
            "items": [{ "item": "a parser of dates", "status": "PARTIALLY_DONE", "evidence": "src/date.rs:10 reads years only" }],
        }),
        AnswerKind::Guidance => json!({ "domain": "security", "points": ["Compare tokens in constant time."] }),
        AnswerKind::Questions => {
            json!({ "questions": [{ "question": "Which format has the export?", "choices": ["CSV", "JSON"] }] })
        }
        AnswerKind::PlanDraft => json!({ "plan": plan() }),
        AnswerKind::PlanReview => json!({
            "verdict": "NEEDS_REVISION", "reasons": ["Task 1.2 changes three files."],
            "required_changes": ["Split task 1.2 by file."],
        }),
        AnswerKind::Drift => json!({
            "verdict": "NEEDS_REVISION", "findings": ["FR-002 asks for an export as CSV, and none is there."],
        }),
        AnswerKind::Hallucination => json!({
            "verdict": "NEEDS_REVISION", "findings": ["The report names `list::sort`, which does not exist."],
        }),
        AnswerKind::Design => {
            json!({ "scaffold": "Dialog: title, text, two buttons; focus begins on Cancel; below 400 px the buttons stand one above the other.",
                "tokens": [{ "name": "color.danger", "value": "#b00020" }] })
        }
        AnswerKind::Docs => json!({ "files": ["README.md"], "summary": "The new flag is described." }),
        AnswerKind::Retrospective => json!({
            "phase_number": 1, "total_tool_calls": 120, "coder_revisions": 2, "reviewer_rejections": 1, "test_failures": 1,
            "security_findings": 0, "integration_issues": 0, "task_count": 3, "task_complexity": "simple",
            "top_rejection_reasons": ["edge cases"], "lessons_learned": ["Dates are parsed in one place."],
        }),
        AnswerKind::Work => json!({ "summary": "The loop includes the last item.", "files": ["src/list.rs"] }),
        AnswerKind::Decision => json!({
            "decision": "retry_with", "reason": "The coder changed the caller, and the fault is in the parser.",
            "note": "Change src/parse.rs only.",
        }),
        AnswerKind::Spec => json!({
            "requirements": [{ "id": "FR-001", "text": "The list can be exported as CSV." }],
            "criteria": [{ "id": "SC-001", "text": "An export of 1,000 items opens in a spreadsheet." }],
        }),
        AnswerKind::Impact => json!({
            "report": "OBSERVED CHANGES\n- list::load(path, strict): BREAKING",
            "changes": [{ "change": "list::load(path) takes `strict`, too", "file": "src/list.rs", "class": "BREAKING",
                "consumers": ["src/main.rs:14"] }],
        }),
    }
}

fn plan() -> Value {
    json!({
        "schema_version": "1.0.0", "title": "Export", "swarm": "team",
        "phases": [{ "id": 1, "name": "Export", "tasks": [{
            "id": "1.1", "phase": 1, "size": "small", "description": "Write the list as CSV",
            "files_touched": ["src/export.rs"], "acceptance": "a test reads the file back",
        }]}],
    })
}
