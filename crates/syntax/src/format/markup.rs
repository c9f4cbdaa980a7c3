//! Markup of Svelte and Vue components: checks the brackets of expressions, and Svelte's blocks. Of an embedded
//! language it reads only brackets, quotes, comments and regular expressions; the rest is left to the compiler.

use std::ops::Range;

use super::component::Kind as Of;
use crate::balance::closes;
use crate::problem::{Kind, Problem};

/// Blocks of Svelte that end with `{/NAME}`. Source: svelte.dev/docs/svelte, template syntax.
const BLOCKS: [&str; 5] = ["if", "each", "await", "key", "snippet"];

/// Maximum length of the text of a branch or tag without its brace, in bytes.
const MARKED: usize = 200;
/// Beginnings of branches of these blocks, and of tags with `{@`.
const MARKS: [&[u8]; 8] = [b":else", b":then", b":catch", b"@html", b"@render", b"@const", b"@debug", b"@attach"];

/// Finds the first bracket of an expression without a partner, or the first block without an end.
pub(super) fn problem(text: &[u8], kind: Of) -> Option<Problem> {
    let found = match kind {
        Of::Svelte => svelte(text),
        Of::Vue => vue(text),
    };
    found.err().map(|(at, kind)| Problem::at(text, at, kind))
}

type Found = Result<(), (usize, Kind)>;

fn svelte(text: &[u8]) -> Found {
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if let Some(end) = skipped(text, at) {
            at = end;
            continue;
        }
        match text[at] {
            b'<' if text.get(at + 1).is_some_and(u8::is_ascii_alphabetic) => {
                at = svelte_tag(text, at)?;
                continue;
            }
            b'}' if is_mark(&text[..at]) => return Err((at, Kind::ClosesNothing("}".to_owned()))),
            b'{' => {}
            _ => {
                at += 1;
                continue;
            }
        }
        // The slash of an end tag begins no regular expression.
        let from = at + 1 + usize::from(text.get(at + 1) == Some(&b'/'));
        let end = closing(text, from..text.len(), Some(at))?;
        let inside = &text[at + 1..end - 1];
        match inside.first() {
            Some(b'#') => open.extend(block(&inside[1..]).map(|name| (name, at))),
            Some(b'/') if block(&inside[1..]).is_some() => {
                let name = block(&inside[1..]).unwrap_or_default();
                match open.pop() {
                    Some((opened, _)) if opened == name => {}
                    Some((opened, begin)) => return Err((begin, endless(opened))),
                    None => return Err((at, Kind::Stated(format!("`{{/{name}}}` ends no block")))),
                }
            }
            Some(_) | None => {}
        }
        at = end;
    }
    open.first().map_or(Ok(()), |(name, at)| Err((*at, endless(name))))
}

/// Reads a tag of Svelte, and returns the position after it. Outside of quotes, a brace there begins or ends an
/// expression.
fn svelte_tag(text: &[u8], start: usize) -> Result<usize, (usize, Kind)> {
    let (mut at, mut quote) = (start + 1, None);
    while at < text.len() {
        match (quote, text[at]) {
            (_, b'{') => {
                at = closing(text, at + 1..text.len(), Some(at))?;
                continue;
            }
            (None, b'}') => return Err((at, Kind::ClosesNothing("}".to_owned()))),
            (None, b'>') if text[at - 1] == b'=' => {
                return Err((at - 1, Kind::Stated("`=>` stands in a tag, outside of an expression".to_owned())));
            }
            (None, b'>') => return Ok(at + 1),
            (None, mark @ (b'"' | b'\'')) if text[..at].trim_ascii_end().ends_with(b"=") => quote = Some(mark),
            (Some(mark), byte) if byte == mark => quote = None,
            (Some(_) | None, _) => {}
        }
        at += 1;
    }
    Ok(at)
}

/// Returns whether the text before a closing brace begins like a branch or tag of Svelte, so that its opening brace is
/// missing.
fn is_mark(before: &[u8]) -> bool {
    let before = &before[before.len().saturating_sub(MARKED)..];
    let text = before.rsplit(|byte| b">\n".contains(byte)).next().unwrap_or_default().trim_ascii_start();
    MARKS.iter().any(|mark| text.starts_with(mark))
}

fn endless(name: &str) -> Kind {
    Kind::Stated(format!("`{{#{name}` is never ended by `{{/{name}}}`"))
}

/// Returns the block that a word behind `#` or `/` names.
fn block(rest: &[u8]) -> Option<&'static str> {
    let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    BLOCKS.into_iter().find(|name| name.as_bytes() == &rest[..length])
}

