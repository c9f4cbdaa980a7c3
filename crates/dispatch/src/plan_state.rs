//! State of a plan for workers that can't look it up: a constrained worker has none of our tools, so its prompt lists
//! merged tasks and parallel work.

use std::fmt::Write as _;

use switchboard_protocol::plan::{Task, TaskId};
use switchboard_protocol::run::TaskView;
use switchboard_protocol::text::cut;

use crate::plan::RunPlan;
use crate::report;

/// Maximum length of the whole text, in bytes.
const ALL: usize = 6 << 10;

/// Maximum length of a task's title, in bytes.
const TITLE: usize = 100;

/// Maximum length of the list of one task's files, in bytes.
const FILES: usize = 200;

/// Maximum number of merged tasks listed, the last ones in the order of the plan.
const MERGED: usize = 30;

/// Maximum number of other unmerged tasks listed.
const MAX_OTHERS: usize = 20;

/// Describes the phase, the merged tasks, and the unmerged tasks of the same phase.
pub(crate) fn plan_state(plan: &RunPlan, own: &TaskId, views: &[TaskView]) -> String {
    let Some((phase, _)) = plan.positions.find(&plan.plan, own) else { return String::new() };
    let count = plan.plan.phases.len();
    let number = plan.plan.phases.iter().position(|other| other.id == phase.id).map_or(0, |at| at + 1);
    let mut text = format!("Phase {number} of {count}: {}\n", cut(&phase.name, TITLE));
    // Subtasks belong to their tasks, and a landing is not work of an agent.
    let is_own_work =
        |view: &&TaskView| plan.shape(&view.task).is_none_or(|shape| shape.of.is_none() && !shape.is_landing());
    let all: Vec<_> = views.iter().filter(is_own_work).collect();
    let (done, open): (Vec<_>, Vec<_>) = all.iter().copied().partition(|view| view.state.is_done());
    let mark = if done.is_empty() { "." } else { ":" };
    let _ = writeln!(text, "{} of {} tasks are merged or done{mark}", done.len(), all.len());
    let left_out = done.len().saturating_sub(MERGED);
    if left_out > 0 {
        let _ = writeln!(text, "- {left_out} more before these");
    }
    for view in done.iter().skip(left_out) {
        line(&mut text, plan, &view.task, "");
    }
    let whole = plan.shape(own).and_then(|shape| shape.of.as_ref()).unwrap_or(own);
    let in_phase =
        |view: &&TaskView| plan.positions.find(&plan.plan, &view.task).is_some_and(|(of, _)| of.id == phase.id);
    let beside: Vec<_> = open.into_iter().filter(|view| view.task != *whole).filter(in_phase).collect();
    if !beside.is_empty() {
        text.push_str("Beside yours, in this phase:\n");
    }
    for view in beside.iter().take(MAX_OTHERS) {
        line(&mut text, plan, &view.task, report::state_word(&view.state));
    }
    if let Some(more) = beside.len().checked_sub(MAX_OTHERS).filter(|more| *more > 0) {
        let _ = writeln!(text, "- {more} more");
    }
    text.truncate(text.floor_char_boundary(ALL));
    text
}

fn line(text: &mut String, plan: &RunPlan, id: &TaskId, state: &str) {
    let Some((_, task)) = plan.positions.find(&plan.plan, id) else { return };
    let Task { description, files_touched, .. } = task;
    let title = cut(description.lines().next().unwrap_or_default(), TITLE);
    let state = if state.is_empty() { String::new() } else { format!(" ({state})") };
    let files = if files_touched.is_empty() {
        String::new()
    } else {
        format!("; files: {}", cut(&files_touched.join(", "), FILES))
    };
    let _ = writeln!(text, "- {id}{state}: {title}{files}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchboard_protocol::run::TaskState;

    use super::*;
    use crate::tests::{run_plan, view};

    #[test]
    fn a_worker_is_told_the_phase_what_is_merged_and_who_works_beside_it_with_which_files() {
        let plan = run_plan(&json!([
            { "id": "1.1", "phase": 1, "description": "Write the parser.\nIn detail." },
            { "id": "1.2", "phase": 1, "description": "Use it." },
            { "id": "1.3", "phase": 1, "description": "Document it.", "files_touched": ["docs/parser.md"] }
        ]));
        let merged = TaskState::Merged { commit: "c".to_owned() };
        let views = [view("1.1", merged), view("1.2", TaskState::Ready), view("1.3", TaskState::Pending)];

        let text = plan_state(&plan, &TaskId::new("1.2").unwrap(), &views);

        assert!(
            text.contains("Phase 1 of 1: one\n1 of 3 tasks are merged or done:\n- 1.1: Write the parser.\n"),
            "{text}"
        );
        assert!(
            text.ends_with("Beside yours, in this phase:\n- 1.3 (pending): Document it.; files: docs/parser.md\n"),
            "{text}"
        );
    }

    #[test]
    fn as_many_as_are_named_are_not_followed_by_a_count() {
        for (all, is_cut) in [(MAX_OTHERS + 1, false), (MAX_OTHERS + 2, true)] {
            let ids: Vec<_> = (1..=all).map(|n| format!("1.{n}")).collect();
            let tasks: Vec<_> = ids.iter().map(|id| json!({ "id": id, "phase": 1, "description": "d" })).collect();
            let views: Vec<_> = ids.iter().map(|id| view(id, TaskState::Pending)).collect();

            let text = plan_state(&run_plan(&json!(tasks)), &TaskId::new("1.2").unwrap(), &views);

            assert_eq!(text.contains(" more\n"), is_cut, "{text}");
        }
    }

    #[test]
    fn the_whole_text_is_bounded_however_long_its_lines_are() {
        let files: Vec<_> = (0..30).map(|n| format!("a/rather/long/path/{n}")).collect();
        let task = |n: usize| json!({ "id": format!("1.{n}"), "phase": 1, "description": "d".repeat(200), "files_touched": files });
        let plan = run_plan(&json!((1..60).map(task).collect::<Vec<_>>()));
        let state = |n| if n < 31 { TaskState::Merged { commit: "c".to_owned() } } else { TaskState::Pending };
        let views: Vec<_> = (1..60).map(|n| view(&format!("1.{n}"), state(n))).collect();

        let text = plan_state(&plan, &TaskId::new("1.40").unwrap(), &views);

        assert!((ALL - 4..=ALL).contains(&text.len()), "{}", text.len());
    }

    #[test]
    fn a_large_plan_is_cut() {
        let tasks: Vec<_> =
            (1..300).map(|n| json!({ "id": format!("1.{n}"), "phase": 1, "description": "d".repeat(200) })).collect();
        let views: Vec<_> = (1..300).map(|n| view(&format!("1.{n}"), TaskState::Pending)).collect();

        let text = plan_state(&run_plan(&json!(tasks)), &TaskId::new("1.2").unwrap(), &views);

        assert!(text.len() <= ALL && text.contains("- 278 more\n"), "{text}");
        assert!(text.contains("\n0 of 299 tasks are merged or done.\nBeside yours"), "{text}");
    }
}
