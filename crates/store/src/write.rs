//! The one meaning of a commit, for every backend: check, plan, apply.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use protocol::event::Lsn;
use protocol::id::Digest;
use protocol::time::Millis;

use crate::prepared::{Call, Prepared};
use crate::record::{Body, Entry, Tip};
use crate::schema::{Schema, wrong};
use crate::{Cell, Change, Committed, Error, Guard, Query, Row, Table};

/// How long a call's key is remembered, in milliseconds: 24 hours (DESIGN decision 3).
pub(crate) const REMEMBERED_FOR: i64 = 24 * 60 * 60 * 1000;

/// What one batch is answered.
pub(crate) type Answer = Result<Committed, Error>;

/// What a backend must do inside a transaction. Tables, keys and changes have been checked against the schema.
pub(crate) trait Tx {
    /// The revision of a subject; 0 when it doesn't exist.
    fn rev(&mut self, subject: &str) -> Result<u64, Error>;
    /// Whether there is a row with this key.
    fn has(&mut self, table: &'static Table, key: &[Cell]) -> Result<bool, Error>;
    /// One column of the row with this key, if there is one.
    fn cell(&mut self, table: &'static Table, key: &[Cell], column: &'static str) -> Result<Option<Cell>, Error>;
    /// The rows that answer a query.
    fn rows(&mut self, query: &Query) -> Result<Vec<Row>, Error>;
    /// How many rows answer a query.
    fn count(&mut self, query: &Query) -> Result<u64, Error>;
    /// What is remembered under a key.
    fn remembered(&mut self, caller: &str, key: &str) -> Result<Option<Remembered>, Error>;
    /// Remembers a call in place of what was under its key.
    fn remember(&mut self, call: &Remembered) -> Result<(), Error>;
    /// Appends an event.
    fn append(&mut self, entry: Entry<'_>, body: Option<&Body>) -> Result<(), Error>;
    /// Changes a row.
    fn apply(&mut self, change: &Change) -> Result<(), Error>;
    /// Moves a cursor, never back.
    fn advance(&mut self, cursor: &str, lsn: Lsn) -> Result<(), Error>;
    /// Drops an event's body and salt.
    fn drop_body(&mut self, lsn: Lsn) -> Result<(), Error>;
}

/// A call that was made, and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub(crate) caller: String,
    pub(crate) key: String,
    pub(crate) verb: String,
    pub(crate) args: Digest,
    pub(crate) reply: String,
    pub(crate) first: Lsn,
    pub(crate) last: Lsn,
    pub(crate) ts: Millis,
}

/// What all batches of a store have in common.
pub(crate) struct Rules<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) chain_id: &'a str,
    pub(crate) epoch: u64,
}

/// What a batch will write besides its events: read-only work is done, nothing can be refused any more.
struct Plan {
    changes: Vec<Change>,
    tip: Tip,
}

/// Writes one batch and moves the tip, or answers why not. An outer error means that the transaction itself is broken
/// and must be rolled back; an inner one that this batch left no trace.
pub(crate) fn write<T: Tx>(
    tx: &mut T,
    tip: &mut Tip,
    rules: &Rules<'_>,
    now: Millis,
    batch: &mut Prepared,
) -> Result<Answer, Error> {
    let now = now.max(tip.ts);
    if let Some(answer) = check(tx, rules, now, batch)? {
        return Ok(answer);
    }
    let plan = match plan(tx, tip, rules, now, batch)? {
        Ok(plan) => plan,
        Err(refused) => return Ok(Err(refused)),
    };
    if let Some((_, ahead)) = batch.cursors.iter().find(|(_, lsn)| *lsn > plan.tip.lsn) {
        return Ok(Err(Error::Ahead { cursor: *ahead, head: plan.tip.lsn }));
    }
    let committed = Committed {
        first: tip.lsn + 1,
        last: plan.tip.lsn,
        ts: plan.tip.ts,
        reply: batch.reply.clone(),
        repeated: false,
    };
    *tip = plan.tip;
    apply(tx, plan, batch, &committed)?;
    Ok(Ok(committed))
}

/// The checks in the order of their cost and their right to answer: epoch, repetition, revisions, guards.
fn check<T: Tx>(tx: &mut T, rules: &Rules<'_>, now: Millis, batch: &Prepared) -> Result<Option<Answer>, Error> {
    if let Some(given) = batch.epoch.filter(|given| *given != rules.epoch) {
        return Ok(Some(Err(Error::StaleEpoch { given, current: rules.epoch })));
    }
    if let Some(call) = &batch.call
        && let Some(answer) = repeated(tx, now, call)?
    {
        return Ok(Some(answer));
    }
    for (subject, expected) in &batch.expect {
        let found = tx.rev(subject)?;
        if found != *expected {
            return Ok(Some(Err(Error::Conflict { subject: subject.clone(), expected: *expected, found })));
        }
    }
    for guard in &batch.guards {
        match holds(tx, rules.schema, guard) {
            Ok(Ok(())) => {}
            Ok(Err(refusal)) | Err(refusal @ Error::Schema { .. }) => return Ok(Some(Err(refusal))),
            Err(broken) => return Err(broken),
        }
    }
    Ok(None)
}

