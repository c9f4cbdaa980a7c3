//! Full-text search in bodies: the meaning of a query, and how a text is split into words. The same rules apply to all
//! backends.

use std::ops::Range;

use switchboard_protocol::event::Lsn;

use crate::Error;

/// Maximum length of a query in bytes.
const MAX_QUERY_BYTES: usize = 1_000;

/// Maximum number of terms of one query.
const MAX_TERMS: usize = 32;

/// Number of characters of a word that are compared; the rest of a longer word is ignored.
const MAX_WORD_CHARS: usize = 64;

/// A search query: words that must all occur, phrases, prefixes, and words that must not occur.
///
/// `merge conflict` finds texts with both words in any order, `"merge conflict"` the phrase, `conf*` every word with
/// that prefix. `-draft` excludes texts with that word. Case is ignored. A term that contains punctuation, such as
/// `src/lib.rs`, is the phrase of its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    terms: Vec<Term>,
}

/// One term of a query: consecutive words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) words: Vec<String>,
    pub(crate) is_prefix: bool,
    pub(crate) is_excluded: bool,
}

/// A search request for the index.
pub(crate) struct Search<'a> {
    pub(crate) words: &'a Words,
    /// Only events before this one are searched.
    pub(crate) before: Lsn,
    pub(crate) limit: u64,
}

/// Events whose bodies match the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Lsns of the events, newest first.
    pub lsns: Vec<Lsn>,
    /// True if the whole log was searched; false if the index was not up to date in time.
    pub is_whole: bool,
}

// === impl Words ===

impl Words {
    /// Parses a query.
    ///
    /// # Errors
    /// [`Error::Query`] with the reason: nothing to search for, an unclosed quotation, too long.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_QUERY_BYTES {
            return Err(wrong(format!("it has {} bytes, at most {MAX_QUERY_BYTES} are taken", text.len())));
        }
        let mut terms = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (term, behind) = term(rest)?;
            // A term of punctuation only is dropped: `a & b` are two words.
            if !term.words.is_empty() {
                terms.push(term);
            }
            rest = behind.trim_start();
        }
        if terms.len() > MAX_TERMS {
            return Err(wrong(format!("it has {} terms, at most {MAX_TERMS} are taken", terms.len())));
        }
        if terms.iter().all(|term| term.is_excluded) {
            let what = match terms.is_empty() {
                true if text.trim().is_empty() => "it is empty",
                true => "it holds no letter and no digit",
                false => "it only says what must not occur",
            };
            return Err(wrong(what.to_owned()));
        }
        Ok(Self { terms })
    }

    /// Returns the first position of a required word in a text, if the text matches the query.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        let spans = spans(text);
        let places: Option<Vec<_>> = self
            .terms
            .iter()
            .map(|term| match (term.find(&spans), term.is_excluded) {
                (Some(_), true) | (None, false) => None,
                (place, _) => Some(place),
            })
            .collect();
        places?.into_iter().flatten().min_by_key(|place| place.start)
    }

    pub(crate) fn terms(&self) -> &[Term] {
        &self.terms
    }
}

// === impl Term ===

impl Term {
    fn find(&self, spans: &[(Range<usize>, String)]) -> Option<Range<usize>> {
        let last = self.words.len().checked_sub(1)?;
        let is_here = |window: &&[(Range<usize>, String)]| {
            self.words.iter().zip(*window).enumerate().all(|(at, (wanted, (_, word)))| {
                if self.is_prefix && at == last { word.starts_with(wanted.as_str()) } else { word == wanted }
            })
        };
        let found = spans.windows(self.words.len()).find(is_here)?;
        Some(found.first()?.0.start..found.last()?.0.end)
    }
}

/// Splits off the first term of a query; it has no words if it consists of punctuation only.
fn term(text: &str) -> Result<(Term, &str), Error> {
    let (is_excluded, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
    let (inner, behind) = match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').ok_or_else(|| wrong("a quotation doesn't end".to_owned()))?,
        None => text.split_at(text.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(text.len())),
    };
    let (is_prefix, inner, behind) = match (inner.strip_suffix('*'), behind.strip_prefix('*')) {
        (Some(inner), _) => (true, inner, behind),
        (None, Some(behind)) if text.starts_with('"') => (true, inner, behind),
        (None, _) => (false, inner, behind),
    };
    let words = spans(inner).into_iter().map(|(_, word)| word).collect();
    Ok((Term { words, is_prefix, is_excluded }, behind))
}

