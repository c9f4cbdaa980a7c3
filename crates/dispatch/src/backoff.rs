//! Pauses between attempts, each twice as long as the one before.

use std::time::Duration;

/// First pause: a full queue of the store is usually empty again within milliseconds.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// Longest pause, so that a run goes on soon after disk space was freed.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Length of the next pause.
#[derive(Debug)]
pub(crate) struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(FIRST_PAUSE)
    }
}

// === impl Backoff ===

impl Backoff {
    /// Returns the pause to make now.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(LONGEST_PAUSE);
        pause
    }

    /// Starts over after a success.
    pub(crate) fn reset(&mut self) {
        self.0 = FIRST_PAUSE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_limit_and_start_over() {
        let mut backoff = Backoff::default();

        let pauses: Vec<_> = (0..12).map(|_| backoff.next().as_millis()).collect();
        backoff.reset();

        assert_eq!(pauses, [20, 40, 80, 160, 320, 640, 1280, 2560, 5000, 5000, 5000, 5000]);
        assert_eq!(backoff.next(), FIRST_PAUSE);
    }
}
