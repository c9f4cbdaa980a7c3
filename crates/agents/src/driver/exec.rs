//! Drives any command that works in the tree and exits. It has one turn, which begins with the process and ends with it.

use std::time::Duration;
use switchboard_protocol::worker::WorkerEvent;

use switchboard_process::fingerprint::Fingerprint;
use switchboard_process::spawn::{Capture, Terminated};

use super::contract::{ANSWER_KEPT, Driver, DriverOutput};
use super::pipe::{Pipe, PipeEvent, Stream};
use super::start::Start;
use crate::Result;

/// A running command.
#[derive(Debug)]
pub struct Exec {
    pipe: Pipe,
    is_prompted: bool,
    text: Capture,
    turn: Turn,
    /// True if the command's input stays open after the prompt, until no more prompts come.
    keeps_input: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// `Opened` is not reported yet.
    Opening,
    ToCome,
    Running,
    Over,
}

impl Driver for Exec {
    const SHOWS_MAIL: bool = false;
    const TAKES_PROMPTS: bool = false;

    fn start(start: &Start) -> Result<Self> {
        let pipe = Pipe::start(start)?;
        let (text, keeps_input) = (Capture::new(ANSWER_KEPT / 2), start.keeps_input);
        Ok(Self { pipe, is_prompted: false, text, turn: Turn::Opening, keeps_input })
    }

    fn pid(&self) -> u32 {
        self.pipe.pid()
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        self.pipe.fingerprint()
    }

    async fn next(&mut self) -> DriverOutput {
        if self.turn == Turn::Opening {
            self.turn = Turn::ToCome;
            return DriverOutput::Event(WorkerEvent::SessionOpened { session: String::new() });
        }
        if self.is_prompted {
            self.is_prompted = false;
            return DriverOutput::Event(WorkerEvent::TurnStarted { turn: 0, mail: Vec::new() });
        }
        loop {
            match self.pipe.next_event().await {
                PipeEvent::Bytes(stream, bytes) => {
                    if stream == Stream::Out {
                        self.text.push(&bytes);
                    }
                    return DriverOutput::Raw { stream, bytes };
                }
                PipeEvent::Written(_) => {}
                PipeEvent::Exited if self.turn == Turn::Running => {
                    self.turn = Turn::Over;
                    let text = self.text.text();
                    return DriverOutput::Event(WorkerEvent::TurnEnded { turn: 0, stop: "exit".to_owned(), text });
                }
                PipeEvent::Exited => return DriverOutput::Exited,
            }
        }
    }

    /// Writes the text to the command's standard input, which then ends unless it is kept open. A command need not read it.
    fn prompt(&mut self, text: &str) -> bool {
        if self.turn != Turn::ToCome {
            return false;
        }
        self.pipe.send(0, text.as_bytes().to_vec());
        if !self.keeps_input {
            self.pipe.close();
        }
        self.turn = Turn::Running;
        self.is_prompted = true;
        true
    }

    fn permit(&mut self, _ask: &str, _option: Option<&str>) -> bool {
        false
    }

    fn cancel(&mut self) {}

    fn close(&mut self) {
        self.pipe.close();
    }

    async fn end(&mut self, grace: Duration) -> Terminated {
        self.pipe.end(grace).await
    }

    async fn finish(&mut self) -> (Terminated, String) {
        self.pipe.finish().await
    }

    fn malformed(&self) -> u64 {
        0
    }
}
