//! The one place that reads the clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use switchboard_protocol::time::Millis;

/// The time of day, in milliseconds since 1970; 0 on a machine whose clock stands before that.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the clock's one home")]
pub fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A point on the monotonic clock, which no change of the time of day moves.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// Lies `span` from now; a span that the clock can't represent means never.
    #[must_use]
    pub fn after(span: Duration) -> Self {
        Self(Instant::now().checked_add(span))
    }

    /// Time left, zero when it has passed, [`Duration::MAX`] when it never comes.
    #[must_use]
    pub fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Is it over?
    #[must_use]
    pub fn has_passed(self) -> bool {
        self.left().is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_of_no_time_has_passed_and_an_endless_one_never_does() {
        assert!(Deadline::after(Duration::ZERO).has_passed());
        assert!(!Deadline::after(Duration::MAX).has_passed());
        assert!(Deadline::after(Duration::from_secs(60)).left() <= Duration::from_secs(60));
    }

    #[test]
    fn now_lies_after_this_was_written() {
        assert!(now() > Millis::parse("2026-01-01T00:00:00Z").unwrap());
    }
}
