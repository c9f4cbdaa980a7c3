//! The writer's part in the index of words: steps between commits, when somebody searches or nothing else is to be done.

use protocol::event::Lsn;

use super::Writer;
use crate::sqlite::search;
use crate::sqlite::tx::Session;
use crate::{Durability, Error};

// === impl Writer ===

impl Writer {
    /// One step of the index, in a transaction of its own; `afresh` makes the index anew.
    pub(super) fn index(&mut self, afresh: bool) -> Result<Lsn, Error> {
        self.core.alive()?;
        let mut done = self.step(afresh);
        if let (Err(Error::Corrupt { what, .. }), false) = (&done, afresh) {
            tracing::warn!(what, "the index of words is damaged; it is made anew");
            self.roll_back();
            done = self.step(true);
        }
        if let Err(error) = &done {
            self.roll_back();
            if let Error::Fatal(_) = error {
                self.core.die(error.clone());
            }
        }
        done
    }

    fn step(&mut self, afresh: bool) -> Result<Lsn, Error> {
        self.set_durability(Durability::Written)?;
        self.execute("BEGIN IMMEDIATE")?;
        if afresh {
            search::discard(&self.connection)?;
        }
        let reached = search::step(&mut Session::new(&self.connection, &self.core.schema))?;
        self.execute("COMMIT")?;
        Ok(reached)
    }

    /// Whether there is an index that lacks something; one that can't be asked lacks nothing that can be done now.
    pub(super) fn lags(&self) -> bool {
        let session = Session::new(&self.connection, &self.core.schema);
        search::reached(&session).is_ok_and(|reached| reached.is_some_and(|reached| reached < self.tip.lsn))
    }
}
