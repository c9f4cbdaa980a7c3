//! Events of a commit as the observer reads them: read before the commit, which takes the events over.

use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::worker::WorkerFact;

/// What the observer checks of a commit.
pub(super) struct Seen {
    /// Workers that get a name, each with its folded name.
    pub(super) named: Vec<(WorkerId, String)>,
    /// Events of runs, each with its subject.
    pub(super) steps: Vec<(String, RunEvent)>,
    /// Number of messages that tell of units.
    pub(super) notes: usize,
}

// === impl Seen ===

impl Seen {
    pub(super) fn of(events: &[NewEvent]) -> Self {
        let named = events.iter().filter(|event| event.kind == "worker_equipped").filter_map(named).collect();
        let of_runs = events.iter().filter(|event| event.subject.starts_with("run/"));
        let steps = of_runs.filter_map(|event| Some((event.subject.clone(), event.fact()?))).collect();
        Self { named, steps, notes: events.iter().filter(|event| is_of_unit(event)).count() }
    }
}

fn named(event: &NewEvent) -> Option<(WorkerId, String)> {
    let WorkerFact::WorkerEquipped { worker, agent, .. } = event.fact()? else { return None };
    Some((worker, agent.folded()))
}

/// Returns true for a message that tells of a unit.
fn is_of_unit(event: &NewEvent) -> bool {
    let is_of_unit =
        || matches!(event.facts.field("what")["type"].as_str(), Some("unit_started" | "unit_completed" | "error"));
    event.kind == "message_noted" && is_of_unit()
}
