//! What the dispatcher asks of other parts, wired by the daemon: nothing here calls the bus or the checks themselves.

use switchboard_protocol::caller::Caller;
use switchboard_protocol::coordination::{Control, Note};
use switchboard_protocol::event::{Lsn, NewEvent};
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::Message;
use switchboard_protocol::time::Millis;
use switchboard_store::Guard;

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

    /// The event that puts a message of the coordinator into the mail.
    ///
    /// # Errors
    /// When it does not serialise.
    fn noted(&self, note: &Note, id: MessageId) -> Result<NewEvent, Error>;

    /// The event that records a message that the coordinator has understood, and what must hold for it: that its id is a new one.
    ///
    /// # Errors
    /// When it does not serialise.
    fn understood(&self, control: &Control, id: &MessageId, from: &Caller) -> Result<(NewEvent, Guard), Error>;

    /// How many messages any of these agents sent or was sent after an event of the log and not later than `until`, and how many of them are acknowledged.
    ///
    /// # Errors
    /// When the store can't be read.
    fn counted(&self, agents: &[AgentName], after: Lsn, until: Option<Millis>) -> Result<(u64, u64), Error>;

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
