//! The contract between the shim and whatever drives an agent, and the events that a driver reports.

use std::time::Duration;

use switchboard_process::fingerprint::Fingerprint;
use switchboard_process::spawn::Terminated;
use switchboard_protocol::worker::WorkerEvent;

use super::pipe::Stream;
use super::start::Start;
use crate::Result;

/// Kept of what an agent says in one turn, in bytes: half of it from the beginning, half from the end.
pub(crate) const ANSWER_KEPT: usize = 1 << 20;

/// What a driver gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// Something happened. A driver says `SessionOpened` when the agent can be prompted, `TurnStarted` when the prompt has been written to
    /// it to the last byte, and `Faulted` when it can't be driven any further and should be ended. Turns have no number yet, and no mail.
    Event(WorkerEvent),
    /// Output as it came, for the spool; it also shows that the agent lives.
    Raw {
        /// From where.
        stream: Stream,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Its process has ended and all of its output has been given.
    Exited,
}

/// A running agent.
///
/// The contract, which one test suite holds every driver to:
/// - [`Driver::next`] returns `Opened` once, then for every accepted prompt `TurnStarted` and later `TurnEnded`, in this order and never two turns at
///   once (neither, when the agent ends before the whole prompt is written); `Exited` is the last event and comes whatever happens. It may be
///   dropped half-way without losing an event.
/// - [`Driver::prompt`] is refused unless the agent is open and no turn runs. Nothing of a prompt is sent before it is accepted.
/// - A turn that is over is over: later words of the agent open none.
/// - Whatever the agent writes, memory stays bounded, and a line that can't be read is counted and skipped.
/// - [`Driver::end`] leaves no process of the agent's group behind.
pub trait Driver: Sized {
    /// A prompt of this driver can show mail to the agent.
    const SHOWS_MAIL: bool;

    /// A turn can be followed by another one.
    const TAKES_PROMPTS: bool;

    /// Starts the agent's process.
    ///
    /// # Errors
    /// The program is missing or can't be started.
    fn start(start: &Start) -> Result<Self>;

    /// The agent's process.
    fn pid(&self) -> u32;

    /// The agent's process, with its start time; `None` once it is reaped.
    fn fingerprint(&self) -> Option<Fingerprint>;

    /// Waits for the next event.
    fn next(&mut self) -> impl Future<Output = Given>;

    /// Hands a prompt to the agent and so begins a turn. Returns whether it was accepted.
    fn prompt(&mut self, text: &str) -> bool;

    /// Answers a question; nothing, or an option that was not offered, cancels it. Returns whether the question was open.
    fn permit(&mut self, ask: &str, option: Option<&str>) -> bool;

    /// Asks the agent to end its turn and cancels open questions. `TurnEnded` may follow, or never.
    fn cancel(&mut self);

    /// Announces that no more prompts will come; the agent should exit then.
    fn close(&mut self);

    /// Ends the agent's group: SIGTERM, `grace`, SIGKILL. `next` then returns what is left, up to `Exited`.
    fn end(&mut self, grace: Duration) -> impl Future<Output = Terminated>;

    /// After `Exited`: the exit state, once the group is reaped, and the end of standard error, at most 2 KiB.
    fn finish(&mut self) -> impl Future<Output = (Terminated, String)>;

    /// Lines that could not be read.
    fn malformed(&self) -> u64;
}
