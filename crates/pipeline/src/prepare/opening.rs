//! The events with which a run begins.

use std::collections::BTreeMap;

use switchboard_protocol::plan::{Phase, Plan, Task, TaskId};
use switchboard_protocol::run::{Prepared, RunEvent};

use crate::paths::Pattern;
use crate::settings;

/// Bytes of JSON that the lists of one event may take, so that its facts fit ([`switchboard_protocol::event::MAX_FACTS_BYTES`]).
const LISTS_BUDGET: usize = 840;

/// What a run begins with beside its plan.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The hash of all of the plan ([`crate::plan_hash::whole`]).
    pub plan_hash: &'a str,
    /// The commit that the run's branch begins at.
    pub base: &'a str,
    /// Gates of tasks for which the plan names none.
    pub gates: &'a [String],
}

/// The events that begin a run of a plan as it was prepared, to be recorded in one transaction, each small enough for the log.
/// Dependencies on tasks that are done already are left out.
#[must_use]
pub fn opening(plan: &Plan, prepared: &Prepared, opening: Opening<'_>) -> Vec<RunEvent> {
    let tasks: BTreeMap<&TaskId, (&Phase, &Task)> =
        plan.phases.iter().flat_map(|phase| phase.tasks.iter().map(move |task| (&task.id, (phase, task)))).collect();
    let eligible: BTreeMap<&TaskId, usize> = prepared.eligible.iter().enumerate().map(|(at, id)| (id, at)).collect();
    let mut parts = Vec::new();
    for id in &prepared.eligible {
        let Some((phase, task)) = tasks.get(id) else { continue };
        let settings = settings::of(plan, phase, task);
        let depends = task.depends.iter().filter(|on| eligible.contains_key(on)).cloned();
        let writes = task.files_touched.iter().filter(|path| Pattern::parse(path).is_ok()).cloned();
        let gates = settings.gates.unwrap_or_else(|| opening.gates.to_vec());
        let entries =
            depends.map(Entry::Depends).chain(writes.map(Entry::Writes)).chain(gates.into_iter().map(Entry::Gate));
        parts.extend(split(id, settings.timeout_ms, entries));
    }
    let started = RunEvent::RunStarted {
        title: plan.title.clone(),
        plan_hash: opening.plan_hash.to_owned(),
        base: opening.base.to_owned(),
        parts: u32::try_from(parts.len()).unwrap_or(u32::MAX),
        max_workers: prepared.max_workers,
    };
    std::iter::once(started.fitted()).chain(parts).collect()
}

/// One entry of a task's lists.
enum Entry {
    Depends(TaskId),
    Writes(String),
    Gate(String),
}

impl Entry {
    /// Bytes in JSON, the comma included.
    fn len(&self) -> usize {
        let text = match self {
            Self::Depends(id) => id.as_str(),
            Self::Writes(text) | Self::Gate(text) => text,
        };
        3 + text.bytes().map(|byte| if matches!(byte, b'"' | b'\\') { 2 } else { 1 }).sum::<usize>()
    }
}

#[derive(Default)]
struct Lists {
    depends: Vec<TaskId>,
    writes: Vec<String>,
    gates: Vec<String>,
}

/// Spreads a task's lists over as many events as they need.
fn split(task: &TaskId, timeout_ms: Option<i64>, entries: impl Iterator<Item = Entry>) -> Vec<RunEvent> {
    let mut chunks = vec![Lists::default()];
    let mut used = 0;
    for entry in entries {
        if used > 0 && used + entry.len() > LISTS_BUDGET {
            chunks.push(Lists::default());
            used = 0;
        }
        used += entry.len();
        let Some(last) = chunks.last_mut() else { continue };
        match entry {
            Entry::Depends(id) => last.depends.push(id),
            Entry::Writes(path) => last.writes.push(path),
            Entry::Gate(gate) => last.gates.push(gate),
        }
    }
    let task = |Lists { depends, writes, gates }, part| match part {
        1 => RunEvent::TaskAdded { task: task.clone(), depends, writes, gates, timeout_ms },
        part => RunEvent::TaskExtended { task: task.clone(), part, depends, writes, gates },
    };
    chunks.into_iter().zip(1..).map(|(lists, part)| task(lists, part)).collect()
}
