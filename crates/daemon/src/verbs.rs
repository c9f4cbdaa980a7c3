//! The second hop of every call: find the row, ask the policy, run the handler.
//!
//! [`route`] joins rows and handlers, [`context`] is the handlers' input; the other files hold the handlers.

mod arguments;
mod checks;
mod context;
mod coordinator;
mod daemon;
mod hold;
mod lead;
mod messages;
mod needs;
mod route;
mod runs;
mod step;
mod subagent;
mod team;
mod tools;
mod wrong_type;

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use switchboard_dispatch::{Dispatch, WorkerIdentity};
use switchboard_policy::{Decision, Input, Policy, Verdict, name_in};
use switchboard_protocol::agent::Process;
use switchboard_protocol::caller::{Caller, CallerKind};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::secret;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::Row;
use switchboard_store::Store;
use tokio::sync::mpsc;

use crate::agent_token::Used;
use crate::authority::{Authority, Peer, Proof, without_authority};
use crate::bound::{Bound, names_its_caller};
use crate::denials::Denials;
use crate::face::{Admitted, Admitting, Answering, Call, Invoke, Learned, Reply};
use crate::sessions::Sessions;
use crate::{RootPaths, ServerInfo, token};
pub(crate) use context::Context;
use route::Found;

pub(crate) use hold::withdraw_all;
pub(crate) use route::Upstreams;

/// Request of a verb to the daemon itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Ends the daemon, with or without the workers.
    Shutdown {
        /// True if the workers keep running.
        keep_workers: bool,
    },
    /// Makes the daemon end with its last run.
    EndWithRun,
}

/// Shared state of all verbs.
pub(crate) struct Verbs {
    pub(crate) store: Store,
    pub(crate) leases: Arc<switchboard_bus::LeaseBook>,
    pub(crate) dispatch: Dispatch,
    pub(crate) policy: Arc<Policy>,
    pub(crate) place: RootPaths,
    pub(crate) authority: Authority,
    pub(crate) sessions: Sessions,
    /// Names of calling programs.
    pub(crate) bound: Bound,
    /// Last use of the tokens of agents over HTTP.
    pub(crate) tokens: Arc<Used>,
    /// Denied calls of workers.
    pub(crate) denials: Arc<Denials>,
    pub(crate) limits: switchboard_bus::Limits,
    pub(crate) info: ServerInfo,
    pub(crate) started_at: Millis,
    pub(crate) asks: mpsc::Sender<Ask>,
    pub(crate) last_call: Mutex<tokio::time::Instant>,
    /// Tools of upstream servers.
    pub(crate) upstreams: Upstreams,
    /// Verb whose handler panics, for tests.
    pub(crate) panics_in: Option<String>,
}

// === impl Invoke for Verbs ===

impl Invoke for Verbs {
    fn admit(&self, call: Call) -> Admitting<'_> {
        self.note_call();
        Box::pin(async move {
            let mut call = call;
            let found = self.upstreams.find(&call.verb)?;
            let row = found.row();
            if matches!(found, Found::Verb(_)) {
                self.resolve_addresses(&mut call.args).await?;
            }
            self.tokens.note(&call.caller);
            let is_alive = |program: &Process| self.tokens.is_there(program);
            let caller = self.bound.named(&self.store, &call.verb, without_authority(call.caller), is_alive)?;
            let call = Call { caller, ..call };
            let decision = self.decide(&call.caller, &row, &call.args)?;
            match decision.verdict() {
                Verdict::Allow => {}
                Verdict::Ask => {
                    self.expect_of_use(&call).await?;
                    hold::hold(&self.store, &call.caller, &row, (&call.args, call.key.as_deref()), &decision).await?;
                }
                Verdict::Deny => {
                    self.denials.note(&self.store, &call.caller, &call.verb, &decision).await;
                    decision.refused(&call.verb).map_or(Ok(()), |refused| Err(known_by(refused, &call.caller)))?
                }
            }
            Ok(Admitted(call))
        })
    }

    fn run(&self, Admitted(call): Admitted) -> Answering<'_> {
        Box::pin(async move {
            let names = names_its_caller(&call.verb);
            let answer = self.run_handler(call).await;
            if names {
                self.bound.forget();
            }
            self.note_call();
            answer
        })
    }

    fn row(&self, verb: &str) -> Option<Arc<Row>> {
        self.upstreams.find(verb).ok().map(|found| found.row())
    }

    fn identify(&self, bearer: Option<&str>, claimed_name: Option<&str>) -> Result<Caller, Failure> {
        let refused =
            || Failure::new("auth.bad-token", "the token is missing or wrong").hint("it is in .switchboard/auth_token");
        let bearer = bearer.ok_or_else(refused)?;
        if let Some(worker) = self.dispatch.worker_of(bearer)? {
            return Ok(worker_caller(worker));
        }
        if let Some(name) = self.sessions.find(bearer, self.store.now()) {
            return Ok(Caller { known_by: "a session of a page", ..Caller::person(name) });
        }
        let own = token::read(&self.place)?.ok_or_else(refused)?;
        if !secret::is_same(own.as_bytes(), bearer.as_bytes()) {
            return Err(refused());
        }
        Ok(Caller::unverified(
            claimed(claimed_name)?,
            "the repository's token, which every program of the user can read",
        ))
    }

    fn open_session(&self, code: &str) -> Result<Value, Failure> {
        let (token, expires_at) = self.sessions.exchange(code, self.store.now())?;
        Ok(serde_json::json!({ "token": token, "expires_at": expires_at }))
    }

    fn identify_peer(&self, peer: &Peer, bearer: Option<&str>, claimed_name: Option<&str>) -> Result<Caller, Failure> {
        let by_token = bearer.map(|bearer| self.identify(Some(bearer), claimed_name)).transpose()?;
        let name = claimed(claimed_name)?;
        if let Some(shim) = self.authority.new_shim(peer)
            && let Some(worker) = self.dispatch.worker_of_shim(shim.0, shim.1)?
        {
            self.authority.learn_shim(&worker, shim);
        }
        let proven = match self.authority.prove(peer, &name) {
            Proof::Caller(caller) => caller,
            Proof::Worker(worker) => match self.dispatch.worker(&worker)? {
                Some(worker) => worker_caller(worker),
                None => Caller::unverified(name, "a process of a worker that has ended"),
            },
        };
        // The process tree proves more than the root's token, and a worker's token removes a person's authority.
        let is_worker = |caller: &Caller| matches!(caller.kind, CallerKind::Worker { .. });
        Ok(by_token.filter(|caller| is_worker(caller) && !is_worker(&proven)).unwrap_or(proven))
    }

    fn tools_listed(&self, caller: &Caller) {
        if let CallerKind::Worker { worker, .. } = &caller.kind {
            self.dispatch.tools_listed(worker);
        }
    }

    fn note_still_connected(&self, caller: &Caller) {
        self.tokens.note(caller);
    }

    fn ends_session(&self, caller: &Caller) {
        if let Some(program) = &caller.program {
            self.tokens.forget(program);
        }
    }

    fn learn(&self, peer: &Peer, learned: Learned<'_>) {
        match learned {
            Learned::Bridge(agent) => self.authority.learn_bridge(agent, peer),
            Learned::Shim(worker, token) if self.dispatch.is_shim(worker, token) => {
                if let Some(shim) = peer.lineage.processes.first() {
                    self.authority.learn_shim(worker, (shim.pid, shim.start));
                }
            }
            Learned::Shim(..) => {}
        }
    }

    fn health(&self) -> Value {
        serde_json::json!({ "status": "ok", "version": self.info.version, "pid": self.info.pid, "lsn": self.store.head().lsn })
    }
}

