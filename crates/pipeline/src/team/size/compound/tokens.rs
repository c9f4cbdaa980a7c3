//! Splits a description into sentences and words.

use crate::team::prose::{self, CODE};

/// Separator between a word and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// Spaces.
    None,
    /// A comma.
    Comma,
    /// A semicolon or a dash.
    Clause,
    /// The end of the sentence.
    Stop,
}

/// A word.
#[derive(Debug, Clone)]
pub(super) struct Token {
    /// The word in lower case.
    pub(super) text: String,
    /// True if the word is code, a path, a number or a quotation.
    pub(super) is_code: bool,
    /// Separator before the word.
    pub(super) before: Mark,
}

/// Returns the words of each sentence that has any. Text in brackets is left out.
pub(super) fn sentences(description: &str) -> Vec<Vec<Token>> {
    let mut text = String::new();
    for line in prose::lines(description) {
        let is_apart = line.prose.trim().is_empty() || line.prose.trim_start().starts_with(['-', '*', '•']);
        text.push_str(if is_apart { "\n\n" } else { " " });
        text.push_str(&line.prose);
    }
    let text = without_brackets(&prose::unquoted(&text));
    let mut sentences = vec![Vec::new()];
    let mut before = Mark::None;
    for (nth, line) in text.split("\n\n").enumerate() {
        if nth > 0 {
            sentences.push(Vec::new());
            before = Mark::None;
        }
        for word in line.split_whitespace() {
            before = take(word, before, &mut sentences);
        }
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// Adds a word and returns the separator after it.
fn take(word: &str, before: Mark, sentences: &mut Vec<Vec<Token>>) -> Mark {
    if word.chars().all(|c| "-–—".contains(c)) {
        return Mark::Clause;
    }
    let bare = word.trim_matches(|c: char| !(c.is_alphanumeric() || "_/.@&+#$".contains(c) || c == CODE));
    let bare = bare.trim_end_matches('.');
    let behind = &word[word.rfind(bare).map_or(0, |at| at + bare.len())..];
    if !bare.is_empty() {
        let is_code = bare.contains(|c: char| c == CODE || "/_.@#$".contains(c) || c.is_ascii_digit());
        let token = Token { text: bare.to_lowercase(), is_code, before };
        if let Some(sentence) = sentences.last_mut() {
            sentence.push(token);
        }
    }
    let has = |marks: &str| behind.contains(|c: char| marks.contains(c));
    if has(".!?") {
        sentences.push(Vec::new());
        Mark::None
    } else if has(";") {
        Mark::Clause
    } else if has(",") {
        Mark::Comma
    } else {
        Mark::None
    }
}

fn without_brackets(text: &str) -> String {
    let mut depth = 0_usize;
    let keep = |c: &char| {
        let opens = ['(', '['].contains(c);
        depth += usize::from(opens);
        let is_outside = depth == 0;
        depth -= usize::from([')', ']'].contains(c) && depth > 0);
        is_outside
    };
    text.chars().filter(keep).collect()
}
