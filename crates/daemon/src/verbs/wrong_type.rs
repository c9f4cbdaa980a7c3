//! Translates serde's message about a value of a wrong type from Rust's types to those of JSON.

/// Expected types as serde names them, each with its JSON name.
const WORDS: [(&str, &str); 9] = [
    ("a sequence", "a list"),
    ("a map", "an object"),
    ("a string", "a text"),
    ("a boolean", "true or false"),
    ("internally tagged enum", "an object"),
    ("adjacently tagged enum", "an object"),
    ("struct", "an object"),
    ("tuple struct", "a list"),
    ("enum", "a text or an object"),
];

/// Converts `invalid type: integer 1, expected struct Budget` to `invalid type: integer 1, expected an object`.
pub(super) fn in_words_of_json(message: &str) -> String {
    let Some((found, wanted)) = message.rsplit_once(", expected ").filter(|_| message.starts_with("invalid ")) else {
        return message.to_owned();
    };
    let word = WORDS.iter().find(|(rust, _)| *rust == wanted || wanted.starts_with(&format!("{rust} ")));
    let word = word.map(|(_, json)| *json).or_else(|| number(wanted)).unwrap_or(wanted);
    format!("{found}, expected {word}")
}

fn number(wanted: &str) -> Option<&'static str> {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => Some("a whole number that is not negative"),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => Some("a whole number"),
        "f32" | "f64" => Some("a number"),
        _ => None,
    }
}
