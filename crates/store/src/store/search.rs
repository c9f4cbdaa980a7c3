//! [`Store::search`].

use std::time::Duration;

use switchboard_protocol::event::Lsn;

use super::{Backend, Store};
use crate::Error;
use crate::search::{Found, Search, Words};

/// Maximum number of events in one answer.
const MAX_LIMIT: usize = 1_000;

/// How long a search waits until the index is up to date; the first search in a long log creates it.
const INDEX: Duration = Duration::from_secs(10);

impl Store {
    /// Returns the events before `before` whose bodies match the query, newest first, at most `limit` and 1,000.
    /// Searches bodies of the kinds that a part declares ([`Projection::searched`](crate::Projection::searched)).
    /// Blocks, for seconds if the index must be created first, so it should run on a thread of its own.
    ///
    /// # Errors
    /// [`Error::Busy`] as for [`read`](Self::read); [`Error::Fatal`] when the disk fails.
    pub fn search(&self, words: &Words, before: Option<Lsn>, limit: usize) -> Result<Found, Error> {
        let limit = limit.min(MAX_LIMIT) as u64;
        let search = Search { words, before: before.unwrap_or(Lsn::MAX), limit };
        match &self.inner.backend {
            Backend::Sqlite(sqlite) => sqlite.search(&self.inner.core, &search, INDEX),
            Backend::Memory(memory) => {
                let lsns = self.inner.alive(memory)?.search(&self.inner.core.schema, &search);
                Ok(Found { lsns, is_whole: true })
            }
        }
    }
}
