//! The mail of workers, as the bus has it.

use switchboard_protocol::agent::{AgentKind, Registered};
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::Message;
use switchboard_store::Store;

/// Mail for workers.
pub(crate) struct Mail(pub(crate) Store);

fn lift(error: switchboard_bus::Error) -> switchboard_dispatch::Error {
    switchboard_protocol::error::Failure::from(error).into()
}

impl switchboard_dispatch::WorkerMail for Mail {
    fn waiting(&self, agent: &AgentName, limit: usize) -> Result<Vec<Message>, switchboard_dispatch::Error> {
        switchboard_bus::waiting(&self.0, agent, limit).map_err(lift)
    }

    fn injected(
        &self,
        ids: &[MessageId],
        agent: &AgentName,
        evidence: &str,
    ) -> Result<Vec<NewEvent>, switchboard_dispatch::Error> {
        switchboard_bus::injected(ids, agent, evidence, "daemon").map_err(lift)
    }

    fn joined(&self, agent: &AgentName, is_scripted: bool) -> Result<NewEvent, switchboard_dispatch::Error> {
        let worker = Registered::new(agent.clone(), AgentKind::Worker);
        let worker = Registered { scripted: Some(is_scripted), ..worker };
        switchboard_bus::registration(&worker, agent).map_err(|error| lift(error.into()))
    }
}
