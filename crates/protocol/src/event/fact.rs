//! Typed facts: reads and writes them as `kind` and `facts`, the shape in which the log stores them.

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{Error as _, IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The facts of one family of events: an enum with `#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]`.
///
/// Implemented for each type of [`for_each_event!`](crate::for_each_event). The functions are not generic, so their code is
/// compiled once, in this crate, and not in each crate that reads or writes events.
pub trait Fact: Sized {
    /// Reads a fact; `None` if the event is of another family.
    fn from_value(kind: &str, facts: &Value) -> Option<Self>;

    /// Reads a fact from JSON; `None` if the event is of another family.
    fn from_text(kind: &str, facts: &str) -> Option<Self>;

    /// Returns the fact as an object of `kind` and `facts`.
    ///
    /// # Errors
    /// If a value can't be written as JSON.
    fn to_tagged(&self) -> Result<Value, serde_json::Error>;
}

// `$subject` is what the events are about; the list also names it for the schemas.
macro_rules! implement {
    ($($subject:literal $fact:ty,)*) => {
        $(impl Fact for $fact {
            fn from_value(kind: &str, facts: &Value) -> Option<Self> {
                tagged(kind, Field::Facts(facts))
            }

            fn from_text(kind: &str, facts: &str) -> Option<Self> {
                tagged(kind, Field::Text(facts))
            }

            fn to_tagged(&self) -> Result<Value, serde_json::Error> {
                serde_json::to_value(self)
            }
        })*
    };
}

crate::for_each_event!(implement);

/// Splits a tagged fact into its kind and its facts.
pub(super) fn split(tagged: Value) -> Result<(String, Value), serde_json::Error> {
    let not_tagged = || serde_json::Error::custom("a fact is an enum tagged by kind and facts");
    let Value::Object(mut tagged) = tagged else { return Err(not_tagged()) };
    let Some(Value::String(kind)) = tagged.remove("kind") else { return Err(not_tagged()) };
    Ok((kind, tagged.remove("facts").unwrap_or_default()))
}

fn tagged<'de, F: Deserialize<'de>>(kind: &'de str, facts: Field<'de>) -> Option<F> {
    let fields = [("kind", Field::Kind(kind)), ("facts", facts)];
    F::deserialize(MapDeserializer::new(fields.into_iter())).ok()
}

/// Fields of the shape in which typed facts are stored: `#[serde(tag = "kind", content = "facts", rename_all = "snake_case")]`.
enum Field<'a> {
    Kind(&'a str),
    Facts(&'a Value),
    Text(&'a str),
}

impl<'a> IntoDeserializer<'a, serde_json::Error> for Field<'a> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Field<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self {
            Self::Kind(kind) => visitor.visit_borrowed_str(kind),
            Self::Facts(facts) => facts.deserialize_any(visitor),
            Self::Text(facts) => serde_json::Deserializer::from_str(facts).deserialize_any(visitor),
        }
    }

    /// Reads the kind as the name of a variant.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self {
            Self::Kind(kind) => visitor.visit_enum(BorrowedStrDeserializer::new(kind)),
            Self::Facts(facts) => facts.deserialize_enum(name, variants, visitor),
            Self::Text(facts) => serde_json::Deserializer::from_str(facts).deserialize_enum(name, variants, visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
