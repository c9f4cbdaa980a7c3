//! Reads the arguments of a verb from JSON; an error comes with the path of the argument.
//!
//! As `serde_path_to_error` does, which wraps every reader and every read type in layers of its own. That was a tenth of
//! this crate's code. What a type does not ask for is refused before the type's own code is reached: a struct is read from
//! an object alone, not from a list of its fields, and a text from a text.

use std::cell::RefCell;
use std::fmt::Write as _;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, EnumAccess, Expected, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::{Deserialize as _, Deserializer, forward_to_deserialize_any};
use serde_json::{Error, Number, Value};

/// Arguments that do not match the type of a verb's request.
pub(super) struct Misfit {
    /// serde's message.
    pub(super) message: String,
    /// Path of the argument, such as `agents[0].driver`; empty if it is about all of them.
    pub(super) path: String,
}

/// Reads a request.
///
/// # Errors
/// When the arguments don't match its type.
pub(super) fn read<T: DeserializeOwned>(args: Value) -> Result<T, Misfit> {
    let trail = Trail::default();
    T::deserialize(Argument { value: args, trail: &trail }).map_err(|error| trail.misfit(&error))
}

/// Path of the value that is refused, innermost part first: an error adds to it on its way out.
#[derive(Default)]
struct Trail(RefCell<Vec<Part>>);

/// Part of a path.
enum Part {
    /// Key of an object, or variant of an enum.
    Name(String),
    /// Position in a list, from 0.
    Item(usize),
}

/// A value with the path of its error.
struct Argument<'t> {
    value: Value,
    trail: &'t Trail,
}

/// Values of a list.
struct Items<'t> {
    rest: std::vec::IntoIter<Value>,
    /// Number of values that were read.
    read: usize,
    trail: &'t Trail,
}

/// Fields of an object.
struct Fields<'t> {
    rest: serde_json::map::IntoIter,
    /// Key and value of the field that is being read.
    key: String,
    value: Value,
    trail: &'t Trail,
}

/// Variant of an enum.
struct Variant<'t> {
    name: String,
    /// What it holds; none if only its name is given.
    value: Option<Value>,
    trail: &'t Trail,
}

// === impl Trail ===

impl Trail {
    fn push(&self, part: Part) {
        self.0.borrow_mut().push(part);
    }

    fn misfit(self, error: &Error) -> Misfit {
        let mut path = String::new();
        for part in self.0.into_inner().iter().rev() {
            let dot = if path.is_empty() { "" } else { "." };
            let _ = match part {
                Part::Name(name) => write!(path, "{dot}{name}"),
                Part::Item(at) => write!(path, "[{at}]"),
            };
        }
        Misfit { message: error.to_string(), path }
    }
}

// === impl Argument ===

impl<'t> Argument<'t> {
    /// # Errors
    /// If the value is no object.
    fn fields(self, expected: &dyn Expected) -> Result<Fields<'t>, Error> {
        let Value::Object(fields) = self.value else { return Err(mistaken(&self.value, expected)) };
        Ok(Fields::of(fields, self.trail))
    }

    /// # Errors
    /// If the value is no list.
    fn items(self, expected: &dyn Expected) -> Result<Items<'t>, Error> {
        let Value::Array(items) = self.value else { return Err(mistaken(&self.value, expected)) };
        Ok(Items { rest: items.into_iter(), read: 0, trail: self.trail })
    }

    /// # Errors
    /// If the value is no text.
    fn text(self, expected: &dyn Expected) -> Result<String, Error> {
        let Value::String(text) = self.value else { return Err(mistaken(&self.value, expected)) };
        Ok(text)
    }

    /// # Errors
    /// If the value is no number.
    fn number(self, expected: &dyn Expected) -> Result<Number, Error> {
        let Value::Number(number) = self.value else { return Err(mistaken(&self.value, expected)) };
        Ok(number)
    }
}

/// Builds the refusal of a value of another kind than the type has.
fn mistaken(value: &Value, expected: &dyn Expected) -> Error {
    let found = match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Unexpected::Unsigned(number),
            (None, Some(number)) => Unexpected::Signed(number),
            (None, None) => Unexpected::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    serde::de::Error::invalid_type(found, expected)
}

macro_rules! read_numbers {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.number(&visitor)?.deserialize_any(visitor)
        })*
    };
}

macro_rules! read_texts {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let text = self.text(&visitor)?;
            visitor.visit_string(text)
        })*
    };
}

impl<'de> Deserializer<'de> for Argument<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::Number(number) => number.deserialize_any(visitor),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(fields) => visitor.visit_map(Fields::of(fields, self.trail)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let fields = self.fields(&visitor)?;
        visitor.visit_map(fields)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let mut items = self.items(&visitor)?;
        let value = visitor.visit_seq(&mut items)?;
        items.end()?;
        Ok(value)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Value::Bool(value) = self.value else { return Err(mistaken(&self.value, &visitor)) };
        visitor.visit_bool(value)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(Variant::of(self.value, self.trail)?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    read_numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64 deserialize_f32 deserialize_f64
    }

    read_texts! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    forward_to_deserialize_any! { i128 u128 bytes byte_buf unit unit_struct tuple_struct }
}

// === impl Items ===

impl Items<'_> {
    /// Refuses a list that is longer than its type.
    fn end(&self) -> Result<(), Error> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(serde::de::Error::invalid_length(self.read + more, &"fewer elements in array")),
        }
    }
}

