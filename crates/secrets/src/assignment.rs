//! Finds credentials by the name that they are assigned to.

use std::ops::Range;

use crate::candidate::{Assigned, Strength};
use crate::context::{Context, Found};
use crate::file_kind::Form;
use crate::judge::judge;
use crate::key::is_short_hex;
use crate::name::{Promise, names_hash, promise};
use crate::value::{is_made_of, is_made_up};

/// Maximum length of a name on either side of its keyword, in bytes.
const NAME: usize = 60;
/// Maximum length of a value, in bytes.
const VALUE: usize = 512;
/// Minimum length of a password hash: MD5 in hexadecimal digits.
const HASH: usize = 32;
/// Maximum distance between a hash and its salt, in bytes.
const SALT: usize = 200;
/// Calls that only wrap a literal.
const WRAPPERS: &[&[u8]] = &[
    b"String::from(",
    b"Some(",
    b"new String(",
    b"SecretString::from(",
    b"Secret::new(",
    b"str(",
    b"bytes(",
    b"Buffer.from(",
    b"S(",
    b"[]byte(",
    b"ConvertTo-SecureString -String ",
    b"ConvertTo-SecureString ",
    b"Encoding.UTF8.GetBytes(",
    b"new SecretString(",
];

/// Reads a password.
pub(crate) fn password(place: &Context<'_>) -> Option<Found> {
    read(place, Promise::Password)
}

/// Reads a key, token or secret.
pub(crate) fn key(place: &Context<'_>) -> Option<Found> {
    read(place, Promise::Key)
}

fn read(place: &Context<'_>, wanted: Promise) -> Option<Found> {
    let name = name_around(place.text, place.at..place.keyword_end);
    let promised = promise(&place.text[name.clone()]);
    let is_bare_key = wanted == Promise::Key && place.text[name.clone()].eq_ignore_ascii_case(b"key");
    let is_hash = wanted == Promise::Password && promised.is_none() && names_hash(&place.text[name.clone()]);
    if promised != Some(wanted) && !is_bare_key && !is_hash {
        return None;
    }
    let (range, is_compared) = value_after(place, &name)?;
    if is_hash {
        return salted_hash(place, range);
    }
    if is_bare_key && !is_short_hex(&place.text[range.clone()]) {
        return None;
    }
    let is_quoted = matches!(place.text[range.start - 1], b'"' | b'\'' | b'`');
    let (name, value) = (&place.text[name], &place.text[range.clone()]);
    let found = judge(wanted, &Assigned { name, value, kind: place.kind, is_compared, is_quoted }, range)?;
    // A name that is just `key` may be that of a cache entry.
    Some(if is_bare_key { Found { strength: found.strength.min(Strength::Fair), ..found } } else { found })
}

/// Reads the hash of a password with its salt beside it: with both, passwords can be guessed offline. Without a salt it
/// may be any checksum.
fn salted_hash(place: &Context<'_>, range: Range<usize>) -> Option<Found> {
    let value = &place.text[range.clone()];
    let is_hash = value.len() >= HASH && is_made_of(value, b"+/=") && value.iter().any(u8::is_ascii_digit);
    let around = &place.text[range.start.saturating_sub(SALT)..place.text.len().min(range.end + SALT)];
    let has_salt = around.windows(4).any(|word| word.eq_ignore_ascii_case(b"salt"));
    let found = Found::new(range, Strength::Weak).noted("the hash of one, with its salt");
    (is_hash && has_salt && !is_made_up(value)).then_some(found)
}

/// Returns the whole name that a keyword is part of.
fn name_around(text: &[u8], keyword: Range<usize>) -> Range<usize> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let before = text[..keyword.start].iter().rev().take(NAME).take_while(|byte| is_part(byte)).count();
    let after = text[keyword.end..].iter().take(NAME).take_while(|byte| is_part(byte)).count();
    let (mut start, mut end) = (keyword.start - before, keyword.end + after);
    while start < keyword.start && matches!(text[start], b'.' | b'-') {
        start += 1;
    }
    while end > keyword.end && matches!(text[end - 1], b'.' | b'-') {
        end -= 1;
    }
    start..end
}

/// A reading position in a text.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

