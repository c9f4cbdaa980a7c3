//! Sets one member in a JSON text, with or without comments and trailing commas; the rest stays as it is.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

/// JSON with comments and trailing commas, as editors and agents write their settings; not JSON5.
const FORM: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Sets the member at `path`, creating missing objects on the way. An empty text counts as `{}`.
///
/// # Errors
/// Where the text is not valid JSON, or that a value on the path is not an object.
pub(crate) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let Some((name, parents)) = path.split_last() else { return Ok(text.to_owned()) };
    let (mark, text) = text.strip_prefix('\u{feff}').map_or(("", text), |rest| ("\u{feff}", rest));
    let root = CstRootNode::parse(text, &FORM).map_err(|error| error.to_string())?;
    let mut object = root.object_value_or_create().ok_or("the text is not an object")?;
    for parent in parents {
        let member =
            member(&object, parent).unwrap_or_else(|| object.append(parent, CstInputValue::Object(Vec::new())));
        object = member.object_value().ok_or_else(|| format!("{parent} is not an object"))?;
    }
    match member(&object, name) {
        Some(member) if member.value().and_then(|old| old.to_serde_value()).as_ref() == Some(value) => {}
        Some(member) => member.set_value(input(value)),
        None => {
            object.append(name, input(value));
        }
    }
    Ok(format!("{mark}{root}"))
}

/// Returns the last member of a name, because readers use the last one.
fn member(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    let has_name = |member: &CstObjectProp| {
        member.name().and_then(|found| found.decoded_value().ok()).is_some_and(|found| found == name)
    };
    object.properties().into_iter().rfind(has_name)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATH: [&str; 2] = ["mcpServers", "sb"];

    fn with(text: &str) -> String {
        set(text, &PATH, &json!({ "command": "sb" })).unwrap()
    }

    #[test]
    fn an_empty_file_gets_the_whole_block() {
        assert_eq!(with(""), "{\n  \"mcpServers\": {\n    \"sb\": {\n      \"command\": \"sb\"\n    }\n  }\n}\n");
    }

    #[test]
    fn comments_odd_blanks_and_trailing_commas_stay() {
        let text = "{\n  // mine\n  \"a\" : 1, /* x */\n  \"mcpServers\": {\n    \"o\": { \"command\": \"o\", }, // last\n  },\n}\n";

        let edited = with(text);

        insta::assert_snapshot!(edited);
    }

    #[test]
    fn a_member_is_added_where_there_is_no_comma_behind_the_last() {
        let edited = with("{\n\t\"a\": [1, {\"b\": \"}\"}] // end\n}");

        insta::assert_snapshot!(edited);
    }

    #[test]
    fn one_line_stays_valid_and_an_empty_object_grows() {
        for text in ["{\"a\":1}", "{}", "{\"mcpServers\":{}}", "{ \"mcpServers\": { \"o\": 1 } }"] {
            let edited = with(text);
            let value: Value = serde_json::from_str(&edited).unwrap();

            assert_eq!(value["mcpServers"]["sb"]["command"], "sb", "{edited}");
        }
    }

    #[test]
    fn the_same_entry_changes_no_byte_and_another_one_only_its_own() {
        let text = "{\"x\": [ 1 ],\n \"mcpServers\": {\"sb\": {\"command\":   \"sb\"}}}";
        assert_eq!(with(text), text);

        let edited = with("{\"x\": [ 1 ],\n \"mcpServers\": {\"sb\": 5}, \"y\": 2}");
        assert!(edited.starts_with("{\"x\": [ 1 ],\n \"mcpServers\": {\"sb\": {"), "{edited}");
        assert!(edited.ends_with("}}, \"y\": 2}"), "{edited}");
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_line() {
        for text in ["{\"a\": 1", "[]", "{\n\"a\" 1}", "{\"a\": tru}", "{} x", "{\"mcpServers\": 3}", "/* x"] {
            assert!(set(text, &PATH, &json!(1)).is_err(), "{text}");
        }
        assert!(set("{\n\"a\" 1}", &PATH, &json!(1)).unwrap_err().contains("line 2"));
    }

    #[test]
    fn deep_nesting_is_refused_instead_of_overflowing_the_stack() {
        let text = format!("{{\"a\": {}", "[".repeat(100_000));

        assert!(set(&text, &PATH, &json!(1)).is_err());
    }
}
