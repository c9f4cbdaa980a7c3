//! The one place of the store that reads the time, and a clock for tests and simulation.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use protocol::time::Millis;

/// Where the store takes the time from. The store itself makes it monotone ([`crate::Store::now`]).
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Millis + Send + Sync>);

impl Clock {
    /// The system's wall clock.
    #[must_use]
    pub fn system() -> Self {
        Self(Arc::new(wall_clock))
    }

    /// Any source of time.
    #[must_use]
    pub fn from_fn(now: impl Fn() -> Millis + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Reads it.
    #[must_use]
    pub fn now(&self) -> Millis {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}

/// A clock that stands still until it is told otherwise.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// Starts at a point.
    #[must_use]
    pub fn at(start: Millis) -> Self {
        Self(Arc::new(AtomicI64::new(start.0)))
    }

    /// Moves by a span in milliseconds; a negative one moves it back.
    pub fn advance(&self, span: i64) {
        self.0.fetch_add(span, Ordering::SeqCst);
    }

    /// The clock to give to a store; both go together.
    #[must_use]
    pub fn clock(&self) -> Clock {
        let shared = Arc::clone(&self.0);
        Clock::from_fn(move || Millis(shared.load(Ordering::SeqCst)))
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock's one home in the store")]
fn wall_clock() -> Millis {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Millis(since.map_or(0, |span| i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
}
