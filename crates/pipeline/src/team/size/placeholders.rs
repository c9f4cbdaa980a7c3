//! Placeholders in the texts of a plan: `[Project]`, `[reason]`.

use switchboard_protocol::plan::{Plan, TaskId};

use super::{Refusal, RefusalKind};
use crate::team::prose;

/// Texts of placeholders without their brackets, in lower case, from common forms of plans.
const NAMES: [&str; 48] = [
    "project",
    "project name",
    "project title",
    "name",
    "title",
    "task",
    "task name",
    "task description",
    "task id",
    "phase",
    "phase name",
    "date",
    "iso date",
    "iso",
    "time",
    "reason",
    "why blocked",
    "description",
    "short description",
    "desc",
    "summary",
    "overview",
    "acceptance",
    "acceptance criteria",
    "criteria",
    "criterion",
    "status",
    "size",
    "n",
    "n+1",
    "agent",
    "domain",
    "file",
    "files",
    "path",
    "file path",
    "module",
    "component",
    "feature",
    "function",
    "purpose",
    "decision",
    "rationale",
    "issue",
    "todo",
    "tbd",
    "placeholder",
    "xxx",
];

/// Texts that as a whole stand for one that is still to be written, in lower case.
const WHOLE: [&str; 11] = ["tbd", "todo", "xxx", "fixme", "placeholder", "n/a", "na", "...", "…", "-", "?"];

/// Beginnings of placeholders.
const BEGINNINGS: [&str; 8] = ["your ", "insert ", "fill in", "add ", "describe ", "specify ", "replace ", "1-2 "];

/// Returns each placeholder in a title, name, description, acceptance or reason of a plan. Code spans, indices
/// (`rows[n]`) and links (`[name](address)`) don't count.
#[must_use]
pub fn placeholders(plan: &Plan) -> Vec<Refusal> {
    let mut texts: Vec<(Option<&TaskId>, String, &str)> = vec![(None, "the title of the plan".to_owned(), &plan.title)];
    for phase in &plan.phases {
        texts.push((None, format!("the name of phase {}", phase.id), &phase.name));
        for task in &phase.tasks {
            let mut add =
                |field: &str, text| texts.push((Some(&task.id), format!("the {field} of task {}", task.id), text));
            add("description", &task.description);
            task.acceptance.iter().for_each(|text| add("acceptance", text));
            task.blocked_reason.iter().for_each(|text| add("blocked_reason", text));
        }
    }
    let of = |(task, place, text): (Option<&TaskId>, String, &str)| -> Vec<Refusal> {
        let refusal = |found: String| Refusal {
            kind: RefusalKind::Placeholder,
            task: task.cloned(),
            reason: format!("{place} holds the placeholder [{found}]"),
            remedy: "say what is meant; brackets that are code stand in a code span".to_owned(),
        };
        // A plan may be about a to-do list, and be called so.
        let whole = (task.is_some() && is_whole(text)).then(|| Refusal {
            kind: RefusalKind::Placeholder,
            task: task.cloned(),
            reason: format!("{place} is the placeholder {}", text.trim()),
            remedy: "say what is meant".to_owned(),
        });
        in_text(text).into_iter().map(refusal).chain(whole).collect()
    };
    texts.into_iter().flat_map(of).collect()
}

/// Returns true if a text is nothing but a placeholder without brackets.
fn is_whole(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    WHOLE.contains(&text.as_str()) || WHOLE.contains(&text.trim_end_matches(['.', '!', ':']))
}

/// Returns the placeholders of a text, without their brackets.
pub(super) fn in_text(text: &str) -> Vec<String> {
    prose::lines(text).iter().flat_map(|line| in_line(&line.prose)).collect()
}

fn in_line(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(open) = line[from..].find('[').map(|at| at + from) {
        let body = &line[open + 1..];
        let Some(end) = body.find([']', '[']).filter(|end| body[*end..].starts_with(']')) else {
            from = open + 1;
            continue;
        };
        let is_index = line[..open].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ']');
        let is_link = body[end + 1..].starts_with(['(', ':']) && !body[end + 1..].starts_with(": ");
        let inner = body[..end].trim();
        if !is_index && !is_link && is_placeholder(inner) {
            found.push(inner.to_owned());
        }
        from = open + 1 + end + 1;
    }
    found
}

fn is_placeholder(inner: &str) -> bool {
    let text = inner.to_lowercase().replace(['_', '-'], " ");
    let text = text.trim_end_matches(['.', '…', ' ']);
    let is_ending = [" here", " goes here", " tbd"].iter().any(|ending| text.ends_with(ending));
    NAMES.contains(&text) || is_ending || BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_that_were_to_be_filled_in_are_placeholders() {
        for text in [
            "[Project]",
            "Fix [task]",
            "on [date]",
            "[reason]",
            "[Description]: x",
            "[ISO date]",
            "[your name]",
            "[insert title here]",
            "[Task Name]",
            "[task_name]",
            "[TBD]",
            "([file path])",
        ] {
            assert_eq!(in_text(text).len(), 1, "{text}");
        }
        assert_eq!(in_text("[Project] by [date]"), ["Project", "date"]);
    }

    #[test]
    fn a_text_that_is_still_to_be_written_is_a_placeholder_as_a_whole() {
        for text in ["TBD", " tbd. ", "Todo:", "n/a", "...", "…", "?"] {
            assert!(is_whole(text), "{text}");
        }
        for text in ["", "Todo list", "it prints ...", "TBD entries are listed"] {
            assert!(!is_whole(text), "{text}");
        }
    }

    #[test]
    fn code_links_boxes_and_tags_are_no_placeholders() {
        for text in [
            "Add `run [file]`",
            "rows[n] and table[file][path]",
            "see [name](https://example.org)",
            "- [x] done",
            "[SMALL]",
            "[RFC 8259]",
            "[0]",
            "[",
            "[[task",
            "```\n[task]\n```",
            "[WIP] parser",
        ] {
            assert_eq!(in_text(text), [""; 0], "{text}");
        }
    }
}
