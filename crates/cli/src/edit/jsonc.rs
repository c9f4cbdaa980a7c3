//! Sets one member in a JSON text with or without comments and trailing commas, leaving every other byte as it is.

use std::ops::Range;

use serde_json::Value;

/// Deepest nesting that is followed; deeper text is refused rather than trusted to the stack.
const MAX_DEPTH: usize = 128;

/// Sets the member at `path`, making the objects on the way that are missing. An empty text counts as `{}`.
///
/// # Errors
/// Where the text stops being JSON, or that something else than an object stands on the way.
pub(crate) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let mut scanner = Scanner { text, at: 0 };
    scanner.skip_blank()?;
    if scanner.at == text.len() {
        return Ok(format!("{text}{}\n", pretty(&nested(path, value), "")));
    }
    let object = scanner.object(0)?;
    scanner.skip_blank()?;
    if scanner.at != text.len() {
        return Err(scanner.expected("the end of the text"));
    }
    put(text, &object, path, value)
}

/// An object's place in the text, and its members.
#[derive(Debug)]
struct Object {
    /// From brace to brace, both included.
    range: Range<usize>,
    members: Vec<Member>,
    has_trailing_comma: bool,
}

#[derive(Debug)]
struct Member {
    key: String,
    key_at: usize,
    value: Range<usize>,
}

fn put(text: &str, object: &Object, path: &[&str], value: &Value) -> Result<String, String> {
    let Some((first, rest)) = path.split_first() else { return Ok(text.to_owned()) };
    let Some(member) = object.members.iter().rfind(|member| member.key == *first) else {
        return Ok(insert(text, object, first, &nested(rest, value)));
    };
    if rest.is_empty() {
        return Ok(overwrite(text, member, value));
    }
    let mut scanner = Scanner { text, at: member.value.start };
    if !text[member.value.clone()].starts_with('{') {
        return Err(format!("{first} is not an object"));
    }
    put(text, &scanner.object(0)?, rest, value)
}

/// Replaces a member's value, unless it means the same already.
fn overwrite(text: &str, member: &Member, value: &Value) -> String {
    let old = &text[member.value.clone()];
    if serde_json::from_str::<Value>(old).is_ok_and(|old| old == *value) {
        return text.to_owned();
    }
    let indent = indent_before(text, member.key_at);
    format!("{}{}{}", &text[..member.value.start], pretty(value, indent), &text[member.value.end..])
}

/// Adds a member behind the last one, on a line of its own.
fn insert(text: &str, object: &Object, key: &str, value: &Value) -> String {
    let key = Value::from(key);
    let close = object.range.end - 1;
    let outer = indent_before(text, object.range.start);
    let Some(last) = object.members.last() else {
        let inner = format!("{outer}  ");
        let body = format!("\n{inner}{key}: {}\n{outer}", pretty(value, &inner));
        let kept = text[object.range.start + 1..close].trim_end();
        return format!("{}{kept}{body}{}", &text[..=object.range.start], &text[close..]);
    };
    let is_one_line = !text[object.range.clone()].contains('\n');
    let indent = if is_one_line { "" } else { indent_before(text, last.key_at) };
    let gap = if is_one_line { " ".to_owned() } else { format!("\n{indent}") };
    let member = format!("{gap}{key}: {}", pretty(value, indent));
    // Comments behind the last member stay with it: the new one goes before the blanks that end the object.
    let end = last.value.end;
    let body_end = end + text[end..close].trim_end().len();
    let (before, after) = (&text[..body_end], &text[body_end..]);
    if object.has_trailing_comma {
        return format!("{before}{member},{after}");
    }
    format!("{},{}{member}{after}", &before[..end], &before[end..])
}

fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |inner, key| serde_json::json!({ *key: inner }))
}

fn pretty(value: &Value, indent: &str) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
    text.replace('\n', &format!("\n{indent}"))
}

/// The blanks at the beginning of the line in which a place lies.
fn indent_before(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = &text[start..at];
    &line[..line.len() - line.trim_start().len()]
}

/// Walks over JSON without building it.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

// === impl Scanner ===

impl Scanner<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn expected(&self, what: &str) -> String {
        let line = self.text[..self.at].matches('\n').count() + 1;
        format!("line {line}: expected {what}")
    }

    /// Skips blanks, comments and a byte order mark at the very start.
    fn skip_blank(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n', '\u{feff}']);
            let skipped = rest.len() - trimmed.len();
            let comment = if trimmed.starts_with("//") {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                trimmed.find("*/").ok_or_else(|| self.expected("the end of a comment"))? + 2
            } else {
                0
            };
            self.at += skipped + comment;
            if comment == 0 {
                return Ok(());
            }
        }
    }

    fn take(&mut self, c: char) -> bool {
        let is_there = self.rest().starts_with(c);
        if is_there {
            self.at += c.len_utf8();
        }
        is_there
    }

    fn object(&mut self, depth: usize) -> Result<Object, String> {
        let start = self.at;
        if depth > MAX_DEPTH || !self.take('{') {
            return Err(self.expected("an object"));
        }
        let mut object = Object { range: start..start, members: Vec::new(), has_trailing_comma: false };
        loop {
            self.skip_blank()?;
            if self.take('}') {
                object.range.end = self.at;
                return Ok(object);
            }
            if !object.members.is_empty() && !object.has_trailing_comma {
                return Err(self.expected("`,` or `}`"));
            }
            object.members.push(self.member(depth)?);
            self.skip_blank()?;
            object.has_trailing_comma = self.take(',');
        }
    }

    fn member(&mut self, depth: usize) -> Result<Member, String> {
        let key_at = self.at;
        let key = self.string()?;
        self.skip_blank()?;
        if !self.take(':') {
            return Err(self.expected("`:`"));
        }
        self.skip_blank()?;
        let start = self.at;
        self.value(depth + 1)?;
        Ok(Member { key, key_at, value: start..self.at })
    }

    fn value(&mut self, depth: usize) -> Result<(), String> {
        match self.rest().chars().next() {
            Some('{') => self.object(depth).map(|_| ()),
            Some('[') => self.array(depth),
            Some('"') => self.string().map(|_| ()),
            _ => self.word(),
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH || !self.take('[') {
            return Err(self.expected("an array"));
        }
        let mut may_go_on = true;
        loop {
            self.skip_blank()?;
            if self.take(']') {
                return Ok(());
            }
            if !may_go_on {
                return Err(self.expected("`,` or `]`"));
            }
            self.value(depth + 1)?;
            self.skip_blank()?;
            may_go_on = self.take(',');
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let rest = self.rest();
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        match stream.next() {
            Some(Ok(text)) if rest.starts_with('"') => {
                self.at += stream.byte_offset();
                Ok(text)
            }
            _ => Err(self.expected("a text in quotes")),
        }
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let end = rest.find([',', ']', '}', ' ', '\t', '\r', '\n', '/']).unwrap_or(rest.len());
        match serde_json::from_str::<Value>(&rest[..end]) {
            Ok(_) => {
                self.at += end;
                Ok(())
            }
            Err(_) => Err(self.expected("a value")),
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
        assert_eq!(set("{\n\"a\" 1}", &PATH, &json!(1)).unwrap_err(), "line 2: expected `:`");
    }

    #[test]
    fn deep_nesting_is_refused_instead_of_overflowing_the_stack() {
        let text = format!("{{\"a\": {}", "[".repeat(100_000));

        assert!(set(&text, &PATH, &json!(1)).is_err());
    }
}
