//! Threads that block on a process.

use crate::{Error, Result};

/// Starts a small thread that blocks on a process and ends with it.
pub(super) fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(64 << 10);
    thread.spawn(body).map(drop).map_err(Error::io("start a thread"))
}
