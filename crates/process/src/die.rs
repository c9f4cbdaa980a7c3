//! Ends the process like `kill -9`, for tests of what that leaves behind.

use rustix::process::{Signal, getpid, kill_process};

/// Kills this process: no destructor runs, nothing is flushed.
pub fn die() -> ! {
    if kill_process(getpid(), Signal::KILL).is_err() {
        std::process::abort();
    }
    // The signal is on its way and can't be caught.
    loop {
        std::thread::park();
    }
}
