//! Parameters of every bus measurement, and the load beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Size of every measured message, in bytes.
pub(super) const BODY: usize = 1024;
/// Number of senders at once.
pub(super) const MANY: usize = 64;
/// Number of agents that receive the messages.
pub(super) const AGENTS: usize = 64;

/// Two busy loops for each core, ended when dropped.
pub(super) struct CpuLoad {
    goes: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

// === impl CpuLoad ===

impl CpuLoad {
    /// Starts the loops.
    ///
    /// # Errors
    /// When the number of cores is unknown.
    pub(super) fn start() -> anyhow::Result<Self> {
        let goes = Arc::new(AtomicBool::new(true));
        let cores = std::thread::available_parallelism()?.get();
        let threads = (0..2 * cores).map(|_| {
            let goes = Arc::clone(&goes);
            std::thread::spawn(move || {
                while goes.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        });
        Ok(Self { threads: threads.collect(), goes })
    }
}

impl Drop for CpuLoad {
    fn drop(&mut self) {
        self.goes.store(false, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A loop that panicked has ended too.
            let _ = thread.join();
        }
    }
}
