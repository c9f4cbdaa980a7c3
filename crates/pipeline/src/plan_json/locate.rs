//! Converts a JSON pointer or a byte offset to a line and column.

use super::error::Position;

/// Returns the position of a byte.
pub(super) fn place(text: &str, at: usize) -> Position {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    numbers(before.matches('\n').count(), before[line_start..].chars().count())
}

/// Converts a column in bytes, from 1 (0 for the line break before the line), to one in characters.
pub(super) fn from_bytes(text: &str, line: usize, column: usize) -> Position {
    let content = text.split('\n').nth(line.saturating_sub(1)).unwrap_or_default();
    let end = column.saturating_sub(1).min(content.len());
    let before = content.char_indices().take_while(|(at, _)| *at < end).count();
    numbers(line.saturating_sub(1), before)
}

/// Returns a position from zero-based numbers.
fn numbers(line: usize, column: usize) -> Position {
    let number = |from_zero: usize| u32::try_from(from_zero + 1).unwrap_or(u32::MAX);
    Position { line: number(line), column: number(column) }
}

/// Returns the position of the value that a pointer names, in a text that is valid JSON.
pub(super) fn locate(text: &str, pointer: &str) -> Option<Position> {
    let mut cursor = Cursor { text: text.as_bytes(), at: 0 };
    cursor.space();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        match cursor.peek()? {
            b'{' => cursor.enter_field(&part)?,
            b'[' => cursor.enter_item(part.parse().ok()?)?,
            _ => return None,
        }
    }
    Some(place(text, cursor.at))
}

/// Escapes a field's name for a JSON pointer.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Advances from `{` to the value of a field.
    fn enter_field(&mut self, name: &str) -> Option<()> {
        self.at += 1;
        loop {
            self.space();
            let start = self.at;
            self.text_literal()?;
            let key: String = serde_json::from_slice(&self.text[start..self.at]).ok()?;
            self.skip_separator();
            if key == name {
                return Some(());
            }
            self.value()?;
            self.skip_separator();
        }
    }

    /// Advances from `[` to an item.
    fn enter_item(&mut self, number: usize) -> Option<()> {
        self.at += 1;
        self.space();
        for _ in 0..number {
            self.value()?;
            self.skip_separator();
        }
        Some(())
    }

    /// Skips a `:` or `,` with the space around it.
    fn skip_separator(&mut self) {
        self.space();
        if matches!(self.peek(), Some(b':' | b',')) {
            self.at += 1;
        }
        self.space();
    }

    /// Skips a whole value.
    fn value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.text_literal()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
            let ended = self.peek().is_none_or(|byte| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace());
            if depth == 0 && ended {
                return Some(());
            }
        }
    }

    /// Skips a string literal.
    fn text_literal(&mut self) -> Option<()> {
        if self.peek()? != b'"' {
            return None;
        }
        self.at += 1;
        loop {
            match self.peek()? {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                _ => self.at += 1,
            }
        }
    }
}
