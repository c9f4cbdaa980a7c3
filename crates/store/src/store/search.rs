//! [`Store::search`].

use std::time::Duration;

use switchboard_protocol::event::Lsn;

use super::{Backend, Store};
use crate::Error;
use crate::search::{Found, Search, Words};

/// Most events of one answer.
const MAX_LIMIT: usize = 1_000;

/// How long a search waits for the index to come up to the head; the first one in a long log has it made.
const INDEX: Duration = Duration::from_secs(10);

impl Store {
    /// The events before `before` whose bodies hold the words, newest first, at most `limit` and 1,000. Looks into bodies
    /// of the kinds that a part declares ([`Projection::searched`](crate::Projection::searched)). Blocks, for seconds when
    /// the index must be made first: belongs on a thread of its own.
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