fn claimed(name: Option<&str>) -> Result<AgentName, Failure> {
    AgentName::new(name.unwrap_or("user")).map_err(|error| Failure::new("request.bad-args", error.to_string()))
}

pub(crate) fn worker_caller(worker: WorkerIdentity) -> Caller {
    let WorkerIdentity { run, worker, task, agent, isolation } = worker;
    let kind = CallerKind::Worker { run, worker, task, isolation };
    Caller { kind, known_by: "a process or the token of a worker", ..Caller::agent(agent) }
}

/// Adds to a refusal how the daemon identified the caller.
fn known_by(mut refused: Failure, caller: &Caller) -> Failure {
    refused.cause.push(format!("the caller: {}", caller.known_by));
    refused
}

// === impl Verbs ===

impl Verbs {
    /// Records that a call has come or gone, so that the daemon does not count as idle.
    fn note_call(&self) {
        *self.last_call.lock().unwrap_or_else(PoisonError::into_inner) = tokio::time::Instant::now();
    }

    /// Runs an admitted call; the only place from which handlers run.
    async fn run_handler(&self, call: Call) -> Result<Reply, Failure> {
        let Call { caller, verb, args, key } = call;
        match self.upstreams.find(&verb)? {
            Found::Verb(route) => {
                let digest = match &key {
                    Some(_) => Digest::of(args.to_string().as_bytes()),
                    None => Digest::ZERO,
                };
                let call = Context::new(caller, (route.name, route.row.effect), key, digest);
                let answering = match self.panics_in.as_deref() == Some(route.name) {
                    true => route::panicking(),
                    false => (route.run)(self, &call, args),
                };
                route::caught(route.name, answering).await
            }
            Found::Upstream(tool) => route::caught(&tool.row().name, tool.call(&caller, args, key)).await,
        }
    }

    /// Returns the policy's decision on a call of one of our verbs.
    pub(crate) fn decide_verb(&self, caller: &Caller, verb: &str, args: &Value) -> Result<Decision, Failure> {
        self.decide(caller, &self.upstreams.find(verb)?.row(), args)
    }

    fn decide(&self, caller: &Caller, row: &Row, args: &Value) -> Result<Decision, Failure> {
        let about = name_in(args).unwrap_or(caller.name.as_str());
        let about =
            AgentName::new(about).ok().map(|name| switchboard_bus::kind_of(&self.store, &name)).transpose()?.flatten();
        Ok(self.policy.decide(&Input::new(row, caller, args, about, self.store.now())))
    }
}

/// Shares the verbs with the faces.
pub(crate) fn shared(verbs: Verbs) -> (Arc<Verbs>, Arc<dyn Invoke>) {
    let verbs = Arc::new(verbs);
    let invoke: Arc<dyn Invoke> = Arc::<Verbs>::clone(&verbs);
    (verbs, invoke)
}
