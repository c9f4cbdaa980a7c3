//! The store in memory: the same contract without a disk, for simulation and tests.

mod tables;

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use switchboard_protocol::event::Lsn;
use switchboard_protocol::time::Millis;

use crate::log::Visit;
use crate::prepared::Prepared;
use crate::record::{Body, Entry, Record, Tip};
use crate::schema::Schema;
use crate::search::Search;
use crate::write::{REMEMBERED_FOR, Remembered, Rules, Tx, Verdict, View, decide, perform};
use crate::{Cell, Change, Committed, Error, Query, Row, Table};

pub(crate) use tables::Tables;

/// Content of a store in memory.
pub(crate) struct Memory {
    pub(crate) tip: Tip,
    state: State,
}

struct State {
    records: Vec<Record>,
    bodies: BTreeMap<Lsn, Body>,
    /// Events of each subject, oldest first; their number is the subject's revision.
    subjects: HashMap<String, Vec<Lsn>>,
    tables: Tables,
    remembered: HashMap<(String, String), Remembered>,
    cursors: HashMap<String, Lsn>,
}

// === impl Memory ===

impl Memory {
    /// Creates an empty store.
    pub(crate) fn new(schema: &Schema) -> Self {
        let state = State {
            records: Vec::new(),
            bodies: BTreeMap::new(),
            subjects: HashMap::new(),
            tables: Tables::new(schema),
            remembered: HashMap::new(),
            cursors: HashMap::new(),
        };
        Self { tip: Tip::START, state }
    }

    /// Writes one batch; returns its answer and the row changes that it made.
    pub(crate) fn commit(
        &mut self,
        rules: &Rules<'_>,
        now: Millis,
        batch: &mut Prepared,
    ) -> Result<(Committed, Vec<Change>), Error> {
        let mut plan = match decide(&mut self.state, &self.tip, rules, now, batch)? {
            Verdict::Write(plan) => plan,
            Verdict::Answer(answer) => return Ok((answer?, Vec::new())),
        };
        perform(&mut self.state, batch, &plan)?;
        self.tip = plan.tip;
        if self.state.remembered.len() > 1024 {
            self.state.remembered.retain(|_, call| now.since(call.ts) < REMEMBERED_FOR);
        }
        let committed = plan.committed.take().ok_or(Error::Closed)?;
        Ok((committed, plan.changes))
    }

