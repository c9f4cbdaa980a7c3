//! XML as `quick-xml` reads it, and what it leaves to its caller: one root, every element closed, attributes once each.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::problem::{Kind, Problem};

/// Finds the first position that is not well-formed.
pub(super) fn problem(text: &str) -> Option<Problem> {
    if text.trim().is_empty() {
        return None;
    }
    let at = |place: u64, what: &str| {
        let place = usize::try_from(place).unwrap_or(text.len());
        Some(Problem::at(text.as_bytes(), place, Kind::Stated(what.to_owned())))
    };
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let (mut open, mut roots): (Vec<u64>, usize) = (Vec::new(), 0);
    loop {
        let start = reader.buffer_position();
        match reader.read_event() {
            Err(error) => return at(reader.error_position(), message_of(&error)),
            Ok(Event::Start(element)) => {
                roots += usize::from(open.is_empty());
                if let Some(what) = bad_attribute(&element) {
                    return at(start, what);
                }
                open.push(start);
            }
            Ok(Event::Empty(element)) => {
                roots += usize::from(open.is_empty());
                if let Some(what) = bad_attribute(&element) {
                    return at(start, what);
                }
            }
            Ok(Event::End(_)) => {
                open.pop();
            }
            Ok(Event::Text(words)) if open.is_empty() && roots > 0 && !words.trim().is_empty() => {
                return at(start, "text behind the root element");
            }
            Ok(Event::Eof) => break,
            Ok(_) => {}
        }
        if roots > 1 {
            return at(start, "a second root element");
        }
    }
    open.last().and_then(|start| at(*start, "an element that is never closed"))
}

/// Converts the parser's error to a message without text of the file.
fn message_of(error: &quick_xml::Error) -> &'static str {
    use quick_xml::Error;
    use quick_xml::errors::{IllFormedError, SyntaxError};
    match error {
        Error::Syntax(SyntaxError::UnclosedComment) => "a comment that is never closed",
        Error::Syntax(SyntaxError::UnclosedCData) => "a CDATA section that is never closed",
        Error::Syntax(SyntaxError::UnclosedTag) => "a tag that is never closed",
        Error::Syntax(_) => "the file ends in the middle of its markup",
        Error::IllFormed(IllFormedError::MismatchedEndTag { .. }) => "an end tag that does not fit its start tag",
        Error::IllFormed(IllFormedError::UnmatchedEndTag(_)) => "an end tag without a start tag",
        Error::IllFormed(_) => "this is not well-formed",
        Error::InvalidAttr(_) => "an attribute that cannot be read",
        Error::Io(_) | Error::Encoding(_) | Error::Escape(_) | Error::Namespace(_) => "this is not valid XML",
    }
}

fn bad_attribute(element: &BytesStart<'_>) -> Option<&'static str> {
    let bad = element.attributes().find_map(Result::err)?;
    let is_repeated = matches!(bad, quick_xml::events::attributes::AttrError::Duplicated(..));
    Some(if is_repeated { "an attribute is given twice" } else { "an attribute that cannot be read" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_well_formed_is_found_with_its_line() {
        let lines = |text: &str| problem(text).map(|found| found.lines.start + 1);

        assert_eq!(lines("<?xml version=\"1.0\"?>\n<!-- a -->\n<a b='c'>\n <d/>&amp;\n</a>\n"), None);
        for text in [
            "<a>\n<b>\n</a>",
            "<a>\n<b",
            "<a/>\n<b/>",
            "<a>\n",
            "<a b=\"1\" b=\"2\"/>",
            "<a>\n<!-- b </a>",
            "<a b=1/>",
            "<a/>\nx",
        ] {
            assert!(lines(text).is_some(), "{text}");
        }
    }
}