/// Checks a Vue template: what is between `{{` and `}}`, and the values of attributes that are expressions.
fn vue(text: &[u8]) -> Found {
    let Some(template) = template(text) else { return Ok(()) };
    let mut at = template.start;
    while at < template.end {
        if let Some(end) = skipped(text, at) {
            at = end;
        } else if text[at..].starts_with(b"{{") {
            let Some(length) = memchr::memmem::find(&text[at..template.end], b"}}") else {
                return Err((at, Kind::Unclosed("{{".to_owned())));
            };
            closing(text, at + 2..at + length, None)?;
            at += length + 2;
        } else if text[at..].starts_with(b"}}") {
            if let Some(begin) = half_open(&text[template.start..at]) {
                return Err((template.start + begin, Kind::Stated("`{` opens nothing that `}}` could end".to_owned())));
            }
            at += 2;
        } else if text[at] == b'<' && text.get(at + 1).is_some_and(u8::is_ascii_alphabetic) {
            at = tag(text, at..template.end)?;
        } else {
            at += 1;
        }
    }
    Ok(())
}

/// Returns the position of the only opening brace since the last tag or closing brace: one is missing if `}}` follows.
fn half_open(before: &[u8]) -> Option<usize> {
    let from = before.iter().rposition(|byte| b">}".contains(byte)).map_or(0, |at| at + 1);
    let mut open = memchr::memchr_iter(b'{', &before[from..]);
    let first = open.next()?;
    open.next().is_none().then_some(from + first)
}

/// Returns the range of the template's content, if it is HTML.
fn template(text: &[u8]) -> Option<Range<usize>> {
    let start = memchr::memmem::find_iter(text, b"<template").find(|at| *at == 0 || text[at - 1] == b'\n')?;
    let open = memchr::memchr(b'>', &text[start..])? + start;
    if memchr::memmem::find(&text[start..open], b"lang=").is_some() {
        return None;
    }
    let end = memchr::memmem::rfind(text, b"</template")?;
    (open < end).then_some(open + 1..end)
}

/// Reads a tag, and returns the position after it.
fn tag(text: &[u8], range: Range<usize>) -> Result<usize, (usize, Kind)> {
    let mut at = range.start + 1;
    while at < range.end && text[at] != b'>' {
        let quote = text[at];
        if !matches!(quote, b'"' | b'\'') {
            at += 1;
            continue;
        }
        let Some(length) = memchr::memchr(quote, &text[at + 1..range.end]) else { return Ok(range.end) };
        let value = at + 1..at + 1 + length;
        if is_expression(&text[range.start..at]) {
            closing(text, value.clone(), None)?;
        }
        at = value.end + 1;
    }
    Ok(at + 1)
}

