//! Retrospectives of the repository's earlier runs led by a team, collected for one briefing.

use std::fmt::Write as _;

use switchboard_protocol::answer::{Answer, Approach, Retrospective};
use switchboard_protocol::id::RunId;
use switchboard_protocol::modes::{AnswerFacts, ModeEvent, ModeFact};
use switchboard_protocol::text::cut_lines;
use switchboard_store::{Cell, Query, Store};

use super::record::subject;
use crate::Error;
use crate::work::{RUNS, run_id};

/// Maximum number of runs examined, newest first. Lessons of older runs are in the code by now, or no longer matter.
const RUNS_READ: u64 = 20;

/// Maximum number of retrospectives read, newest first.
const MAX_RETROSPECTIVES: usize = 20;

/// Maximum length of one retrospective, in bytes, so that all of them fit into one question.
const MAX_RETROSPECTIVE_BYTES: usize = 1_500;

/// Number of events read at once.
const PAGE: usize = 500;

/// Returns the retrospectives of runs that began before `run`, or of all runs; newest first, each as a text of bounded
/// length.
pub(super) fn retrospectives(store: &Store, run: Option<&RunId>) -> Result<Vec<String>, Error> {
    let mut led = Query::table(RUNS).ne("mode", Cell::Null).desc("seq").limit(RUNS_READ);
    if let Some(run) = run {
        let row = store.get(RUNS, &[run.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(run.to_string()))?;
        led = led.lt("seq", row.try_int("seq")?);
    }
    let mut found = Vec::new();
    for row in store.read(&led)? {
        let title = row.get_text("title").unwrap_or_default().to_owned();
        found.extend(of_run(store, &run_id(&row)?, &title)?);
        if found.len() >= MAX_RETROSPECTIVES {
            break;
        }
    }
    found.truncate(MAX_RETROSPECTIVES);
    Ok(found)
}

/// Returns the retrospectives of one run, the last phase first, without those dropped by retention.
fn of_run(store: &Store, run: &RunId, title: &str) -> Result<Vec<String>, Error> {
    let (mut found, mut rev) = (Vec::new(), 0);
    loop {
        let page = store.events_of(&subject(run), rev, PAGE)?;
        let Some(last) = page.last() else { break };
        rev = last.rev;
        for event in &page {
            let Some(ModeFact::ModeStepped { event: stepped, .. }) = event.fact::<ModeFact>() else { continue };
            let ModeEvent::Answered { answer: AnswerFacts::Retrospective { .. }, .. } = stepped else { continue };
            let Some(body) = store.body(event.lsn)? else { continue };
            if let Ok(Answer::Retrospective(retro)) = serde_json::from_str(&body) {
                found.push(cut_lines(&shown(run, title, &retro), MAX_RETROSPECTIVE_BYTES));
            }
        }
    }
    found.reverse();
    Ok(found)
}

/// Formats a retrospective for the explorer: lessons before counts.
fn shown(run: &RunId, title: &str, retro: &Retrospective) -> String {
    let mut text = format!("{run} \"{title}\", phase {}:\n", retro.phase_number);
    let mut list = |label: &str, items: &mut dyn Iterator<Item = String>| {
        items.for_each(|item| text.push_str(&format!("- {label}: {}\n", item.replace('\n', " "))));
    };
    list("learned", &mut retro.lessons_learned.iter().cloned());
    list("said by the user", &mut retro.user_directives.iter().map(|said| said.directive.clone()));
    list("tried", &mut retro.approaches_tried.iter().map(tried));
    list("rejected for", &mut retro.top_rejection_reasons.iter().cloned());
    let _ = writeln!(
        text,
        "- counted: {} tasks, {} revisions, {} rejections, {} failed tests",
        retro.task_count, retro.coder_revisions, retro.reviewer_rejections, retro.test_failures
    );
    text
}

fn tried(approach: &Approach) -> String {
    let why = approach.abandoned_reason.iter().map(|why| format!(", given up: {why}")).collect::<String>();
    let result = serde_json::to_value(approach.result).ok();
    let result = result.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
    format!("{} ({result}{why})", approach.approach)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchboard_protocol::answer::AnswerKind;

    use super::*;

    #[test]
    fn what_a_phase_taught_stands_before_what_it_counts() {
        let retro = json!({ "phase_number": 2, "total_tool_calls": 9, "coder_revisions": 3, "reviewer_rejections": 1,
            "test_failures": 4, "security_findings": 0, "integration_issues": 0, "task_count": 5, "task_complexity": "simple",
            "lessons_learned": ["Dates are parsed\nin one place."], "top_rejection_reasons": ["edge cases"],
            "approaches_tried": [{ "approach": "a regex", "result": "failure", "abandoned_reason": "too slow" }],
            "user_directives": [{ "directive": "Keep it small", "category": "process", "scope": "project" }] });
        let Ok(Answer::Retrospective(retro)) = Answer::read(AnswerKind::Retrospective, &retro) else { panic!() };

        let text = shown(&RunId::from_bits(1), "Export", &retro);

        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "- learned: Dates are parsed in one place.",
                "- said by the user: Keep it small",
                "- tried: a regex (failure, given up: too slow)",
                "- rejected for: edge cases",
                "- counted: 5 tasks, 3 revisions, 1 rejections, 4 failed tests",
            ]
        );
        assert!(text.starts_with("run_") && text.contains("\"Export\", phase 2:\n"), "{text}");
    }
}
