//! Generates tables of fields from JSON schemas, for the references in `docs/`.

use std::fmt::Write as _;

use serde_json::Value;

/// Marks of the beginning and end of a generated part of a document.
const BEGIN: &str = "<!-- made by `cargo xtask schemas` -->";
const END: &str = "<!-- end -->";

/// Returns a document with its generated part renewed.
///
/// # Errors
/// When the document has no marks for it.
pub(super) fn renewed(document: &str, schema: &Value) -> anyhow::Result<String> {
    let (before, rest) = document.split_once(BEGIN).ok_or_else(|| anyhow::anyhow!("no line {BEGIN:?}"))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| anyhow::anyhow!("no line {END:?}"))?;
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", tables(schema)))
}

/// Makes a table for the object of a schema, and for each object that it uses, in the order of their first use.
fn tables(schema: &Value) -> String {
    let mut text = String::new();
    let mut waiting = vec![schema["title"].as_str().unwrap_or("The file").to_owned()];
    let mut seen = waiting.clone();
    while !waiting.is_empty() {
        let name = waiting.remove(0);
        let object = if seen.len() == 1 || name == seen[0] { schema } else { &schema["$defs"][&name] };
        let Some(fields) = object["properties"].as_object() else { continue };
        let _ = writeln!(text, "\n### {name}\n\n{}\n", line(object["description"].as_str().unwrap_or_default()));
        text.push_str("| field | value | meaning |\n|---|---|---|\n");
        let required = |name: &str| object["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        for (name, field) in fields {
            let mut used = Vec::new();
            let value = value(field, &schema["$defs"], &mut used);
            let must = if required(name) { ", required" } else { "" };
            let about = field["description"].as_str().map(line).unwrap_or_default();
            let _ = writeln!(text, "| `{name}` | {value}{must} | {about}{} |", default(field));
            for name in used.into_iter().filter(|name| schema["$defs"][name]["properties"].is_object()) {
                if !seen.contains(&name) {
                    seen.push(name.clone());
                    waiting.push(name);
                }
            }
        }
    }
    text.trim().to_owned()
}

fn default(field: &Value) -> String {
    match &field["default"] {
        Value::Null => String::new(),
        Value::Array(all) if all.is_empty() => String::new(),
        Value::Object(all) if all.is_empty() => String::new(),
        other @ (Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            format!(" Default: `{other}`.")
        }
    }
}

/// Describes the value of a field in words; adds the names of its objects to `used`.
fn value(field: &Value, defs: &Value, used: &mut Vec<String>) -> String {
    if let Some(name) = field["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        let meant = &defs[name];
        if meant["properties"].is_object() {
            used.push(name.to_owned());
            return format!("[{name}](#{})", name.to_lowercase());
        }
        return value(meant, defs, used);
    }
    for word in ["oneOf", "anyOf", "allOf"] {
        if let Some(all) = field[word].as_array() {
            let mut words: Vec<_> =
                all.iter().filter(|one| one["type"] != "null").map(|one| value(one, defs, used)).collect();
            words.dedup();
            return words.join(", ");
        }
    }
    if let Some(word) = field["const"].as_str() {
        return format!("`{word}`");
    }
    if let Some(words) = field["enum"].as_array() {
        return words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    match kind(&field["type"]).as_str() {
        "array" => format!("list of {}", value(&field["items"], defs, used)),
        "object" if field["additionalProperties"].is_object() => {
            format!("table of {}", value(&field["additionalProperties"], defs, used))
        }
        "string" => "text".to_owned(),
        "integer" => "number".to_owned(),
        "boolean" => "`true`, `false`".to_owned(),
        "" => "anything".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns the type, without the null of an optional field.
fn kind(kind: &Value) -> String {
    match kind {
        Value::String(word) => word.clone(),
        Value::Array(words) => {
            words.iter().filter_map(Value::as_str).find(|word| *word != "null").unwrap_or_default().to_owned()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// Converts a text to one line of a table.
fn line(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_object_gets_a_table_and_every_choice_its_words() {
        let schema = json!({
            "title": "Plan", "description": "A plan.", "required": ["title"],
            "properties": {
                "title": { "type": "string", "description": "What it\nis about." },
                "tasks": { "type": "array", "items": { "$ref": "#/$defs/Task" } }
            },
            "$defs": {
                "Size": { "oneOf": [{ "const": "small" }, { "const": "large" }] },
                "Task": { "properties": { "size": { "$ref": "#/$defs/Size", "default": "small" } } }
            }
        });

        let text = renewed(&format!("# A\n{BEGIN}\nold\n{END}\nend\n"), &schema).unwrap();

        assert!(text.starts_with("# A\n") && text.ends_with("-->\nend\n") && !text.contains("old"), "{text}");
        assert!(text.contains("| `title` | text, required | What it is about. |"), "{text}");
        assert!(text.contains("| `tasks` | list of [Task](#task) |"), "{text}");
        assert!(text.contains("| `size` | `small`, `large` |  Default: `\"small\"`. |"), "{text}");
    }
}
