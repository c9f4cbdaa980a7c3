//! Rewrites legal C# that the grammar does not know: dereferenced expressions other than a name, and contextual
//! keywords used as names.

use std::borrow::Cow;

/// Contextual keywords: words of the language in some positions, names elsewhere.
const WORDS: [&str; 4] = ["async", "required", "scoped", "file"];
/// Words that an expression follows.
const BEFORE_VALUE: [&[u8]; 9] = [b"return", b"else", b"do", b"in", b"case", b"ref", b"out", b"await", b"throw"];
/// Maximum distance in bytes in which the end of a bracket is searched.
const MAX_BRACKET_DISTANCE: usize = 1_000;

/// Replaces what the grammar does not know by names and elements of the same length.
pub(super) fn tidy(text: &mut Cow<'_, [u8]>) {
    names(text);
    // A `ref struct` may also be `partial`.
    for at in all(text, b"ref partial struct") {
        text.to_mut()[at..at + 3].fill(b' ');
    }
    if memchr::memmem::find(text, b"unsafe").is_some() {
        for at in all(text, b"*") {
            let is_cast = is_cast(&text[at + 1..]);
            if begins_value(&text[..at]) || (is_cast && text[..at].ends_with(b")")) {
                pointee(text, at);
            }
        }
    }
}

fn all(text: &[u8], word: &[u8]) -> Vec<usize> {
    memchr::memmem::find_iter(text, word).collect()
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Renames contextual keywords used as names, as in `if (async)` or `required.Add(a)`: what follows can't follow a
/// modifier.
fn names(text: &mut Cow<'_, [u8]>) {
    for word in WORDS {
        for at in all(text, word.as_bytes()) {
            let end = at + word.len();
            let is_whole = !text.get(end).is_some_and(|byte| is_name(*byte)) && (at == 0 || !is_name(text[at - 1]));
            let next = text[end..].iter().find(|byte| !byte.is_ascii_whitespace());
            let is_over = next.is_some_and(|byte| b");,=.?:&|!]+<>/".contains(byte));
            if is_whole && is_over {
                text.to_mut()[at] = b'_';
            }
        }
    }
}

/// Returns whether a value begins after a text, so that a `*` there is no multiplication.
fn begins_value(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let Some(last) = before.last() else { return false };
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    if line.trim_ascii_start().starts_with(b"//") {
        return true;
    }
    if is_name(*last) {
        let word = before.len() - before.iter().rev().take_while(|byte| is_name(**byte)).count();
        return BEFORE_VALUE.contains(&&before[word..]);
    }
    b"=(,;{}!&|+-%<>?:~^[".contains(last)
}

/// Rewrites what follows the `*` at a position: `*(int*)&a` to `a`, `*(a + 1)` to `_[a + 1]`, `*--a` to `a`, `*a++` to
/// `*a`.
fn pointee(text: &mut Cow<'_, [u8]>, at: usize) {
    let end =
        text[at..].iter().take(MAX_BRACKET_DISTANCE).position(|byte| *byte == b'\n').map_or(text.len(), |end| at + end);
    let rest = &text[at + 1..end];
    if rest.starts_with(b"--") || rest.starts_with(b"++") {
        text.to_mut()[at..at + 3].fill(b' ');
        return;
    }
    let name = rest.iter().take_while(|byte| is_name(**byte)).count();
    if name > 0 {
        let place = at + 1 + name;
        if matches!(text.get(place..place + 2), Some(b"++" | b"--")) {
            text.to_mut()[place..place + 2].fill(b' ');
        }
        return;
    }
    let Some(length) = bracket(rest) else { return };
    if is_cast(rest) {
        let behind = at + 1 + length;
        let blanks = text[behind..end].iter().take_while(|byte| **byte == b' ').count();
        let next = behind + blanks;
        let skipped = usize::from(text.get(next) == Some(&b'&'));
        text.to_mut()[at..next + skipped].fill(b' ');
        if text.get(next) == Some(&b'(') {
            text.to_mut()[next - 1] = b'*';
            pointee(text, next - 1);
        }
        return;
    }
    let text = text.to_mut();
    (text[at], text[at + 1], text[at + length]) = (b'_', b'[', b']');
}

/// Returns whether a text is a cast to a pointer: `(int*)`.
fn is_cast(text: &[u8]) -> bool {
    let Some(length) = bracket(&text[..text.len().min(MAX_BRACKET_DISTANCE)]) else { return false };
    let inner = text[1..length - 1].trim_ascii();
    let is_type = |byte: &u8| is_name(*byte) || matches!(byte, b'.' | b'*' | b' ' | b'<' | b'>' | b':');
    inner.ends_with(b"*") && inner.iter().all(is_type)
}

/// Returns the length of the bracket that a text begins with; `None` if its end or a quote is missing.
fn bracket(text: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'(') {
        return None;
    }
    let mut depth = 0;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b'"' | b'\'' => return None,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_elements_stand_for_what_the_grammar_does_not_know() {
        for (text, tidy_text) in [
            ("if (async) required.Add(a);", "if (_sync) _equired.Add(a);"),
            ("public async Task F() => await g();", "public async Task F() => await g();"),
            ("public required int A { get; set; }", "public required int A { get; set; }"),
            ("ref partial struct A {}", "    partial struct A {}"),
            ("unsafe { a = *(int*)&b; }", "unsafe { a =         b; }"),
            ("unsafe { *(p + 1) = *(q++); }", "unsafe { _[p + 1] = _[q++]; }"),
            ("unsafe { *((A.B*)p) = c; }", "unsafe { _[(A.B*)p] = c; }"),
            ("unsafe { *--p = *q++; }", "unsafe {    p = *q  ; }"),
            ("unsafe { return *(int*)(p + 4); }", "unsafe { return       _[p + 4]; }"),
            ("unsafe { a = b * (c + d); e = (f) * (g); }", "unsafe { a = b * (c + d); e = (f) * (g); }"),
            ("unsafe { return (float)*(double*)&f; }", "unsafe { return (float)           f; }"),
            ("unsafe {\n// says why\n*p++ = a; }", "unsafe {\n// says why\n*p   = a; }"),
            ("/*++ unsafe ++*/", "/*++ unsafe ++*/"),
            ("a = *(p);", "a = *(p);"),
        ] {
            let mut tidied = Cow::Borrowed(text.as_bytes());

            tidy(&mut tidied);

            assert_eq!(String::from_utf8_lossy(&tidied), tidy_text);
        }
    }
}