/// Returns the words of a text with their positions: runs of letters and digits, in lower case. In scripts without
/// spaces, each character is a word.
pub(crate) fn spans(text: &str) -> Vec<(Range<usize>, String)> {
    let mut spans: Vec<(Range<usize>, String)> = Vec::new();
    let mut open = false;
    let mut chars = 0;
    for (at, c) in text.char_indices() {
        if !c.is_alphanumeric() {
            open = false;
            continue;
        }
        let end = at + c.len_utf8();
        match spans.last_mut() {
            Some((place, word)) if open && !is_own_word(c) => {
                place.end = end;
                chars += 1;
                if chars <= MAX_WORD_CHARS {
                    word.extend(c.to_lowercase());
                }
            }
            Some(_) | None => {
                spans.push((at..end, c.to_lowercase().collect()));
                chars = 1;
                open = !is_own_word(c);
            }
        }
    }
    spans
}

/// Returns a text in the form of the index: its words, separated by one space.
pub(crate) fn indexed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (_, word) in spans(text) {
        out.push_str(&word);
        out.push(' ');
    }
    out
}

/// Returns true for ideographs and kana, which are written without spaces.
fn is_own_word(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

fn wrong(what: String) -> Error {
    Error::Query(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        spans(text).into_iter().map(|(_, word)| word).collect()
    }

    fn finds(query: &str, text: &str) -> bool {
        Words::parse(query).unwrap().find(text).is_some()
    }

    #[test]
    fn a_text_falls_into_words_of_letters_and_digits() {
        assert_eq!(words("Fix src/lib.rs, ÄRGER x2!"), ["fix", "src", "lib", "rs", "ärger", "x2"]);
        assert_eq!(words("漢字abc かな"), ["漢", "字", "abc", "か", "な"]);
        assert_eq!(words(" \u{1}–… "), [""; 0]);
        assert_eq!(words(&"a".repeat(100)), ["a".repeat(64)]);
        assert_eq!(indexed("One, TWO\nthree"), "one two three ");
    }

    #[test]
    fn all_words_must_occur_and_excluded_ones_must_not() {
        assert!(finds("conflict merge", "a Merge had a CONFLICT"));
        assert!(!finds("conflict merge", "a merge"));
        assert!(finds("merge -draft", "a merge"));
        assert!(!finds("merge -draft", "a draft of a merge"));
        assert!(!finds("-\"a draft\" merge", "merge of a draft"));
    }

    #[test]
    fn phrases_and_beginnings_are_told_from_words() {
        assert!(finds("\"merge conflict\"", "the merge: conflict!"));
        assert!(!finds("\"merge conflict\"", "conflict of a merge"));
        assert!(finds("src/lib.rs", "see src/lib.rs:3"));
        assert!(!finds("src/lib.rs", "lib src rs"));
        assert!(finds("conf*", "a conflict") && !finds("conf", "a conflict"));
        assert!(finds("\"merge conf\"*", "merge conflict"));
        assert!(finds("漢字", "古い漢字だ") && !finds("字漢", "古い漢字だ"));
    }

    #[test]
    fn the_place_is_the_first_match() {
        let text = "nothing, then Merge and conflict";

        let place = Words::parse("conflict merge").unwrap().find(text).unwrap();

        assert_eq!(&text[place], "Merge");
    }

    #[test]
    fn what_can_not_be_looked_for_is_an_error_in_plain_words() {
        let what = |query: &str| Words::parse(query).unwrap_err().to_string();

        assert!(what("").contains("it is empty"));
        assert!(what("-a -b").contains("only says what must not occur"));
        assert!(what("a \"b").contains("a quotation doesn't end"));
        assert!(what("??? -").contains("it holds no letter and no digit"));
        assert!(what("*").contains("no letter"));
        assert!(what(&"x".repeat(2000)).contains("2000 bytes"));
        assert!(what(&"x ".repeat(33)).contains("33 terms"));
    }

    #[test]
    fn signs_of_the_index_own_language_mean_nothing() {
        for query in ["NEAR(a b)", "a:b", "{a b}: c", "a^2", "(a", "a OR b", "a+b*", "'; DROP"] {
            assert!(Words::parse(query).is_ok(), "{query}");
        }
    }
}
