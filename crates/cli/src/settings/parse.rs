//! Parses a settings file. An error names the line, the full path of the key, and what the key takes.

use std::ops::Range;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::text::cut;
use toml_edit::{Document, Item, TableLike};

use crate::choices::choices;

/// Maximum length of a parser message that is shown, in bytes.
const MESSAGE: usize = 1000;

/// Part of the path of a key.
enum Part<'file> {
    Name(&'file str),
    /// Position in a list, from 0.
    Item(usize),
}

/// Parses TOML.
///
/// # Errors
/// `config.syntax` with the file, the line, the key, and a similar name for a key that does not exist.
pub(super) fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, Failure> {
    let document = Document::parse(text).map_err(|error| syntax(path, text, &[], &error.into()))?;
    T::deserialize(toml_edit::de::Deserializer::from(document.clone())).map_err(|error| {
        let mut key = Vec::new();
        if let Some(span) = error.span() {
            key_at(document.as_item(), &span, &mut key);
        }
        syntax(path, text, &key, &error)
    })
}

/// Returns the path of the innermost key that is at these bytes of the file, or whose value is.
///
/// `serde_path_to_error` would know it as well, at the cost of a layer around each type of the settings: a tenth of this
/// crate's code.
fn key_at<'file>(item: &'file Item, span: &Range<usize>, path: &mut Vec<Part<'file>>) -> bool {
    for (name, inner) in item.as_table_like().into_iter().flat_map(TableLike::iter) {
        path.push(Part::Name(name));
        let key = item.as_table_like().and_then(|table| table.key(name)?.span());
        if key_at(inner, span, path) || key.as_ref() == Some(span) {
            return true;
        }
        path.pop();
    }
    for (at, inner) in (0..).map_while(|at| Some((at, item.get(at)?))) {
        path.push(Part::Item(at));
        if key_at(inner, span, path) {
            return true;
        }
        path.pop();
    }
    item.span().as_ref() == Some(span)
}

fn syntax(path: &Path, text: &str, key: &[Part<'_>], error: &toml_edit::de::Error) -> Failure {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let place = line.map_or_else(|| path.display().to_string(), |line| format!("{}:{line}", path.display()));
    let message = cut(error.message(), MESSAGE);
    let what = match key {
        [] => format!("the settings do not parse: {message}"),
        key => said_of(key, &message),
    };
    let failure = Failure::new("config.syntax", what).at(place);
    // serde names the unknown word first, then the known ones.
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next().unwrap_or_default();
    match near_matches(unknown, quoted).first() {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("all fields and their values: switchboard schema config"),
    }
}

/// Describes what is wrong with a key. serde's own messages name Rust types: `invalid type: string "x", expected u32`.
fn said_of(key: &[Part<'_>], message: &str) -> String {
    let schema = super::schema();
    let at = At::of(key, &schema);
    let is_of_keys = ["unknown field", "missing field", "duplicate field"].iter().any(|of| message.starts_with(of));
    let kind = at.field.filter(|_| !is_of_keys).and_then(|field| kind(field, &schema["$defs"]));
    let found = if at.is_list { Some("a list".to_owned()) } else { found(message) };
    match (kind, found) {
        (Some(kind), Some(found)) => format!("`{}` takes {kind}, not {found}", at.path),
        (Some(kind), None) => format!("`{}` takes {kind}", at.path),
        (None, _) if message.starts_with(&format!("unknown field `{}`", at.path)) => message.to_owned(),
        (None, _) => format!("`{}`: {message}", at.path),
    }
}

/// A position in the file.
struct At<'a> {
    /// Full path of the key, as TOML writes it.
    path: String,
    /// Schema of the key.
    field: Option<&'a Value>,
    /// True if there is a list instead of a table. serde reads such a list as the values of the table's fields.
    is_list: bool,
}

// === impl At ===

impl<'a> At<'a> {
    fn of(key: &[Part<'_>], schema: &'a Value) -> Self {
        let mut at = Self { path: String::new(), field: Some(schema), is_list: false };
        for part in key {
            let field = at.field.map_or(&Value::Null, |field| resolved(field, &schema["$defs"]));
            let is_table = field["type"] == "object";
            at.field = match part {
                // The variant of an enumeration, which is written at the key itself.
                Part::Name(_) if at.field.is_some() && !is_table => continue,
                Part::Name(name) => field["properties"].get(name).or_else(|| field.get("additionalProperties")),
                Part::Item(_) if is_table => return Self { is_list: true, ..at },
                Part::Item(_) => field.get("items"),
            };
            at.push(part);
        }
        at
    }

    fn push(&mut self, part: &Part<'_>) {
        let is_bare = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path += &match part {
            Part::Name(key) if is_bare(key) => format!("{dot}{key}"),
            Part::Name(key) => format!("{dot}{key:?}"),
            Part::Item(at) => format!("[{at}]"),
        };
    }
}

/// Follows references, also of an optional field.
fn resolved<'a>(field: &'a Value, defs: &'a Value) -> &'a Value {
    let of_optional = field["anyOf"].as_array().and_then(|all| all.iter().find(|one| one["type"] != "null"));
    let name = field["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    match of_optional.or_else(|| name.map(|name| &defs[name])) {
        Some(inner) => resolved(inner, defs),
        None => field,
    }
}

/// Describes the type that a field takes.
fn kind(field: &Value, defs: &Value) -> Option<String> {
    let words = choices(field, defs);
    if !words.is_empty() {
        return Some(format!("one of {}", words.join(", ")));
    }
    let types = &resolved(field, defs)["type"];
    let kind =
        types.as_str().or_else(|| types.as_array()?.iter().filter_map(Value::as_str).find(|kind| *kind != "null"));
    let kind = match kind? {
        "string" => "a text",
        "integer" => "a whole number from 0",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a table",
        _ => return None,
    };
    Some(kind.to_owned())
}

/// Returns what the file has instead, if the message names it.
fn found(message: &str) -> Option<String> {
    let misfit = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    let Some((found, _)) = misfit.and_then(|misfit| misfit.rsplit_once(", expected ")) else {
        let unknown = message.strip_prefix("unknown variant `")?.split('`').next()?;
        return Some(format!("\"{unknown}\""));
    };
    Some(match found.split_once(' ').unwrap_or((found, "")) {
        ("string", text) => format!("the text {text}"),
        ("integer" | "boolean", value) => value.trim_matches('`').to_owned(),
        ("floating", value) => value.trim_start_matches("point ").trim_matches('`').to_owned(),
        ("sequence", _) => "a list".to_owned(),
        ("map", _) => "a table".to_owned(),
        (_, _) => found.to_owned(),
    })
}
