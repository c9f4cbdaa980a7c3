//! Combined declarations of all parts, checked once; changes and queries are checked against them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;
use switchboard_protocol::event::{Event, Facts};
use switchboard_protocol::id::Digest;

use crate::query::Op;
use crate::sqlite::Statements;
use crate::{Cell, Change, Error, Projection, Query, Row, Table, Ty};

/// Tables of the store itself; a part can't declare these.
const RESERVED: &[&str] = &["events", "bodies", "meta", "idempotency", "cursors", "projections", "search"];

/// Maximum length of the list of [`Op::In`].
const MAX_IN: usize = 1000;

/// Tables, projectors and upcasters of all parts.
pub(crate) struct Schema {
    projections: Vec<Box<dyn Projection>>,
    tables: BTreeMap<&'static str, Declared>,
    lifts: HashMap<(&'static str, u16), Lift>,
}

/// See [`crate::Upcaster::lift`].
type Lift = fn(Value) -> Value;

/// A table and the index of the projection that owns it.
struct Declared {
    table: &'static Table,
    owner: usize,
    statements: Statements,
}

// === impl Schema ===

impl Schema {
    /// Combines the declarations; fails if one is invalid.
    pub(crate) fn new(projections: Vec<Box<dyn Projection>>) -> Result<Self, Error> {
        let mut tables = BTreeMap::new();
        let mut lifts = HashMap::new();
        for (owner, projection) in projections.iter().enumerate() {
            for table in projection.tables() {
                check_table(table)?;
                if tables.insert(table.name, Declared { table, owner, statements: Statements::of(table) }).is_some() {
                    return Err(wrong(table.name, "is declared twice"));
                }
            }
            for upcaster in projection.upcasters() {
                if upcaster.from == u16::MAX || lifts.insert((upcaster.kind, upcaster.from), upcaster.lift).is_some() {
                    return Err(wrong(upcaster.kind, format!("version {} is lifted twice", upcaster.from)));
                }
            }
        }
        Ok(Self { projections, tables, lifts })
    }

    /// Returns the declared table with this name.
    pub(crate) fn table(&self, name: &str) -> Result<&'static Table, Error> {
        self.tables.get(name).map(|declared| declared.table).ok_or_else(|| wrong(name, "is not declared"))
    }

    /// Returns the SQL statements of a declared table.
    pub(crate) fn statements(&self, table: &Table) -> Result<&Statements, Error> {
        let declared = self.tables.get(table.name);
        declared.map(|declared| &declared.statements).ok_or_else(|| wrong(table.name, "is not declared"))
    }

    /// Returns all tables, sorted by name.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &'static Table> {
        self.tables.values().map(|declared| declared.table)
    }

    /// Returns the index of the projection that owns a table.
    pub(crate) fn owner(&self, table: &Table) -> usize {
        self.tables.get(table.name).map_or(usize::MAX, |declared| declared.owner)
    }

    /// Returns a text that changes whenever a table's declaration or its projector's version does.
    pub(crate) fn shape(&self, table: &Table) -> String {
        let version = self.projections.get(self.owner(table)).map_or(0, |projection| projection.version());
        let declaration = format!("{:?} {:?} {:?} {:?}", table.columns, table.key, table.indexes, table.sparse);
        format!("{version}:{}", Digest::of(declaration.as_bytes()).hex())
    }

    /// Returns all checked row changes of an event.
    pub(crate) fn project(&self, event: &Event) -> Result<Vec<Change>, Error> {
        let mut all = Vec::new();
        for owner in 0..self.projections.len() {
            all.extend(self.project_one(owner, event)?);
        }
        Ok(all)
    }

    /// Returns the checked row changes of an event by one projection.
    pub(crate) fn project_one(&self, owner: usize, event: &Event) -> Result<Vec<Change>, Error> {
        let Some(projection) = self.projections.get(owner) else { return Ok(Vec::new()) };
        if !projection.prefixes().iter().any(|prefix| event.kind.starts_with(prefix)) {
            return Ok(Vec::new());
        }
        // A projector that panics on an event refuses that event; the panic must not end the writer.
        let projected = catch_unwind(AssertUnwindSafe(|| projection.project(event)));
        let changes = projected.map_err(|_| wrong(&event.kind, "a projector panicked on an event of this kind"))?;
        for change in &changes {
            self.check_change(owner, change)?;
        }
        Ok(changes)
    }

    /// Returns true if the bodies of this kind of event can be searched.
    pub(crate) fn is_searched(&self, kind: &str) -> bool {
        self.projections.iter().any(|projection| projection.searched().contains(&kind))
    }

    /// Returns all kinds of events whose bodies can be searched.
    pub(crate) fn searched(&self) -> BTreeSet<&'static str> {
        self.projections.iter().flat_map(|projection| projection.searched().iter().copied()).collect()
    }

    /// Lifts facts to the newest known version.
    ///
    /// # Errors
    /// If they have to be lifted, and are nested deeper than `serde_json` reads.
    pub(crate) fn lift(&self, kind: &str, mut v: u16, facts: Facts) -> Result<(u16, Facts), serde_json::Error> {
        if self.lifts.is_empty() || !self.lifts.contains_key(&(kind, v)) {
            return Ok((v, facts));
        }
        let mut value = facts.to_value()?;
        while let Some(lift) = self.lifts.get(&(kind, v)) {
            value = lift(value);
            v = v.saturating_add(1);
        }
        Ok((v, Facts::from(value)))
    }

    /// Checks a query and returns its table.
    pub(crate) fn check_query(&self, query: &Query) -> Result<&'static Table, Error> {
        let table = self.table(query.table)?;
        for condition in &query.filter {
            let cells = match &condition.op {
                Op::Eq(cell) | Op::Ne(cell) | Op::Lt(cell) | Op::Le(cell) | Op::Gt(cell) | Op::Ge(cell) => {
                    std::slice::from_ref(cell)
                }
                Op::In(cells) if cells.len() > MAX_IN => return Err(wrong(table.name, "too long a list to look in")),
                Op::In(cells) => cells.as_slice(),
            };
            for cell in cells {
                check_cell(table, condition.column, cell)?;
            }
        }
        for (column, _) in &query.order {
            check_cell(table, column, &Cell::Null)?;
        }
        Ok(table)
    }

    /// Checks a key against a table.
    pub(crate) fn check_key(&self, table: &'static str, key: &[Cell]) -> Result<&'static Table, Error> {
        let table = self.table(table)?;
        check_key(table, key)?;
        Ok(table)
    }

    /// Checks that a table has a column.
    pub(crate) fn check_column(&self, table: &Table, name: &str) -> Result<(), Error> {
        column(table, name).map(|_| ())
    }

    fn check_change(&self, owner: usize, change: &Change) -> Result<(), Error> {
        let table = self.table(change.table())?;
        if self.owner(table) != owner {
            return Err(wrong(table.name, "is written by a part that doesn't own it"));
        }
        match change {
            Change::Put { row, .. } => check_row(table, row),
            Change::Delete { key, .. } => check_key(table, key),
            Change::Patch { key, set, .. } => {
                check_key(table, key)?;
                set.iter().try_for_each(|(column, cell)| check_settable(table, column, cell))
            }
            Change::Add { key, by, .. } => {
                check_key(table, key)?;
                by.iter().try_for_each(|(column, by)| check_settable(table, column, &Cell::Int(*by)))
            }
        }
    }
}