    /// Returns the rows that exist after these changes.
    pub(crate) fn changed<'a>(&'a self, changes: &'a [Change]) -> impl Iterator<Item = (&'static str, &'a Row)> {
        changes.iter().filter_map(|change| Some((change.table(), self.state.tables.left_by(change)?)))
    }

    pub(crate) fn rows(&self, query: &Query) -> Result<Vec<Row>, Error> {
        self.state.tables.rows(query)
    }

    pub(crate) fn count(&self, query: &Query) -> Result<u64, Error> {
        self.state.tables.count(query)
    }

    pub(crate) fn row(&self, table: &'static Table, key: &[Cell]) -> Option<Row> {
        self.state.tables.row(table, key)
    }

    pub(crate) fn rev(&self, subject: &str) -> u64 {
        self.state.rev(subject)
    }

    pub(crate) fn cursor(&self, name: &str) -> Lsn {
        self.state.cursors.get(name).copied().unwrap_or(0)
    }

    /// Returns the events whose bodies match the search, newest first.
    pub(crate) fn search(&self, schema: &Schema, search: &Search<'_>) -> Vec<Lsn> {
        let bodies = self.state.bodies.range(..search.before).rev();
        let kind = |lsn: Lsn| usize::try_from(lsn - 1).ok().and_then(|at| self.state.records.get(at));
        bodies
            .filter(|(lsn, body)| {
                kind(**lsn).is_some_and(|record| schema.is_searched(&record.kind))
                    && search.words.find(&body.text).is_some()
            })
            .map(|(lsn, _)| *lsn)
            .take(usize::try_from(search.limit).unwrap_or(usize::MAX))
            .collect()
    }

    /// Returns the tables, to compare them with rebuilt ones.
    pub(crate) fn tables(&self) -> &Tables {
        &self.state.tables
    }

    /// Returns the events of a subject after one of its revisions, oldest first.
    pub(crate) fn events_of(&self, subject: &str, after: u64, limit: usize) -> impl Iterator<Item = &Record> {
        let lsns = self.state.subjects.get(subject).map(Vec::as_slice).unwrap_or_default();
        let skip = usize::try_from(after).unwrap_or(usize::MAX);
        let places = lsns.iter().skip(skip).take(limit).filter_map(|lsn| usize::try_from(lsn - 1).ok());
        places.filter_map(|place| self.state.records.get(place))
    }

    /// Returns the bodies of events, for those that have one.
    pub(crate) fn bodies(&self, lsns: &[Lsn]) -> BTreeMap<Lsn, String> {
        let text = |lsn: &Lsn| Some((*lsn, self.state.bodies.get(lsn)?.text.clone()));
        lsns.iter().filter_map(text).collect()
    }

    /// Visits the events after `from` in order, each with its body if requested and available.
    pub(crate) fn scan(&self, from: Lsn, bodies: bool, visit: &mut Visit<'_>) -> Result<(), Error> {
        let skip = usize::try_from(from).unwrap_or(usize::MAX);
        for record in self.state.records.iter().skip(skip) {
            let body = if bodies { self.state.bodies.get(&record.lsn).cloned() } else { None };
            if let ControlFlow::Break(()) = visit(record.clone(), body)? {
                break;
            }
        }
        Ok(())
    }
}

// === impl State ===

impl State {
    fn rev(&self, subject: &str) -> u64 {
        self.subjects.get(subject).map_or(0, |lsns| lsns.len() as u64)
    }
}

impl View for State {
    fn rev(&mut self, subject: &str) -> Result<u64, Error> {
        Ok(Self::rev(self, subject))
    }

    fn has(&mut self, table: &'static Table, key: &[Cell]) -> Result<bool, Error> {
        Ok(self.tables.found(table, key).is_some())
    }

    fn cell(&mut self, table: &'static Table, key: &[Cell], column: &'static str) -> Result<Option<Cell>, Error> {
        Ok(self.tables.found(table, key).map(|row| row.get(column).clone()))
    }

    fn rows(&mut self, query: &Query) -> Result<Vec<Row>, Error> {
        self.tables.rows(query)
    }

    fn count(&mut self, query: &Query) -> Result<u64, Error> {
        self.tables.count(query)
    }

    fn remembered(&mut self, caller: &str, key: &str) -> Result<Option<Remembered>, Error> {
        Ok(self.remembered.get(&(caller.to_owned(), key.to_owned())).cloned())
    }
}

impl Tx for State {
    fn remember(&mut self, call: &Remembered) -> Result<(), Error> {
        self.remembered.insert((call.caller.clone(), call.key.clone()), call.clone());
        Ok(())
    }

    fn append(&mut self, entry: Entry<'_>, body: Option<&Body>) -> Result<(), Error> {
        match self.subjects.get_mut(entry.subject) {
            Some(lsns) => lsns.push(entry.lsn),
            None => drop(self.subjects.insert(entry.subject.to_owned(), vec![entry.lsn])),
        }
        if let Some(body) = body {
            self.bodies.insert(entry.lsn, body.clone());
        }
        self.records.push(entry.to_record());
        Ok(())
    }

    fn apply(&mut self, change: &Change) -> Result<(), Error> {
        self.tables.apply(change)
    }

    fn advance(&mut self, cursor: &str, lsn: Lsn) -> Result<(), Error> {
        let at = self.cursors.entry(cursor.to_owned()).or_default();
        *at = lsn.max(*at);
        Ok(())
    }

    fn drop_body(&mut self, lsn: Lsn) -> Result<(), Error> {
        self.bodies.remove(&lsn);
        Ok(())
    }
}
