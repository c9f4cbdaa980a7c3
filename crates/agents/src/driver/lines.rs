//! Cuts a stream of bytes into lines, within bounded memory.

/// Longest line in bytes; a longer one is counted and skipped.
pub const MAX_LINE_BYTES: usize = 8 << 20;

/// The cutter.
#[derive(Debug, Default)]
pub struct Lines {
    open: Vec<u8>,
    is_skipping: bool,
    skipped: u64,
}

// === impl Lines ===

impl Lines {
    /// Takes the next bytes and gives the lines that they complete, without their ends.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            let (text, is_whole) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            self.extend(text);
            if is_whole {
                lines.extend(self.take());
            }
        }
        lines
    }

    /// The last line, which has no end: half a line at exit counts too.
    pub fn rest(&mut self) -> Option<Vec<u8>> {
        self.take().filter(|line| !line.is_empty())
    }

    /// Lines that were too long.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn extend(&mut self, text: &[u8]) {
        if self.is_skipping || self.open.len() + text.len() > MAX_LINE_BYTES {
            self.is_skipping = true;
            self.open = Vec::new();
        } else {
            self.open.extend_from_slice(text);
        }
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        if std::mem::take(&mut self.is_skipping) {
            self.skipped += 1;
            return None;
        }
        let mut line = std::mem::take(&mut self.open);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_the_bytes_are_cut() {
        let text = b"one\r\n\ntwo\nhalf";
        for size in 1..=text.len() {
            let mut lines = Lines::default();
            let mut got: Vec<_> = text.chunks(size).flat_map(|chunk| lines.push(chunk)).collect();
            got.extend(lines.rest());
            assert_eq!(got, [&b"one"[..], b"", b"two", b"half"], "in pieces of {size}");
        }
    }

    #[test]
    fn an_endless_line_costs_no_memory_and_the_next_one_is_read() {
        let mut lines = Lines::default();
        for _ in 0..(MAX_LINE_BYTES / 1024 + 2) {
            assert!(lines.push(&[b'x'; 1024]).is_empty());
        }
        assert!(lines.open.capacity() <= MAX_LINE_BYTES);

        assert_eq!(lines.push(b"end\nnext\n"), [b"next"]);
        assert_eq!(lines.skipped(), 1);
        assert_eq!(lines.rest(), None);
    }
}