fn repeated<T: Tx>(tx: &mut T, now: Millis, call: &Call) -> Result<Option<Answer>, Error> {
    let name = &call.name;
    let before = match tx.remembered(&name.caller, &name.key) {
        Ok(Some(before)) => before,
        Ok(None) => return Ok(None),
        Err(damaged @ Error::Corrupt { .. }) => return Ok(Some(Err(damaged))),
        Err(broken) => return Err(broken),
    };
    if now.since(before.ts) >= REMEMBERED_FOR {
        return Ok(None);
    }
    if before.verb != name.verb || before.args != name.args {
        return Ok(Some(Err(Error::KeyReused { key: before.key, verb: before.verb })));
    }
    let reply = serde_json::from_str(&before.reply)
        .map_err(|error| Error::Database(format!("a remembered reply does not parse: {error}")))?;
    Ok(Some(Ok(Committed { first: before.first, last: before.last, ts: before.ts, reply, repeated: true })))
}

/// Inner: whether the guard holds; outer: that it could not be checked.
fn holds<T: Tx>(tx: &mut T, schema: &Schema, guard: &Guard) -> Result<Result<(), Error>, Error> {
    let mut cell = |table, key: &[Cell], column: &'static str| -> Result<Option<Cell>, Error> {
        let table = schema.check_key(table, key)?;
        schema.check_column(table, column)?;
        tx.cell(table, key, column)
    };
    let (held, refusal) = match guard {
        Guard::Exists { table, key, refusal } => (tx.has(schema.check_key(table, key)?, key)?, refusal),
        Guard::Absent { table, key, refusal } => (!tx.has(schema.check_key(table, key)?, key)?, refusal),
        Guard::Equals { table, key, column, value, refusal } => {
            (cell(table, key, column)?.is_some_and(|found| found == *value), refusal)
        }
        Guard::OneOf { table, key, column, values, refusal } => {
            (cell(table, key, column)?.is_some_and(|found| values.contains(&found)), refusal)
        }
        Guard::Below { table, key, column, limit, refusal } => {
            (cell(table, key, column)?.and_then(|found| found.as_int()).unwrap_or(0) < *limit, refusal)
        }
        Guard::Fewer { query, than, refusal } => {
            schema.check_query(query)?;
            (tx.count(query)? < *than, refusal)
        }
        Guard::Holds { query, rule } => {
            schema.check_query(query)?;
            let rows = tx.rows(query)?;
            let held = catch_unwind(AssertUnwindSafe(|| (rule.0)(&rows)));
            return match held {
                Ok(held) => Ok(held.map_err(Error::from)),
                Err(_) => Err(wrong(query.table, "a guard's rule panicked")),
            };
        }
    };
    Ok(if held { Ok(()) } else { Err(Error::from(refusal.clone())) })
}

/// Gives the events their places and computes their row changes.
fn plan<T: Tx>(
    tx: &mut T,
    tip: &Tip,
    rules: &Rules<'_>,
    now: Millis,
    batch: &mut Prepared,
) -> Result<Result<Plan, Error>, Error> {
    let mut tip = Tip { ts: now, ..*tip };
    let mut revs: HashMap<String, u64> = HashMap::new();
    let mut changes = Vec::new();
    let is_alone = batch.drafts.len() == 1;
    for draft in &mut batch.drafts {
        let subject = &draft.event.subject;
        let before = match revs.get(subject) {
            Some(rev) => *rev,
            None => tx.rev(subject)?,
        };
        if !is_alone {
            revs.insert(subject.clone(), before + 1);
        }
        draft.place(&tip, before + 1, rules.chain_id);
        match rules.schema.project(&draft.event) {
            Ok(more) => changes.extend(more),
            Err(defect) => return Ok(Err(defect)),
        }
        tip = Tip { lsn: draft.event.lsn, hash: draft.event.hash, ts: now };
    }
    Ok(Ok(Plan { changes, tip }))
}

fn apply<T: Tx>(tx: &mut T, plan: Plan, batch: &Prepared, committed: &Committed) -> Result<(), Error> {
    for draft in &batch.drafts {
        tx.append(draft.entry(), draft.body.as_ref())?;
    }
    for change in &plan.changes {
        tx.apply(change)?;
    }
    for (cursor, lsn) in &batch.cursors {
        tx.advance(cursor, *lsn)?;
    }
    for lsn in &batch.drop_bodies {
        tx.drop_body(*lsn)?;
    }
    if let Some(Call { name, reply }) = &batch.call {
        tx.remember(&Remembered {
            caller: name.caller.clone(),
            key: name.key.clone(),
            verb: name.verb.to_owned(),
            args: name.args,
            reply: reply.clone(),
            first: committed.first,
            last: committed.last,
            ts: committed.ts,
        })?;
    }
    Ok(())
}
