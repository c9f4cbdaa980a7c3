//! Splits a text into parts that each fit into one event.

/// Maximum size of one part in bytes of JSON; the rest of an event's facts is for its other fields.
const PART_BYTES: usize = 800;

/// Splits a text into parts at character boundaries, so that each part as a JSON string fits into one event. An empty
/// text results in one empty part.
#[must_use]
pub fn parts(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut from, mut used) = (0, 0);
    for (at, c) in text.char_indices() {
        let len = json_len(c);
        if used + len > PART_BYTES {
            found.push(&text[from..at]);
            (from, used) = (at, 0);
        }
        used += len;
    }
    found.push(&text[from..]);
    found
}

/// Returns the number of bytes that a character takes inside a JSON string.
const fn json_len(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_make_the_text_and_each_fits_into_an_event() {
        let text = "\u{1}ü\"".repeat(2000);

        let cut = parts(&text);

        assert_eq!(cut.concat(), text);
        let len = |part: &&str| serde_json::to_string(part).map_or(usize::MAX, |json| json.len());
        assert!(cut.iter().map(len).all(|len| len <= PART_BYTES + 2));
        assert_eq!(parts(""), [""]);
    }
}
