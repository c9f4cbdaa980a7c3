//! Dependencies between units, and the entries that made them ready.

use std::collections::HashMap;

use switchboard_protocol::event::Lsn;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::UnitId;

/// The units of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Units(HashMap<UnitId, Known>);

#[derive(Debug, Clone, Default)]
struct Known {
    within: Option<UnitId>,
    after: Vec<UnitId>,
    /// The last entry that ended the unit, or a task of it.
    ended: Option<Lsn>,
}

// === impl Units ===

impl Units {
    pub(super) fn add(&mut self, unit: UnitId, within: Option<UnitId>, after: Vec<UnitId>) {
        self.0.insert(unit, Known { within, after, ended: None });
    }

    pub(super) fn extend(&mut self, unit: &UnitId, after: Vec<UnitId>) {
        if let Some(known) = self.0.get_mut(unit) {
            known.after.extend(after);
        }
    }

    /// Records the entry that ended a task, for the task and the groups that it belongs to.
    pub(super) fn ended(&mut self, task: &TaskId, entry: Lsn) {
        let mut unit = Some(UnitId::Task(task.clone()));
        while let Some(known) = unit.and_then(|unit| self.0.get_mut(&unit)) {
            known.ended = Some(entry);
            unit = known.within.clone();
        }
    }

    /// Returns the last entry among those that a task has waited for, itself or as part of its groups.
    pub(super) fn made_ready(&self, task: &TaskId) -> Option<Lsn> {
        let mut last = None;
        let mut unit = self.0.get(&UnitId::Task(task.clone()));
        while let Some(known) = unit {
            last = last.max(known.after.iter().filter_map(|on| self.0.get(on)?.ended).max());
            unit = known.within.as_ref().and_then(|group| self.0.get(group));
        }
        last
    }
}
