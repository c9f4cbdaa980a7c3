//! Projection of leases, from which a new daemon's lease book is built.

use switchboard_protocol::event::Event;
use switchboard_protocol::lease::{LeaseEvent, Resource};
use switchboard_store::{Cell, Change, Column, Projection, Row, Table};

/// One row per live lease, keyed by its id.
pub(crate) const LEASES: &str = "leases";
/// Further globs of leases with many, keyed by lease and part.
pub(crate) const PARTS: &str = "lease_parts";
/// Leases' own clock at its last event, and the time of day then; one row.
pub(crate) const CLOCK: &str = "lease_clock";

static TABLES: [Table; 3] = [
    Table {
        name: LEASES,
        columns: &[
            Column::text("id"),
            Column::int("token"),
            Column::text("holder"),
            Column::text("holder_id"),
            // The reserved agent, by its folded name.
            Column::text("agent"),
            Column::text("resource"),
            Column::text("mode"),
            Column::int("deadline"),
            Column::int("span"),
            Column::text("reason"),
        ],
        key: &["id"],
        indexes: &[],
        sparse: &[&["agent"]],
    },
    Table {
        name: PARTS,
        columns: &[Column::text("lease"), Column::int("part"), Column::text("globs")],
        key: &["lease", "part"],
        indexes: &[],
        sparse: &[],
    },
    Table {
        name: CLOCK,
        columns: &[Column::text("id"), Column::int("at"), Column::int("ts")],
        key: &["id"],
        indexes: &[],
        sparse: &[],
    },
];

/// Projector of leases.
#[derive(Debug, Clone, Copy, Default)]
pub struct Leases;

impl Projection for Leases {
    fn tables(&self) -> &'static [Table] {
        &TABLES
    }

    fn version(&self) -> u32 {
        2
    }

    fn prefixes(&self) -> &'static [&'static str] {
        &["lease"]
    }

    fn project(&self, event: &Event) -> Vec<Change> {
        event.fact::<LeaseEvent>().map_or_else(Vec::new, |fact| change(event, fact))
    }
}

fn change(event: &Event, fact: LeaseEvent) -> Vec<Change> {
    let clock = |at: u64| Change::put(CLOCK, Row::new().with("id", "leases").with("at", at).with("ts", event.ts));
    match fact {
        LeaseEvent::LeaseGranted { id, holder, resource, mode, at, span, reason } => {
            let row = Row::new()
                .with("id", id.as_str())
                .with("token", event.lsn)
                .with("holder", holder.as_str())
                .with("holder_id", holder.folded())
                .with("agent", agent(&resource))
                .with("resource", json(&resource))
                .with("mode", mode.as_str())
                .with("deadline", at.saturating_add(span))
                .with("span", span)
                .with("reason", reason);
            vec![Change::put(LEASES, row), clock(at)]
        }
        LeaseEvent::LeaseGlobsAdded { id, part, globs } => {
            let row = Row::new().with("lease", id.as_str()).with("part", part);
            vec![Change::put(PARTS, row.with("globs", json(&Resource::Files(globs))))]
        }
        LeaseEvent::LeaseRenewed { id, at, span } => {
            let set = [("deadline", Cell::from(at.saturating_add(span))), ("span", span.into())];
            vec![Change::patch(LEASES, [id.as_str().into()], set), clock(at)]
        }
        LeaseEvent::LeaseEnded { id, at, ending: _, parts } => {
            let key = || Cell::from(id.as_str());
            let rest = (1..=parts).map(|part| Change::delete(PARTS, [key(), part.into()]));
            [Change::delete(LEASES, [key()])].into_iter().chain(rest).chain([clock(at)]).collect()
        }
        LeaseEvent::LeasesResumed { at } => vec![clock(at)],
    }
}

fn agent(resource: &Resource) -> Cell {
    match resource {
        Resource::Terminal(agent) => agent.folded().into(),
        Resource::Files(_) | Resource::Unit(_) => Cell::Null,
    }
}

fn json(resource: &Resource) -> String {
    serde_json::json!(resource).to_string()
}
