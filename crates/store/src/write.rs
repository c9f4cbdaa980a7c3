//! The semantics of a commit, for every backend: it is decided from a view of the data, then performed. Between the
//! two, a backend may do what it needs to guarantee its promises.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::Digest;
use switchboard_protocol::time::Millis;

use crate::prepared::{Call, Prepared};
use crate::record::{Body, Entry, Tip};
use crate::schema::{Schema, wrong};
use crate::{Cell, Change, Committed, Error, Guard, Query, Row, Table};

/// How long a call's key is remembered, in milliseconds: 24 hours.
pub(crate) const REMEMBERED_FOR: i64 = 24 * 60 * 60 * 1000;

/// Answer to one batch.
pub(crate) type Answer = Result<Committed, Error>;

/// Data that a decision reads. Tables, keys and queries have been checked against the schema.
pub(crate) trait View {
    /// Returns the revision of a subject; 0 if it doesn't exist.
    fn rev(&mut self, subject: &str) -> Result<u64, Error>;
    /// Returns true if there is a row with this key.
    fn has(&mut self, table: &'static Table, key: &[Cell]) -> Result<bool, Error>;
    /// Returns one column of the row with this key, if there is one.
    fn cell(&mut self, table: &'static Table, key: &[Cell], column: &'static str) -> Result<Option<Cell>, Error>;
    /// Returns the rows that match a query.
    fn rows(&mut self, query: &Query) -> Result<Vec<Row>, Error>;
    /// Returns the number of rows that match a query.
    fn count(&mut self, query: &Query) -> Result<u64, Error>;
    /// Returns the remembered call under a key.
    fn remembered(&mut self, caller: &str, key: &str) -> Result<Option<Remembered>, Error>;
}

/// Target of a decided batch.
pub(crate) trait Tx {
    /// Appends an event.
    fn append(&mut self, entry: Entry<'_>, body: Option<&Body>) -> Result<(), Error>;
    /// Changes a row.
    fn apply(&mut self, change: &Change) -> Result<(), Error>;
    /// Moves a cursor forward, never back.
    fn advance(&mut self, cursor: &str, lsn: Lsn) -> Result<(), Error>;
    /// Drops an event's body and salt.
    fn drop_body(&mut self, lsn: Lsn) -> Result<(), Error>;
    /// Remembers a call, replacing the one under its key.
    fn remember(&mut self, call: &Remembered) -> Result<(), Error>;
}

/// A completed call and its answer.
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

/// Values that all batches of a store share.
pub(crate) struct Rules<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) chain_id: &'a str,
    pub(crate) epoch: u64,
}

/// The writes of a batch besides its own events; nothing can be refused any more.
pub(crate) struct Plan {
    pub(crate) changes: Vec<Change>,
    pub(crate) call: Option<Remembered>,
    /// Answer to the caller; taken once.
    pub(crate) committed: Option<Committed>,
    /// End of the log after the batch.
    pub(crate) tip: Tip,
}

/// Decision about a batch.
pub(crate) enum Verdict {
    /// The batch is to be written.
    Write(Box<Plan>),
    /// The batch is answered without a write: it is refused, or was made before.
    Answer(Answer),
}

/// Decides about one batch and assigns its events their positions after the tip. An error means that it could not be
/// decided.
pub(crate) fn decide<V: View>(
    view: &mut V,
    tip: &Tip,
    rules: &Rules<'_>,
    now: Millis,
    batch: &mut Prepared,
) -> Result<Verdict, Error> {
    let now = now.max(tip.ts);
    if let Some(answer) = check(view, rules, now, batch)? {
        return Ok(Verdict::Answer(answer));
    }
    let (changes, end) = match place(view, tip, rules, now, batch)? {
        Ok(placed) => placed,
        Err(refused) => return Ok(Verdict::Answer(Err(refused))),
    };
    if let Some((_, ahead)) = batch.cursors.iter().find(|(_, lsn)| *lsn > end.lsn) {
        return Ok(Verdict::Answer(Err(Error::Ahead { cursor: *ahead, head: end.lsn })));
    }
    // A future event can't be dropped; remembering the request would drop the event when it is written.
    batch.drop_bodies.retain(|lsn| *lsn <= end.lsn);
    let (first, last) = (tip.lsn + 1, end.lsn);
    let call = batch.call.as_ref().map(|Call { name, reply }| Remembered {
        caller: name.caller.clone(),
        key: name.key.clone(),
        verb: name.verb.to_owned(),
        args: name.args,
        reply: reply.clone(),
        first,
        last,
        ts: end.ts,
    });
    let committed = Committed { first, last, ts: end.ts, reply: std::mem::take(&mut batch.reply), repeated: false };
    Ok(Verdict::Write(Box::new(Plan { changes, call, committed: Some(committed), tip: end })))
}

