//! Starts processes: each gets an argv (no shell), a complete environment, a separate group, limits, and an end.

mod builder;
mod capture;
mod child;
mod detached;
mod duplex;
mod exit;
mod leader;
mod limits;
mod output;
mod thread;
mod which;

use std::path::Path;

pub use builder::{DEFAULT_KEEP, DEFAULT_WALL, Spawn};
pub use capture::Capture;
pub use child::{Child, Terminated};
pub use detached::Detached;
pub use duplex::Duplex;
pub use exit::Exit;
pub use limits::Limits;
pub use output::{End, Output, StopFlag};
pub use rustix::process::Signal;
pub use which::which;

use crate::Result;

// === impl Spawn ===

impl Spawn {
    /// Runs the process to its end, or to its limit; blocks. What is left of its group afterwards is killed.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Folder`], [`Error::Spawn`]. A failure of the process itself is no error but reported in [`Output`].
    pub fn output(self) -> Result<Output> {
        output::run(self)
    }

    /// Starts the process with piped standard streams, for an async caller.
    ///
    /// # Errors
    /// As [`Spawn::output`]; also outside a tokio runtime with I/O enabled.
    pub fn piped(self) -> Result<Child> {
        child::start(&self)
    }

    /// Starts the process with piped standard input and output, for a caller that blocks; its standard error is dropped.
    ///
    /// # Errors
    /// As [`Spawn::output`].
    pub fn duplex(self) -> Result<Duplex> {
        duplex::start(&self)
    }

    /// Starts the process in a separate session, so that it outlives us: standard input empty, both outputs appended to `log` or dropped.
    ///
    /// # Errors
    /// As [`Spawn::output`]; [`Error::Io`] when the log can't be opened.
    pub fn detached(self, log: Option<&Path>) -> Result<Detached> {
        detached::start(self.own_session(), log)
    }
}
