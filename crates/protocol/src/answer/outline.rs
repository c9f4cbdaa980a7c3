//! One-line outlines of answers, for prompts: a JSON Schema needs forty times as many words.

use serde_json::Value;

use super::shape::words;
use super::{AnswerKind, MAX_LIST, schema};

/// Depth at which an outline ends: schemas may contain themselves.
const DEEPEST: usize = 8;

/// Returns the outline of a kind of answer: `{verdict: APPROVED|REJECTED, issues: [{message: text, line?: number}]}`. `?` marks an optional field.
#[must_use]
pub fn outline(kind: AnswerKind) -> String {
    let schema = schema(kind);
    outline_of(schema, &schema["$defs"])
}

/// Returns the outline of a JSON Schema with these definitions, like [`outline`].
#[must_use]
pub fn outline_of(schema: &Value, definitions: &Value) -> String {
    shape(schema, definitions, DEEPEST)
}

fn shape(schema: &Value, definitions: &Value, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return "object".to_owned() };
    let name = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix("#/$defs/"));
    let schema = name.map_or(schema, |name| &definitions[name]);
    if let Some(choices) = schema["anyOf"].as_array() {
        let some = choices.iter().find(|choice| choice["type"] != "null");
        return some.map_or_else(|| "null".to_owned(), |some| shape(some, definitions, depth));
    }
    if let Some(words) = words(schema) {
        return words.join("|");
    }
    match schema["type"].as_str().or_else(|| schema["type"][0].as_str()) {
        Some("object") => object(schema, definitions, depth),
        Some("array") => {
            let most = schema["maxItems"].as_u64().filter(|most| *most < MAX_LIST as u64);
            let most = most.map(|most| format!(" at most {most}")).unwrap_or_default();
            format!("[{}{most}]", shape(&schema["items"], definitions, depth))
        }
        Some("string") => "text".to_owned(),
        Some("integer" | "number") => "number".to_owned(),
        Some("boolean") => "true|false".to_owned(),
        Some(_) | None => "object".to_owned(),
    }
}

fn object(schema: &Value, definitions: &Value, depth: usize) -> String {
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let field = |(name, value): (&String, &Value)| {
        let mark = if required(name) { "" } else { "?" };
        format!("{name}{mark}: {}", shape(value, definitions, depth))
    };
    let fields: Vec<_> = schema["properties"].as_object().into_iter().flatten().map(field).collect();
    format!("{{{}}}", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_every_kind_is_one_line() {
        let review = "{verdict: APPROVED|REJECTED, risk: low|medium|high|critical, issues: [{severity: error|warning|info, \
                      message: text, file?: text, line?: number}], checked: {correctness: true|false, edge_cases: true|false, \
                      performance: true|false}, required_fix?: text}";
        assert_eq!(outline(AnswerKind::Review), review);
        assert_eq!(outline(AnswerKind::PlanDraft), "{plan: object}");
        let questions = "{questions: [{question: text, choices?: [text at most 8]} at most 3]}";
        assert_eq!(outline(AnswerKind::Questions), questions);
        for kind in AnswerKind::ALL {
            assert!(!outline(*kind).contains('\n'));
        }
    }
}