// === impl Cursor ===

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b'\n')
    }

    fn skip(&mut self, most: usize, what: impl Fn(u8) -> bool) -> usize {
        let count = self.rest().iter().take(most).take_while(|byte| what(**byte)).count();
        self.at += count;
        count
    }

    fn take(&mut self, word: &[u8]) -> bool {
        let is_there = self.rest().starts_with(word);
        self.at += if is_there { word.len() } else { 0 };
        is_there
    }

    fn spaces(&mut self) -> usize {
        self.skip(40, |byte| matches!(byte, b' ' | b'\t'))
    }

    /// Skips a quote, also one that is escaped inside a string.
    fn quote(&mut self) -> Option<u8> {
        let escaped = self.peek() == b'\\' && self.rest().get(1).is_some_and(|byte| matches!(byte, b'"' | b'\''));
        self.at += usize::from(escaped);
        let quote = self.peek();
        matches!(quote, b'"' | b'\'' | b'`').then(|| {
            self.at += 1;
            quote
        })
    }
}

/// Operator between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Assign,
    Compare,
    /// A comma, or the opening bracket of a call.
    Argument,
    /// `<name>value</name>`
    Element,
    /// A space only.
    Space,
}

/// Finds the value that belongs to a name. The flag is true for a comparison.
fn value_after(place: &Context<'_>, name: &Range<usize>) -> Option<(Range<usize>, bool)> {
    let text = place.text;
    let before = name.start.checked_sub(1).map_or(b'\n', |at| text[at]);
    let mut cursor = Cursor { text, at: name.end };
    let dashes = text[..name.start].iter().rev().take(2).take_while(|byte| **byte == b'-').count();
    let opening = (name.start - dashes).checked_sub(1).map_or(b'\n', |at| text[at]);
    let name_is_quoted = matches!(opening, b'"' | b'\'' | b'`') && cursor.quote() == Some(opening);
    cursor.skip(2, |byte| matches!(byte, b']' | b')'));
    let spaces = cursor.spaces();
    let operator = labelled(&mut cursor, spaces > 0)
        .or_else(|| operator(&mut cursor, before, name_is_quoted, &text[name.clone()]))
        .or((spaces > 0).then_some(Operator::Space))?;
    // `"Password:"` is a label without a value.
    let behind = cursor.rest().strip_prefix(b"\\").unwrap_or(cursor.rest()).first();
    if !name_is_quoted && matches!(opening, b'"' | b'\'' | b'`') && behind == Some(&opening) {
        return None;
    }
    if operator == Operator::Argument {
        skip_keyword(&mut cursor);
    }
    cursor.spaces();
    skip_wrapping(&mut cursor);
    let range = match cursor.quote() {
        Some(quote) => quoted(&mut cursor, quote)?,
        None if operator == Operator::Element => until(&mut cursor, |byte| byte == b'<')?,
        None => bare(&mut cursor, place, name, operator)?,
    };
    let is_flag = before == b'-';
    let opens = (name.start - dashes).saturating_sub(1);
    if operator == Operator::Argument && name_is_quoted && !is_flag && is_between_strings(text, opens..range.end + 1) {
        return None;
    }
    let is_sentence = operator == Operator::Space && name_is_quoted;
    let is_prose = operator == Operator::Space && place.kind.form == Form::Docs && text[range.start - 1] == b'`';
    let is_macro = place.line_before(name.start).starts_with(b"#define");
    let is_single = cursor.text[range.end.min(text.len() - 1)] == b'\'';
    let line = place.line_before(name.start).trim_ascii_end();
    let ends_line = || text.get(range.end + 1).is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
    // `ENV NAME value` of a container file, and `storePassword "…"` of a build file.
    let is_setting = line == b"ENV"
        || (line.is_empty() && text[range.start - 1] == b'"' && ends_line() && place.kind.form != Form::Docs);
    let is_plain_space = operator == Operator::Space && !is_single && !is_flag && !is_macro && !is_prose && !is_setting;
    (!is_sentence && !is_plain_space).then_some((range, operator == Operator::Compare))
}

/// Returns whether two strings stand in a list of strings, `["a", "spwd", "sqlite3", "b"]`: they are no name and value.
fn is_between_strings(text: &[u8], two: Range<usize>) -> bool {
    let is_quote = |byte: Option<&u8>| byte.is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let before = text[..two.start].trim_ascii_end().strip_suffix(b",").unwrap_or_default();
    let behind = text.get(two.end..).unwrap_or_default().trim_ascii_start().strip_prefix(b",").unwrap_or_default();
    is_quote(before.trim_ascii_end().last()) && is_quote(behind.trim_ascii_start().first())
}

