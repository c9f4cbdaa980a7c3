//! HTML mistakes that no browser corrects silently: tags and comments that never end, and in whole pages elements
//! without a required end tag. Source: html.spec.whatwg.org, sections *Optional tags* and *Void elements*.

use crate::problem::{Kind, Problem};

/// Elements without content.
const VOID: [&str; 17] = [
    "area", "base", "basefont", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr", "keygen",
];
/// Elements whose content is not markup.
const RAW: [&str; 5] = ["script", "style", "textarea", "title", "xmp"];
/// Elements that structure a page: without their end tag everything after them is misplaced.
const STRUCTURAL: [&str; 17] = [
    "div", "section", "article", "main", "nav", "header", "footer", "aside", "form", "table", "ul", "ol", "select",
    "button", "dl", "fieldset", "template",
];

/// Finds the first mistake.
pub(super) fn problem(text: &str) -> Option<Problem> {
    let bytes = text.as_bytes();
    let stated = |at: usize, what: &str| Some(Problem::at(bytes, at, Kind::Stated(what.to_owned())));
    let mut open: Vec<(String, usize)> = Vec::new();
    let mut at = 0;
    while let Some(length) = memchr::memchr(b'<', &bytes[at..]) {
        at += length;
        let rest = &text[at..];
        if rest.starts_with("<!--") {
            match rest.find("-->") {
                Some(end) => at += end + 3,
                None => return stated(at, "a comment that never ends"),
            }
            continue;
        }
        let name = name(rest);
        if name.is_empty() {
            at += 1;
            continue;
        }
        let Some(end) = end_of_tag(rest) else { return stated(at, "a tag that never ends") };
        let is_end = rest.starts_with("</");
        let is_alone = rest[..end].ends_with("/>") || VOID.contains(&name.as_str());
        if is_end {
            close(&mut open, &name);
        } else if RAW.contains(&name.as_str()) && !is_alone {
            match end_of_raw(&rest[end..], &name) {
                Some(content) => at += content,
                None => return stated(at, "an element that is never closed"),
            }
        } else if STRUCTURAL.contains(&name.as_str()) && !is_alone {
            open.push((name, at));
        }
        at += end;
    }
    // A fragment of a page may open elements that another fragment closes.
    let is_page = |word: &str| text.to_ascii_lowercase().contains(word);
    let (_, at) = open.pop().filter(|_| is_page("<html") && is_page("</html"))?;
    stated(at, "an element that is never closed")
}

/// Closes the nearest element with this name, and everything opened inside it.
fn close(open: &mut Vec<(String, usize)>, name: &str) {
    if let Some(at) = open.iter().rposition(|(other, _)| other == name)
        && at + 1 == open.len()
    {
        open.pop();
    }
}

fn name(tag: &str) -> String {
    let name = tag[1..].trim_start_matches('/');
    let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == ':')).unwrap_or(name.len());
    if is_tag { name[..end].to_ascii_lowercase() } else { String::new() }
}

/// Returns the length of a tag, taking quotes into account.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut quote = None;
    let mut before = b' ';
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (Some(mark), byte) if byte == mark => quote = None,
            (None, b'"' | b'\'') if before == b'=' => quote = Some(byte),
            (None, b'>') => return Some(at + 1),
            (Some(_) | None, _) => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
    }
    None
}

/// Returns the length of the content of a script or style.
fn end_of_raw(content: &str, name: &str) -> Option<usize> {
    let close = format!("</{name}");
    let bytes = content.as_bytes();
    let is_close =
        |at: &usize| bytes.get(*at..at + close.len()).is_some_and(|part| part.eq_ignore_ascii_case(close.as_bytes()));
    memchr::memmem::find_iter(bytes, b"</").find(is_close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_found_and_what_browsers_allow_is_not() {
        let lines = |text: &str| problem(text).map(|found| found.lines.start + 1);
        for text in [
            "<!doctype html><html><body><p>a<p>b <br> 1 < 2 <ul><li>a<li>b</ul><div a='>'></div></body></html>",
            "<div><!-- part of a page -->",
            "<script>if (a < b) '<div>'</script><style>a > b {}</style>",
            "<p>it's <b a=\"'\">x</b>",
        ] {
            assert_eq!(lines(text), None, "{text}");
        }
        for (text, line) in [
            ("<p>\n<div class=\"a>\n</div>", 2),
            ("<html><body>\n<div>\n<ul></ul></body></html>", 2),
            ("<p>\n<!-- a", 2),
            ("<p>\n<script>a()\n", 2),
        ] {
            assert_eq!(lines(text), Some(line), "{text}");
        }
    }
}
