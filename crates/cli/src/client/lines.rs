//! Reads and writes lines on a stream, each bounded in length and time.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::Serialize;
use switchboard_process::lines::{Line, Lines};
use switchboard_protocol::wire::MAX_LINE_BYTES;

/// Result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// A complete line without its end.
    Line(Vec<u8>),
    /// No complete line before the deadline; the bytes read so far are kept.
    TimeOut,
    /// The other side has closed the stream.
    End,
}

/// Reads lines and keeps the bytes after the last one.
#[derive(Debug)]
pub(crate) struct LineReader {
    stream: BufReader<UnixStream>,
    lines: Lines,
}

// === impl LineReader ===

impl LineReader {
    /// Creates a reader for a stream.
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self { stream: BufReader::new(stream), lines: Lines::new(MAX_LINE_BYTES) }
    }

    /// Waits for a line until the deadline.
    ///
    /// # Errors
    /// When the stream breaks or a line is longer than [`MAX_LINE_BYTES`].
    pub(crate) fn next_before(&mut self, deadline: Instant) -> io::Result<Read> {
        loop {
            if self.stream.buffer().is_empty() {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(Read::TimeOut);
                }
                self.stream.get_ref().set_read_timeout(Some(left))?;
            }
            let chunk = match self.stream.fill_buf() {
                Ok([]) => return Ok(Read::End),
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if is_time_out(&error) => return Ok(Read::TimeOut),
                Err(error) => return Err(error),
            };
            let (used, line) = self.lines.push(chunk);
            self.stream.consume(used);
            match line {
                Some(Line::Whole(line)) => return Ok(Read::Line(line)),
                None if !self.lines.is_too_long() => {}
                Some(Line::TooLong | Line::End(_)) | None => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is over the limit"));
                }
            }
        }
    }
}

fn is_time_out(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Sends a value as one line, within the time limit.
///
/// # Errors
/// When the stream breaks or does not take the line in time.
pub(crate) fn send(mut stream: &UnixStream, value: &impl Serialize, limit: Duration) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.set_write_timeout(Some(limit))?;
    stream.write_all(&line)
}
