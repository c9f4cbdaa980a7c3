//! Reads a text that is too large for memory in overlapping chunks.

use std::io::{self, Read};

/// Number of bytes read at a time.
const CHUNK: usize = 4 << 20;
/// Number of bytes repeated in the next chunk, so that no match is cut in two: the longest is a private key, 12 kB.
const OVERLAP: usize = 16 << 10;
/// Number of bytes repeated before the overlap: the words in front of a value show what the value is.
const CONTEXT: usize = 2 << 10;

/// Reader of chunks.
pub(crate) struct Chunks<R> {
    from: R,
    kept: Vec<u8>,
    lines: u32,
    column: u32,
    is_first: bool,
    is_done: bool,
}

/// One chunk of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) text: Vec<u8>,
    /// Byte range of this chunk to report on; a match that begins outside it belongs to another chunk.
    pub(crate) own: std::ops::Range<usize>,
    /// Number of lines before the chunk.
    pub(crate) lines: u32,
    /// Number of characters before the chunk on its first line.
    pub(crate) column: u32,
}

// === impl Chunks ===

impl<R: Read> Chunks<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, kept: Vec::new(), lines: 0, column: 0, is_first: true, is_done: false }
    }

    /// Reads the next chunk; returns `None` after the last.
    pub(crate) fn next(&mut self) -> io::Result<Option<Chunk>> {
        if self.is_done {
            return Ok(None);
        }
        let mut text = std::mem::take(&mut self.kept);
        let read = (&mut self.from).take(CHUNK as u64).read_to_end(&mut text)?;
        self.is_done = read < CHUNK;
        let start = if self.is_first { 0 } else { CONTEXT.min(text.len()) };
        let end = if self.is_done { text.len() } else { text.len() - OVERLAP };
        let (lines, column) = (self.lines, self.column);
        self.is_first = false;
        if !self.is_done {
            let next = end - CONTEXT;
            self.kept = text[next..].to_vec();
            self.pass(&text[..next]);
        }
        Ok(Some(Chunk { text, own: start..end, lines, column }))
    }

    /// Counts the lines and characters that the next chunk no longer holds.
    fn pass(&mut self, text: &[u8]) {
        let lines = memchr::memchr_iter(b'\n', text).count();
        let rest = memchr::memrchr(b'\n', text).map_or(text, |at| &text[at + 1..]);
        let characters = rest.iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000).count();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        self.lines = self.lines.saturating_add(number(lines));
        self.column = if lines > 0 { number(characters) } else { self.column.saturating_add(number(characters)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_owned_once_and_every_place_is_known() {
        let text: Vec<u8> =
            (0..3 * CHUNK + 77).map(|at| if at % 1_000 == 999 { b'\n' } else { b'a' + (at % 23) as u8 }).collect();
        let mut chunks = Chunks::new(&text[..]);
        let mut joined = Vec::new();
        while let Some(chunk) = chunks.next().unwrap() {
            let first = joined.len() - chunk.own.start;
            assert_eq!((chunk.lines as usize, chunk.column as usize), (first / 1_000, first % 1_000));
            joined.extend_from_slice(&chunk.text[chunk.own.clone()]);
        }

        assert!(joined == text);
    }

    #[test]
    fn a_short_text_is_one_piece() {
        let mut chunks = Chunks::new(&b"a\nb"[..]);

        assert_eq!(chunks.next().unwrap(), Some(Chunk { text: b"a\nb".to_vec(), own: 0..3, lines: 0, column: 0 }));
        assert_eq!(chunks.next().unwrap(), None);
    }
}
