//! One task's line: `- [x] 1.2: description [SIZE] (depends: 1.1) ← CURRENT`.

use serde_json::Value;

use super::carry::Sparse;

/// Marks the current task.
pub(super) const CURRENT: &str = "← CURRENT";

const SIZES: [&str; 3] = ["small", "medium", "large"];

/// Fields in a task's line.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Id (if the line shows one), status, size, description, depends, blocked_reason; defaults left out.
    pub(super) fields: Sparse,
    /// A problem in the line.
    pub(super) odd: Option<String>,
}

/// Reads `- [x] …`; `None` if the line is not a checkbox.
pub(super) fn checkbox(line: &str) -> Option<Line> {
    let rest = line.trim().strip_prefix(['-', '*'])?.trim_start().strip_prefix('[')?;
    let (mark, text) = rest.split_once(']')?;
    if !text.starts_with(char::is_whitespace) {
        return None;
    }
    let (status, odd) = status(mark)?;
    let mut line = Line { fields: Sparse::new(), odd };
    line.read(text.trim(), status);
    Some(line)
}

/// Reads `3. description [SIZE]`; `None` if the line is not an item of a numbered list.
pub(super) fn numbered(line: &str) -> Option<Line> {
    if line.starts_with("  ") || line.starts_with('\t') {
        return None;
    }
    let (number, text) = line.trim().split_once('.')?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) || !text.starts_with(char::is_whitespace)
    {
        return None;
    }
    let mut line = Line::default();
    line.suffixes(text.trim(), "pending");
    Some(line)
}

fn status(mark: &str) -> Option<(&'static str, Option<String>)> {
    let known = match mark.trim().to_lowercase().replace([' ', '-'], "_").as_str() {
        "" => "pending",
        "x" => "completed",
        "blocked" => "blocked",
        "in_progress" => "in_progress",
        "closed" => "closed",
        _ if mark.chars().count() == 1 => {
            return Some(("pending", Some(format!("[{mark}] is no known mark; taken as not done"))));
        }
        // A link, or other text in brackets.
        _ => return None,
    };
    Some((known, None))
}

impl Line {
    /// Takes `1.3` as the id of `1.3 description`, `Task 1.3 - description` or `**1.3** description` if it is an id of this
    /// phase. Any other number there is said.
    pub(super) fn take_id_of(&mut self, phase: Option<&Value>) {
        if self.fields.contains_key("id") {
            return;
        }
        let Some(description) = self.fields.get("description").and_then(Value::as_str) else { return };
        let text = description.strip_prefix("Task ").unwrap_or(description);
        let Some((id, rest)) = text.split_once(char::is_whitespace) else { return };
        let id = id.trim_matches(['*', ':', '.', ')']);
        if !is_numeric(id) {
            return;
        }
        let of = id.split('.').next().and_then(|of| of.parse::<u64>().ok());
        if of.is_some() && of == phase.and_then(Value::as_u64) {
            let (id, rest) = (id.to_owned(), rest.trim_start_matches(['-', '–', '—', ' ']).to_owned());
            self.fields.insert("description".to_owned(), rest.into());
            self.fields.insert("id".to_owned(), id.into());
        } else {
            self.odd.get_or_insert_with(|| format!("{id} is taken as text; a task's id has a colon behind it"));
        }
    }

    fn read(&mut self, text: &str, status: &'static str) {
        let text = match explicit_id(text) {
            Some((id, rest)) => {
                self.fields.insert("id".to_owned(), id.into());
                rest
            }
            None => text,
        };
        self.suffixes(text, status);
    }

    /// Removes the parts at the end of a line, in any order, each once; the rest is the description.
    fn suffixes(&mut self, text: &str, status: &'static str) {
        let mut text = text.trim();
        let (mut current, mut size, mut depends) = (false, None, None);
        loop {
            if !current && let Some(rest) = text.strip_suffix(CURRENT) {
                current = true;
                text = rest.trim_end();
            } else if depends.is_none()
                && let Some((rest, ids)) = depends_suffix(text)
            {
                depends = Some(ids);
                text = rest;
            } else if size.is_none()
                && let Some((rest, found)) = size_suffix(text)
            {
                size = Some(found);
                text = rest;
            } else {
                break;
            }
        }
        let status = if current && status == "pending" { "in_progress" } else { status };
        let mut reason = None;
        if status == "blocked" {
            (text, size, reason) = blocked(text, size);
        }
        self.insert("status", Some(status).filter(|status| *status != "pending").map(Value::from));
        self.insert("size", size.filter(|size| *size != "small").map(Value::from));
        self.insert("description", Some(text).filter(|text| !text.is_empty()).map(Value::from));
        self.insert("depends", depends.filter(|ids| !ids.is_empty()).map(Value::from));
        self.insert("blocked_reason", reason.map(Value::from));
    }

    fn insert(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.fields.insert(name.to_owned(), value);
        }
    }
}

/// Reads `1.2: …`, `1.2.3: …` or `Task 1.2: …`; after `Task`, any id is allowed.
fn explicit_id(text: &str) -> Option<(&str, &str)> {
    let (head, rest) = text.split_once(':')?;
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return None;
    }
    match head.trim().strip_prefix("Task ").map(str::trim) {
        Some(id) if !id.is_empty() && !id.contains(char::is_whitespace) => Some((id, rest.trim())),
        Some(_) => None,
        None => is_numeric(head).then_some((head, rest.trim())),
    }
}

fn is_numeric(id: &str) -> bool {
    id.contains('.') && id.split('.').all(is_number)
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

fn depends_suffix(text: &str) -> Option<(&str, Vec<Value>)> {
    let inside = text.strip_suffix(')')?;
    let (rest, inside) = inside.rsplit_once('(')?;
    let (word, ids) = inside.split_once(':')?;
    if !["depends", "depends on"].iter().any(|known| known.eq_ignore_ascii_case(word.trim())) {
        return None;
    }
    let ids = ids.split(',').map(str::trim).filter(|id| !id.is_empty());
    Some((rest.trim_end(), ids.map(Value::from).collect()))
}

fn size_suffix(text: &str) -> Option<(&str, &'static str)> {
    let (rest, word) = text.strip_suffix(']')?.rsplit_once('[')?;
    Some((rest.trim_end(), size(word)?))
}

/// Returns the size of this name.
pub(super) fn size(word: &str) -> Option<&'static str> {
    SIZES.into_iter().find(|size| size.eq_ignore_ascii_case(word.trim()))
}

/// Splits `description - reason`, or the older `description [SIZE] - reason`.
fn blocked<'a>(text: &'a str, size: Option<&'static str>) -> (&'a str, Option<&'static str>, Option<&'a str>) {
    if size.is_none() {
        let dashes = text.match_indices(" - ").map(|(at, _)| (text[..at].trim_end(), text[at + 3..].trim()));
        for (before, reason) in dashes {
            if let Some((description, size)) = size_suffix(before) {
                return (description, Some(size), Some(reason));
            }
        }
    }
    match text.split_once(" - ") {
        Some((description, reason)) => (description.trim_end(), size, Some(reason.trim())),
        None => (text, size, None),
    }
}
