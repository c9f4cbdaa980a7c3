//! JSON without the freedom to name a field twice, which would lose one of them.

use std::fmt;

use serde::Deserialize;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::error::{PlanError, Position};
use super::locate;

/// A value that was read strictly.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format!("the field {name:?} a second time")));
            }
            let Strict(value) = fields.next_value()?;
            object.insert(name, value);
        }
        Ok(object.into())
    }
}

pub(super) fn parse(text: &str) -> Result<Value, PlanError> {
    serde_json::from_str(text).map(|Strict(value)| value).map_err(|error| explain(text, &error))
}

/// Puts the parser's message into our form: what was expected where.
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
