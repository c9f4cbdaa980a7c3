//! The store's source of time: the system, a test or a simulation.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use switchboard_process::clock::now;
use switchboard_protocol::time::Millis;

use crate::core::lock;

/// Reading of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Time of day, which may jump.
    pub wall: Millis,
    /// Milliseconds since some point in time. They advance regardless of the time of day, but may stop while the
    /// machine sleeps.
    pub steady: i64,
}

/// The store's source of time. The store itself makes it monotonic, and continues if the time of day jumps back
/// ([`crate::Store::now`]).
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Moment + Send + Sync>);

impl Clock {
    /// Returns the system's clocks.
    #[must_use]
    pub fn system() -> Self {
        let start = Instant::now();
        let steady = move || i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX);
        Self(Arc::new(move || Moment { wall: now(), steady: steady() }))
    }

    /// Returns a clock that a function controls, for simulation.
    #[must_use]
    pub fn of(read: impl Fn() -> Moment + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// Reads the clock.
    #[must_use]
    pub fn read(&self) -> Moment {
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
        f.debug_tuple("Clock").field(&self.read()).finish()
    }
}

/// A clock that advances only on request.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Mutex<Moment>>);

impl ManualClock {
    /// Creates a clock at this time.
    #[must_use]
    pub fn at(start: Millis) -> Self {
        Self(Arc::new(Mutex::new(Moment { wall: start, steady: 0 })))
    }

    /// Advances the clock by a span in milliseconds; a negative one only sets back the time of day.
    pub fn advance(&self, span: i64) {
        let mut moment = lock(&self.0);
        moment.wall = moment.wall.plus(span);
        moment.steady += span.max(0);
    }

    /// Returns the clock to pass to a store; it follows this one.
    #[must_use]
    pub fn clock(&self) -> Clock {
        let shared = Arc::clone(&self.0);
        Clock(Arc::new(move || *lock(&shared)))
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::at(Millis(0))
    }
}