impl<'de> SeqAccess<'de> for &mut Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(value) = self.rest.next() else { return Ok(None) };
        let at = self.read;
        self.read += 1;
        match seed.deserialize(Argument { value, trail: self.trail }) {
            Ok(element) => Ok(Some(element)),
            Err(error) => {
                self.trail.push(Part::Item(at));
                Err(error)
            }
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

// === impl Fields ===

impl<'t> Fields<'t> {
    fn of(fields: serde_json::Map<String, Value>, trail: &'t Trail) -> Self {
        Self { rest: fields.into_iter(), key: String::new(), value: Value::Null, trail }
    }

    /// Takes up the next field; false after the last.
    fn advance(&mut self) -> bool {
        let next = self.rest.next();
        let has_next = next.is_some();
        (self.key, self.value) = next.unwrap_or_default();
        has_next
    }

    /// Adds the field to the path of an error.
    fn refused(&mut self, error: Error) -> Error {
        self.trail.push(Part::Name(std::mem::take(&mut self.key)));
        error
    }
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if !self.advance() {
            return Ok(None);
        }
        match seed.deserialize(StrDeserializer::new(&self.key)) {
            Ok(key) => Ok(Some(key)),
            Err(error) => Err(self.refused(error)),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        match seed.deserialize(Argument { value: self.value.take(), trail: self.trail }) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.refused(error)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

// === impl Variant ===

impl<'t> Variant<'t> {
    fn of(value: Value, trail: &'t Trail) -> Result<Self, Error> {
        match value {
            Value::String(name) => Ok(Self { name, value: None, trail }),
            Value::Object(fields) if fields.len() == 1 => {
                let (name, value) = fields.into_iter().next().unwrap_or_default();
                Ok(Self { name, value: Some(value), trail })
            }
            Value::Object(_) => Err(serde::de::Error::invalid_value(Unexpected::Map, &"map with a single key")),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                Err(mistaken(&value, &"string or map"))
            }
        }
    }

    /// Reads what the variant holds.
    fn read<T>(self, read: impl FnOnce(Argument<'t>) -> Result<T, Error>) -> Result<T, Error> {
        let Self { name, value, trail } = self;
        let read = match value {
            Some(value) => read(Argument { value, trail }),
            None => Err(serde::de::Error::invalid_type(Unexpected::UnitVariant, &"newtype variant")),
        };
        read.inspect_err(|_| trail.push(Part::Name(name)))
    }
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        match seed.deserialize(StrDeserializer::new(&self.name)) {
            Ok(variant) => Ok((variant, self)),
            Err(error) => {
                self.trail.push(Part::Name(self.name));
                Err(error)
            }
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.value {
            Some(_) => self.read(<()>::deserialize),
            None => Ok(()),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        self.read(|argument| seed.deserialize(argument))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.read(|argument| argument.deserialize_seq(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.read(|argument| argument.deserialize_map(visitor))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Shape {
        Point,
        Circle { radius: u8 },
        Named(String),
        Pair(u8, u8),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Drawing {
        shapes: Vec<Shape>,
        #[serde(default)]
        scale: Option<f64>,
        #[serde(default)]
        names: BTreeMap<String, Option<i32>>,
        #[serde(default)]
        corner: (u8, u8),
    }

    /// Reads a value and returns the path and the message of the refusal.
    fn refusal(value: Value) -> (String, String) {
        let Err(misfit) = read::<Drawing>(value) else { panic!("the value matches") };
        (misfit.path, misfit.message)
    }

    #[test]
    fn reads_what_serde_json_reads() {
        let all = json!({
            "shapes": ["point", { "point": null }, { "circle": { "radius": 3 } }, { "named": "x" }, { "pair": [1, 2] }],
            "scale": 2, "names": { "a": -1, "b": null }, "corner": [3, 4],
        });
        for value in [all, json!({ "shapes": [], "scale": null })] {
            let expected: Drawing = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(read::<Drawing>(value).ok(), Some(expected));
        }
    }

    #[test]
    fn refuses_with_the_words_of_serde_json_and_the_path() {
        for (path, value) in [
            ("", json!({})),
            ("", json!(3)),
            ("shape", json!({ "shape": [] })),
            ("shapes", json!({ "shapes": "point" })),
            ("shapes[1]", json!({ "shapes": ["point", 7] })),
            ("shapes[0]", json!({ "shapes": [null] })),
            ("shapes[0]", json!({ "shapes": [{ "circle": {}, "point": null }] })),
            ("shapes[0].square", json!({ "shapes": ["square"] })),
            ("shapes[0].circle.radius", json!({ "shapes": [{ "circle": { "radius": 256 } }] })),
            ("shapes[0].circle", json!({ "shapes": [{ "circle": {} }] })),
            ("shapes[0].named", json!({ "shapes": [{ "named": false }] })),
            ("shapes[0].pair[1]", json!({ "shapes": [{ "pair": [1, "2"] }] })),
            ("scale", json!({ "shapes": [], "scale": "large" })),
            ("names.a", json!({ "shapes": [], "names": { "a": 1.5 } })),
            ("corner", json!({ "shapes": [], "corner": [1, 2, 3] })),
        ] {
            let message = serde_json::from_value::<Drawing>(value.clone()).unwrap_err().to_string();
            assert_eq!(refusal(value), (path.to_owned(), message));
        }
        let by_position = refusal(json!([[], 1.5, {}, [0, 0]]));
        assert_eq!(by_position, (String::new(), "invalid type: sequence, expected struct Drawing".to_owned()));
        let variant_by_position = refusal(json!({ "shapes": [{ "circle": [3] }] }));
        assert_eq!(variant_by_position.0, "shapes[0].circle");
        let name_alone = refusal(json!({ "shapes": ["named"] }));
        assert_eq!(name_alone.0, "shapes[0].named");
        assert!(name_alone.1.contains("unit variant"), "{}", name_alone.1);
    }
}
