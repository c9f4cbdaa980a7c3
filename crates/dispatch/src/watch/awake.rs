//! Finds out for how long the machine was suspended, by two clocks: meanwhile the time of day goes on, and the clock of
//! the timers stands still.

use switchboard_protocol::time::Millis;
use tokio::time::Instant;

/// Shortest time that counts as suspended. Shorter differences of the clocks add up.
const LEAST_MS: i64 = 30_000;

/// Readings of both clocks at the same moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Awake {
    day: Millis,
    timers: Instant,
}

// === impl Awake ===

impl Awake {
    pub(super) const fn new(day: Millis, timers: Instant) -> Self {
        Self { day, timers }
    }

    /// Returns the milliseconds for which the machine was suspended since the last suspension that was returned.
    pub(super) fn step(&mut self, day: Millis, timers: Instant) -> Option<u64> {
        let awake = i64::try_from(timers.duration_since(self.timers).as_millis()).unwrap_or(i64::MAX);
        let suspended = day.since(self.day).saturating_sub(awake);
        if suspended < LEAST_MS {
            return None;
        }
        *self = Self::new(day, timers);
        u64::try_from(suspended).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_time_that_only_the_time_of_day_has_seen_is_returned_once() {
        let (begin, minute) = (Instant::now(), Duration::from_secs(60));
        let mut awake = Awake::new(Millis(0), begin);

        assert_eq!(awake.step(Millis(60_000), begin + minute), None);
        assert_eq!(awake.step(Millis(3_720_000), begin + 2 * minute), Some(3_600_000));
        assert_eq!(awake.step(Millis(3_780_000), begin + 3 * minute), None);
    }

    #[test]
    fn short_suspensions_add_up_and_a_time_of_day_that_is_set_back_is_none() {
        let (begin, minute) = (Instant::now(), Duration::from_secs(60));
        let mut awake = Awake::new(Millis(0), begin);

        assert_eq!(awake.step(Millis(80_000), begin + minute), None);
        assert_eq!(awake.step(Millis(160_000), begin + 2 * minute), Some(40_000));
        assert_eq!(awake.step(Millis(100_000), begin + 3 * minute), None);
    }
}