/// Reads a `value` label between the name of an entry and its value: `name="password" value="…"`, and `value: …` on the
/// next line or behind a comma.
fn labelled(cursor: &mut Cursor<'_>, is_apart: bool) -> Option<Operator> {
    let start = cursor.at;
    let comma = cursor.take(b",");
    let spaces = cursor.skip(80, |byte| byte.is_ascii_whitespace());
    let quote = cursor.quote().is_some();
    let is_value = cursor.rest().get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"value"));
    cursor.at += if is_value { 5 } else { 0 };
    let closed = !quote || cursor.quote().is_some();
    cursor.spaces();
    let is_label = is_value && closed && (comma || is_apart || spaces > 0) && (cursor.take(b":") || cursor.take(b"="));
    if !is_label {
        cursor.at = start;
    }
    is_label.then_some(Operator::Assign)
}

/// Skips a keyword argument before the default value of an option: `"--password", default="…"`.
fn skip_keyword(cursor: &mut Cursor<'_>) {
    let ahead = &cursor.rest()[..cursor.rest().len().min(60)];
    let ahead = &ahead[..ahead.iter().position(|byte| matches!(byte, b')' | b'\n')).unwrap_or(ahead.len())];
    if let Some(at) = ahead.windows(8).position(|part| part == b"default=") {
        cursor.at += at + 8;
    }
}

fn operator(cursor: &mut Cursor<'_>, before: u8, name_is_quoted: bool, name: &[u8]) -> Option<Operator> {
    let last = name.rsplit(|byte| *byte == b'.').next().unwrap_or(name);
    let is_setter =
        before == b'.' || last.len() < name.len() || [&b"set"[..], b"with"].iter().any(|verb| last.starts_with(verb));
    for compare in [&b"==="[..], b"==", b"!==", b"!="] {
        if cursor.take(compare) {
            return Some(Operator::Compare);
        }
    }
    for assign in [&b":="[..], b"=>", b"?=", b"||=", b"="] {
        if cursor.take(assign) {
            return Some(Operator::Assign);
        }
    }
    // `arn:…:secret:name` is a path that contains colons.
    if before != b':' && cursor.take(b":") {
        skip_type(cursor);
        return Some(Operator::Assign);
    }
    // `pass` is also a verb: `t.pass("…")`, `["-c", "pass", "arg"]`.
    let is_verb = last.eq_ignore_ascii_case(b"pass");
    if !is_verb && ((name_is_quoted && cursor.take(b",")) || (is_setter && cursor.take(b"("))) {
        return Some(Operator::Argument);
    }
    let is_element = before == b'<' || name_is_quoted;
    (is_element && cursor.take(b">")).then_some(Operator::Element)
}

/// Skips the type in `password: &str = "…"`.
fn skip_type(cursor: &mut Cursor<'_>) {
    let start = cursor.at;
    cursor.spaces();
    let named = cursor.skip(40, |byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'&' | b'\'' | b'_' | b'<' | b'>' | b'[' | b']' | b'?' | b':' | b'.' | b'|')
    });
    cursor.spaces();
    if named == 0 || cursor.rest().starts_with(b"==") || !cursor.take(b"=") {
        cursor.at = start;
    }
}

