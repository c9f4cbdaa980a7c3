//! The end that `kill -9` brings, for tests that want to know what it leaves behind.

use rustix::process::{Signal, getpid, kill_process};

/// Kills this very process: no destructor runs, nothing is flushed.
pub fn die() -> ! {
    if kill_process(getpid(), Signal::KILL).is_err() {
        std::process::abort();
    }
    // The signal is on its way and can't be caught.
    loop {
        std::thread::park();
    }
}
