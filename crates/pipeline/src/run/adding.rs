//! Adds plan, ways and units to a run.

use std::sync::Arc;

use switchboard_protocol::id::Digest;
use switchboard_protocol::run::way::{Join, StepAction, UnitId};

use super::consequences::Consequences;
use super::record::Record;
use super::{Header, Refused, RunState, WayText};
use crate::paths::Claims;
use crate::way::{Graph, Unit};

/// A part of a text.
pub(super) struct Part<'a> {
    pub(super) part: u32,
    pub(super) of: u32,
    pub(super) text: &'a str,
}

/// A unit as recorded in an event.
pub(super) struct Added<'a> {
    pub(super) unit: &'a UnitId,
    pub(super) within: Option<&'a UnitId>,
    pub(super) way: Digest,
    pub(super) timeout_ms: Option<i64>,
}

impl RunState {
    pub(super) fn run_started(&mut self, header: Header) -> Result<Consequences, Refused> {
        match &self.header {
            Some(known) if *known == header => Ok(Vec::new()),
            Some(_) => Err(Refused::illegal("the run has started already, with other settings")),
            None if header.max_workers == 0 => Err(Refused::illegal("a run needs at least one worker")),
            None => {
                self.head.clone_from(&header.base);
                self.header = Some(header);
                Ok(Vec::new())
            }
        }
    }

    /// Counts a part of the plan's text, which the run itself doesn't read.
    pub(super) fn plan_recorded(&mut self, part: u32, of: u32) -> Result<Consequences, Refused> {
        if part <= self.plan_parts {
            return Ok(Vec::new());
        }
        self.expect_opening("the plan")?;
        if part != self.plan_parts + 1 || part > of {
            return Err(Refused::illegal(format!(
                "part {part} of the plan doesn't follow on part {}",
                self.plan_parts
            )));
        }
        self.plan_parts = part;
        self.parts += 1;
        Ok(Vec::new())
    }

    pub(super) fn way_recorded(&mut self, way: Digest, part: &Part<'_>) -> Result<Consequences, Refused> {
        let known = self.way_text.as_ref().filter(|text| text.way == way).map_or(0, |text| text.parts);
        if self.ways.contains_key(&way) || part.part <= known {
            return Ok(Vec::new());
        }
        self.expect_opening("a way")?;
        if part.part != known + 1 || part.part > part.of {
            return Err(Refused::illegal(format!("part {} of a way doesn't follow on part {known}", part.part)));
        }
        let earlier = self.way_text.as_ref().filter(|_| known > 0).map_or("", |text| text.text.as_str());
        let text = format!("{earlier}{}", part.text);
        if part.part == part.of {
            let unreadable = |why| Refused::illegal(format!("a recorded way can't be read: {why}"));
            self.ways.insert(way, crate::way::recorded(&text, way).map_err(unreadable)?);
            self.way_text = None;
        } else {
            self.way_text = Some(WayText { way, parts: part.part, text });
        }
        self.parts += 1;
        Ok(Vec::new())
    }

    pub(super) fn unit_added(
        &mut self,
        added: &Added<'_>,
        after: &[UnitId],
        (writes, reads): (&[String], &[String]),
    ) -> Result<Consequences, Refused> {
        let id = added.unit;
        if self.by_id.contains_key(id) {
            return Ok(Vec::new());
        }
        self.expect_opening(&id.to_string())?;
        let way = self.ways.get(&added.way);
        let way = way.ok_or_else(|| Refused::illegal(format!("{id} walks a way that is not recorded")))?;
        can_walk(id, way)?;
        let within = added.within.map(|group| self.earlier(id, group)).transpose()?;
        let lists = self.resolve(id, after, (writes, reads))?;
        let plan = self.header.as_ref().map_or("", |header| header.plan_hash.as_str());
        let (spec, plan) = (Digest::of(id.to_string().as_bytes()), Digest::of(plan.as_bytes()));
        let unit = Unit::new(Arc::clone(way), spec, plan, self.head.clone());
        let at = self.records.len();
        let mut record = Record::new(id.clone(), within, added.timeout_ms, unit);
        record.parent = within.filter(|at| self.records[*at].task().is_some());
        if let Some(parent) = record.parent {
            self.records[parent].subtasks.push(at);
        }
        self.records.push(record);
        self.by_id.insert(id.clone(), at);
        if let Some(task) = id.task() {
            self.tasks.insert(task.clone(), at);
            self.unsettled += 1;
        }
        self.note_landing(at);
        self.join(at);
        self.extend(at, lists);
        if let Some(parent) = self.records[at].parent {
            // The parent waits for one more subtask.
            self.reindex(parent);
        }
        Ok(Vec::new())
    }

