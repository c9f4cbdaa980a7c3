//! Who may go on: tasks that are ready for a worker and whose files nobody holds, begun ones first; tasks with something to be
//! done; and the line for the run's branch, which one task at a time may move. A task holds its files for its subtasks: it is begun when the first of
//! them is.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::plan::TaskId;
use switchboard_protocol::time::Millis;

use super::record::Record;
use crate::paths::{ClaimIndex, Claims};

/// Rank among those ready for a worker: begun tasks (false) before fresh ones, then the id.
type Rank = (bool, TaskId, usize);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Queue {
    startable: BTreeSet<Rank>,
    /// Ready tasks, held back or not.
    ready: BTreeSet<usize>,
    /// Tasks that have begun and are not settled, by id, and no subtasks; each holds its files against the tasks listed.
    active: BTreeMap<TaskId, Active>,
    /// How many active tasks hold files of a task.
    held: BTreeMap<usize, usize>,
    live: BTreeSet<usize>,
    /// Tasks with something to be done that waits for nobody: a capture, gates, a stop.
    due: BTreeMap<TaskId, usize>,
    /// Tasks that wait for their turn at the run's branch.
    line: BTreeMap<TaskId, usize>,
    /// Whose turn it is.
    turn: Option<usize>,
    /// Tasks that may choose among the changes of their subtasks, or have come to where a person may have to be asked.
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

/// The task that holds files for another one: the task itself, or the one that it is a subtask of.
fn holder(at: usize, records: &[Record]) -> usize {
    records[at].whole.unwrap_or(at)
}

impl Queue {
    /// Takes note of what a task declares to write and to read.
    pub(super) fn declare(&mut self, at: usize, claims: &Claims) {
        self.index.insert(claims, at);
    }

    // === workers ===

    /// The next tasks that may start, best first.
    pub(super) fn startable(&self) -> impl Iterator<Item = usize> {
        self.startable.iter().map(|(_, _, at)| *at)
    }

    pub(super) fn is_active(&self, id: &TaskId) -> bool {
        self.active.contains_key(id)
    }

    pub(super) fn active_count(&self) -> usize {
        self.active.len()
    }

    /// Tasks with a worker.
    pub(super) fn live(&self) -> impl Iterator<Item = usize> {
        self.live.iter().copied()
    }

    pub(super) fn live_count(&self) -> usize {
        self.live.len()
    }

    pub(super) fn is_held(&self, at: usize) -> bool {
        self.held.contains_key(&at)
    }

    /// An active task that holds files of this one.
    pub(super) fn held_by(&self, at: usize) -> Option<usize> {
        let mut holders = self.active.values().filter(|active| active.rivals.contains(&at));
        holders.next().filter(|_| self.is_held(at)).map(|active| active.at)
    }

    pub(super) fn set_live(&mut self, at: usize, live: bool) {
        if live {
            self.live.insert(at);
        } else {
            self.live.remove(&at);
        }
    }

    /// Tasks that the start of `at` would hold back.
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

    /// The task begins (again): it leaves the queue, and whoever holds files for it holds them.
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
            self.take_off(*rival, records);
        }
        // Its subtasks that are ready go before what has not begun.
        self.take_off(at, records);
        self.active.insert(id.clone(), Active { at, rivals });
        self.put_up(at, records);
    }

    /// The task is settled: it leaves every list, and lets go of its files once its subtasks are settled, too.
    pub(super) fn settled(&mut self, at: usize, records: &[Record]) {
        self.unready(at, records);
        self.live.remove(&at);
        self.deciding.remove(&at);
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

    /// Neither the task nor any of its subtasks goes on: it lets go of its files.
    fn release(&mut self, holder: usize, records: &[Record]) {
        let Some(id) = records[holder].task().filter(|id| self.is_active(id)) else { return };
        self.take_off(holder, records);
        let Some(active) = self.active.remove(id) else { return };
        self.put_up(holder, records);
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
        self.put_up(rival, records);
    }

    /// Takes a task and its subtasks from those that may start.
    fn take_off(&mut self, at: usize, records: &[Record]) {
        for place in self.ready_of(at, records) {
            self.startable.remove(&place);
        }
    }

    /// Adds a task and its subtasks to those that may start, as far as they are ready and nobody holds their files.
    fn put_up(&mut self, at: usize, records: &[Record]) {
        if !self.is_held(at) {
            let places = self.ready_of(at, records);
            self.startable.extend(places);
        }
    }

    /// The ranks of a task and its subtasks, as far as they are ready.
    fn ready_of(&self, at: usize, records: &[Record]) -> Vec<Rank> {
        let units = records[at].subtasks.iter().copied().chain([at]);
        units.filter(|unit| self.ready.contains(unit)).filter_map(|unit| self.place(unit, records)).collect()
    }

    fn place(&self, at: usize, records: &[Record]) -> Option<Rank> {
        let is_begun = records[holder(at, records)].task().is_some_and(|id| self.is_active(id));
        Some((!is_begun, records[at].task()?.clone(), at))
    }

    // === what follows from what is known ===

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

    // === what is due ===

    /// Tasks with something to be done that waits for nobody, in their natural order.
    pub(super) fn due(&self) -> impl Iterator<Item = usize> {
        self.due.values().copied()
    }

    pub(super) fn set_due(&mut self, id: &TaskId, at: usize, is_due: bool) {
        set(&mut self.due, id, at, is_due);
    }

    /// Tasks whose worker has run out of time.
    pub(super) fn late(&self, now: Millis) -> impl Iterator<Item = usize> {
        self.deadlines.range(..=(now, usize::MAX)).map(|(_, at)| *at)
    }

    /// The next time limit after `now`.
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

    /// Whose turn it is.
    pub(super) const fn turn(&self) -> Option<usize> {
        self.turn
    }

    /// Who may have the next turn: whoever has it, else the first in line.
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
