//! Lines over a stream, each bounded in length and time.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::Serialize;
use switchboard_protocol::wire::MAX_LINE_BYTES;

/// What reading a line came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// A whole line without its end.
    Line(Vec<u8>),
    /// Nothing more for now; what has come so far is kept.
    TimeOut,
    /// The other side is done.
    End,
}

/// Reads lines and keeps what came after the last one.
#[derive(Debug)]
pub(crate) struct LineReader<S> {
    stream: S,
    held: Vec<u8>,
    searched: usize,
}

impl<S> LineReader<S> {
    /// Reads from this stream.
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, held: Vec::new(), searched: 0 }
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let end = self.held[self.searched..].iter().position(|&byte| byte == b'\n');
        let Some(end) = end else {
            self.searched = self.held.len();
            return None;
        };
        let rest = self.held.split_off(self.searched + end + 1);
        let mut line = std::mem::replace(&mut self.held, rest);
        self.searched = 0;
        line.pop();
        Some(line)
    }
}

impl LineReader<UnixStream> {
    /// Waits for a line until the deadline.
    ///
    /// # Errors
    /// When the stream breaks or a line is longer than [`MAX_LINE_BYTES`].
    pub(crate) fn next_before(&mut self, deadline: Instant) -> io::Result<Read> {
        let mut chunk = [0u8; 16 * 1024];
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Read::Line(line));
            }
            if self.held.len() > MAX_LINE_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is over the limit"));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Read::TimeOut);
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(Read::End),
                Ok(count) => self.held.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_time_out(&error) => return Ok(Read::TimeOut),
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_time_out(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Sends one value as a line, in at most this time.
///
/// # Errors
/// When the stream breaks or does not take the line in time.
pub(crate) fn send(mut stream: &UnixStream, value: &impl Serialize, limit: Duration) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.set_write_timeout(Some(limit))?;
    stream.write_all(&line)
}
