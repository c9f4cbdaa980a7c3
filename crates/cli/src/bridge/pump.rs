//! The reading threads: one for the client, one for each connection to a daemon. Each ends when its input ends.

use std::io::{BufReader, Read};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::SyncSender;

use switchboard_process::lines::{Line, Lines};
use switchboard_protocol::wire::MAX_LINE_BYTES;

/// Event of a reading thread.
#[derive(Debug)]
pub(super) enum Event {
    /// A line from the client.
    Input(Vec<u8>),
    /// A line from the client was over the limit and is dropped.
    InputTooLong,
    /// The client has closed its end.
    InputEnd,
    /// A line from the daemon on the connection with this number.
    Output(u64, Vec<u8>),
    /// The connection with this number is gone.
    Lost(u64),
}

/// Reads the client's lines until the input ends or the receiver is gone.
pub(super) fn read_input(input: impl Read + Send + 'static, to: SyncSender<Event>) {
    std::thread::spawn(move || {
        let mut input = BufReader::new(input);
        let mut lines = Lines::new(MAX_LINE_BYTES);
        loop {
            let event = match lines.read(&mut input) {
                Ok(Line::Whole(line)) if line.is_empty() => continue,
                Ok(Line::End(rest)) if rest.is_empty() => Event::InputEnd,
                Ok(Line::Whole(line) | Line::End(line)) => Event::Input(line),
                Ok(Line::TooLong) => Event::InputTooLong,
                Err(_) => Event::InputEnd,
            };
            let is_last = matches!(event, Event::InputEnd);
            if to.send(event).is_err() || is_last {
                return;
            }
        }
    });
}

/// Reads a connection until it is gone. A line over the limit ends it, because an answer can't be cut.
pub(super) fn read_daemon(stream: UnixStream, generation: u64, to: SyncSender<Event>) {
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut lines = Lines::new(MAX_LINE_BYTES);
        loop {
            let event = match lines.read(&mut stream) {
                Ok(Line::Whole(line)) => Event::Output(generation, line),
                Ok(Line::TooLong | Line::End(_)) | Err(_) => Event::Lost(generation),
            };
            let is_last = matches!(event, Event::Lost(_));
            if to.send(event).is_err() || is_last {
                return;
            }
        }
    });
}
