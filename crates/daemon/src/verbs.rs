//! The second hop of every call: find the verb, ask the policy, hand on to the part whose verb it is.

mod daemon;
mod messages;
mod record;
mod team;

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use switchboard_dispatch::{Dispatch, Settle};
use switchboard_policy::Policy;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::{
    Verb, agent, backup, bus as mail, check, lease, need, queue, run, search, team as teams,
};
use switchboard_store::{Idempotency, Store};
use tokio::sync::mpsc;

use crate::face::{self, Answering, Caller, CallerKind, Invoke};
use crate::{Place, ServerInfo, token};

/// What the daemon was asked to do by a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// End, with or without the workers.
    Shutdown {
        /// Leave the workers at work.
        keep_workers: bool,
    },
    /// A run wants the daemon to end with it.
    EndWithRun,
}

/// Everything that verbs need.
pub(crate) struct Verbs {
    pub(crate) store: Store,
    pub(crate) leases: Arc<switchboard_bus::LeaseBook>,
    pub(crate) dispatch: Dispatch,
    pub(crate) policy: Policy,
    pub(crate) place: Place,
    pub(crate) limits: switchboard_bus::Limits,
    pub(crate) info: ServerInfo,
    pub(crate) started_at: Millis,
    pub(crate) asks: mpsc::Sender<Ask>,
    pub(crate) last_call: Mutex<tokio::time::Instant>,
}

/// A call on its way.
struct Call<'a> {
    verbs: &'a Verbs,
    caller: Caller,
    verb: &'static str,
    key: Option<String>,
    /// Of the arguments, where there is a key.
    args: Digest,
}

// === impl Invoke for Verbs ===

impl Invoke for Verbs {
    fn invoke(&self, caller: Caller, verb: String, args: Value, key: Option<String>) -> Answering<'_> {
        self.note_call();
        Box::pin(async move {
            let caller = stand(caller);
            let Some(name) = known(&verb) else { return Err(face::unknown_verb(&verb)) };
            self.ask_policy(&caller, name, &args)?;
            let args_of = |_: &String| Digest::of(args.to_string().as_bytes());
            let digest = key.as_ref().map_or(Digest::ZERO, args_of);
            let call = Call { verbs: self, caller, verb: name, key, args: digest };
            let answer = call.run(args).await;
            self.note_call();
            answer
        })
    }

    fn identify(&self, bearer: Option<&str>, claimed_name: Option<&str>) -> Result<Caller, Failure> {
        let refused = || {
            Failure::new("auth.bad-token", "the token is missing or wrong").hint("it stands in .switchboard/auth_token")
        };
        let bearer = bearer.ok_or_else(refused)?;
        if let Some(worker) = self.dispatch.worker_of(bearer)? {
            let kind = CallerKind::Worker { run: worker.run, worker: worker.worker, task: worker.task };
            return Ok(Caller { name: worker.agent, is_verified: true, kind, face: face::SOCKET });
        }
        let own = token::read(&self.place.project)?.ok_or_else(refused)?;
        if !token::same(&own, bearer) {
            return Err(refused());
        }
        let name = AgentName::new(claimed_name.unwrap_or("user"));
        let name = name.map_err(|error| Failure::new("request.bad-args", error.to_string()))?;
        Ok(Caller { name, is_verified: true, kind: CallerKind::Person, face: face::SOCKET })
    }

    fn health(&self) -> Value {
        serde_json::json!({ "status": "ok", "version": self.info.version, "pid": self.info.pid, "lsn": self.store.head().lsn })
    }
}

/// Where a caller stands: what holds the root's token through MCP is an agent that the user connected, not the user.
fn stand(caller: Caller) -> Caller {
    let is_mcp = [face::MCP_HTTP, face::MCP_SSE, face::MCP_STDIO].contains(&caller.face);
    match caller.kind {
        CallerKind::Person if is_mcp => Caller { kind: CallerKind::Agent, is_verified: false, ..caller },
        CallerKind::Person | CallerKind::Worker { .. } | CallerKind::Agent => caller,
    }
}

/// The one spelling of a verb's name.
fn known(verb: &str) -> Option<&'static str> {
    macro_rules! names {
        ($($verb:path)*) => { [$(<$verb as Verb>::NAME),*] };
    }
    const NAMES: &[&str] = &switchboard_protocol::for_each_verb!(names);
    NAMES.iter().copied().find(|name| *name == verb)
}

// === impl Verbs ===

impl Verbs {
    /// A call has come or gone: the daemon is not idle.
    fn note_call(&self) {
        *self.last_call.lock().unwrap_or_else(PoisonError::into_inner) = tokio::time::Instant::now();
    }

