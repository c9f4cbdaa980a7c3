//! Generates the schemas of a verb from its types.

use schemars::JsonSchema;
use serde_json::Value;

use super::Schemas;
use crate::verb::Verb;

pub(in crate::verb) fn of<V: Verb>() -> Schemas {
    Schemas { request: schema::<V::Request>().into(), reply: schema::<V::Reply>().into() }
}

fn schema<T: JsonSchema>() -> Value {
    let mut settings = schemars::generate::SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(object) = value.as_object_mut() {
        object.remove("title");
        // The row already has the verb's description.
        object.remove("description");
    }
    compact(&mut value);
    value
}

/// Shrinks a schema, because agents pay for every byte: optional fields are left out rather than null, lists of words become an `enum`, and
/// the widths of numbers are removed.
fn compact(value: &mut Value) {
    if let Value::Array(items) = value {
        items.iter_mut().for_each(compact);
    }
    let Value::Object(schema) = value else { return };
    for (key, part) in schema.iter_mut() {
        // The keys of `properties` are field names, not keywords of the schema.
        if key == "properties"
            && let Value::Object(fields) = part
        {
            fields.values_mut().for_each(compact);
        } else {
            compact(part);
        }
    }
    let is_number = schema.get("type").is_some_and(|kind| kind.is_string() || kind.is_array());
    if is_number {
        for clutter in ["format", "minimum", "maximum"] {
            schema.remove(clutter);
        }
    }
    schema.remove("default");
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        // The field's description covers its items.
        items.remove("description");
    }
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    for choice in ["oneOf", "anyOf"] {
        let Some(Value::Array(options)) = schema.get_mut(choice) else { continue };
        options.retain(|option| option["type"] != "null");
        let words: Option<Vec<Value>> = options.iter().map(|option| option.get("const").cloned()).collect();
        match (words, options.as_slice()) {
            (Some(words), _) => {
                schema.remove(choice);
                schema.insert("enum".to_owned(), Value::Array(words));
            }
            (None, [Value::Object(only)]) => {
                let mut only = only.clone();
                schema.remove(choice);
                if schema.contains_key("description") {
                    only.remove("description");
                }
                schema.extend(only);
            }
            (None, _) => {}
        }
    }
}
