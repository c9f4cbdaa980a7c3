//! Finds the ids of tasks in a text.

use std::collections::BTreeSet;

use switchboard_protocol::plan::TaskId;

/// Words before an id that mark it as something the task builds on.
const BASES: [&str; 16] = [
    "on", "after", "from", "see", "by", "of", "in", "like", "since", "until", "before", "depends", "follows", "uses",
    "with", "requires",
];
/// Words that may precede an id of the plan without `task` in between.
const ACTIONS: [&str; 16] = [
    "do",
    "implement",
    "complete",
    "finish",
    "start",
    "run",
    "handle",
    "and",
    "then",
    "also",
    "plus",
    "to",
    "through",
    "or",
    "delegate",
    "&",
];
/// Words that introduce ids.
const MARKERS: [&str; 6] = ["task", "tasks", "subtask", "subtasks", "taskid", "id"];

/// A word of a delegation, or the dash of a range of ids.
#[derive(Debug)]
struct Mention<'a> {
    text: &'a str,
    begins_line: bool,
}

/// Returns the ids that a text names as work to do.
pub(super) fn named(lines: &[String], ids: &BTreeSet<TaskId>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in lines {
        let mentions = mentions(line);
        let mut goes_on = None;
        for (at, mention) in mentions.iter().enumerate() {
            let Some(id) = id(mention.text) else {
                // A list or range of ids continues after `and`, `to` or a dash.
                if !["and", "to", "through", "or", "&", "plus", "-"].contains(&mention.text) {
                    goes_on = None;
                }
                continue;
            };
            let before = at.checked_sub(1).map_or("", |before| mentions[before].text);
            let earlier = at.checked_sub(2).map_or("", |earlier| mentions[earlier].text);
            let is_marked = MARKERS.contains(&before);
            let is_base = BASES.contains(&if is_marked { earlier } else { before });
            let is_known = ids.iter().any(|known| known.as_str() == id);
            let is_action = mention.begins_line || ACTIONS.contains(&before);
            let is_task = goes_on.unwrap_or(!is_base && (is_marked || (is_known && is_action)));
            if is_task {
                found.insert(id.to_owned());
            }
            goes_on = (is_task || (is_base && (is_marked || is_known)) || goes_on == Some(false)).then_some(is_task);
        }
    }
    found
}

/// Returns the words of a line, in lower case unless they are ids. The dash between two ids is a word.
fn mentions(line: &str) -> Vec<Mention<'_>> {
    let is_part = |c: char| c.is_alphanumeric() || c == '.' || c == '_';
    let mut found: Vec<Mention<'_>> = Vec::new();
    let mut from = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        if is_part(c) {
            from.get_or_insert(at);
            continue;
        }
        if let Some(from) = from.take() {
            // `1.1..1.4` is a range.
            for (nth, part) in line[from..at].split("..").enumerate() {
                let part = part.trim_matches('.');
                if nth > 0 {
                    found.push(Mention { text: "-", begins_line: false });
                }
                if !part.is_empty() {
                    let text = lower(part);
                    found.push(Mention { text, begins_line: found.is_empty() || is_box(&found) });
                }
            }
        }
        if "-–—".contains(c) && found.last().is_some_and(|last| id(last.text).is_some()) {
            found.push(Mention { text: "-", begins_line: false });
        }
        if c == '&' {
            found.push(Mention { text: "&", begins_line: false });
        }
    }
    found
}

/// Returns true if only the mark of a check box was found so far: `- [x] 1.1`.
fn is_box(found: &[Mention<'_>]) -> bool {
    found.len() == 1 && found[0].text == "x"
}

/// Returns the lower case form if it is a word that the rules look for, else the word unchanged.
fn lower(word: &str) -> &str {
    let lists: [&'static [&'static str]; 3] = [&MARKERS, &ACTIONS, &BASES];
    let all = lists.into_iter().flatten();
    all.copied().find(|known| known.eq_ignore_ascii_case(word)).unwrap_or(word)
}

/// Returns the id in a word: numbers with dots between them.
fn id(word: &str) -> Option<&str> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (word.contains('.') && word.split('.').all(is_number)).then_some(word)
}
