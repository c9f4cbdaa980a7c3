//! The threads that read: one for the client, one for each connection to a daemon. They end with what they read from.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::SyncSender;

use switchboard_protocol::wire::MAX_LINE_BYTES;

/// What the threads report.
#[derive(Debug)]
pub(super) enum Event {
    /// A line of the client.
    Input(Vec<u8>),
    /// A line of the client was over the limit and is dropped.
    InputTooLong,
    /// The client has closed its end.
    InputEnd,
    /// A line of the daemon, on this connection.
    Output(u64, Vec<u8>),
    /// This connection is gone.
    Lost(u64),
}

/// What reading one line came to.
enum Line {
    Whole(Vec<u8>),
    TooLong,
    End,
}

/// Reads the client until it ends or nobody listens any more.
pub(super) fn read_input(input: impl Read + Send + 'static, to: SyncSender<Event>) {
    std::thread::spawn(move || {
        let mut input = BufReader::new(input);
        loop {
            let event = match next(&mut input) {
                Line::Whole(line) if line.is_empty() => continue,
                Line::Whole(line) => Event::Input(line),
                Line::TooLong => Event::InputTooLong,
                Line::End => Event::InputEnd,
            };
            let is_last = matches!(event, Event::InputEnd);
            if to.send(event).is_err() || is_last {
                return;
            }
        }
    });
}

/// Reads a connection until it is gone. A line over the limit breaks it: an answer can't be cut.
pub(super) fn read_daemon(stream: UnixStream, generation: u64, to: SyncSender<Event>) {
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        loop {
            let event = match next(&mut stream) {
                Line::Whole(line) => Event::Output(generation, line),
                Line::TooLong | Line::End => Event::Lost(generation),
            };
            let is_last = matches!(event, Event::Lost(_));
            if to.send(event).is_err() || is_last {
                return;
            }
        }
    });
}

fn next(from: &mut impl BufRead) -> Line {
    let mut line = Vec::new();
    match from.take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut line) {
        Ok(0) | Err(_) => Line::End,
        Ok(_) if line.ends_with(b"\n") => {
            line.pop();
            if line.ends_with(b"\r") {
                line.pop();
            }
            Line::Whole(line)
        }
        Ok(_) if line.len() > MAX_LINE_BYTES => skip_rest(from),
        Ok(_) => Line::Whole(line),
    }
}

/// Reads on to the end of an overlong line without keeping it.
fn skip_rest(from: &mut impl BufRead) -> Line {
    loop {
        let Ok(chunk) = from.fill_buf() else { return Line::End };
        if chunk.is_empty() {
            return Line::TooLong;
        }
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(chunk.len(), |end| end + 1);
        from.consume(used);
        if end.is_some() {
            return Line::TooLong;
        }
    }
}
