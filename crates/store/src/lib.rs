//! The event log and its projections: commit, read, tail, verify, on SQLite and in memory.
//!
//! Start at [`Store`]. A [`Batch`] of events is committed under guards and expected revisions, as one transaction. The
//! [`Projection`]s of the parts turn each event into row changes inside it. [`Query`] reads the rows, [`Store::events`]
//! the log. Nothing outside this crate uses SQL.

mod batch;
mod cell;
mod clock;
mod config;
mod core;
mod error;
mod export;
mod guard;
mod io_hook;
mod lock;
mod log;
mod mem;
mod mount;
mod prepared;
mod query;
mod record;
mod schema;
mod search;
mod sqlite;
mod store;
mod table;
mod verify;
mod waiters;
mod write;

pub use batch::{Batch, Committed, Durability, Idempotency};
pub use cell::{Cell, Key, Row};
pub use clock::{Clock, ManualClock, Moment};
pub use config::{Checkpoint, CheckpointStats, Config, Head, Scan};
pub use error::Error;
pub use export::{verify_export, verify_export_with};
pub use guard::{Guard, Holds, Rule};
pub use io_hook::{IoEvent, IoHook};
pub use log::{DamageSite, Finding};
pub use query::{Condition, Direction, Filter, Op, Query};
pub use search::{Found, Words};
pub use store::{Retention, Store, Swept, backup_file, restore, verify_file};
pub use table::{Change, Column, Projection, Table, Ty, Upcaster};
pub use verify::{Report, Restored, Scope};
pub use waiters::{Interest, Subscription};
