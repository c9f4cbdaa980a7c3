//! What the bus does for dispatch: the mail of workers, and the leases that merges wait for.

use std::sync::Arc;

use switchboard_bus::LeaseBook;
use switchboard_dispatch::{BoxFuture, FileLeases};
use switchboard_protocol::agent::{AgentKind, Registered};
use switchboard_protocol::caller::Caller;
use switchboard_protocol::coordination::{Control, Note};
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::Message;
use switchboard_protocol::run::HeldBy;
use switchboard_store::{Guard, Store};

/// Mail for workers.
pub(crate) struct Mail(pub(crate) Store);

/// Leases of agents on files.
pub(crate) struct Reserved(pub(crate) Arc<LeaseBook>);

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

    fn noted(&self, note: &Note, id: MessageId) -> Result<NewEvent, switchboard_dispatch::Error> {
        switchboard_bus::note(note, id, self.0.now()).map_err(lift)
    }

    fn understood(
        &self,
        control: &Control,
        id: &MessageId,
        from: &Caller,
    ) -> Result<(NewEvent, Guard), switchboard_dispatch::Error> {
        switchboard_bus::understood(control, id, &from.name, from.is_verified).map_err(lift)
    }

    fn is_anothers(&self, name: &AgentName) -> Result<bool, switchboard_dispatch::Error> {
        let agent = switchboard_bus::agent(&self.0, name).map_err(lift)?;
        Ok(agent.is_some_and(|agent| !agent.has_left && agent.kind != AgentKind::Worker))
    }

    fn joined(&self, agent: &AgentName, is_scripted: bool) -> Result<NewEvent, switchboard_dispatch::Error> {
        let worker = Registered::new(agent.clone(), AgentKind::Worker);
        let worker = Registered { scripted: Some(is_scripted), ..worker };
        switchboard_bus::registration(&worker, agent).map_err(|error| lift(error.into()))
    }
}

impl FileLeases for Reserved {
    fn held_by_others<'a>(
        &'a self,
        own: Option<&'a AgentName>,
        files: &'a [String],
    ) -> BoxFuture<'a, Result<Option<HeldBy>, switchboard_dispatch::Error>> {
        Box::pin(async move { self.0.held_by_others(own, files).await.map_err(lift) })
    }

    fn held_by_another<'a>(
        &'a self,
        own: Option<&'a AgentName>,
        files: &'a [String],
        known: &'a HeldBy,
    ) -> BoxFuture<'a, Result<Option<HeldBy>, switchboard_dispatch::Error>> {
        Box::pin(async move { self.0.held_by_another(own, files, known).await.map_err(lift) })
    }
}
