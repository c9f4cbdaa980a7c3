//! Words of a shell: quotes, expansions, here-documents.

use super::{End, Stop, list, unclosed};
use crate::problem::Kind;

/// A text and the position to read next.
pub(super) struct Text<'a> {
    text: &'a [u8],
    pub(super) at: usize,
    /// Here-documents that begin after this line: their last lines, and whether leading tabs are removed.
    documents: Vec<(Vec<u8>, bool)>,
}

// === impl Text ===

impl<'a> Text<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, documents: Vec::new() }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub(super) fn starts_with(&self, word: &[u8]) -> bool {
        self.text[self.at..].starts_with(word)
    }

    /// Returns whether the text continues with this whole word.
    pub(super) fn starts_with_word(&self, word: &[u8]) -> bool {
        self.starts_with(word) && self.text.get(self.at + word.len()).is_none_or(|byte| is_meta(*byte))
    }

    /// Skips blanks, and line ends after a backslash.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.starts_with(b"\\\n") => self.at += 2,
                Some(b'\\') if self.starts_with(b"\\\r\n") => self.at += 3,
                Some(_) | None => return,
            }
        }
    }

    pub(super) fn skip_line(&mut self) {
        self.at = memchr::memchr(b'\n', &self.text[self.at..]).map_or(self.text.len(), |length| self.at + length);
    }

    /// Skips blanks, lines and comments.
    fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'\n') => self.end_line(),
                Some(b'#') => self.skip_line(),
                Some(_) | None => return,
            }
        }
    }

    /// Reads the end of a line, and the here-documents that follow it.
    pub(super) fn end_line(&mut self) {
        self.at += 1;
        for (mark, strips_tabs) in std::mem::take(&mut self.documents) {
            while self.at < self.text.len() {
                let from = self.at;
                self.skip_line();
                let line = &self.text[from..self.at];
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                let tabs = if strips_tabs { line.iter().take_while(|byte| **byte == b'\t').count() } else { 0 };
                self.at = (self.at + 1).min(self.text.len());
                if line[tabs..] == mark {
                    break;
                }
            }
        }
    }

    /// Reads what follows `<<`.
    pub(super) fn here_document(&mut self) -> Result<(), Stop> {
        let strips_tabs = self.peek() == Some(b'-');
        self.at += usize::from(strips_tabs);
        self.skip_blanks();
        let word = self.word(0)?;
        let mark = word.iter().copied().filter(|byte| !matches!(byte, b'\'' | b'"' | b'\\')).collect();
        self.documents.push((mark, strips_tabs));
        Ok(())
    }

    /// Reads a word up to the next blank or operator.
    pub(super) fn word(&mut self, depth: usize) -> Result<&'a [u8], Stop> {
        let from = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'(' if self.at > from && self.opens_within_word() => {
                    let is_array = self.text[self.at - 1] == b'=';
                    self.at += 1;
                    self.parenthesized(is_array, depth)?;
                }
                byte if is_meta(byte) => break,
                _ => self.part(depth)?,
            }
        }
        Ok(&self.text[from..self.at])
    }

    /// Returns whether an array (`a=(`) or an extended pattern (`@(`) begins here.
    fn opens_within_word(&self) -> bool {
        matches!(self.text[self.at - 1], b'=' | b'@' | b'?' | b'!' | b'*' | b'+')
    }

    /// Reads one character of a word, or a quote or expansion as a whole.
    fn part(&mut self, depth: usize) -> Result<(), Stop> {
        match self.peek() {
            Some(b'\\') => self.at += 2,
            Some(b'\'') => self.single_quoted(false)?,
            Some(b'"') => self.double_quoted(depth)?,
            Some(b'`') => self.backquoted()?,
            Some(b'$') => self.expansion(depth, false)?,
            Some(_) | None => self.at += 1,
        }
        self.at = self.at.min(self.text.len());
        Ok(())
    }

    fn single_quoted(&mut self, escapes: bool) -> Result<(), Stop> {
        let from = self.at;
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1 + usize::from(escapes && byte == b'\\');
            if byte == b'\'' {
                return Ok(());
            }
        }
        Err(endless(from))
    }

    fn double_quoted(&mut self, depth: usize) -> Result<(), Stop> {
        let from = self.at;
        self.at += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.at += 2,
                b'`' => self.backquoted()?,
                b'$' => self.expansion(depth, true)?,
                _ => self.at += 1,
            }
        }
        Err(endless(from))
    }

    /// Skips commands in backquotes: quotes inside follow rules of their own.
    fn backquoted(&mut self) -> Result<(), Stop> {
        let from = self.at;
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1 + usize::from(byte == b'\\');
            if byte == b'`' {
                return Ok(());
            }
        }
        Err(unclosed(from, "`"))
    }

    /// Reads an expansion, which begins with `$`.
    fn expansion(&mut self, depth: usize, is_quoted: bool) -> Result<(), Stop> {
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.starts_with(b"((") && self.arithmetic(depth)? => {}
            Some(b'(') => {
                self.at += 1;
                list(self, End::Parenthesis, depth + 1)?;
            }
            Some(b'{') => self.parameter(depth, is_quoted)?,
            Some(b'\'') if !is_quoted => self.single_quoted(true)?,
            Some(b'#' | b'$' | b'!' | b'?' | b'*' | b'@') => self.at += 1,
            Some(_) | None => {}
        }
        Ok(())
    }

    /// Reads `${…}`.
    fn parameter(&mut self, depth: usize, is_quoted: bool) -> Result<(), Stop> {
        let from = self.at;
        if depth > super::DEEPEST {
            return Err(Stop::Unknown);
        }
        self.at += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                // In double quotes, an apostrophe may be a plain character.
                b'\'' if is_quoted => {
                    let rest = &self.text[self.at + 1..];
                    let length = rest.iter().position(|byte| matches!(byte, b'\'' | b'}' | b'\n')).unwrap_or(0);
                    self.at += if rest.get(length) == Some(&b'\'') { length + 2 } else { 1 };
                }
                b'$' => self.expansion(depth + 1, is_quoted)?,
                _ => self.part(depth + 1)?,
            }
        }
        Err(unclosed(from - 1, "${"))
    }

    /// Reads `((…))`; returns whether it is one, and stays at its position if not.
    pub(super) fn arithmetic(&mut self, depth: usize) -> Result<bool, Stop> {
        let from = self.at;
        self.at += 2;
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'(' => {
                    open += 1;
                    self.at += 1;
                }
                b')' if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                b')' if self.starts_with(b"))") => {
                    self.at += 2;
                    return Ok(true);
                }
                b')' => break,
                _ if self.part(depth + 1).is_err() => break,
                _ => {}
            }
        }
        self.at = from;
        Ok(false)
    }

    /// Reads the elements of an array, or an extended pattern, after its parenthesis.
    fn parenthesized(&mut self, is_array: bool, depth: usize) -> Result<(), Stop> {
        let from = self.at - 1;
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            let begins_word = matches!(self.text[self.at - 1], b' ' | b'\t' | b'\n' | b'(');
            match byte {
                b'#' if is_array && begins_word => self.skip_line(),
                b'(' => {
                    open += 1;
                    self.at += 1;
                }
                b')' => {
                    self.at += 1;
                    if open == 0 {
                        return Ok(());
                    }
                    open -= 1;
                }
                _ => self.part(depth + 1)?,
            }
        }
        Err(unclosed(from, "("))
    }

    /// Reads `[[ … ]]` after its first bracket. It can't contain a semicolon.
    pub(super) fn test(&mut self, from: usize, depth: usize) -> Result<(), Stop> {
        while let Some(byte) = self.peek() {
            if self.starts_with_word(b"]]") && is_meta(self.text[self.at - 1]) {
                self.at += 2;
                return Ok(());
            }
            match byte {
                b';' => break,
                b'#' if is_blank(self.text[self.at - 1]) => self.skip_line(),
                _ => self.part(depth + 1)?,
            }
        }
        Err(unclosed(from, "[["))
    }

    /// Reads the head of `for` or `select`; returns whether a reserved word may follow.
    pub(super) fn loop_head(&mut self, depth: usize) -> Result<bool, Stop> {
        self.skip_blanks();
        if self.starts_with(b"((") {
            return self.arithmetic(depth);
        }
        self.word(depth)?;
        self.skip_lines();
        if self.starts_with_word(b"in") {
            self.at += 2;
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads the head of `case`, up to and including `in`.
    pub(super) fn case_head(&mut self, from: usize, depth: usize) -> Result<(), Stop> {
        self.skip_blanks();
        self.word(depth)?;
        self.skip_lines();
        if !self.starts_with_word(b"in") {
            return Err(Stop::At(from, Kind::Missing("in".to_owned())));
        }
        self.at += 2;
        Ok(())
    }

    /// Reads the patterns of an arm, with the parenthesis that ends them.
    pub(super) fn case_pattern(&mut self, depth: usize) -> Result<(), Stop> {
        let from = self.at;
        let missing = || Err(Stop::At(from, Kind::Missing(")".to_owned())));
        if self.peek() == Some(b'(') {
            self.at += 1;
        }
        let mut last = 0;
        while let Some(byte) = self.peek() {
            match byte {
                b')' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\n' if last != b'|' => return missing(),
                b';' | b'&' => return missing(),
                b'(' if self.opens_within_word() => {
                    self.at += 1;
                    self.parenthesized(false, depth)?;
                }
                _ => self.part(depth + 1)?,
            }
            if !is_blank(byte) {
                last = byte;
            }
        }
        missing()
    }
}

fn endless(at: usize) -> Stop {
    Stop::At(at, Kind::Stated("a string that never ends".to_owned()))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Returns whether a byte ends a word.
fn is_meta(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}
