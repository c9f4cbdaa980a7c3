//! Leases' own clock: it runs while a daemon runs, regardless of the time of day.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Source of milliseconds since some point in this process's life. It never goes back, and may stop while the machine
/// sleeps.
#[derive(Clone)]
pub struct Uptime(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Uptime {
    /// Returns the system's monotonic clock.
    #[must_use]
    pub fn system() -> Self {
        let start = Instant::now();
        Self::from_fn(move || u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Returns a clock with a given source.
    #[must_use]
    pub fn from_fn(now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    fn now(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Uptime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Uptime").field(&self.now()).finish()
    }
}

/// Clock of a book: its state when this daemon began, plus the time since.
#[derive(Debug, Clone)]
pub(super) struct LeaseClock {
    uptime: Uptime,
    base: u64,
    begun: u64,
}

// === impl LeaseClock ===

impl LeaseClock {
    /// Continues from the state of the last daemon's clock.
    pub(super) fn resume(uptime: Uptime, base: u64) -> Self {
        let begun = uptime.now();
        Self { uptime, base, begun }
    }

    pub(super) fn now(&self) -> u64 {
        self.base.saturating_add(self.uptime.now().saturating_sub(self.begun))
    }
}
