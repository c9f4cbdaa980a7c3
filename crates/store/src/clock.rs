//! Where the store takes the time from: the system, or a test or simulation.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use switchboard_process::clock::now;
use switchboard_protocol::time::Millis;

use crate::core::lock;

/// What a clock shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The time of day, which may jump.
    pub wall: Millis,
    /// Milliseconds since some point, which run on whatever happens to the time of day; they may stand still while the machine
    /// sleeps.
    pub steady: i64,
}

/// Where the store takes the time from. The store itself makes it monotone, and lets it go on where the time of day has
/// jumped back ([`crate::Store::now`]).
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Moment + Send + Sync>);

impl Clock {
    /// The system's clocks.
    #[must_use]
    pub fn system() -> Self {
        let start = Instant::now();
        let steady = move || i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX);
        Self(Arc::new(move || Moment { wall: now(), steady: steady() }))
    }

    /// A clock that shows what a function says, for simulation.
    #[must_use]
    pub fn of(read: impl Fn() -> Moment + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// Reads it.
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

/// A clock that stands still until it is told otherwise.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Mutex<Moment>>);

impl ManualClock {
    /// Starts at a point.
    #[must_use]
    pub fn at(start: Millis) -> Self {
        Self(Arc::new(Mutex::new(Moment { wall: start, steady: 0 })))
    }

    /// Lets a span of milliseconds pass; a negative one only puts the time of day back.
    pub fn advance(&self, span: i64) {
        let mut moment = lock(&self.0);
        moment.wall = moment.wall.plus(span);
        moment.steady += span.max(0);
    }

    /// The clock to give to a store; both go together.
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
