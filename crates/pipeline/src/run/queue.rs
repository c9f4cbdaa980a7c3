//! Who may start next: ready tasks whose files nobody holds, begun tasks first, then in their natural order.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::plan::TaskId;

use super::record::Record;
use crate::paths::PathIndex;

/// Place in the queue: begun tasks (false) before fresh ones, then the id.
type Place = (bool, TaskId, usize);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Queue {
    startable: BTreeSet<Place>,
    /// Ready tasks, held back or not.
    ready: BTreeSet<usize>,
    /// Tasks that have begun and are not settled, by id; each holds its files against the tasks listed.
    active: BTreeMap<TaskId, Active>,
    /// How many active tasks hold files of a task.
    held: BTreeMap<usize, usize>,
    live: BTreeSet<usize>,
    merging: Option<usize>,
    index: PathIndex,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Active {
    at: usize,
    rivals: BTreeSet<usize>,
}

impl Queue {
    /// Takes note of declared writes from `from` on.
    pub(super) fn declare(&mut self, at: usize, record: &Record, from: usize) {
        record.writes[from..].iter().for_each(|pattern| self.index.insert(pattern, at));
    }

    /// The next tasks that may start, best first.
    pub(super) fn startable(&self) -> impl Iterator<Item = usize> {
        self.startable.iter().map(|(_, _, at)| *at)
    }

    /// Tasks that have begun and are not settled, in their natural order.
    pub(super) fn active(&self) -> impl Iterator<Item = usize> {
        self.active.values().map(|active| active.at)
    }

    pub(super) fn is_active(&self, id: &TaskId) -> bool {
        self.active.contains_key(id)
    }

    pub(super) fn active_count(&self) -> usize {
        self.active.len()
    }

    pub(super) fn live_count(&self) -> usize {
        self.live.len()
    }

    pub(super) fn merging(&self) -> Option<usize> {
        self.merging
    }

    pub(super) fn set_merging(&mut self, at: Option<usize>) {
        self.merging = at;
    }

    pub(super) fn is_held(&self, at: usize) -> bool {
        self.held.contains_key(&at)
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
        self.index.rivals(&record.writes, at)
    }

    pub(super) fn make_ready(&mut self, at: usize, records: &[Record]) {
        self.ready.insert(at);
        if !self.is_held(at) {
            self.startable.insert(self.place(at, records));
        }
    }

    pub(super) fn unready(&mut self, at: usize, records: &[Record]) {
        self.ready.remove(&at);
        self.startable.remove(&self.place(at, records));
    }

    /// The task begins (again): it leaves the queue and holds its files.
    pub(super) fn begin(&mut self, at: usize, records: &[Record]) {
        self.unready(at, records);
        self.live.insert(at);
        let id = &records[at].id;
        if self.is_active(id) {
            return;
        }
        let rivals = self.rivals(at, &records[at]);
        for rival in &rivals {
            *self.held.entry(*rival).or_default() += 1;
            self.startable.remove(&self.place(*rival, records));
        }
        self.active.insert(id.clone(), Active { at, rivals });
    }

    /// The task is settled: it leaves the queue and lets go of its files.
    pub(super) fn settle(&mut self, at: usize, records: &[Record]) {
        self.unready(at, records);
        self.live.remove(&at);
        if self.merging == Some(at) {
            self.merging = None;
        }
        let Some(active) = self.active.remove(&records[at].id) else { return };
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
        if self.ready.contains(&rival) {
            self.startable.insert(self.place(rival, records));
        }
    }

    fn place(&self, at: usize, records: &[Record]) -> Place {
        let id = &records[at].id;
        (!self.is_active(id), id.clone(), at)
    }
}
