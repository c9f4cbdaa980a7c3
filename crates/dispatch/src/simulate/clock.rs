//! Simulated time: the paused time of the runtime, continued from life to life of the daemon.

use std::sync::{Arc, Mutex};

use switchboard_protocol::time::Millis;
use switchboard_store::{Clock, Moment};
use tokio::time::Instant;

use crate::lock::lock;

/// Time of day at which every history begins, in milliseconds since 1970.
const BEGIN: i64 = 1_700_000_000_000;

#[derive(Clone)]
pub(super) struct SimClock(Arc<Mutex<State>>);

struct State {
    /// Milliseconds that passed in earlier lives, and between them.
    before: i64,
    /// Start of the present life.
    began: Option<Instant>,
}

// === impl SimClock ===

impl SimClock {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(State { before: 0, began: None })))
    }

    /// Returns the milliseconds since the beginning of the history.
    pub(super) fn ms(&self) -> i64 {
        let state = lock(&self.0);
        let in_life = state.began.map_or(0, |began| i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX));
        state.before + in_life
    }

    /// Begins a life of the daemon.
    pub(super) fn begin_life(&self) {
        lock(&self.0).began = Some(Instant::now());
    }

    /// Ends a life; time stands still until [`pass`](Self::pass) is called or the next life begins.
    pub(super) fn end_life(&self) {
        let now = self.ms();
        *lock(&self.0) = State { before: now, began: None };
    }

    /// Lets time pass between two lives.
    pub(super) fn pass(&self, ms: i64) {
        lock(&self.0).before += ms;
    }

    /// Returns the store's clock.
    pub(super) fn for_store(&self) -> Clock {
        let this = self.clone();
        Clock::of(move || {
            let ms = this.ms();
            Moment { wall: Millis(BEGIN + ms), steady: ms }
        })
    }
}
