//! Phases and slices as groups of tasks, and which groups wait for each other.

use std::collections::BTreeMap;

use switchboard_protocol::plan::{Phase, Plan, Task, TaskId};
use switchboard_protocol::run::way::UnitId;

/// A group of the tasks that a run will carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group<'a> {
    pub(crate) unit: UnitId,
    /// Index of the group that contains this one.
    pub(crate) within: Option<usize>,
    /// Index of the group that must be merged as a whole before a task of this one starts.
    pub(crate) after: Option<usize>,
    /// Tasks of the group; those of a slice are in its phase's list, too.
    pub(crate) tasks: Vec<&'a TaskId>,
}

/// Returns the phases in the order of their numbers, each followed by its slices in the order of their first tasks.
/// Groups without a task that `takes_part` are left out. A phase waits for the one before it unless the plan's
/// `x-switchboard.barrier` is false; a slice only if it is true.
pub(crate) fn groups<'a>(plan: &'a Plan, takes_part: impl Fn(&TaskId) -> bool) -> Vec<Group<'a>> {
    let barrier = plan.switchboard.as_ref().and_then(|settings| settings.barrier);
    let mut phases: Vec<_> = plan.phases.iter().collect();
    phases.sort_by_key(|phase| phase.id);
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut last_phase = None;
    for phase in phases {
        let tasks: Vec<_> = phase.tasks.iter().filter(|task| takes_part(&task.id)).collect();
        if tasks.is_empty() {
            continue;
        }
        let at = groups.len();
        let after = last_phase.filter(|_| barrier != Some(false));
        let ids = tasks.iter().map(|task| &task.id).collect();
        groups.push(Group { unit: UnitId::Phase(phase.id), within: None, after, tasks: ids });
        last_phase = Some(at);
        add_slices(&mut groups, phase, at, &tasks, barrier == Some(true));
    }
    groups
}

fn add_slices<'a>(groups: &mut Vec<Group<'a>>, phase: &Phase, within: usize, tasks: &[&'a Task], is_barrier: bool) {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut last = None;
    for task in tasks {
        let Some(name) = task.switchboard.as_ref().and_then(|settings| settings.slice.as_deref()) else { continue };
        let at = *known.entry(name).or_insert_with(|| {
            let unit = UnitId::Slice { phase: phase.id, name: name.to_owned() };
            let after = last.filter(|_| is_barrier);
            groups.push(Group { unit, within: Some(within), after, tasks: Vec::new() });
            last = Some(groups.len() - 1);
            groups.len() - 1
        });
        groups[at].tasks.push(&task.id);
    }
}
