//! What the dispatcher asks of other parts, wired by the daemon: nothing here calls the bus or the checks themselves.

use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::Message;

use crate::Error;

/// The mail that a worker's turns carry.
pub trait WorkerMail: Send + Sync + 'static {
    /// Messages that an agent is not known to have seen, oldest first, at most `limit`.
    ///
    /// # Errors
    /// When the store can't be read.
    fn waiting(&self, agent: &AgentName, limit: usize) -> Result<Vec<Message>, Error>;

    /// The events that record that an agent has seen messages.
    ///
    /// # Errors
    /// When a fact does not serialise.
    fn injected(&self, ids: &[MessageId], agent: &AgentName, evidence: &str) -> Result<Vec<NewEvent>, Error>;

    /// Whether a name is that of an agent that is there and is no worker.
    ///
    /// # Errors
    /// When the store can't be read.
    fn is_anothers(&self, name: &AgentName) -> Result<bool, Error>;

    /// The event that puts a run's agent on the roster.
    ///
    /// # Errors
    /// When a fact does not serialise.
    fn joined(&self, agent: &AgentName, is_scripted: bool) -> Result<NewEvent, Error>;
}
