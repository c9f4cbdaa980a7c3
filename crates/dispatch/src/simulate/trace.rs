//! Traces one run of a plan without failures: the workers that it starts, the set-up of its trees, the authors of its
//! commits, the input and verdicts of its gates, and its budget. Two plans whose runs leave the same trace are carried
//! out in the same way.

use std::sync::Arc;

use switchboard_needs::Needs;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::verb::run::{AgentChoice, StartRunRequest};
use switchboard_store::{Query, Store};

use super::people;
use super::request::request;
use super::stage::Stage;
use super::{SimSpec, live_until};
use crate::Dispatch;
use crate::lock::lock;
use crate::work::{RUNS, Work};

/// Kinds of events in a trace. Others contain the plan's hash, or repeat what the rest of the trace shows.
const KINDS: [&str; 2] = ["gate_reported", "budget_set"];

/// Runs a plan with these agents, the first of which does tasks that name none; the same plan always leaves the same
/// trace.
///
/// # Errors
/// The broken invariant, or why the run was refused.
pub(crate) fn trace(plan: &str, agents: &[AgentChoice]) -> Result<Vec<String>, String> {
    let stage = Arc::new(Stage::new(7, SimSpec::kind()));
    let store = Store::in_memory(vec![Box::new(Work), Box::new(Needs)], stage.clock.for_store());
    let asked = request(&stage, plan).map_err(|failure| failure.to_string())?;
    let default_agent = agents.first().map(|agent| agent.name.clone());
    let asked = StartRunRequest { agents: agents.to_vec(), default_agent, max_workers: Some(1), merge: false, ..asked };
    live_until(&stage, &store, async |daemon| run(&stage, &daemon, &asked).await)?;
    let trace = lock(&stage.trace).clone();
    Ok(trace)
}

async fn run(stage: &Arc<Stage>, daemon: &Dispatch, request: &StartRunRequest) -> Result<(), String> {
    people::boot(stage, daemon).await;
    let known = daemon.world.store.read(&Query::table(RUNS)).map_err(|error| error.to_string())?;
    if known.is_empty() {
        let started = daemon.start_run(request.clone(), &people::ann()?, None).await;
        started.map_err(|error| error.to_string())?;
    }
    let mut live = daemon.live_runs();
    live.wait_for(|live| *live == 0).await.map(|_| ()).map_err(|error| error.to_string())
}

// === impl Stage ===

impl Stage {
    /// Adds a decision that follows from a run's plan.
    pub(super) fn note(&self, what: String) {
        lock(&self.trace).push(what);
    }

    /// Adds the events of a commit that a trace shows.
    pub(super) fn note_events(&self, events: &[NewEvent]) {
        for event in events.iter().filter(|event| KINDS.contains(&event.kind.as_str())) {
            self.note(format!("{} {}", event.kind, event.facts));
        }
    }
}

/// Returns an agent for a trace: it can be constrained, and can then reach one host.
pub(crate) fn agent(name: &str) -> AgentChoice {
    let driver = switchboard_protocol::frame::DriverSpec::Acp { argv: vec!["agent".to_owned()] };
    let name = AgentName::new(name).unwrap_or_else(|error| panic!("{error}"));
    let reach = switchboard_protocol::isolation::Reach {
        network: vec!["api.example.com:443".to_owned()],
        ..switchboard_protocol::isolation::Reach::default()
    };
    AgentChoice { four_tools: true, reach, ..AgentChoice::new(name, driver) }
}
