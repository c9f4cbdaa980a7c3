//! Starts processes: each gets an argv (no shell), an environment that is complete, a group of its own, limits, and an end.

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
    /// Runs it to its end, or to its limit; blocks. Whatever is left of its group afterwards is killed.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Folder`], [`Error::Spawn`]. How the process ended is no error but in [`Output`].
    pub fn output(self) -> Result<Output> {
        output::run(self)
    }

    /// Starts it with piped standard streams, for an async caller.
    ///
    /// # Errors
    /// As [`Spawn::output`]; also outside a tokio runtime with I/O enabled.
    pub fn piped(self) -> Result<Child> {
        child::start(&self)
    }

    /// Starts it with piped standard input and output, for a caller that blocks; its standard error is dropped.
    ///
    /// # Errors
    /// As [`Spawn::output`].
    pub fn duplex(self) -> Result<Duplex> {
        duplex::start(&self)
    }

    /// Starts it in a session of its own, to outlive us: standard input empty, both outputs appended to `log` or dropped.
    ///
    /// # Errors
    /// As [`Spawn::output`]; [`Error::Io`] when the log can't be opened.
    pub fn detached(self, log: Option<&Path>) -> Result<Detached> {
        detached::start(self.own_session(), log)
    }
}
