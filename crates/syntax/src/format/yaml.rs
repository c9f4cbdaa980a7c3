//! YAML 1.2 as `saphyr-parser` reads it, including every document of the file.

use std::collections::HashSet;

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::problem::{Kind, Problem};

/// Files whose readers refuse a repeated key in one mapping.
const SINGLE_KEYS: [&str; 5] = [".github/workflows/", "docker-compose", "compose.y", "compose.override", "action.y"];
/// Maximum number of keys remembered for one mapping.
const KEYS: usize = 10_000;

/// Error about a quoted scalar that continues less indented: other parsers accept it, the specification does not.
const LENIENT: &str = "invalid indentation in quoted scalar";
/// Error about a closing bracket that is indented no further than its key: likewise accepted by other parsers.
const LENIENT_CLOSE: &str = "invalid indentation";
/// Maximum number of times that lines are joined to get past these errors.
const JOINS: usize = 200;

/// Finds the first position that is no valid YAML. The parser's messages are constant except for one character.
pub(super) fn problem(path: &str, text: &str) -> Option<Problem> {
    let mut joined = text.to_owned();
    for _ in 0..JOINS {
        let (at, kind) = mistake(path, &joined)?;
        let is_closed = kind == Kind::Stated(LENIENT_CLOSE.to_owned()) && joined[at..].starts_with([']', '}']);
        if let Some(end) = joined[..at].rfind('\n').filter(|_| is_closed) {
            joined.replace_range(end..=end, " ");
            continue;
        }
        if kind != Kind::Stated(LENIENT.to_owned()) {
            return Some(Problem::at(text.as_bytes(), at, kind));
        }
        let Some(end) = end_of_scalar(joined.as_bytes(), at) else {
            return Some(Problem::at(text.as_bytes(), at, kind));
        };
        let line = joined[at..end].replace(['\n', '\r'], " ");
        joined.replace_range(at..end, &line);
    }
    None
}

/// Returns the end of the quoted scalar that begins at a byte position.
fn end_of_scalar(text: &[u8], at: usize) -> Option<usize> {
    let quote = text.get(at).copied().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let mut end = at + 1;
    while let Some(byte) = text.get(end) {
        match *byte {
            b'\\' if quote == b'"' => end += 1,
            byte if byte == quote && quote == b'\'' && text.get(end + 1) == Some(&quote) => end += 1,
            byte if byte == quote => return Some(end + 1),
            _ => {}
        }
        end += 1;
    }
    None
}

fn mistake(path: &str, text: &str) -> Option<(usize, Kind)> {
    let plain = text.trim_start_matches('\u{feff}');
    let mark = text.len() - plain.len();
    let wants_single_keys = SINGLE_KEYS.iter().any(|part| path.contains(part));
    let mut mappings = Mappings::default();
    let place = |index: usize| mark + plain.char_indices().nth(index).map_or(plain.len(), |(at, _)| at);
    for event in Parser::new_from_str(plain) {
        match event {
            Err(error) => {
                let what = error.info();
                let is_constant = !what.contains('`');
                let kind = if is_constant { Kind::Stated(what.to_owned()) } else { Kind::Unreadable };
                return Some((place(error.marker().index()), kind));
            }
            Ok((event, span)) => {
                if mappings.repeats(&event) && wants_single_keys {
                    return Some((place(span.start.index()), Kind::Stated("a key is given twice".to_owned())));
                }
            }
        }
    }
    None
}

/// The collections around an event, with the keys of mappings.
#[derive(Default)]
struct Mappings {
    open: Vec<Collection>,
}

enum Collection {
    Sequence,
    Mapping { keys: HashSet<String>, is_key_next: bool },
}

// === impl Mappings ===

impl Mappings {
    /// Processes an event; returns whether it is a plain key that its mapping already has.
    fn repeats(&mut self, event: &Event<'_>) -> bool {
        match event {
            Event::Scalar(value, style, ..) => {
                let plain = (*style == ScalarStyle::Plain && value != "<<").then_some(value.as_ref());
                self.node(plain)
            }
            Event::Alias(_) => self.node(None),
            Event::SequenceStart(..) => {
                self.node(None);
                self.open.push(Collection::Sequence);
                false
            }
            Event::MappingStart(..) => {
                self.node(None);
                self.open.push(Collection::Mapping { keys: HashSet::new(), is_key_next: true });
                false
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
                false
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                false
            }
        }
    }

    /// Processes the beginning of a node: in a mapping keys and values alternate.
    fn node(&mut self, scalar: Option<&str>) -> bool {
        let Some(Collection::Mapping { keys, is_key_next }) = self.open.last_mut() else { return false };
        let is_key = std::mem::replace(is_key_next, !*is_key_next);
        scalar.is_some_and(|key| is_key && keys.len() < KEYS && !keys.insert(key.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Option<usize> {
        problem(path, text).map(|found| found.lines.start + 1)
    }

    #[test]
    fn a_broken_workflow_is_found_with_its_line() {
        let good = "on: push\njobs:\n  test:\n    runs-on: ${{ matrix.os }}\n    steps:\n      - run: |\n          a: b: c\n      - uses: x@v1\n";
        assert_eq!(lines("ci.yml", good), None);
        for (from, to, line) in [
            ("  test:\n", "  test\n", 4),
            ("    steps:", "   steps:", 5),
            ("      - uses", "\t- uses", 8),
            ("on: push", "on: [push", 2),
            ("on: push", "on: \"push", 1),
        ] {
            let broken = good.replacen(from, to, 1);
            assert!(lines("ci.yml", &broken).is_some_and(|found| found.abs_diff(line) <= 8), "{broken}");
        }
    }

    #[test]
    fn many_documents_and_odd_scalars_are_right() {
        for text in [
            "---\na: 1\n---\nb: 2\n...\n",
            "",
            "# only\n",
            "a: !tag [b, {c: d}]\nb: &x 1\nc: *x\n",
            "a: >-\n  b\n  c\n",
            "a:\n    b: [\n            1,\n            2,\n    ]\n    c: {\n      d: e\n    }\n",
            "a:\n  b: 'c\n\n d\n  e'\n",
            "- - a\n  - b\n",
        ] {
            assert_eq!(lines("a.yaml", text), None, "{text:?}");
        }
    }

    #[test]
    fn a_repeated_key_is_wrong_where_its_reader_says_so() {
        let text = "a:\n  b: 1\n  c: 2\n  b: 3\n";

        assert_eq!(lines("docker-compose.yml", text), Some(4));
        assert_eq!(lines("vars.yml", text), None);
        assert_eq!(lines("docker-compose.yml", "a: {b: 1}\nc: {b: 1}\nd: a\n"), None);
    }
}
