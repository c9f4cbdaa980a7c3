//! Body of a task, the lines below its own: fields (`- Files: src/a.rs, src/b.rs`), and details, which belong to its description.

use serde_json::{Value, json};

use super::carry::Sparse;
use super::task_line;

/// Reads a line below a task into its fields; returns what is wrong with the line, if anything. `text` is the line
/// without the task's own indentation; one that is indented is a part of the task.
pub(super) fn read(fields: &mut Sparse, text: &str) -> Option<String> {
    let line = text.trim();
    let item = line.strip_prefix(['-', '*']);
    let named = item.unwrap_or(line).split_once(':');
    let (name, value) = named.map_or(("", ""), |(name, value)| (name.trim(), value.trim()));
    let problem = match field(fields, &name.to_ascii_lowercase(), value, item.is_some()) {
        Ok(true) => return None,
        Ok(false) => None,
        Err(problem) => Some(format!("{problem}; it is taken as text")),
    };
    if !text.starts_with([' ', '\t']) {
        return Some("it stands outside of any task, and no agent reads it".to_owned());
    }
    add_detail(fields, text);
    problem
}

/// Sets a field; returns false if the line is none.
///
/// # Errors
/// What the field takes.
fn field(fields: &mut Sparse, name: &str, value: &str, is_item: bool) -> Result<bool, &'static str> {
    let plain = value.trim_end_matches('.').trim_end();
    match name {
        "acceptance" if !value.is_empty() => drop(fields.insert("acceptance".to_owned(), value.into())),
        "reason" if is_item && !value.is_empty() => {
            fields.entry("blocked_reason").or_insert_with(|| value.into());
        }
        attempt if is_item && attempt.starts_with("attempt ") => {
            add(fields, "attempts", &format!("{}: {value}", &attempt["attempt ".len()..]));
        }
        "files" | "file" | "files_touched" if is_item => {
            let paths = items(plain).ok_or("`Files:` takes paths, with commas between them")?;
            paths.iter().for_each(|path| add(fields, "files_touched", path));
        }
        "depends" | "depends on" | "dependencies" if is_item => {
            let ids =
                items(&plain.replace("Task ", "")).ok_or("`Depends:` takes ids of tasks, with commas between them")?;
            ids.iter().filter(|id| *id != "none").for_each(|id| add(fields, "depends", id));
        }
        "size" if is_item => {
            let size = task_line::size(plain).ok_or("`Size:` is small, medium or large")?;
            fields.insert("size".to_owned(), size.into());
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Splits `a, b`, each perhaps in backticks; `None` if something in it is no single word.
fn items(text: &str) -> Option<Vec<String>> {
    let words = text.split(',').map(|word| word.trim().trim_matches('`'));
    let words: Vec<_> = words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
    (!words.is_empty() && !words.iter().any(|word| word.contains(char::is_whitespace))).then_some(words)
}

/// Adds a text to a list, once.
fn add(fields: &mut Sparse, name: &str, text: &str) {
    let entry = fields.entry(name.to_owned()).or_insert_with(|| json!([]));
    if let Value::Array(list) = entry
        && (name == "attempts" || !list.iter().any(|known| known == text))
    {
        list.push(text.into());
    }
}

/// Adds a line to a task's description, indented as it is below the task.
fn add_detail(fields: &mut Sparse, text: &str) {
    let detail = text.strip_prefix("  ").or_else(|| text.strip_prefix(['\t', ' '])).unwrap_or(text).trim_end();
    // Below an item of a numbered list, it is three spaces.
    let detail = detail.strip_prefix(' ').filter(|detail| !detail.starts_with(' ')).unwrap_or(detail);
    let description = match fields.get("description").and_then(Value::as_str) {
        Some(description) => format!("{description}\n{detail}"),
        None => detail.trim_start().to_owned(),
    };
    fields.insert("description".to_owned(), description.into());
}
