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
    use switchboard_protocol::event::NewEvent;
    use switchboard_store::{Batch, Clock};

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
    /// Records an answer of a led run that looks back at a phase and names a lesson, if `lesson` is given.
    async fn looks_back(store: &Store, run: &RunId, phase: u64, lesson: Option<&str>) {
        let retro = json!({ "phase_number": phase, "total_tool_calls": 1, "coder_revisions": 0, "reviewer_rejections": 0,
            "test_failures": 0, "security_findings": 0, "integration_issues": 0, "task_count": 1, "task_complexity": "simple",
            "lessons_learned": lesson.into_iter().collect::<Vec<_>>(), "top_rejection_reasons": [],
            "approaches_tried": [], "user_directives": [] });
        let Ok(answer) = Answer::read(AnswerKind::Retrospective, &retro) else { panic!() };
        let (answer, body) = switchboard_pipeline::modes::facts_of(&answer).unwrap();
        let event = ModeEvent::Answered { step: 1, answer };
        let (mode, now) = (switchboard_protocol::modes::Mode::PhaseWrap, "phase".to_owned());
        let fact = ModeFact::ModeStepped { event, mode, now, refused: None, outcome: None };
        let event = NewEvent::of(&fact, subject(run), "daemon").unwrap();
        let event = if lesson.is_some() { event.with_body(body) } else { event };
        store.commit(Batch::written().event(event)).await.unwrap();
    }

    /// Records the start of a run.
    async fn begins(store: &Store, run: &RunId) {
        let configured = json!({ "run": run, "title": format!("work of {run}"), "plan_hash": "h", "source": "s", "target": "main",
            "base": "b", "branch": "b", "worktrees": "/w", "default_agent": null, "merge": false, "tasks": 0 });
        let event = NewEvent::new("run_configured", format!("run/{run}"), "daemon", configured);
        store.commit(Batch::written().event(event)).await.unwrap();
    }

    #[tokio::test]
    async fn retrospectives_are_of_the_led_runs_before_the_newest_phase_of_the_newest_run_first() {
        let store = Store::in_memory(vec![Box::new(crate::work::Work)], Clock::system());
        let [first, not_led, second, third] = [1, 2, 3, 4].map(RunId::from_bits);
        for run in [&first, &not_led, &second, &third] {
            begins(&store, run).await;
        }
        looks_back(&store, &first, 1, Some("one")).await;
        looks_back(&store, &first, 2, Some("two")).await;
        looks_back(&store, &first, 3, None).await;
        looks_back(&store, &second, 1, Some("three")).await;
        looks_back(&store, &third, 1, Some("four")).await;
        let lessons = |run: Option<&RunId>| {
            let all = retrospectives(&store, run).unwrap();
            all.iter().map(|text| text.lines().nth(1).unwrap().replace("- learned: ", "")).collect::<Vec<_>>()
        };

        assert_eq!(lessons(None), ["four", "three", "two", "one"], "what was dropped is left out");
        assert_eq!(lessons(Some(&third)), ["three", "two", "one"]);
        assert!(lessons(Some(&first)).is_empty());
        let unknown = retrospectives(&store, Some(&RunId::from_bits(9)));
        assert!(unknown.is_err());
        let newest = retrospectives(&store, None).unwrap().remove(0);
        assert!(newest.starts_with(&format!("{third} \"work of {third}\", phase 1:\n")), "{newest}");
    }

    #[tokio::test]
    async fn so_many_retrospectives_are_told_that_they_fit_into_one_question() {
        let store = Store::in_memory(vec![Box::new(crate::work::Work)], Clock::system());
        for number in 1..=3 {
            let run = RunId::from_bits(number);
            begins(&store, &run).await;
            for phase in 1..=9 {
                looks_back(&store, &run, phase, Some(&format!("{number}.{phase} {}", "x".repeat(400)))).await;
            }
        }

        let all = retrospectives(&store, None).unwrap();

        assert_eq!(all.len(), MAX_RETROSPECTIVES);
        assert!(all[0].contains("- learned: 3.9") && all[19].contains("- learned: 1.8"), "{}", all[19]);
    }
}