    fn ask_policy(&self, caller: &Caller, verb: &'static str, args: &Value) -> Result<(), Failure> {
        self.decide(caller, verb, args)?.refused(verb).map_or(Ok(()), Err)
    }

    /// What the policy says to a call.
    pub(crate) fn decide(
        &self,
        caller: &Caller,
        verb: &'static str,
        args: &Value,
    ) -> Result<switchboard_policy::Decision, Failure> {
        let (kind, run, task) = match &caller.kind {
            CallerKind::Person => (switchboard_policy::CallerKind::Person, "", ""),
            CallerKind::Worker { run, task, .. } => {
                (switchboard_policy::CallerKind::Worker, run.as_str(), task.as_str())
            }
            CallerKind::Agent => (switchboard_policy::CallerKind::Agent, "", ""),
        };
        let about = switchboard_policy::name_in(args).unwrap_or(caller.name.as_str());
        let about =
            AgentName::new(about).ok().map(|name| switchboard_bus::kind_of(&self.store, &name)).transpose()?.flatten();
        let effect = face::effect_of(verb).ok_or_else(|| face::unknown_verb(verb))?;
        let name = caller.name.as_str();
        let caller = switchboard_policy::Caller {
            name,
            kind,
            is_verified: caller.is_verified,
            isolation: switchboard_policy::Isolation::Full,
            run,
            task,
        };
        let input = switchboard_policy::Input::new(verb, effect, caller, args, about, self.store.now());
        Ok(self.policy.decide(&input))
    }
}

fn typed<V: Verb>(args: Value) -> Result<V::Request, Failure> {
    let args = if args.is_null() { Value::Object(serde_json::Map::new()) } else { args };
    serde_json::from_value(args).map_err(|error| {
        let failure = Failure::new("request.bad-args", format!("{}: {error}", V::NAME));
        failure.hint(format!("switchboard call {} --help", V::NAME))
    })
}

fn value<V: Verb>(reply: V::Reply) -> Result<Value, Failure> {
    serde_json::to_value(reply).map_err(|error| Failure::new("internal.bug", format!("{}: {error}", V::NAME)))
}

// === impl Call ===