/// Returns whether a text ends with an attribute that takes an expression: `:a=`, `@a=`, `#a=`, `v-a=`.
fn is_expression(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let Some(before) = before.strip_suffix(b"=") else { return false };
    let name = before.trim_ascii_end().rsplit(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
    // The value of `v-for` is no expression, but its brackets must match as well.
    name.starts_with(b"v-") || matches!(name.first(), Some(b':' | b'@' | b'#'))
}

/// Returns the end of a comment, script or style that begins here.
fn skipped(text: &[u8], at: usize) -> Option<usize> {
    const PARTS: [(&[u8], &[u8]); 3] = [(b"<!--", b"-->"), (b"<script", b"</script"), (b"<style", b"</style")];
    let (begin, end) = PARTS.into_iter().find(|(begin, _)| text[at..].starts_with(begin))?;
    let from = at + begin.len();
    Some(memchr::memmem::find(&text[from..], end).map_or(text.len(), |length| from + length + end.len()))
}

/// Reads an expression of JavaScript and returns the position after it. With `opened`, the position of its opening
/// brace, reads to the closing one, else to the end of the range. Open brackets and template literals are on an
/// explicit stack, as they may nest deeply.
fn closing(text: &[u8], range: Range<usize>, opened: Option<usize>) -> Result<usize, (usize, Kind)> {
    let mut open: Vec<(u8, usize)> = opened.map(|at| (b'{', at)).into_iter().collect();
    let mut at = range.start;
    while at < range.end {
        let byte = text[at];
        if let Some((b'`', _)) = open.last() {
            at = in_template(text, at, range.end, &mut open);
            continue;
        }
        match byte {
            b'{' if opened.is_some() && begins_markup(&text[at + 1..range.end]) => break,
            b'(' | b'[' | b'{' | b'`' => open.push((byte, at)),
            b')' | b']' | b'}' => match open.pop() {
                Some((other, _)) if closes(other, byte) => {
                    if open.is_empty() && opened.is_some() {
                        return Ok(at + 1);
                    }
                }
                Some((other, begin)) => return Err((begin, Kind::Unclosed((other as char).to_string()))),
                None => return Err((at, Kind::ClosesNothing((byte as char).to_string()))),
            },
            b'"' | b'\'' => at = end_of_string(text, at, range.end),
            b'/' if text[at..range.end].starts_with(b"/*") => {
                let length = memchr::memmem::find(&text[at..range.end], b"*/");
                at = length.map_or(range.end, |length| at + length + 2);
                continue;
            }
            b'/' if text[at..range.end].starts_with(b"//") => {
                at = memchr::memchr(b'\n', &text[at..range.end]).map_or(range.end, |length| at + length);
                continue;
            }
            b'/' if begins_regex(&text[range.start..at], &text[at..range.end]) => {
                at = end_of_regex(text, at, range.end)
            }
            _ => {}
        }
        at += 1;
    }
    // Reports the first open bracket: everything after it was read as part of its expression.
    match open.first() {
        Some((other, begin)) => Err((*begin, Kind::Unclosed((*other as char).to_string()))),
        None => Ok(range.end),
    }
}

/// Advances in a template literal: its end removes it from the stack, `${` pushes a brace. Returns the next position.
fn in_template(text: &[u8], at: usize, end: usize, open: &mut Vec<(u8, usize)>) -> usize {
    match text[at] {
        b'\\' => at + 2,
        b'`' => {
            open.pop();
            at + 1
        }
        b'$' if text[at..end].starts_with(b"${") => {
            open.push((b'{', at + 1));
            at + 2
        }
        _ => at + 1,
    }
}

/// Returns the position of a string's last byte; that of its quote if the line ends first.
fn end_of_string(text: &[u8], start: usize, end: usize) -> usize {
    let mut at = start + 1;
    while at < end && text[at] != b'\n' {
        match text[at] {
            b'\\' => at += 1,
            byte if byte == text[start] => return at,
            _ => {}
        }
        at += 1;
    }
    start
}

/// Returns whether a brace begins a block, branch or tag of Svelte: no expression contains one, so the outer one has no
/// end.
fn begins_markup(inside: &[u8]) -> bool {
    match inside.split_first() {
        Some((b'#' | b'/', rest)) => block(rest).is_some(),
        Some((b':' | b'@', _)) => MARKS.iter().any(|mark| inside.starts_with(mark)),
        Some(_) | None => false,
    }
}

/// Returns whether a slash begins a regular expression: no operand precedes it, and it ends no tag.
fn begins_regex(before: &[u8], from: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let ends_tag = before.ends_with(b"}") && from.starts_with(b"/>");
    !ends_tag && before.last().is_none_or(|byte| b"(,=:[!&|?{};+-*%<>~^".contains(byte))
}

/// Returns the position of a regular expression's last byte; that of its slash if the line ends first.
fn end_of_regex(text: &[u8], start: usize, end: usize) -> usize {
    let (mut at, mut in_class) = (start + 1, false);
    while at < end && text[at] != b'\n' {
        match text[at] {
            b'\\' => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class => return at,
            _ => {}
        }
        at += 1;
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, kind: Of) -> Option<usize> {
        problem(text.as_bytes(), kind).map(|problem| problem.lines.start + 1)
    }

    #[test]
    fn blocks_and_expressions_of_svelte_have_their_ends() {
        let right = "<script>\n  if (a) {\n</script>\n{#each items as { id, name }, i (id)}\n  <p class=\"a {b ? 'x' : `y${f({ z })}`}\" on:click={() => { go(/[/\"}]/) }}>it's {name} } </p>\n{:else}\n  <!-- { -->{@html text.replace(/\"/g, '{') /* ( */}\n{/each}\n{#await p then v}{v}{/await}\n<style>\n  p {\n</style>\n";

        assert_eq!(line(right, Of::Svelte), None);
        for (from, to, at) in [
            ("{/each}\n", "", 4),
            ("{/await}", "", 9),
            ("{#await p then v}", "", 9),
            ("f({ z })", "f({ z )", 5),
            ("{name} }", "{name", 5),
            ("={() =>", "=() =>", 5),
            ("{:else}", ":else}", 6),
            ("{@html", "@html", 7),
            ("{v}", "{v", 9),
            ("{:else}", "{name {:else}", 6),
            ("(id)}", "id)}", 4),
        ] {
            assert_eq!(line(&right.replacen(from, to, 1), Of::Svelte), Some(at), "{from}");
        }
    }

    #[test]
    fn template_literals_are_read_at_any_depth() {
        let deep = |levels: usize, ends: usize| format!("{{{}{}}}\n", "`${".repeat(levels), "}`".repeat(ends));

        assert_eq!(line(&deep(100_000, 100_000), Of::Svelte), None);
        assert_eq!(line(&deep(100_000, 99_999), Of::Svelte), Some(1));
    }

    #[test]
    fn expressions_of_vue_have_their_brackets() {
        let right = "<script setup>\nlet a = {\n</script>\n<template>\n  <a :b=\"c > d ? [1] : { e: 'f)' }\" v-for=\"(x, i) in list\" title=\"(\" @click='go(i)'>{{ f(x) }} it's (</a>\n</template>\n";

        assert_eq!(line(right, Of::Vue), None);
        for (from, to) in [
            ("go(i)", "go(i"),
            ("[1]", "1]"),
            ("{ e:", " e:"),
            ("f(x) }}", "f(x }}"),
            ("{{ f(x) }}", "{{ f(x) }"),
            ("{{ f(x) }}", "{ f(x) }}"),
        ] {
            assert_eq!(line(&right.replacen(from, to, 1), Of::Vue), Some(5), "{from}");
        }
        assert_eq!(
            line(&right.replace("<template>", "<template lang=\"pug\">").replace("go(i)", "go(i"), Of::Vue),
            None
        );
    }
}
