//! Reads a plan's JSON, and reports the position of an error.

use serde_json::Value;
use switchboard_protocol::strict_json;

use super::error::{PlanError, Position};
use super::locate;

pub(super) fn parse(text: &str) -> Result<Value, PlanError> {
    strict_json::parse(text).map_err(|error| explain(text, &error))
}

/// Converts the parser's message to a [`PlanError`] with its position.
fn explain(text: &str, error: &serde_json::Error) -> PlanError {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let place = locate::from_bytes(text, error.line(), error.column());
    if error.is_data() {
        return PlanError::syntax(Some(place), "each field once", message).hint("remove one of them");
    }
    let (expected, hint) = match message {
        "trailing comma" => ("a value after the comma", "remove the comma"),
        "key must be a string" => ("a field name in double quotes", "JSON knows no comments and no bare names"),
        "trailing characters" => ("nothing after the plan", "remove what follows"),
        _ if error.is_eof() => ("more text", "the file ends too early: a bracket or quote is not closed"),
        _ => (message.strip_prefix("expected ").unwrap_or("valid JSON"), ""),
    };
    PlanError::syntax(Some(place), expected, found(text, place, message)).hint(hint)
}

fn found(text: &str, place: Position, message: &str) -> String {
    let line = text.lines().nth(place.line.saturating_sub(1) as usize).unwrap_or_default();
    match line.chars().nth(place.column.saturating_sub(1) as usize) {
        Some(c) if message.starts_with("expected") || message.starts_with("trailing") || message.starts_with("key") => {
            format!("{c:?}")
        }
        Some(_) | None if message.starts_with("expected") || message.starts_with("EOF") => "the end".to_owned(),
        Some(_) | None => message.to_owned(),
    }
}
