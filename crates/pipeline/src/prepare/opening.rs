//! The events that open a run.

use switchboard_protocol::plan::Plan;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::run::way::UnitId;

use crate::way::{Compiled, UnitPlan, parts};

/// Byte budget for the JSON lists of one event, so that its facts fit
/// ([`switchboard_protocol::event::MAX_FACTS_BYTES`]) beside the longest names of unit and group and the digest of the
/// way.
const LISTS_BUDGET: usize = 500;

/// Input for the opening of a run, beside its plan.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// Hash of the whole plan ([`crate::plan_hash::whole`]).
    pub plan_hash: &'a str,
    /// Commit that the run's branch starts from.
    pub base: &'a str,
    /// Maximum number of concurrent workers.
    pub max_workers: u32,
}

/// Returns the events that open a run of a plan whose ways are compiled: the plan, each way once, the units. They are
/// recorded in one transaction, and each is small enough for the log.
///
/// # Errors
/// When plan or way can't be serialised; a defect of their types.
pub fn opening(plan: &Plan, compiled: &Compiled, opening: Opening<'_>) -> Result<Vec<RunEvent>, serde_json::Error> {
    let mut events =
        text_in_parts(&serde_json::to_string(plan)?, |part, of, text| RunEvent::PlanRecorded { part, of, text });
    for graph in &compiled.ways {
        let (way, text) = (graph.digest(), serde_json::to_string(&graph.way())?);
        events.extend(text_in_parts(&text, |part, of, text| RunEvent::WayRecorded { way, part, of, text }));
    }
    events.extend(compiled.units.iter().flat_map(split));
    let started = RunEvent::RunStarted {
        title: plan.title.clone(),
        plan_hash: opening.plan_hash.to_owned(),
        base: opening.base.to_owned(),
        parts: u32::try_from(events.len()).unwrap_or(u32::MAX),
        max_workers: opening.max_workers,
    };
    events.insert(0, started.fitted());
    Ok(events)
}

fn text_in_parts(text: &str, event: impl Fn(u32, u32, String) -> RunEvent) -> Vec<RunEvent> {
    let parts = parts(text);
    let of = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    (1..=of).zip(parts).map(|(part, text)| event(part, of, text.to_owned())).collect()
}

/// An entry in the lists of a unit.
enum Entry {
    After(UnitId),
    Writes(String),
    Reads(String),
}

impl Entry {
    /// Returns the length of the entry's JSON in bytes, with the comma.
    fn len(&self) -> usize {
        /// Bytes for braces, names and numbers around the name of a unit.
        const AROUND: usize = 60;
        match self {
            Self::After(UnitId::Task(task)) => AROUND + task.as_str().len(),
            Self::After(UnitId::Slice { phase: _, name }) => AROUND + json_len(name),
            Self::After(UnitId::Phase(_)) => AROUND,
            Self::Writes(path) | Self::Reads(path) => 3 + json_len(path),
        }
    }
}

fn json_len(text: &str) -> usize {
    text.bytes().map(|byte| if matches!(byte, b'"' | b'\\') { 2 } else { 1 }).sum()
}

#[derive(Default)]
struct Lists {
    after: Vec<UnitId>,
    writes: Vec<String>,
    reads: Vec<String>,
}

/// Splits a unit's lists into as many events as needed.
fn split(unit: &UnitPlan) -> Vec<RunEvent> {
    let after = unit.after.iter().cloned().map(Entry::After);
    let writes = unit.writes.iter().cloned().map(Entry::Writes);
    let entries = after.chain(writes).chain(unit.reads.iter().cloned().map(Entry::Reads));
    let mut chunks = vec![Lists::default()];
    let mut used = 0;
    for entry in entries {
        // The first event also holds the way, so a long entry goes into the next one.
        if (used > 0 || chunks.len() == 1) && used + entry.len() > LISTS_BUDGET {
            chunks.push(Lists::default());
            used = 0;
        }
        used += entry.len();
        let Some(last) = chunks.last_mut() else { continue };
        match entry {
            Entry::After(before) => last.after.push(before),
            Entry::Writes(path) => last.writes.push(path),
            Entry::Reads(path) => last.reads.push(path),
        }
    }
    let event = |Lists { after, writes, reads }, part| match part {
        1 => RunEvent::UnitAdded {
            unit: unit.unit.clone(),
            within: unit.within.clone(),
            way: unit.way,
            after,
            writes,
            reads,
            timeout_ms: unit.timeout_ms,
        },
        part => RunEvent::UnitExtended { unit: unit.unit.clone(), part, after, writes, reads },
    };
    chunks.into_iter().zip(1..).map(|(lists, part)| event(lists, part)).collect()
}
