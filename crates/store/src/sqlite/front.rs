//! The front of the store: decides batches one after the other and makes them durable. The thread that holds it is the
//! writer.

use std::collections::HashMap;

use rusqlite::Connection;

use super::Inner;
use super::note::Note;
use super::pending::{Decided, Images, Layer, images};
use super::redo::Redo;
use super::tx::Session;
use crate::core::lock;
use crate::prepared::Prepared;
use crate::record::Tip;
use crate::write::{Answer, Remembered, Verdict, View, decide};
use crate::{Cell, Durability, Error, Guard, Query, Row, Table};

/// Maximum number of subjects whose revision is cached; beyond that all are dropped.
const MAX_REVS: usize = 2048;

/// State for deciding batches; see the module.
pub(super) struct Front {
    /// Connection that reads from SQLite.
    base: Connection,
    redo: Redo,
    note: Note,
    tip: Tip,
    revs: HashMap<String, u64>,
}

/// Batches that are decided and not yet durable.
struct Staged {
    /// First position of the group that was decided with what is staged.
    from: usize,
    places: Vec<usize>,
    decided: Vec<Decided>,
    layer: Layer,
    tip: Tip,
}

/// View of a batch: decisions before it in its group, committed data, and data in SQLite.
struct BatchView<'a> {
    inner: &'a Inner,
    base: Session<'a>,
    revs: &'a mut HashMap<String, u64>,
    layer: &'a Layer,
}

// === impl Front ===

impl Front {
    pub(super) fn new(base: Connection, redo: Redo, note: Note, tip: Tip) -> Self {
        Self { base, redo, note, tip, revs: HashMap::new() }
    }

    /// Frees caches.
    pub(super) fn shrink(&mut self) {
        super::back::shrink(&self.base);
        self.revs = HashMap::new();
        self.redo.shrink();
    }

    pub(super) fn redo(&mut self) -> &mut Redo {
        &mut self.redo
    }

    /// Writes a group of batches and answers each: one frame in the redo log, and one sync if any of them requires it.
    pub(super) fn write(&mut self, inner: &Inner, group: Vec<Prepared>) -> Vec<Answer> {
        let mut answers: Vec<Option<Answer>> = group.iter().map(|_| None).collect();
        if let Err(error) = inner.core.alive() {
            return group.iter().map(|_| Err(error.clone())).collect();
        }
        let (rules, now) = (inner.core.rules(), inner.core.now());
        let mut staged = Staged::new(0, self.tip);
        for (place, mut batch) in group.into_iter().enumerate() {
            // A query reads from SQLite, which has nothing of this group yet.
            if asks_rows(&batch) && !staged.decided.is_empty() {
                self.keep(inner, std::mem::replace(&mut staged, Staged::new(place, self.tip)), &mut answers);
                staged.tip = self.tip;
            }
            let mut view = BatchView {
                inner,
                base: Session::new(&self.base, &inner.core.schema),
                revs: &mut self.revs,
                layer: &staged.layer,
            };
            let decided = decide(&mut view, &staged.tip, &rules, now, &mut batch).and_then(|verdict| match verdict {
                Verdict::Answer(answer) => Ok(Err(answer)),
                Verdict::Write(mut plan) => {
                    let changes = std::mem::take(&mut plan.changes);
                    let images = images(changes, &inner.core.schema, |table, key| view.look(table, key, Row::clone))?;
                    batch.lean();
                    Ok(Ok((plan, images)))
                }
            });
            match decided {
                Ok(Ok((plan, images))) => staged.add(place, Decided { batch, plan }, images),
                Ok(Err(answer)) => answers[place] = Some(answer),
                Err(error) => answers[place] = Some(Err(inner.core.judge(error))),
            }
        }
        self.keep(inner, staged, &mut answers);
        answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(inner.core.reason()))).collect()
    }

    /// Makes decided batches durable, makes them visible, and answers them.
    fn keep(&mut self, inner: &Inner, mut staged: Staged, answers: &mut [Option<Answer>]) {
        if staged.decided.is_empty() {
            return;
        }
        let is_synced = staged.decided.iter().any(|one| one.batch.durability == Durability::Synced);
        if let Err(error) = inner.core.alive().and_then(|()| self.persist(inner, &staged, is_synced)) {
            self.revs.clear();
            let error = inner.core.judge(error);
            // Answers that depend on the lost batches, repeated answers or refusals, are replaced by the error as well.
            let others = (staged.from..answers.len()).filter(|place| answers[*place].is_some());
            let places: Vec<_> = others.chain(staged.places).collect();
            places.into_iter().for_each(|place| answers[place] = Some(Err(error.clone())));
            return;
        }
        for one in &staged.decided {
            for draft in &one.batch.drafts {
                know(&mut self.revs, &draft.event.subject, draft.event.rev);
            }
        }
        for (place, one) in staged.places.iter().zip(&mut staged.decided) {
            answers[*place] = one.plan.committed.take().map(Ok);
        }
        self.tip = staged.tip;
        inner.show(staged.decided, staged.layer, self.tip);
        self.note.set(&self.tip, if is_synced { Durability::Synced } else { Durability::Written });
        let (batches, bytes) = lock(&inner.pending).size();
        self.redo.make_room(batches, bytes);
    }

    fn persist(&mut self, inner: &Inner, staged: &Staged, is_synced: bool) -> Result<(), Error> {
        let (batches, bytes) = (staged.decided.len(), staged.decided.iter().map(|one| one.batch.bytes).sum());
        let (more, more_bytes) = lock(&inner.pending).size();
        if !self.redo.has_room(batches + more, bytes + more_bytes) {
            // Pending batches could not be written on a full disk, so free space first, then check again.
            inner.make_room(&mut self.redo)?;
            if !self.redo.has_room(batches, bytes) {
                return Err(Error::DiskFull);
            }
        }
        self.redo.append(staged.decided.iter().map(|one| (&one.batch, &*one.plan)))?;
        if is_synced { self.redo.sync() } else { Ok(()) }
    }
}

