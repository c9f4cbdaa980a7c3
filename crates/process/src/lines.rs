//! Reads lines of bounded length from untrusted input.

use std::io::{self, BufRead};

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Result of a read, without its line end (`\n` or `\r\n`).
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A whole line.
    Whole(Vec<u8>),
    /// A line over the limit, which was discarded.
    TooLong,
    /// The end of the stream, with the rest that had no line end.
    End(Vec<u8>),
}

/// The line that is being read. It is kept when a read is dropped half-way, so that nothing is lost.
#[derive(Debug)]
pub struct Lines {
    most: usize,
    /// True if a carriage return before the line end belongs to the line.
    is_exact: bool,
    open: Vec<u8>,
    is_skipping: bool,
    skipped: u64,
}

// === impl Lines ===

impl Lines {
    /// Makes a reader of lines of at most `most` bytes.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, is_exact: false, open: Vec::new(), is_skipping: false, skipped: 0 }
    }

    /// Makes a reader of lines of at most `most` bytes that end with `\n` alone, so that no two texts have the same lines.
    #[must_use]
    pub fn exact(most: usize) -> Self {
        Self { is_exact: true, ..Self::new(most) }
    }

    /// Takes bytes up to the first line end. Returns their number, and the line if it is complete.
    pub fn push(&mut self, bytes: &[u8]) -> (usize, Option<Line>) {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let text = &bytes[..end.unwrap_or(bytes.len())];
        if self.is_skipping || self.open.len() + text.len() > self.most {
            self.is_skipping = true;
            self.open = Vec::new();
        } else {
            self.open.extend_from_slice(text);
        }
        match end {
            Some(end) => (end + 1, Some(self.take())),
            None => (bytes.len(), None),
        }
    }

    /// Takes all bytes. Returns the lines that they complete; those over the limit are counted and left out.
    pub fn push_all(&mut self, mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        while !bytes.is_empty() {
            let (used, line) = self.push(bytes);
            bytes = &bytes[used..];
            match line {
                Some(Line::Whole(line)) => lines.push(line),
                Some(Line::TooLong | Line::End(_)) | None => {}
            }
        }
        lines
    }

    /// Returns the last line, if the stream ended without a line end.
    pub fn rest(&mut self) -> Option<Vec<u8>> {
        match self.end() {
            Line::End(rest) => Some(rest).filter(|rest| !rest.is_empty()),
            Line::Whole(_) | Line::TooLong => None,
        }
    }

    /// Returns the number of lines over the limit.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns true if the line that is being read is already over the limit.
    #[must_use]
    pub fn is_too_long(&self) -> bool {
        self.is_skipping
    }

    /// Ends the stream and returns what is left of it.
    pub fn end(&mut self) -> Line {
        if std::mem::take(&mut self.is_skipping) {
            self.skipped += 1;
            return Line::TooLong;
        }
        Line::End(std::mem::take(&mut self.open))
    }

    /// Reads to the next line end or the end of the stream.
    ///
    /// # Errors
    /// The error of the reader.
    pub fn read(&mut self, from: &mut impl BufRead) -> io::Result<Line> {
        loop {
            let chunk = match from.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                return Ok(self.end());
            }
            let (used, line) = self.push(chunk);
            from.consume(used);
            if let Some(line) = line {
                return Ok(line);
            }
        }
    }

    /// Reads to the next line end or the end of the stream. Dropping the future loses nothing.
    ///
    /// # Errors
    /// The error of the reader.
    pub async fn read_async(&mut self, from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Line> {
        self.next(from, false).await
    }

    /// As [`read_async`](Self::read_async), but returns [`Line::TooLong`] as soon as a line exceeds the limit, before its end: for a
    /// connection that is then closed.
    ///
    /// # Errors
    /// The error of the reader.
    pub async fn read_or_give_up(&mut self, from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Line> {
        self.next(from, true).await
    }

    async fn next(&mut self, from: &mut (impl AsyncBufRead + Unpin), gives_up: bool) -> io::Result<Line> {
        loop {
            let chunk = from.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(self.end());
            }
            let (used, line) = self.push(chunk);
            from.consume(used);
            if let Some(line) = line {
                return Ok(line);
            }
            if gives_up && self.is_skipping {
                return Ok(Line::TooLong);
            }
        }
    }

    fn take(&mut self) -> Line {
        if std::mem::take(&mut self.is_skipping) {
            self.skipped += 1;
            return Line::TooLong;
        }
        let mut line = std::mem::take(&mut self.open);
        if !self.is_exact && line.last() == Some(&b'\r') {
            line.pop();
        }
        Line::Whole(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_are_cut_whatever_the_chunks() {
        for size in 1..12 {
            let mut reader = io::BufReader::with_capacity(size, &b"one\r\n\ntoolong\nfour"[..]);
            let mut lines = Lines::new(5);
            let mut read = Vec::new();
            while !matches!(read.last(), Some(Line::End(_))) {
                read.push(lines.read(&mut reader).unwrap());
            }

            assert_eq!(read, [whole("one"), whole(""), Line::TooLong, Line::End(b"four".to_vec())], "chunks of {size}");
        }
    }

    #[test]
    fn exact_lines_keep_what_stands_before_their_end() {
        let mut lines = Lines::exact(9);
        let mut reader = &b"one\r\ntwo\n"[..];

        let read = [lines.read(&mut reader).unwrap(), lines.read(&mut reader).unwrap()];

        assert_eq!(read, [whole("one\r"), whole("two")]);
    }

    #[test]
    fn an_overlong_line_at_the_end_is_told_and_takes_no_memory() {
        let mut lines = Lines::new(4);

        assert_eq!(lines.push(b"12345678"), (8, None));

        assert!(lines.is_too_long() && lines.open.capacity() == 0);
        assert_eq!(lines.end(), Line::TooLong);
        assert_eq!(lines.end(), Line::End(Vec::new()));
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_given_up_before_its_end() {
        let (mut write, read) = tokio::io::duplex(64);
        tokio::io::AsyncWriteExt::write_all(&mut write, b"toolong").await.unwrap();

        let read = Lines::new(4).read_or_give_up(&mut tokio::io::BufReader::new(read)).await.unwrap();

        assert_eq!(read, Line::TooLong);
    }

    #[tokio::test]
    async fn an_async_reader_gets_the_same_lines() {
        let mut reader = &b"one\ntwo"[..];
        let mut lines = Lines::new(8);

        assert_eq!(lines.read_async(&mut reader).await.unwrap(), whole("one"));
        assert_eq!(lines.read_async(&mut reader).await.unwrap(), Line::End(b"two".to_vec()));
    }
}