    pub(super) fn unit_extended(
        &mut self,
        id: &UnitId,
        part: u32,
        after: &[UnitId],
        (writes, reads): (&[String], &[String]),
    ) -> Result<Consequences, Refused> {
        let at = self.by_id.get(id).copied().ok_or_else(|| Refused::illegal(format!("{id} was not added")))?;
        let known = self.records[at].parts;
        if part <= known {
            return Ok(Vec::new());
        }
        if part != known + 1 || self.is_open() {
            return Err(Refused::illegal(format!("part {part} of {id} doesn't follow on part {known}")));
        }
        let lists = self.resolve(id, after, (writes, reads))?;
        self.records[at].parts = part;
        self.extend(at, lists);
        Ok(Vec::new())
    }

    fn expect_opening(&self, what: &str) -> Result<(), Refused> {
        if self.header.is_none() || self.is_open() {
            return Err(Refused::illegal(format!("{what} comes before the run's start or after its last unit")));
        }
        Ok(())
    }

    fn earlier(&self, id: &UnitId, other: &UnitId) -> Result<usize, Refused> {
        let unknown = || Refused::illegal(format!("{id} names {other}, which comes later or not at all"));
        self.by_id.get(other).copied().filter(|_| other != id).ok_or_else(unknown)
    }

    /// Resolves the lists of a unit, all of them or none.
    fn resolve(
        &self,
        id: &UnitId,
        after: &[UnitId],
        (writes, reads): (&[String], &[String]),
    ) -> Result<Lists, Refused> {
        let claims = Claims::parse(writes, reads);
        let unsafe_path = |(text, why)| Refused::illegal(format!("{id} declares {text:?}: {why}"));
        Ok(Lists {
            after: after.iter().map(|other| self.earlier(id, other)).collect::<Result<_, _>>()?,
            claims: claims.map_err(unsafe_path)?,
        })
    }

    /// Makes the groups around a unit wait for it, and the unit for what these groups wait for.
    fn join(&mut self, at: usize) {
        let Some(group) = self.records[at].within else { return };
        self.depend(group, at);
        let mut next = Some(group);
        while let Some(group) = next {
            for before in self.barrier_of(group) {
                self.depend(at, before);
            }
            next = self.records[group].within;
        }
    }

    /// Returns what the members of a group wait for. For the subtasks of a task, these are the task's dependencies
    /// other than the subtasks.
    fn barrier_of(&self, group: usize) -> Vec<usize> {
        let record = &self.records[group];
        if record.task().is_none() {
            return record.barrier.clone();
        }
        record.depends.iter().copied().filter(|on| self.records[*on].parent != Some(group)).collect()
    }

    fn depend(&mut self, at: usize, on: usize) {
        if self.records[at].depends.insert(on) {
            self.records[on].dependents.push(at);
            self.records[at].unmet += 1;
        }
    }

    fn extend(&mut self, at: usize, lists: Lists) {
        let is_group = self.records[at].task().is_none();
        for before in lists.after {
            if is_group {
                self.records[at].barrier.push(before);
            } else {
                self.depend(at, before);
            }
        }
        self.parts += 1;
        self.queue.declare(at, &lists.claims);
        self.records[at].claims.extend(lists.claims);
        self.reindex(at);
    }
}

/// The resolved lists of a unit.
struct Lists {
    after: Vec<usize>,
    claims: Claims,
}

/// Rejects ways with steps that a run can't carry out.
fn can_walk(id: &UnitId, way: &Graph) -> Result<(), Refused> {
    let fits = |does: &StepAction| match does {
        StepAction::Work { .. }
        | StepAction::Choose { .. }
        | StepAction::Check { .. }
        | StepAction::Command { .. }
        | StepAction::Ask { .. }
        | StepAction::Merge
        | StepAction::Units { join: Join::Quorum { .. } } => id.task().is_some(),
        StepAction::Units { join: Join::All } => id.task().is_none(),
    };
    match way.steps().iter().find(|step| !fits(&step.does)) {
        None => Ok(()),
        Some(step) => Err(Refused::illegal(format!("this version can't do step {} of {id}", step.id))),
    }
}
