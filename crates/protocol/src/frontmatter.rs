//! The frontmatter of a Markdown file: a YAML mapping of words to texts or lists of texts, between two lines of `---`.

use saphyr_parser::{Event, Parser};

use crate::error::near_matches;

/// A frontmatter and the text after it.
#[derive(Debug, PartialEq, Eq)]
pub struct Document<'a> {
    /// Fields, in order.
    pub fields: Vec<Field>,
    /// Text below the frontmatter, without blank lines around it.
    pub body: &'a str,
}

/// A key with its value.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Line in the file, from 1.
    pub line: usize,
}

/// Value of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
}

/// Reason why a file can't be used.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub what: String,
    /// Line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// What to do.
    pub hint: Option<String>,
}

// === impl Problem ===

impl Problem {
    /// Makes a problem at a line.
    #[must_use]
    pub const fn at(line: usize, what: String) -> Self {
        Self { what, line, hint: None }
    }

    /// Adds the nearest valid word as a hint, if there is one.
    #[must_use]
    pub fn near(self, word: &str, words: &[&str]) -> Self {
        let near = near_matches(word, words.iter().copied());
        Self { hint: near.first().map(|near| format!("did you mean `{near}`?")), ..self }
    }
}

/// Reads a text. Keys are unique; only lists may be nested in the mapping.
///
/// # Errors
/// The first line that is not valid frontmatter, and the reason.
pub fn read(text: &str) -> Result<Document<'_>, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (yaml, body) = parted(text)?;
    let mut fields: Vec<Field> = Vec::new();
    for field in mapping(yaml)? {
        if fields.iter().any(|other| other.key == field.key) {
            return Err(Problem::at(field.line, format!("`{}` is given twice", field.key)));
        }
        fields.push(field);
    }
    Ok(Document { fields, body: body.trim() })
}

/// Splits a text at the lines of `---`.
fn parted(text: &str) -> Result<(&str, &str), Problem> {
    let mut at = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let is_fence = line.trim_end() == "---";
        if number == 1 && !is_fence {
            return Err(Problem::at(1, "it does not begin with a line `---`".to_owned()));
        }
        if number > 1 && is_fence {
            let first = text.find('\n').map_or(0, |end| end + 1);
            return Ok((&text[first..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    Err(Problem::at(1, "its frontmatter has no second line `---`".to_owned()))
}

/// What the parser is reading.
enum State {
    Before,
    Key,
    Value(String, usize),
    Item(String, usize, Vec<String>),
}

fn mapping(yaml: &str) -> Result<Vec<Field>, Problem> {
    let (mut fields, mut state) = (Vec::new(), State::Before);
    for event in Parser::new_from_str(yaml) {
        // The first line of the file is the fence.
        let (event, span) = event.map_err(|error| {
            Problem::at(error.marker().line() + 1, format!("its frontmatter is no YAML: {}", error.info()))
        })?;
        let line = span.start.line() + 1;
        let wrong = |what: &str| Err(Problem::at(line, what.to_owned()));
        state = match (state, event) {
            (
                state,
                Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing,
            ) => state,
            (State::Before, Event::MappingStart(..)) => State::Key,
            (State::Before, _) => return wrong("its frontmatter is not a list of `key: value`"),
            (State::Key, Event::Scalar(key, ..)) => State::Value(key.into_owned(), line),
            (State::Key, Event::MappingEnd) => State::Before,
            (State::Value(key, line), Event::Scalar(text, ..)) => {
                fields.push(Field { key, value: Value::Text(text.trim().to_owned()), line });
                State::Key
            }
            (State::Value(key, line), Event::SequenceStart(..)) => State::Item(key, line, Vec::new()),
            (State::Item(key, line, mut list), Event::Scalar(text, ..)) => {
                list.push(text.trim().to_owned());
                State::Item(key, line, list)
            }
            (State::Item(key, line, list), Event::SequenceEnd) => {
                fields.push(Field { key, value: Value::List(list), line });
                State::Key
            }
            (State::Key, _) => return wrong("a key has to be a word"),
            (State::Value(key, _) | State::Item(key, ..), _) => {
                return wrong(&format!("`{key}` takes a text or a list of texts"));
            }
        };
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(key: &str, value: &str, line: usize) -> Field {
        Field { key: key.to_owned(), value: Value::Text(value.to_owned()), line }
    }

    #[test]
    fn texts_lists_and_the_body_are_read_with_their_lines() {
        let read = read("---\r\nname: scout\ntools:\n  - read\n  - search\nmodel: \"a: b\"\n---\n\nLook.\n---\nOn.\n")
            .unwrap();

        let tools = Value::List(vec!["read".to_owned(), "search".to_owned()]);
        let tools = Field { key: "tools".to_owned(), value: tools, line: 3 };
        assert_eq!(read.fields, [text("name", "scout", 2), tools, text("model", "a: b", 6)]);
        assert_eq!(read.body, "Look.\n---\nOn.");
        assert_eq!(super::read("---\n---\nbody").unwrap(), Document { fields: Vec::new(), body: "body" });
    }

    #[test]
    fn what_is_no_frontmatter_is_refused_with_its_line() {
        for (given, line) in [
            ("name: scout\n", 1),
            ("", 1),
            ("---\nname: scout\n", 1),
            ("---\nname: scout\nname: other\n---\n", 3),
            ("---\nname: scout\ntools: {a: b}\n---\n", 3),
            ("---\nname: scout\ntools: [a, [b]]\n---\n", 3),
            ("---\n- a\n- b\n---\n", 2),
            ("---\njust words\n---\n", 2),
            ("---\nname: \"scout\n---\n", 2),
            ("---\na: &x b\nc: *x\n---\n", 3),
        ] {
            assert_eq!(read(given).map_err(|problem| problem.line), Err(line), "{given:?}");
        }
        assert_eq!(read("---\nname: a\nname: b\n---\n").unwrap_err().what, "`name` is given twice");
        assert_eq!(read("---\na: b\ntools: {a: b}\n---\n").unwrap_err().line, 3);
    }
}