impl Call<'_> {
    fn idempotency(&self) -> Option<Idempotency> {
        let key = self.key.clone()?;
        Some(Idempotency { key, caller: self.caller.name.folded(), verb: self.verb, args: self.args })
    }

    fn asker(&self) -> switchboard_bus::Asker {
        switchboard_bus::Asker {
            is_verified: self.caller.is_verified,
            is_person: self.caller.kind == CallerKind::Person,
            idempotency: self.idempotency(),
            root: Some(self.verbs.place.root.clone()),
            limits: self.verbs.limits,
            ..switchboard_bus::Asker::named(self.caller.name.clone())
        }
    }

    /// Bits for an id that the caller doesn't bring: the same for the same key, so that a repeated call means the same thing.
    fn fresh_bits(&self) -> Result<u64, Failure> {
        match &self.key {
            Some(key) => {
                let digest = Digest::of_parts(&[self.caller.name.folded().as_bytes(), key.as_bytes()]);
                Ok(digest.0[..8].iter().fold(0, |bits, byte| (bits << 8) | u64::from(*byte)))
            }
            None => getrandom::u64().map_err(|error| Failure::new("internal.bug", error.to_string())),
        }
    }

    async fn run(self, args: Value) -> Result<Value, Failure> {
        match self.verb {
            agent::GetTeamRoster::NAME
            | agent::RegisterAgent::NAME
            | agent::RegisterChatAgent::NAME
            | agent::RegisterTerminal::NAME
            | agent::SetAgentStatus::NAME => self.agent(args).await,
            lease::ListLeases::NAME
            | lease::ReleaseFiles::NAME
            | lease::RenewLease::NAME
            | lease::ReserveAgent::NAME
            | lease::ReserveFiles::NAME => self.lease(args).await,
            mail::AckMessage::NAME
            | mail::CheckInbox::NAME
            | mail::ListMessages::NAME
            | mail::SendMessage::NAME
            | queue::CancelMessage::NAME
            | queue::ExtendMessage::NAME
            | queue::NakMessage::NAME
            | queue::ReadInboxEvents::NAME
            | queue::ReceiveMessages::NAME
            | queue::ReviveMessage::NAME
            | queue::SendRequest::NAME
            | queue::SendTeamMessage::NAME => self.mail(args).await,
            need::Answer::NAME | need::Approve::NAME | need::Deny::NAME | need::ListNeeds::NAME => {
                self.need(args).await
            }
            run::GetRun::NAME
            | run::MergeRun::NAME
            | run::ResumeRun::NAME
            | run::RetryTask::NAME
            | run::ShowTask::NAME
            | run::StartRun::NAME
            | run::StopRun::NAME => self.work(args).await,
            teams::RemoveTeam::NAME | teams::SetTeam::NAME => self.team(args).await,
            backup::BackupStore::NAME | search::SearchMessages::NAME => self.record(args).await,
            check::BuildCheck::NAME
            | check::CheckGateStatus::NAME
            | check::EvidenceCheck::NAME
            | check::Lint::NAME
            | check::PlaceholderScan::NAME
            | check::PreCheckBatch::NAME
            | check::Secretscan::NAME
            | check::SyntaxCheck::NAME
            | check::TestRunner::NAME
            | check::TodoExtract::NAME => self.check(args).await,
            _ => self.system(args).await,
        }
    }

    /// The checks are asked of their child; their arguments are its business.
    async fn check(&self, args: Value) -> Result<Value, Failure> {
        let dispatch = &self.verbs.dispatch;
        match self.verb {
            check::CheckGateStatus::NAME => {
                let request = typed::<check::CheckGateStatus>(args)?;
                value::<check::CheckGateStatus>(dispatch.check_gate_status(&request).await?)
            }
            check::EvidenceCheck::NAME => {
                let request = typed::<check::EvidenceCheck>(args)?;
                value::<check::EvidenceCheck>(dispatch.evidence_check(&request).await?)
            }
            verb => {
                let worker = match &self.caller.kind {
                    CallerKind::Worker { worker, .. } => Some(worker),
                    CallerKind::Person | CallerKind::Agent => None,
                };
                dispatch.check(verb, args, worker).await
            }
        }
    }

    async fn need(&self, args: Value) -> Result<Value, Failure> {
        let (id, how) = match self.verb {
            need::ListNeeds::NAME => {
                let request = typed::<need::ListNeeds>(args)?;
                return value::<need::ListNeeds>(crate::needs::list(self.verbs, &request)?);
            }
            need::Approve::NAME => (typed::<need::Approve>(args)?.id, Settle::Approve),
            need::Deny::NAME => (typed::<need::Deny>(args)?.id, Settle::Deny),
            _ => {
                let request = typed::<need::Answer>(args)?;
                (request.id, Settle::Answer(request.option))
            }
        };
        let by = self.caller.name.as_str();
        let settled = crate::needs::settle(self.verbs, &id, how, by, self.idempotency()).await?;
        value::<need::Approve>(settled)
    }

    async fn work(&self, args: Value) -> Result<Value, Failure> {
        let dispatch = &self.verbs.dispatch;
        match self.verb {
            run::GetRun::NAME => value::<run::GetRun>(dispatch.get_run(&typed::<run::GetRun>(args)?).await?),
            run::MergeRun::NAME => {
                let request = typed::<run::MergeRun>(args)?;
                value::<run::MergeRun>(dispatch.merge_run(&request, self.idempotency()).await?)
            }
            run::ResumeRun::NAME => {
                let request = typed::<run::ResumeRun>(args)?;
                let reply = dispatch.resume_run(&request, self.idempotency()).await?;
                self.ends_with_run(request.ends_daemon).await;
                value::<run::ResumeRun>(reply)
            }
            run::RetryTask::NAME => {
                let request = typed::<run::RetryTask>(args)?;
                value::<run::RetryTask>(dispatch.retry_task(&request, self.idempotency()).await?)
            }
            run::ShowTask::NAME => value::<run::ShowTask>(dispatch.show_task(&typed::<run::ShowTask>(args)?).await?),
            run::StartRun::NAME => {
                let request = typed::<run::StartRun>(args)?;
                let ends = request.ends_daemon && !request.dry_run;
                let reply = dispatch.start_run(request, self.caller.name.as_str(), self.idempotency()).await?;
                self.ends_with_run(ends).await;
                value::<run::StartRun>(reply)
            }
            _ => {
                let request = typed::<run::StopRun>(args)?;
                value::<run::StopRun>(dispatch.stop_run(&request, self.idempotency()).await?)
            }
        }
    }

    async fn ends_with_run(&self, wanted: bool) {
        if wanted && self.verbs.asks.send(Ask::EndWithRun).await.is_err() {
            tracing::debug!("the daemon is ending already");
        }
    }
}

/// Shared with the faces.
pub(crate) fn shared(verbs: Verbs) -> (Arc<Verbs>, Arc<dyn Invoke>) {
    let verbs = Arc::new(verbs);
    let invoke: Arc<dyn Invoke> = Arc::<Verbs>::clone(&verbs);
    (verbs, invoke)
}