/// Writes what was decided.
pub(crate) fn perform<T: Tx>(tx: &mut T, batch: &Prepared, plan: &Plan) -> Result<(), Error> {
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
    plan.call.as_ref().map_or(Ok(()), |call| tx.remember(call))
}

/// Performs the checks in the order of their cost and precedence: epoch, repetition, revisions, guards.
fn check<V: View>(view: &mut V, rules: &Rules<'_>, now: Millis, batch: &Prepared) -> Result<Option<Answer>, Error> {
    if let Some(given) = batch.epoch.filter(|given| *given != rules.epoch) {
        return Ok(Some(Err(Error::StaleEpoch { given, current: rules.epoch })));
    }
    if let Some(call) = &batch.call
        && let Some(answer) = repeated(view, now, call)?
    {
        return Ok(Some(answer));
    }
    for (subject, expected) in &batch.expect {
        let found = view.rev(subject)?;
        if found != *expected {
            return Ok(Some(Err(Error::Conflict { subject: subject.clone(), expected: *expected, found })));
        }
    }
    for guard in &batch.guards {
        match holds(view, rules.schema, guard) {
            Ok(Ok(())) => {}
            Ok(Err(refusal)) | Err(refusal @ Error::Schema { .. }) => return Ok(Some(Err(refusal))),
            Err(broken) => return Err(broken),
        }
    }
    Ok(None)
}

fn repeated<V: View>(view: &mut V, now: Millis, call: &Call) -> Result<Option<Answer>, Error> {
    let name = &call.name;
    let before = match view.remembered(&name.caller, &name.key) {
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

/// Evaluates a guard. The inner result is the guard's, the outer one fails if it could not be checked.
fn holds<V: View>(view: &mut V, schema: &Schema, guard: &Guard) -> Result<Result<(), Error>, Error> {
    let mut cell = |table, key: &[Cell], column: &'static str| -> Result<Option<Cell>, Error> {
        let table = schema.check_key(table, key)?;
        schema.check_column(table, column)?;
        view.cell(table, key, column)
    };
    let (held, refusal) = match guard {
        Guard::Exists { table, key, refusal } => (view.has(schema.check_key(table, key)?, key)?, refusal),
        Guard::Absent { table, key, refusal } => (!view.has(schema.check_key(table, key)?, key)?, refusal),
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
            (view.count(query)? < *than, refusal)
        }
        Guard::Holds { query, rule } => {
            schema.check_query(query)?;
            let rows = view.rows(query)?;
            let held = catch_unwind(AssertUnwindSafe(|| (rule.0)(&rows)));
            return match held {
                Ok(held) => Ok(held.map_err(Error::from)),
                Err(_) => Err(wrong(query.table, "a guard's rule panicked")),
            };
        }
    };
    Ok(if held { Ok(()) } else { Err(Error::from(refusal.clone())) })
}

/// Assigns the events their positions and computes their row changes.
fn place<V: View>(
    view: &mut V,
    tip: &Tip,
    rules: &Rules<'_>,
    now: Millis,
    batch: &mut Prepared,
) -> Result<Result<(Vec<Change>, Tip), Error>, Error> {
    let mut tip = Tip { ts: now, ..*tip };
    let mut revs: HashMap<String, u64> = HashMap::new();
    let mut changes = Vec::new();
    let is_alone = batch.drafts.len() == 1;
    for draft in &mut batch.drafts {
        let subject = &draft.event.subject;
        let before = match revs.get(subject) {
            Some(rev) => *rev,
            None => view.rev(subject)?,
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
    Ok(Ok((changes, tip)))
}
