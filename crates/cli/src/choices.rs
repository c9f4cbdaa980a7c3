//! The allowed words of a field, read from its JSON Schema.

use serde_json::Value;

/// Returns the words that a field may hold; empty if it is no enumeration.
pub(crate) fn choices<'a>(field: &'a Value, defs: &'a Value) -> Vec<&'a str> {
    if let Some(name) = field["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return choices(&defs[name], defs);
    }
    if let Some(word) = field["const"].as_str() {
        return vec![word];
    }
    let lists = ["enum", "oneOf", "anyOf", "allOf"].into_iter().filter_map(|word| field[word].as_array());
    let each = |one: &'a Value| one.as_str().map_or_else(|| choices(one, defs), |word| vec![word]);
    lists.flatten().flat_map(each).collect()
}
