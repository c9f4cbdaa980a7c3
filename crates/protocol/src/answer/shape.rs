//! Validates a value against a JSON Schema, as far as the schemas of answers use it, and reports the first violation with a JSON pointer to it.

use serde_json::{Map, Value};

use super::BadAnswer;
use super::bad::MAX_SHOWN;
use crate::error::near_matches;
use crate::text::cut;

/// Checks a value against a schema.
pub(super) fn check(value: &Value, schema: &Value) -> Result<(), BadAnswer> {
    Check { definitions: &schema["$defs"], pointer: String::new() }.value(value, schema)
}

/// State of a check.
struct Check<'a> {
    definitions: &'a Value,
    pointer: String,
}

// === impl Check ===

impl<'a> Check<'a> {
    fn value(&mut self, value: &Value, schema: &'a Value) -> Result<(), BadAnswer> {
        let schema = self.resolved(schema);
        if let Some(choices) = schema["anyOf"].as_array() {
            return self.any(value, choices);
        }
        if let Some(words) = words(schema) {
            let is_one = value.as_str().is_some_and(|value| words.contains(&value));
            return if is_one { Ok(()) } else { Err(self.no_word(value, &words)) };
        }
        self.kind(value, schema)?;
        match value {
            Value::String(text) => self.count(text.chars().count(), schema, ["minLength", "maxLength"], "characters"),
            Value::Array(items) => self.items(items, schema),
            Value::Object(fields) => self.fields(fields, schema),
            Value::Number(number) => self.range(number.as_f64().unwrap_or(f64::NAN), schema),
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }

    fn resolved(&self, schema: &'a Value) -> &'a Value {
        let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
        name.map_or(schema, |name| &self.definitions[name])
    }

    /// Checks an optional value: it may also be null. A violation is reported against the other choice.
    fn any(&mut self, value: &Value, choices: &'a [Value]) -> Result<(), BadAnswer> {
        let mut last = Ok(());
        for choice in choices {
            let depth = self.pointer.len();
            let outcome = self.value(value, choice);
            self.pointer.truncate(depth);
            match outcome {
                Ok(()) => return Ok(()),
                Err(_) if choice["type"] == "null" => {}
                Err(error) => last = Err(error),
            }
        }
        last
    }

    fn kind(&self, value: &Value, schema: &Value) -> Result<(), BadAnswer> {
        let is = |kind: &str| match kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_u64() || value.is_i64(),
            "number" => value.is_number(),
            "null" => value.is_null(),
            _ => false,
        };
        match &schema["type"] {
            Value::String(kind) if !is(kind) => Err(self.wrong(article(kind), shown(value))),
            Value::Array(kinds) if !kinds.iter().filter_map(Value::as_str).any(is) => {
                Err(self.wrong(article(kinds[0].as_str().unwrap_or_default()), shown(value)))
            }
            Value::String(_) | Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                Ok(())
            }
        }
    }

    fn items(&mut self, items: &[Value], schema: &'a Value) -> Result<(), BadAnswer> {
        self.count(items.len(), schema, ["minItems", "maxItems"], "items")?;
        for (at, item) in items.iter().enumerate() {
            self.below(&at.to_string(), item, &schema["items"])?;
        }
        Ok(())
    }

    fn fields(&mut self, fields: &Map<String, Value>, schema: &'a Value) -> Result<(), BadAnswer> {
        let Some(known) = schema["properties"].as_object() else { return Ok(()) };
        if let Some(name) = fields.keys().find(|name| !known.contains_key(*name)) {
            return Err(self.unknown(name, fields, known));
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if let Some(name) = required.into_iter().find(|name| !fields.contains_key(*name)) {
            return Err(self.wrong(format!("a field `{name}`"), "none".to_owned()));
        }
        for (name, value) in fields {
            self.below(name, value, &known[name])?;
        }
        Ok(())
    }

    fn below(&mut self, name: &str, value: &Value, schema: &'a Value) -> Result<(), BadAnswer> {
        let depth = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(name);
        self.value(value, schema)?;
        self.pointer.truncate(depth);
        Ok(())
    }

    fn count(&self, count: usize, schema: &Value, bounds: [&str; 2], of: &str) -> Result<(), BadAnswer> {
        let bound = |name: &str| schema[name].as_u64().and_then(|bound| usize::try_from(bound).ok());
        if let Some(least) = bound(bounds[0]).filter(|least| count < *least) {
            return Err(self.wrong(format!("at least {least} {of}"), count.to_string()));
        }
        if let Some(most) = bound(bounds[1]).filter(|most| count > *most) {
            return Err(self.wrong(format!("at most {most} {of}"), count.to_string()));
        }
        Ok(())
    }

    fn range(&self, number: f64, schema: &Value) -> Result<(), BadAnswer> {
        if let Some(least) = schema["minimum"].as_f64().filter(|least| number < *least) {
            return Err(self.wrong(format!("at least {least}"), number.to_string()));
        }
        if let Some(most) = schema["maximum"].as_f64().filter(|most| number > *most) {
            return Err(self.wrong(format!("at most {most}"), number.to_string()));
        }
        Ok(())
    }

    fn wrong(&self, expected: String, found: String) -> BadAnswer {
        let pointer = cut(&self.pointer, MAX_SHOWN);
        BadAnswer::WrongShape { pointer, expected, found, near: None }
    }

    fn no_word(&self, value: &Value, words: &[&str]) -> BadAnswer {
        let near = value.as_str().and_then(|value| near_matches(value, words.iter().copied()).first().copied());
        let pointer = cut(&self.pointer, MAX_SHOWN);
        let near = near.map(ToOwned::to_owned);
        BadAnswer::WrongShape { pointer, expected: format!("one of {}", words.join(", ")), found: shown(value), near }
    }

    fn unknown(&self, name: &str, fields: &Map<String, Value>, known: &Map<String, Value>) -> BadAnswer {
        let free = known.keys().map(String::as_str).filter(|known| !fields.contains_key(*known));
        let near = near_matches(name, free).first().map(ToString::to_string);
        let names = known.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let found = format!("a field `{}`", cut(name, MAX_SHOWN));
        BadAnswer::WrongShape { pointer: cut(&self.pointer, MAX_SHOWN), expected: format!("only {names}"), found, near }
    }
}

/// Returns the words of an enumeration.
pub(super) fn words(schema: &Value) -> Option<Vec<&str>> {
    if let Some(words) = schema["enum"].as_array() {
        return Some(words.iter().filter_map(Value::as_str).collect());
    }
    let of_choice = |choice| word(choice).map_or_else(|| words(choice), |word| Some(vec![word]));
    let words: Option<Vec<_>> = schema["oneOf"].as_array()?.iter().map(of_choice).collect();
    Some(words?.concat())
}

fn word(schema: &Value) -> Option<&str> {
    schema["const"].as_str()
}

fn article(kind: &str) -> String {
    match kind {
        "object" | "array" | "integer" => format!("an {kind}"),
        "boolean" => "true or false".to_owned(),
        kind => format!("a {kind}"),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => cut(&value.to_string(), MAX_SHOWN),
    }
}
