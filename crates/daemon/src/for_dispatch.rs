//! Bus and policy for dispatch: the mail of workers, the leases that merges wait for, and what workers may ask for.

use std::sync::Arc;

use serde_json::Value;
use switchboard_bus::LeaseBook;
use switchboard_dispatch::{BoxFuture, FileLeases, WorkerIdentity, WorkerRules};
use switchboard_policy::{Input, Policy};
use switchboard_protocol::agent::{AgentKind, Registered};
use switchboard_protocol::caller::Caller;
use switchboard_protocol::coordination::{Control, Note};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::{Lsn, NewEvent};
use switchboard_protocol::id::{AgentName, MessageId};
use switchboard_protocol::message::Message;
use switchboard_protocol::run::HeldBy;
use switchboard_protocol::time::Millis;
use switchboard_store::{Guard, Store};

use crate::verbs::worker_caller;

/// Mail for workers.
pub(crate) struct Mail(pub(crate) Store);

/// Leases of agents on files.
pub(crate) struct Reserved(pub(crate) Arc<LeaseBook>);

/// The policy on workers' requests.
pub(crate) struct Rules {
    pub(crate) policy: Arc<Policy>,
    pub(crate) store: Store,
}

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

    fn counted(
        &self,
        agents: &[AgentName],
        after: Lsn,
        until: Option<Millis>,
    ) -> Result<(u64, u64), switchboard_dispatch::Error> {
        let count = switchboard_bus::count_mail(&self.0, agents, after, until).map_err(lift)?;
        Ok((count.sent, count.acked))
    }

    fn is_taken_by_other_agent(&self, name: &AgentName) -> Result<bool, switchboard_dispatch::Error> {
        let agent = switchboard_bus::agent(&self.0, name).map_err(lift)?;
        Ok(agent.is_some_and(|agent| !agent.has_left && agent.kind != AgentKind::Worker))
    }

    fn joined(&self, agent: &AgentName, is_scripted: bool) -> Result<NewEvent, switchboard_dispatch::Error> {
        let worker = Registered::new(agent.clone(), AgentKind::Worker);
        let worker = Registered { scripted: Some(is_scripted), ..worker };
        switchboard_bus::registration(&worker, agent).map_err(|error| lift(error.into()))
    }
}

impl WorkerRules for Rules {
    fn may(&self, worker: &WorkerIdentity, verb: &str, args: &Value) -> Result<(), Failure> {
        let row = crate::face::row_of(verb);
        let row = row.ok_or_else(|| Failure::new("request.unknown-verb", format!("there is no verb {verb}")))?;
        let caller = worker_caller(worker.clone());
        let decision = self.policy.decide(&Input::new(&row, &caller, args, None, self.store.now()));
        decision.refused(verb).map_or(Ok(()), Err)
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
