//! Facts of an event as text.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// Facts of an event: one JSON value, as the text that is hashed and stored. Copies share the text.
#[derive(Debug, Clone)]
pub struct Facts(Arc<RawValue>);

// === impl Facts ===

impl Facts {
    /// Writes a value as compact JSON.
    ///
    /// # Errors
    /// If the value can't be written as JSON.
    pub fn of(value: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self(Arc::from(to_raw_value(value)?)))
    }

    /// Keeps a text as it is.
    ///
    /// # Errors
    /// If the text is not one JSON value.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        Ok(Self(Arc::from(RawValue::from_string(text.into())?)))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Returns the value that the text stands for.
    ///
    /// # Errors
    /// If it is nested more than 127 deep or has a number that no `f64` holds.
    pub fn to_value(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }

    /// Returns a field; `null` if there is none. Parses the whole text each time: for tests and for readers of few events.
    #[must_use]
    pub fn field(&self, name: &str) -> Value {
        self.to_value().ok().and_then(|mut facts| facts.get_mut(name).map(Value::take)).unwrap_or_default()
    }
}

impl Default for Facts {
    fn default() -> Self {
        Self(Arc::from(RawValue::NULL.to_owned()))
    }
}

impl PartialEq for Facts {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Facts {}

impl From<Value> for Facts {
    fn from(value: Value) -> Self {
        // Never fails: a value has only what JSON has.
        Self::of(&value).unwrap_or_default()
    }
}

impl std::fmt::Display for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Facts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not as raw text, which is only read directly from JSON, but not within an untagged enum or a flattened struct.
        Value::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(feature = "schemas")]
impl schemars::JsonSchema for Facts {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        Value::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Value::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_kept_as_it_is_and_must_be_one_json_value() {
        assert_eq!(Facts::parse(r#"{ "a":1.50 }"#).unwrap().as_str(), r#"{ "a":1.50 }"#);
        for text in ["", "{", "{} {}", "no", "{'a':1}"] {
            assert!(Facts::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn facts_are_written_into_and_read_from_json_as_a_value() {
        let facts = Facts::from(json!({ "b": 1, "a": [true] }));

        assert_eq!(serde_json::to_string(&json!({ "facts": facts })).unwrap(), r#"{"facts":{"b":1,"a":[true]}}"#);
        assert_eq!(serde_json::from_str::<Facts>(r#" {"b":1,"a":[true]}"#).unwrap(), facts);
        assert_ne!(Facts::from(json!({ "b": 2 })), facts);
    }

    #[test]
    fn a_field_that_is_missing_is_null() {
        let facts = Facts::from(json!({ "a": 1 }));

        assert_eq!((facts.field("a"), facts.field("b")), (json!(1), Value::Null));
        assert_eq!(Facts::default().field("a"), Value::Null);
        assert_eq!(facts.to_value().unwrap(), json!({ "a": 1 }));
    }

    #[test]
    fn a_value_nested_too_deep_is_text_only() {
        let facts = Facts::parse("[".repeat(128) + &"]".repeat(128)).unwrap();

        assert!(facts.to_value().is_err());
        assert_eq!(facts.field("a"), Value::Null);
    }
}