/// Returns the error for a declaration, change or query that doesn't fit.
pub(crate) fn wrong(table: &str, what: impl Into<String>) -> Error {
    Error::Schema { table: table.to_owned(), what: what.into() }
}

fn check_table(table: &'static Table) -> Result<(), Error> {
    if !is_name(table.name)
        || RESERVED.contains(&table.name)
        || table.name.starts_with("sqlite")
        || table.name.starts_with("search_")
    {
        return Err(wrong(table.name, "can't be the name of a table"));
    }
    for (at, column) in table.columns.iter().enumerate() {
        if !is_name(column.name) {
            return Err(wrong(table.name, format!("{:?} can't be the name of a column", column.name)));
        }
        if table.columns[..at].iter().any(|earlier| earlier.name == column.name) {
            return Err(wrong(table.name, format!("column {} is declared twice", column.name)));
        }
    }
    if table.key.is_empty() {
        return Err(wrong(table.name, "has no key"));
    }
    let indexes = table.indexes.iter().chain(table.sparse).copied().flatten();
    let named = table.key.iter().chain(indexes);
    for name in named {
        column(table, name)?;
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn column(table: &Table, name: &str) -> Result<Ty, Error> {
    table.column(name).map(|column| column.ty).ok_or_else(|| wrong(table.name, format!("has no column {name}")))
}

fn check_cell(table: &Table, name: &str, cell: &Cell) -> Result<(), Error> {
    match (column(table, name)?, cell) {
        (_, Cell::Null) | (Ty::Int, Cell::Int(_)) | (Ty::Text, Cell::Text(_)) => Ok(()),
        (ty @ (Ty::Int | Ty::Text), Cell::Int(_) | Cell::Text(_)) => {
            Err(wrong(table.name, format!("column {name} holds {ty:?}")))
        }
    }
}

fn check_settable(table: &Table, name: &str, cell: &Cell) -> Result<(), Error> {
    if table.key.contains(&name) {
        return Err(wrong(table.name, format!("column {name} is part of the key and can't be changed")));
    }
    check_cell(table, name, cell)
}

fn check_key(table: &Table, key: &[Cell]) -> Result<(), Error> {
    if key.len() != table.key.len() {
        return Err(wrong(table.name, format!("a key has {} cells, not {}", table.key.len(), key.len())));
    }
    table.key.iter().zip(key).try_for_each(|(name, cell)| check_key_cell(table, name, cell))
}

fn check_key_cell(table: &Table, name: &str, cell: &Cell) -> Result<(), Error> {
    if cell.is_null() {
        return Err(wrong(table.name, format!("key column {name} is null")));
    }
    check_cell(table, name, cell)
}

fn check_row(table: &Table, row: &Row) -> Result<(), Error> {
    for (name, cell) in row.iter() {
        check_cell(table, name, cell)?;
    }
    table.key.iter().try_for_each(|name| check_key_cell(table, name, row.get(name)))
}
