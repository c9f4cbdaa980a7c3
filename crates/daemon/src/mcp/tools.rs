//! The verbs as MCP tools: made once, in the order of the table, so that clients' prompt caches hit.

use std::sync::{Arc, LazyLock};

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value};
use switchboard_protocol::verb::{self, Effect, Row};

/// Every verb as a tool, with whether it is among the default ones; by name.
static TOOLS: LazyLock<Vec<(bool, Tool)>> =
    LazyLock::new(|| verb::table().into_iter().map(|row| (row.is_tool, tool(row))).collect());

/// The default tools, by name, with schemas as short as they can be said: every agent pays for them in every conversation.
pub(super) fn listed() -> Vec<Tool> {
    TOOLS.iter().filter(|(is_listed, _)| *is_listed).map(|(_, tool)| tool.clone()).collect()
}

/// Any verb as a tool, also those that are not listed.
pub(super) fn find(name: &str) -> Option<Tool> {
    TOOLS.iter().map(|(_, tool)| tool).find(|tool| tool.name == name).cloned()
}

fn tool(row: Row) -> Tool {
    let schema = match row.request {
        Value::Object(schema) => schema,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    let schema = if row.is_tool { brief(schema) } else { schema };
    Tool::new(row.name, row.about, Arc::new(schema)).with_annotations(annotations(row.effect, row.is_tool))
}

/// Leaves out what is refused anyway (fields of other names), and names the fields of an inner object only.
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

/// Default tools only ever add to the record; of the others nothing is promised.
fn annotations(effect: Effect, is_default: bool) -> ToolAnnotations {
    let hints = ToolAnnotations::new().open_world(false);
    match (effect, is_default) {
        (Effect::Read, true) => hints.read_only(true),
        (Effect::Written | Effect::Synced, true) => hints.destructive(false),
        (_, false) => hints,
    }
}