/// Skips the environment lookup before a fallback value: `process.env.NAME || "…"`.
fn skip_lookup(cursor: &mut Cursor<'_>) {
    let start = cursor.at;
    if cursor.take(b"process.env.") {
        cursor.skip(NAME, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        cursor.spaces();
        if cursor.take(b"||") || cursor.take(b"??") {
            cursor.spaces();
            return;
        }
    } else if [&b"os.environ.get("[..], b"os.getenv(", b"getenv(", b"env("].iter().any(|call| cursor.take(call)) {
        let is_named = cursor.quote().is_some();
        cursor.skip(NAME, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_named && cursor.quote().is_some() && cursor.take(b",") {
            cursor.spaces();
            return;
        }
    }
    cursor.at = start;
}

/// Skips what precedes a literal: the letters of `b"…"`, or a call that only wraps it.
fn skip_wrapping(cursor: &mut Cursor<'_>) {
    skip_lookup(cursor);
    for wrapper in WRAPPERS {
        if cursor.take(wrapper) {
            return;
        }
    }
    let start = cursor.at;
    cursor.skip(2, |byte| matches!(byte.to_ascii_lowercase(), b'b' | b'r' | b'u' | b'f' | b'l' | b'@'));
    if !matches!(cursor.peek(), b'"' | b'\'' | b'`') {
        cursor.at = start;
    }
}

/// Reads to the closing quote on the same line.
fn quoted(cursor: &mut Cursor<'_>, quote: u8) -> Option<Range<usize>> {
    let start = cursor.at;
    let mut escaped = false;
    for byte in cursor.rest().iter().take(VALUE) {
        match byte {
            b'\n' | b'\r' => return None,
            b'\\' if !escaped => escaped = true,
            byte if *byte == quote => {
                let end = cursor.at - usize::from(escaped);
                return (end > start).then_some(start..end);
            }
            _ => escaped = false,
        }
        cursor.at += 1;
    }
    None
}

fn until(cursor: &mut Cursor<'_>, ends: impl Fn(u8) -> bool) -> Option<Range<usize>> {
    let start = cursor.at;
    cursor.skip(VALUE, |byte| !ends(byte) && !matches!(byte, b'\n' | b'\r'));
    (cursor.at > start).then_some(start..cursor.at)
}

/// Reads a value without quotes where the file may have one: in configuration, and in connection and query strings
/// anywhere.
fn bare(cursor: &mut Cursor<'_>, place: &Context<'_>, name: &Range<usize>, operator: Operator) -> Option<Range<usize>> {
    let before = name.start.checked_sub(1).map_or(b'\n', |at| place.text[at]);
    let is_embedded =
        operator == Operator::Assign && matches!(before, b';' | b'?' | b'&') && place.text[name.end] == b'=';
    let is_passed_on = operator == Operator::Assign && place.line_before(name.start).trim_ascii_end().ends_with(b" -e");
    let has_bare = place.kind.has_bare_values()
        || is_passed_on
        || ((operator == Operator::Assign || before == b'-') && is_shown_setting(place, name));
    if operator == Operator::Argument || operator == Operator::Compare || !(is_embedded || has_bare) {
        return None;
    }
    let ends = |byte: u8| {
        byte.is_ascii_whitespace()
            || matches!(byte, b';' | b'"' | b'\'' | b'`' | b'<' | b'\\')
            || (is_embedded && matches!(byte, b'&' | b')'))
            || (byte == b',')
    };
    let range = until(cursor, ends)?;
    cursor.spaces();
    let goes_on =
        !matches!(cursor.peek(), b'\n' | b'\r' | b'#' | b';' | b',' | b'"' | b'\'' | b'`' | b'<' | b'}' | b'/' | b'\\');
    // In a configuration file, a value with more words behind it is a sentence.
    let is_sentence = goes_on && matches!(place.kind.form, Form::Config | Form::Docs) && !is_of_command(place, name);
    (is_embedded || !is_sentence).then_some(range)
}

/// Returns whether a line of prose consists of a setting, as in `- Password: …`, or shows a setting of a command.
fn is_shown_setting(place: &Context<'_>, name: &Range<usize>) -> bool {
    let before = place.line_before(name.start).trim_ascii_end();
    let is_mark = |byte: &u8| matches!(byte, b'-' | b'*' | b'$' | b'>' | b'#' | b' ' | b'`' | b'"');
    place.kind.form == Form::Docs && (is_of_command(place, name) || before.iter().all(is_mark))
}

/// Returns whether a setting belongs to a command: `export NAME=`, `docker run -e NAME=`, `tool --name`.
fn is_of_command(place: &Context<'_>, name: &Range<usize>) -> bool {
    let before = place.line_before(name.start).trim_ascii_end();
    let is_command =
        [&b"export"[..], b"set", b"SET", b"ENV", b" -e", b" --env"].iter().any(|verb| before.ends_with(verb));
    let begins_word = before.first().is_some_and(|byte| byte.is_ascii_lowercase() || b"$`".contains(byte));
    is_command || (before.ends_with(b" --") && begins_word)
}
