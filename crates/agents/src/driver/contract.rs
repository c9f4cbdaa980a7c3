//! The contract between the shim and a driver, and the events that a driver reports.

use std::time::Duration;

use switchboard_process::fingerprint::Fingerprint;
use switchboard_process::spawn::Terminated;
use switchboard_protocol::worker::WorkerEvent;

use super::pipe::Stream;
use super::start::Start;
use crate::Result;

/// Maximum size in bytes of the kept text of one turn: half of it from the beginning, half from the end.
pub(crate) const ANSWER_KEPT: usize = 1 << 20;

/// An event or output from a driver.
#[derive(Debug, Clone, PartialEq)]
pub enum DriverOutput {
    /// An event. A driver reports `SessionOpened` when the agent can be prompted, `TurnStarted` when the prompt has been written to
    /// it to the last byte, and `Faulted` when it can't be driven any further and should be ended. Turns have no number yet, and no mail.
    Event(WorkerEvent),
    /// Raw output for the spool; it also shows that the agent is alive.
    Raw {
        /// Stream of the output.
        stream: Stream,
        /// Bytes as they were read.
        bytes: Vec<u8>,
    },
    /// The agent's process has ended and all of its output has been returned.
    Exited,
}

/// A running agent.
///
/// The contract, which one test suite checks for every driver:
/// - [`Driver::next`] returns `Opened` once, then for every accepted prompt `TurnStarted` and later `TurnEnded`, in this order and never two turns at
///   once (neither, when the agent ends before the whole prompt is written); `Exited` is the last event and comes whatever happens. It may be
///   dropped half-way without losing an event.
/// - [`Driver::prompt`] is refused unless the agent is open and no turn runs. Nothing of a prompt is sent before it is accepted.
/// - An ended turn stays ended: later output of the agent opens no new one.
/// - Whatever the agent writes, memory stays bounded, and a line that can't be read is counted and skipped.
/// - [`Driver::end`] leaves no process of the agent's group behind.
pub trait Driver: Sized {
    /// True if a prompt of this driver can show mail to the agent.
    const SHOWS_MAIL: bool;

    /// True if a turn can be followed by another one.
    const TAKES_PROMPTS: bool;

    /// Starts the agent's process.
    ///
    /// # Errors
    /// The program is missing or can't be started.
    fn start(start: &Start) -> Result<Self>;

    /// Returns the pid of the agent's process.
    fn pid(&self) -> u32;

    /// Returns the agent's process, with its start time; `None` once it is reaped.
    fn fingerprint(&self) -> Option<Fingerprint>;

    /// Waits for the next event.
    fn next(&mut self) -> impl Future<Output = DriverOutput>;

    /// Sends a prompt to the agent, which begins a turn. Returns true if it was accepted.
    fn prompt(&mut self, text: &str) -> bool;

    /// Answers a question; `None`, or an option that was not offered, cancels it. Returns true if the question was open.
    fn permit(&mut self, ask: &str, option: Option<&str>) -> bool;

    /// Asks the agent to end its turn and cancels open questions. `TurnEnded` may follow, or never.
    fn cancel(&mut self);

    /// Announces that no more prompts will come; the agent should exit then.
    fn close(&mut self);

    /// Ends the agent's group: SIGTERM, `grace`, SIGKILL. `next` then returns what is left, up to `Exited`.
    fn end(&mut self, grace: Duration) -> impl Future<Output = Terminated>;

    /// Returns, after `Exited`, the exit state, once the group is reaped, and the end of standard error, at most 2 KiB.
    fn finish(&mut self) -> impl Future<Output = (Terminated, String)>;

    /// Returns the number of lines that could not be read.
    fn malformed(&self) -> u64;
}
