//! Derives the verdict of a step from its worker's answer, with the reasons for people and for the next attempt.

use switchboard_protocol::answer::{
    Answer, ContractChange, Impact, Issue, PlanVerdict, Review, ReviewVerdict, SecurityReview, TestVerdict, Tests,
    Verification, VerifierVerdict,
};
use switchboard_protocol::run::Verdict;

/// Returns the verdict of an answer and its reasons, the most important first. An answer that judges nothing passes.
#[must_use]
pub fn of(answer: &Answer) -> (Verdict, Vec<String>) {
    match answer {
        Answer::Review(review) => of_review(review),
        Answer::SecurityReview(review) => of_security(review),
        Answer::Tests(tests) => of_tests(tests),
        Answer::PlanReview(review) => {
            let reasons = review.required_changes.iter().chain(&review.reasons).cloned().collect();
            (passes(review.verdict == PlanVerdict::Approved), reasons)
        }
        Answer::Drift(Verification { verdict, findings })
        | Answer::Hallucination(Verification { verdict, findings }) => {
            (passes(*verdict == VerifierVerdict::Approved), findings.clone())
        }
        Answer::Impact(impact) => (Verdict::Pass, of_impact(impact)),
        Answer::Exploration(_)
        | Answer::Reality(_)
        | Answer::Guidance(_)
        | Answer::Questions(_)
        | Answer::PlanDraft(_)
        | Answer::Design(_)
        | Answer::Docs(_)
        | Answer::Retrospective(_)
        | Answer::Work(_)
        | Answer::Decision(_)
        | Answer::Spec(_) => (Verdict::Pass, Vec::new()),
    }
}

const fn passes(does: bool) -> Verdict {
    if does { Verdict::Pass } else { Verdict::Fail }
}

fn of_review(review: &Review) -> (Verdict, Vec<String>) {
    let issue = |issue: &Issue| {
        let severity = word(issue.severity);
        format!("{severity}: {}{}", at(issue.file.as_deref(), issue.line), issue.message)
    };
    let fix = review.required_fix.iter().map(|fix| format!("required fix: {fix}"));
    let reasons: Vec<_> = fix.chain(review.issues.iter().map(issue)).collect();
    let verdict = match (review.verdict, reasons.is_empty()) {
        (ReviewVerdict::Rejected, _) => Verdict::Fail,
        (ReviewVerdict::Approved, true) => Verdict::Pass,
        (ReviewVerdict::Approved, false) => Verdict::Warn,
    };
    (verdict, reasons)
}

fn of_security(review: &SecurityReview) -> (Verdict, Vec<String>) {
    let reasons: Vec<_> = review
        .findings
        .iter()
        .map(|finding| {
            let fix = finding.fix.as_deref().map(|fix| format!("; fix: {fix}")).unwrap_or_default();
            let (severity, category) = (word(finding.severity), word(finding.category));
            let at = at(finding.file.as_deref(), finding.line);
            format!("{severity}, {category}: {at}{}{fix}", finding.message)
        })
        .collect();
    let verdict = match (review.verdict, reasons.is_empty()) {
        (ReviewVerdict::Rejected, _) => Verdict::Fail,
        (ReviewVerdict::Approved, true) => Verdict::Pass,
        (ReviewVerdict::Approved, false) => Verdict::Warn,
    };
    (verdict, reasons)
}

/// Returns the verdict of a tests answer. A pass is only the worker's claim; the gate that runs the tests verifies it.
fn of_tests(tests: &Tests) -> (Verdict, Vec<String>) {
    let failures = tests.failures.iter().map(|failure| format!("{} fails: {}", failure.name, failure.message));
    let bugs = tests.bugs_found.iter().cloned();
    let reasons: Vec<_> = failures.chain(bugs).collect();
    match tests.verdict {
        TestVerdict::Fail => (Verdict::Fail, reasons),
        TestVerdict::Pass if tests.added.is_empty() => {
            (Verdict::Warn, ["no test was added".to_owned()].into_iter().chain(reasons).collect())
        }
        TestVerdict::Pass => (Verdict::Pass, reasons),
    }
}

/// Returns the reported contract changes, breaking ones first. They refuse nothing, since the reviewer verifies them.
fn of_impact(impact: &Impact) -> Vec<String> {
    let mut changes: Vec<&ContractChange> = impact.changes.iter().collect();
    changes.sort_by_key(|change| change.class);
    let line = |one: &ContractChange| {
        let consumers = match one.consumers.as_slice() {
            [] => "no consumer was found".to_owned(),
            all => format!("consumers: {}", all.join(", ")),
        };
        format!("{}: {}: {}; {consumers}", one.class.as_str(), one.file, one.change)
    };
    changes.into_iter().map(line).collect()
}

fn at(file: Option<&str>, line: Option<u64>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        (Some(file), None) => format!("{file}: "),
        (None, _) => String::new(),
    }
}

/// Returns the JSON string that a value serialises to.
fn word(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchboard_protocol::answer::AnswerKind;

    use super::*;

    fn read(kind: AnswerKind, value: serde_json::Value) -> (Verdict, Vec<String>) {
        of(&Answer::read(kind, &value).unwrap())
    }

    #[test]
    fn a_rejection_names_the_fix_first_and_each_issue_with_its_place() {
        let review = json!({ "verdict": "REJECTED", "risk": "high", "required_fix": "check for zero",
            "issues": [{ "severity": "error", "message": "divides by zero", "file": "src/a.rs", "line": 3 }],
            "checked": { "correctness": true, "edge_cases": true, "performance": false } });

        let (verdict, reasons) = read(AnswerKind::Review, review);

        assert_eq!(verdict, Verdict::Fail);
        assert_eq!(reasons, ["required fix: check for zero", "error: src/a.rs:3: divides by zero"]);
    }

    #[test]
    fn what_breaks_somebody_is_said_first_and_refuses_nothing() {
        let change = |name: &str, class: &str, consumers: &[&str]| json!({ "change": name, "file": "src/a.rs", "class": class, "consumers": consumers });
        let changes = [change("one()", "COMPATIBLE", &[]), change("two(n)", "BREAKING", &["src/b.rs:3", "src/c.rs:9"])];

        let said = read(AnswerKind::Impact, json!({ "report": "STRUCTURE: one file", "changes": changes }));

        let lines = [
            "BREAKING: src/a.rs: two(n); consumers: src/b.rs:3, src/c.rs:9",
            "COMPATIBLE: src/a.rs: one(); no consumer was found",
        ];
        assert_eq!(said, (Verdict::Pass, lines.map(str::to_owned).to_vec()));
    }

    #[test]
    fn tests_that_were_not_written_are_said() {
        let pass = |added: serde_json::Value| read(AnswerKind::Tests, json!({ "verdict": "PASS", "added": added }));

        assert_eq!(pass(json!([])), (Verdict::Warn, vec!["no test was added".to_owned()]));
        assert_eq!(pass(json!([{ "file": "tests/a.rs", "names": ["zero"] }])), (Verdict::Pass, Vec::new()));
        let failed = json!({ "verdict": "FAIL", "added": [], "failures": [{ "name": "zero", "message": "panics" }] });
        assert_eq!(read(AnswerKind::Tests, failed), (Verdict::Fail, vec!["zero fails: panics".to_owned()]));
    }
}
