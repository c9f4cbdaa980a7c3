//! Any command: it works in the tree and exits. One turn, which begins with the process and ends with it.

use std::collections::VecDeque;
use std::time::Duration;

use process::fingerprint::Fingerprint;
use process::spawn::{Capture, Terminated};

use super::pipe::{Heard, Pipe, Stream};
use super::{AgentEvent, Driver, Start};
use crate::Result;

/// Kept of what it printed, for the end of the turn.
const TEXT_KEPT: usize = 2 << 10;

/// A running command.
#[derive(Debug)]
pub struct Exec {
    pipe: Pipe,
    ready: VecDeque<AgentEvent>,
    text: Capture,
    turn: Turn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    ToCome,
    Running,
    Over,
}

impl Driver for Exec {
    const SHOWS_MAIL: bool = false;

    fn start(start: &Start) -> Result<Self> {
        let mut pipe = Pipe::start(start)?;
        pipe.close();
        let ready = VecDeque::from([AgentEvent::Opened { session: None }]);
        Ok(Self { pipe, ready, text: Capture::new(TEXT_KEPT), turn: Turn::ToCome })
    }

    fn pid(&self) -> u32 {
        self.pipe.pid()
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        self.pipe.fingerprint()
    }

    async fn next(&mut self) -> AgentEvent {
        if let Some(event) = self.ready.pop_front() {
            return event;
        }
        loop {
            match self.pipe.hear().await {
                Heard::Bytes(stream, bytes) => {
                    if stream == Stream::Out {
                        self.text.push(&bytes);
                    }
                    return AgentEvent::Raw { stream, bytes };
                }
                Heard::Written(_) => {}
                Heard::Exited if self.turn == Turn::Running => {
                    self.turn = Turn::Over;
                    return AgentEvent::TurnEnded { stop: "exit".to_owned(), text: self.text.ending(TEXT_KEPT) };
                }
                Heard::Exited => return AgentEvent::Exited,
            }
        }
    }

    /// The text is not for a command; the call says that its turn counts.
    fn prompt(&mut self, _text: &str) -> bool {
        if self.turn != Turn::ToCome {
            return false;
        }
        self.turn = Turn::Running;
        self.ready.push_back(AgentEvent::TurnStarted);
        true
    }

    fn permit(&mut self, _ask: &str, _option: Option<&str>) -> bool {
        false
    }

    fn cancel(&mut self) {}

    fn close(&mut self) {}

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
