//! Decides when a delegation is over: from then on, calls count for the architect again, not for the delegated role.

use switchboard_protocol::time::Millis;

use super::{Finding, FindingKind, Reaction};

/// How long after its end a delegation may still have calls under way: slow file and network calls end later than the turn.
const LATE_CALLS_MS: i64 = 10_000;
/// How long a delegation that has not ended may say nothing.
pub(super) const SILENT_MS: i64 = 2 * 3_600_000;

/// What was heard of a delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// An event of its worker.
    Event,
    /// Its end.
    Ended,
    /// Nothing; time has passed.
    Tick,
}

/// One delegation. It is over once it has ended *and* nothing was heard for [`LATE_CALLS_MS`]: either alone would count a late call, or a slow one, for
/// the wrong role.
#[derive(Debug, Clone)]
pub struct DelegationWindow {
    role: String,
    last: Millis,
    has_ended: bool,
    is_over: bool,
}

impl DelegationWindow {
    /// A delegation that begins.
    #[must_use]
    pub fn new(role: &str, now: Millis) -> Self {
        Self { role: role.to_owned(), last: now, has_ended: false, is_over: false }
    }

    /// Takes what was heard. The end of the window is found once.
    pub fn step(&mut self, heard: Heard, now: Millis) -> Option<Finding> {
        let finding = self.elapse(now);
        match heard {
            Heard::Event => self.last = self.last.max(now),
            Heard::Ended => {
                self.last = self.last.max(now);
                self.has_ended = true;
            }
            Heard::Tick => {}
        }
        finding
    }

    /// Whether calls count for the architect again.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    fn elapse(&mut self, now: Millis) -> Option<Finding> {
        let silent = now.since(self.last);
        if self.is_over {
            return None;
        }
        let seconds = silent / 1000;
        let (reaction, words) = if self.has_ended && silent > LATE_CALLS_MS {
            let words =
                format!("{} ended and was silent for {seconds} s: calls count for the architect again", self.role);
            (Reaction::Warn, words)
        } else if !self.has_ended && silent >= SILENT_MS {
            (Reaction::Stop, format!("{} has said nothing for {} minutes and has not ended", self.role, seconds / 60))
        } else {
            return None;
        };
        self.is_over = true;
        Some(Finding::new(FindingKind::StaleDelegation, reaction, words))
    }
}
