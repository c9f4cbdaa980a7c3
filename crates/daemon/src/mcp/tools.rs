//! Converts verbs to MCP tools, listed in the order of the table, so that clients' prompt caches hit.

use std::sync::{Arc, LazyLock};

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value};
use switchboard_protocol::verb::{self, Access, Profile, Row};

/// The default tools, by name. Tools of upstream servers are never among them, so the list can't change.
static LISTED: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let rows = verb::table();
    rows.iter().filter(|row| row.profile == Profile::Listed).map(tool).collect()
});

/// Returns the default tools, by name, with schemas as short as possible: every agent pays for them in every conversation.
pub(super) fn listed() -> Vec<Tool> {
    LISTED.clone()
}

/// Converts a row to a tool.
pub(super) fn tool(row: &Row) -> Tool {
    let is_listed = row.profile == Profile::Listed;
    let schema = match row.request.value() {
        Value::Object(schema) => schema,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    let schema = if is_listed { brief(schema) } else { schema };
    let tool = Tool::new(row.name.clone(), row.about.clone(), Arc::new(schema));
    tool.with_annotations(annotations(row.effect, is_listed))
}

/// Shortens a schema: drops `additionalProperties`, since unknown fields are refused anyway, and all but the field names of inner objects.
fn brief(mut schema: Map<String, Value>) -> Map<String, Value> {
    schema.remove("additionalProperties");
    let inner = schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut);
    for inner in inner.filter_map(Value::as_object_mut) {
        inner.remove("additionalProperties");
        let Some(Value::Object(fields)) = inner.remove("properties") else { continue };
        let names = fields.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let about = inner.get("description").and_then(Value::as_str).unwrap_or_default().trim_end_matches('.');
        inner.insert("description".to_owned(), format!("{about}: {names}.").into());
    }
    schema
}

/// Returns the annotations of a tool. Default tools only ever add to the log; about the others nothing is promised.
fn annotations(effect: Access, is_listed: bool) -> ToolAnnotations {
    let hints = ToolAnnotations::new().open_world(false);
    match (effect, is_listed) {
        (Access::Read, true) => hints.read_only(true),
        (Access::Written | Access::Synced, true) => hints.destructive(false),
        (_, false) => hints,
    }
}
