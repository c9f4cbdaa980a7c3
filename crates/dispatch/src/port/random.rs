//! Random numbers, for ids and tokens.

use switchboard_protocol::error::Failure;

use crate::Error;

/// A source of random numbers.
pub(crate) trait Random: Send + Sync {
    /// Returns 64 random bits.
    ///
    /// # Errors
    /// When the source fails.
    fn bits(&self) -> Result<u64, Error>;
}

/// Random numbers of the operating system.
pub(crate) struct System;

impl Random for System {
    fn bits(&self) -> Result<u64, Error> {
        getrandom::u64().map_err(|error| Failure::new("internal.bug", format!("no random numbers: {error}")).into())
    }
}
