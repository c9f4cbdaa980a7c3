//! Mail of workers, provided by the daemon: no code here calls the bus or the checks directly.

use switchboard_protocol::caller::Caller;
use switchboard_protocol::coordination::{Control, Note};
use switchboard_protocol::event::{Lsn, NewEvent};
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::Message;
use switchboard_protocol::time::Millis;
use switchboard_store::Guard;

use crate::Error;

/// Mail in the turns of a worker.
pub trait WorkerMail: Send + Sync + 'static {
    /// Returns messages that an agent is not known to have seen, oldest first, at most `limit`.
    ///
    /// # Errors
    /// When the store can't be read.
    fn waiting(&self, agent: &AgentName, limit: usize) -> Result<Vec<Message>, Error>;

    /// Returns the events that record that an agent has seen messages.
    ///
    /// # Errors
    /// When a fact does not serialise.
    fn injected(&self, ids: &[MessageId], agent: &AgentName, evidence: &str) -> Result<Vec<NewEvent>, Error>;

    /// Returns the event that sends a message of the coordinator.
    ///
    /// # Errors
    /// When it does not serialise.
    fn noted(&self, note: &Note, id: MessageId) -> Result<NewEvent, Error>;

    /// Returns the event that records a message to the coordinator that it understood, and the guard that its id is
    /// new.
    ///
    /// # Errors
    /// When a fact does not serialise.
    fn understood(&self, control: &Control, id: &MessageId, from: &Caller) -> Result<(NewEvent, Guard), Error>;

    /// Returns how many messages these agents sent or received after an event of the log and not later than `until`,
    /// and how many of them are acknowledged.
    ///
    /// # Errors
    /// When the store can't be read.
    fn counted(&self, agents: &[AgentName], after: Lsn, until: Option<Millis>) -> Result<(u64, u64), Error>;

    /// Returns true if the name belongs to a present agent that is not a worker.
    ///
    /// # Errors
    /// When the store can't be read.
    fn is_taken_by_other_agent(&self, name: &AgentName) -> Result<bool, Error>;

    /// Returns the event that adds a run's agent to the roster.
    ///
    /// # Errors
    /// When a fact does not serialise.
    fn joined(&self, agent: &AgentName, is_scripted: bool) -> Result<NewEvent, Error>;
}
