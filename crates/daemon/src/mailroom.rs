//! The dispatcher's view of the mail room, wired to the bus.

use protocol::agent::{AgentKind, Registered};
use protocol::event::NewEvent;
use protocol::id::{AgentName, MessageId};
use protocol::message::Message;
use store::Store;

/// Mail for workers.
pub(crate) struct Mail(pub(crate) Store);

fn lift(error: bus::Error) -> dispatch::Error {
    protocol::error::Failure::from(error).into()
}

impl dispatch::Mailroom for Mail {
    fn waiting(&self, agent: &AgentName, limit: usize) -> Result<Vec<Message>, dispatch::Error> {
        bus::waiting(&self.0, agent, limit).map_err(lift)
    }

    fn injected(&self, ids: &[MessageId], agent: &AgentName, evidence: &str) -> Result<Vec<NewEvent>, dispatch::Error> {
        bus::injected(ids, agent, evidence, "daemon").map_err(lift)
    }

    fn joined(&self, agent: &AgentName, is_scripted: bool) -> Result<NewEvent, dispatch::Error> {
        let worker = Registered::new(agent.clone(), AgentKind::Worker);
        let worker = Registered { scripted: Some(is_scripted), ..worker };
        bus::announce(&worker, agent).map_err(|error| lift(error.into()))
    }
}
