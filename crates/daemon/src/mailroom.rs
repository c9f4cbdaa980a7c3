//! The dispatcher's view of the mail room, wired to the bus.

use protocol::agent::AgentKind;
use protocol::event::NewEvent;
use protocol::id::{AgentName, MessageId};
use protocol::message::Message;
use protocol::verb::bus::RegisterAgentRequest;
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
        let request = RegisterAgentRequest {
            name: agent.clone(),
            kind: AgentKind::Worker,
            role: String::new(),
            capabilities: Vec::new(),
            scripted: is_scripted,
        };
        bus::announce(&request, agent).map_err(|error| lift(error.into()))
    }
}
