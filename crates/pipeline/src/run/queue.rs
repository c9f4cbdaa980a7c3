//! Which units may continue: tasks that are ready for a worker and whose files no other task holds, begun ones first;
//! tasks with pending work; and the line for the run's branch, which one task at a time may move. A task holds its
//! files for its subtasks, and counts as begun when the first of them is.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::plan::TaskId;
use switchboard_protocol::time::Millis;

use super::record::Record;
use crate::paths::{ClaimIndex, Claims};

/// Rank of a task that is ready for a worker: begun tasks (false) before new ones, then by id.
type Rank = (bool, TaskId, usize);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Queue {
    startable: BTreeSet<Rank>,
    /// Ready tasks, whether held back or not.
    ready: BTreeSet<usize>,
    /// Begun and unsettled tasks by id, without subtasks; each holds its files against the listed tasks.
    active: BTreeMap<TaskId, Active>,
    /// Number of active tasks that hold files of a task.
    held: BTreeMap<usize, usize>,
    live: BTreeSet<usize>,
    /// Tasks with pending work that depends on no other task: a capture, gates, a stop.
    due: BTreeMap<TaskId, usize>,
    /// Tasks that wait for their turn at the run's branch.
    line: BTreeMap<TaskId, usize>,
    /// Task that has its turn.
    turn: Option<usize>,
    /// Tasks that may choose among the changes of their subtasks, or that have reached a possible question to a person.
    deciding: BTreeSet<usize>,
    deadlines: BTreeSet<(Millis, usize)>,
    /// The deadline of each task that has one.
    limited: BTreeMap<usize, Millis>,
    index: ClaimIndex,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Active {
    at: usize,
    rivals: BTreeSet<usize>,
}

/// Returns the task that holds files for another one: the task itself, or its parent task.
fn holder(at: usize, records: &[Record]) -> usize {
    records[at].parent.unwrap_or(at)
}

impl Queue {
    /// Adds the paths that a task declares to write and to read.
    pub(super) fn declare(&mut self, at: usize, claims: &Claims) {
        self.index.insert(claims, at);
    }

    // === workers ===

    /// Returns the next tasks that may start, best first.
    pub(super) fn startable(&self) -> impl Iterator<Item = usize> {
        self.startable.iter().map(|(_, _, at)| *at)
    }

    pub(super) fn is_active(&self, id: &TaskId) -> bool {
        self.active.contains_key(id)
    }

    /// Returns the begun and unsettled tasks, without subtasks.
    pub(super) fn active(&self) -> impl Iterator<Item = usize> {
        self.active.values().map(|active| active.at)
    }

    /// Returns the tasks with a worker.
    pub(super) fn live(&self) -> impl Iterator<Item = usize> {
        self.live.iter().copied()
    }

    pub(super) fn live_count(&self) -> usize {
        self.live.len()
    }

    pub(super) fn is_held(&self, at: usize) -> bool {
        self.held.contains_key(&at)
    }

    /// Returns an active task that holds files of this one.
    pub(super) fn held_by(&self, at: usize) -> Option<usize> {
        let mut holders = self.active.values().filter(|active| active.rivals.contains(&at));
        holders.next().filter(|_| self.is_held(at)).map(|active| active.at)
    }

    /// Removes a task from those with a worker.
    pub(super) fn remove_live(&mut self, at: usize) {
        self.live.remove(&at);
    }

    /// Returns the tasks that the start of `at` would hold back.
    pub(super) fn rivals(&self, at: usize, record: &Record) -> BTreeSet<usize> {
        self.index.rivals(&record.claims, at)
    }

    pub(super) fn make_ready(&mut self, at: usize, records: &[Record]) {
        if self.ready.insert(at) && !self.is_held(holder(at, records)) {
            self.startable.extend(self.place(at, records));
        }
    }

    pub(super) fn unready(&mut self, at: usize, records: &[Record]) {
        if self.ready.remove(&at)
            && let Some(place) = self.place(at, records)
        {
            self.startable.remove(&place);
        }
    }

    /// Begins a task, again if necessary: it leaves the queue, and its files are held.
    pub(super) fn begin(&mut self, at: usize, records: &[Record]) {
        self.unready(at, records);
        self.live.insert(at);
        let at = holder(at, records);
        let Some(id) = records[at].task() else { return };
        if self.is_active(id) {
            return;
        }
        let rivals = self.rivals(at, &records[at]);
        for rival in &rivals {
            *self.held.entry(*rival).or_default() += 1;
            self.remove_startable(*rival, records);
        }
        // Its ready subtasks precede tasks that have not begun.
        self.remove_startable(at, records);
        self.active.insert(id.clone(), Active { at, rivals });
        self.add_startable(at, records);
    }

    /// Removes a settled task from every list, and releases its files once its subtasks are settled too.
    pub(super) fn settled(&mut self, at: usize, records: &[Record]) {
        self.unready(at, records);
        self.live.remove(&at);
        self.leave_turn(at);
        let Some(id) = records[at].task() else { return };
        self.due.remove(id);
        self.line.remove(id);
        self.limit(at, None);
        let holder = holder(at, records);
        let is_open = |unit: &usize| *unit != at && !records[*unit].is_settled();
        if !is_open(&holder) && !records[holder].subtasks.iter().any(is_open) {
            self.release(holder, records);
        }
    }

    /// Releases the files of a task if neither it nor any of its subtasks continues.
    fn release(&mut self, holder: usize, records: &[Record]) {
        let Some(id) = records[holder].task().filter(|id| self.is_active(id)) else { return };
        self.remove_startable(holder, records);
        let Some(active) = self.active.remove(id) else { return };
        self.add_startable(holder, records);
        for rival in active.rivals {
            self.let_go(rival, records);
        }
    }

    fn let_go(&mut self, rival: usize, records: &[Record]) {
        let Some(holders) = self.held.get_mut(&rival) else { return };
        *holders -= 1;
        if *holders > 0 {
            return;
        }
        self.held.remove(&rival);
        self.add_startable(rival, records);
    }

    /// Removes a task and its subtasks from those that may start.
    fn remove_startable(&mut self, at: usize, records: &[Record]) {
        for place in self.ready_of(at, records) {
            self.startable.remove(&place);
        }
    }

    /// Adds a task and its subtasks to those that may start, if they are ready and no other task holds their files.
    fn add_startable(&mut self, at: usize, records: &[Record]) {
        if !self.is_held(at) {
            let places = self.ready_of(at, records);
            self.startable.extend(places);
        }
    }

    /// Returns the ranks of a task and its subtasks, as far as they are ready.
    fn ready_of(&self, at: usize, records: &[Record]) -> Vec<Rank> {
        let units = records[at].subtasks.iter().copied().chain([at]);
        units.filter(|unit| self.ready.contains(unit)).filter_map(|unit| self.place(unit, records)).collect()
    }

    fn place(&self, at: usize, records: &[Record]) -> Option<Rank> {
        let is_begun = records[holder(at, records)].task().is_some_and(|id| self.is_active(id));
        Some((!is_begun, records[at].task()?.clone(), at))
    }

    // === decisions without an event ===

    pub(super) fn set_deciding(&mut self, at: usize, is_deciding: bool) {
        if is_deciding {
            self.deciding.insert(at);
        } else {
            self.deciding.remove(&at);
        }
    }

    pub(super) fn next_deciding(&self) -> Option<usize> {
        self.deciding.first().copied()
    }

    // === pending work ===

    /// Returns the tasks with pending work that depends on no other task, in their natural order.
    pub(super) fn due(&self) -> impl Iterator<Item = usize> {
        self.due.values().copied()
    }

    pub(super) fn set_due(&mut self, id: &TaskId, at: usize, is_due: bool) {
        set(&mut self.due, id, at, is_due);
    }

    /// Returns the tasks whose worker has exceeded its time limit.
    pub(super) fn late(&self, now: Millis) -> impl Iterator<Item = usize> {
        self.deadlines.range(..=(now, usize::MAX)).map(|(_, at)| *at)
    }

    /// Returns the next time limit after `now`.
    pub(super) fn next_deadline(&self, now: Millis) -> Option<Millis> {
        self.deadlines.range((now.plus(1), 0)..).next().map(|(deadline, _)| *deadline)
    }

    pub(super) fn limit(&mut self, at: usize, deadline: Option<Millis>) {
        if let Some(old) = self.limited.remove(&at) {
            self.deadlines.remove(&(old, at));
        }
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, at));
            self.limited.insert(at, deadline);
        }
    }

    // === the run's branch ===

    /// Returns the task that has its turn.
    pub(super) const fn turn(&self) -> Option<usize> {
        self.turn
    }

    /// Returns the task that may have the next turn: the one that has it, else the first in line.
    pub(super) fn next_turn(&self, records: &[Record]) -> Option<usize> {
        let is_in_line = |at: &usize| records[*at].task().is_some_and(|id| self.line.contains_key(id));
        match self.turn {
            Some(at) => Some(at).filter(is_in_line),
            None => self.line.values().next().copied(),
        }
    }

    pub(super) fn take_turn(&mut self, at: usize) {
        self.turn = Some(at);
    }

    pub(super) fn leave_turn(&mut self, at: usize) {
        if self.turn == Some(at) {
            self.turn = None;
        }
    }

    pub(super) fn set_in_line(&mut self, id: &TaskId, at: usize, is_in_line: bool) {
        set(&mut self.line, id, at, is_in_line);
    }
}

fn set(list: &mut BTreeMap<TaskId, usize>, id: &TaskId, at: usize, is_in: bool) {
    if is_in {
        if !list.contains_key(id) {
            list.insert(id.clone(), at);
        }
    } else {
        list.remove(id);
    }
}
