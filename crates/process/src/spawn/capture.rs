//! Keeps the beginning and the end of a stream, so that a flood of output uses bounded memory.

use std::collections::VecDeque;

/// The kept parts of a stream, byte for byte, and the number of dropped bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    keep: usize,
    total: u64,
}

// === impl Capture ===

impl Capture {
    /// Keeps the first `keep` bytes and the last `keep` bytes.
    #[must_use]
    pub fn new(keep: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), keep, total: 0 }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.keep - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.keep)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.keep);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// Returns the length of the stream, in bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of bytes in the middle that were not kept.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.total - self.head.len() as u64 - self.tail.len() as u64
    }

    /// Returns the first bytes, at most as many as are kept.
    #[must_use]
    pub fn beginning(&self) -> &[u8] {
        &self.head
    }

    /// Returns the whole stream; `None` if some of it was dropped.
    #[must_use]
    pub fn whole(&self) -> Option<Vec<u8>> {
        (self.dropped() == 0).then(|| self.head.iter().chain(&self.tail).copied().collect())
    }

    /// Returns the stream as text; dropped parts, and bytes that are not UTF-8, are marked.
    #[must_use]
    pub fn text(&self) -> String {
        let (a, b) = self.tail.as_slices();
        if self.dropped() == 0 {
            return String::from_utf8_lossy(&[&self.head, a, b].concat()).into_owned();
        }
        let tail = [a, b].concat();
        format!(
            "{}\n… {} bytes left out …\n{}",
            String::from_utf8_lossy(&self.head),
            self.dropped(),
            String::from_utf8_lossy(&tail)
        )
    }

    /// Returns at most the last `bytes` bytes, as text that begins at a whole character.
    #[must_use]
    pub fn ending(&self, bytes: usize) -> String {
        let (a, b) = self.tail.as_slices();
        let kept = if self.dropped() == 0 { [&self.head[..], a, b].concat() } else { [a, b].concat() };
        let mut from = kept.len().saturating_sub(bytes);
        while from > 0 && from < kept.len() && kept[from] & 0b1100_0000 == 0b1000_0000 {
            from += 1;
        }
        String::from_utf8_lossy(&kept[from..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_stream_is_kept_whole_across_head_and_tail() {
        let mut capture = Capture::new(4);
        for piece in ["ab", "cde", "fg"] {
            capture.push(piece.as_bytes());
        }

        assert_eq!(capture.whole().as_deref(), Some(&b"abcdefg"[..]));
        assert_eq!((capture.total(), capture.dropped()), (7, 0));
    }

    #[test]
    fn a_flood_keeps_both_ends_and_counts_the_middle() {
        let mut capture = Capture::new(3);
        for byte in b'a'..=b'z' {
            capture.push(&[byte]);
        }
        capture.push(b"0123456789");

        assert_eq!(capture.whole(), None);
        assert_eq!(capture.dropped(), 30);
        assert_eq!(capture.text(), "abc\n… 30 bytes left out …\n789");
    }

    #[test]
    fn an_ending_never_begins_inside_a_character() {
        let mut capture = Capture::new(100);
        capture.push("aüb".as_bytes());

        assert_eq!(capture.ending(2), "b");
        assert_eq!(capture.ending(3), "üb");
        assert_eq!(capture.ending(0), "");
    }
}