fn asks_rows(batch: &Prepared) -> bool {
    batch.guards.iter().any(|guard| match guard {
        Guard::Fewer { .. } | Guard::Holds { .. } => true,
        Guard::Exists { .. }
        | Guard::Absent { .. }
        | Guard::Equals { .. }
        | Guard::OneOf { .. }
        | Guard::Below { .. } => false,
    })
}

fn know(revs: &mut HashMap<String, u64>, subject: &str, rev: u64) {
    if let Some(known) = revs.get_mut(subject) {
        *known = rev;
        return;
    }
    if revs.len() >= MAX_REVS {
        revs.clear();
    }
    revs.insert(subject.to_owned(), rev);
}

// === impl Staged ===

impl Staged {
    fn new(from: usize, tip: Tip) -> Self {
        Self { from, places: Vec::new(), decided: Vec::new(), layer: Layer::default(), tip }
    }

    fn add(&mut self, place: usize, decided: Decided, images: Images) {
        self.layer.take(&decided, images);
        self.tip = decided.plan.tip;
        self.places.push(place);
        self.decided.push(decided);
    }
}

// === impl BatchView ===

impl BatchView<'_> {
    /// Queries decided batches, then committed ones; `None` if neither has changed it.
    fn recent<T>(&self, ask: impl Fn(&Layer) -> Option<T>) -> Option<T> {
        ask(self.layer).or_else(|| lock(&self.inner.pending).find(ask))
    }

    /// Applies `look` to a row, if it exists.
    fn look<T>(&self, table: &'static Table, key: &[Cell], look: impl Fn(&Row) -> T) -> Result<Option<T>, Error> {
        match self.layer.row(table, key) {
            Some(row) => Ok(row.as_ref().map(look)),
            None => self.inner.look(table, key, look, |key| self.base.read_row(table, key)),
        }
    }

    /// Brings SQLite up to date before a query for rows. At this point, no batch of this group has been decided.
    fn catch_up(&self, table: &str) -> Result<(), Error> {
        self.inner.flush_for(table)
    }
}

impl View for BatchView<'_> {
    fn rev(&mut self, subject: &str) -> Result<u64, Error> {
        if let Some(rev) = self.layer.rev(subject).or_else(|| self.revs.get(subject).copied()) {
            return Ok(rev);
        }
        let rev = match self.recent(|layer| layer.rev(subject)) {
            Some(rev) => rev,
            None => self.base.read_rev(subject)?,
        };
        know(self.revs, subject, rev);
        Ok(rev)
    }

    fn has(&mut self, table: &'static Table, key: &[Cell]) -> Result<bool, Error> {
        Ok(self.look(table, key, |_| ())?.is_some())
    }

    fn cell(&mut self, table: &'static Table, key: &[Cell], column: &'static str) -> Result<Option<Cell>, Error> {
        self.look(table, key, |row| row.get(column).clone())
    }

    fn rows(&mut self, query: &Query) -> Result<Vec<Row>, Error> {
        self.catch_up(query.table)?;
        self.base.read_rows(query)
    }

    fn count(&mut self, query: &Query) -> Result<u64, Error> {
        self.catch_up(query.table)?;
        self.base.read_count(query)
    }

    fn remembered(&mut self, caller: &str, key: &str) -> Result<Option<Remembered>, Error> {
        match self.recent(|layer| layer.call(caller, key).cloned()) {
            Some(call) => Ok(Some(call)),
            None => self.base.read_remembered(caller, key),
        }
    }
}
