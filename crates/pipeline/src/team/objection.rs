//! Objections to an answer that fits its schema: a refused excuse, or a report that violates the explorer's contract.

use switchboard_protocol::answer::{Answer, PlanVerdict, ReviewVerdict, TestVerdict};

use super::explorer::{self, Brief, ReportMode, Violation};
use super::rationalise;

/// Maximum number of violations that an objection names.
const MAX_NAMED: usize = 5;

/// Returns why an answer doesn't count, as text for the worker that is asked again; `None` if it counts. `asked` is the
/// question to its worker.
#[must_use]
pub fn to(answer: &Answer, asked: &str) -> Option<String> {
    if let Answer::Exploration(exploration) = answer {
        return of_report(&explorer::violations(&exploration.report, Brief::of(asked)));
    }
    if let Answer::Impact(impact) = answer {
        let brief = Brief { mode: ReportMode::Impact, names_files: true };
        return of_report(&explorer::violations(&impact.report, brief));
    }
    let found = reasons(answer).into_iter().find_map(|reason| rationalise::offered(reason).into_iter().next())?;
    Some(format!("\"{}\" is no reason to accept or leave out anything: {}", found.wording, found.remedy))
}

/// Returns the reasons in an answer for accepting a change or leaving something out. A rejection may quote the change's
/// author.
fn reasons(answer: &Answer) -> Vec<&str> {
    match answer {
        Answer::Review(review) if review.verdict == ReviewVerdict::Approved => {
            review.issues.iter().map(|issue| issue.message.as_str()).collect()
        }
        Answer::SecurityReview(review) if review.verdict == ReviewVerdict::Approved => {
            review.findings.iter().map(|finding| finding.message.as_str()).collect()
        }
        Answer::Tests(tests) if tests.verdict == TestVerdict::Pass => {
            tests.bugs_found.iter().map(String::as_str).collect()
        }
        Answer::PlanReview(review) if review.verdict == PlanVerdict::Approved => {
            review.reasons.iter().map(String::as_str).collect()
        }
        Answer::Work(work) => work.blocked_on.as_deref().into_iter().collect(),
        Answer::Decision(decision) => vec![&decision.reason],
        Answer::Review(_)
        | Answer::SecurityReview(_)
        | Answer::Tests(_)
        | Answer::PlanReview(_)
        | Answer::Exploration(_)
        | Answer::Impact(_)
        | Answer::Reality(_)
        | Answer::Guidance(_)
        | Answer::Questions(_)
        | Answer::PlanDraft(_)
        | Answer::Drift(_)
        | Answer::Hallucination(_)
        | Answer::Design(_)
        | Answer::Docs(_)
        | Answer::Retrospective(_)
        | Answer::Spec(_) => Vec::new(),
    }
}

fn of_report(violations: &[Violation]) -> Option<String> {
    let line = |violation: &Violation| {
        let at = violation.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{at}`{}`, instead: {}", violation.found, violation.instead)
    };
    // Violations in the report come before those of missing parts.
    let (placed, whole): (Vec<_>, Vec<_>) = violations.iter().partition(|violation| violation.line.is_some());
    let named: Vec<_> = placed.into_iter().chain(whole).take(MAX_NAMED).map(line).collect();
    let left = violations.len().saturating_sub(MAX_NAMED);
    let more = if left > 0 { format!("; and {left} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("the report judges or lacks what it is held to: {}{more}", named.join("; ")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use switchboard_protocol::answer::AnswerKind;

    use super::*;

    fn objection(kind: AnswerKind, answer: &Value) -> Option<String> {
        to(&Answer::read(kind, answer).unwrap(), "Map the parser")
    }

    fn review(verdict: &str, message: &str) -> Value {
        json!({ "verdict": verdict, "risk": "low", "required_fix": (verdict == "REJECTED").then_some("run the gates"),
            "issues": [{ "severity": "info", "message": message }],
            "checked": { "correctness": true, "edge_cases": true, "performance": true } })
    }

    #[test]
    fn an_approval_whose_reason_is_an_excuse_does_not_count_and_a_rejection_may_quote_one() {
        let excuse = "No logic changes, so the edge cases were not looked at";

        let objected = objection(AnswerKind::Review, &review("APPROVED", excuse)).unwrap();

        assert!(objected.contains("No logic changes") && objected.contains("run the gates"), "{objected}");
        assert_eq!(objection(AnswerKind::Review, &review("REJECTED", excuse)), None);
        assert_eq!(objection(AnswerKind::Review, &review("APPROVED", "the name could be shorter")), None);
        let passed = json!({ "verdict": "PASS", "added": [], "bugs_found": ["I'll clean it up later"] });
        assert!(objection(AnswerKind::Tests, &passed).is_some());
        let decided = json!({ "decision": "give_up", "reason": "Hotfix, no time for QA" });
        assert!(objection(AnswerKind::Decision, &decided).is_some());
    }

    #[test]
    fn a_report_that_judges_is_given_back_with_the_line() {
        let report = json!({ "report": "STRUCTURE: two modules\nThe parser must be split.", "domains": [] });

        let objected = objection(AnswerKind::Exploration, &report).unwrap();

        assert!(objected.contains("line 2: `must`"), "{objected}");
    }
}
