//! Finds delegations that have become stale: their worker shows no sign of life for longer than a window.

use std::collections::BTreeSet;

use switchboard_protocol::time::Millis;

use super::{Finding, FindingKind, Reaction};

const MINUTE_MS: i64 = 60_000;

/// Window of a delegation. Reports of the worker and output of its agent are signs of life; a heartbeat of its shim is
/// none. While a person owes the worker an answer, time doesn't count.
#[derive(Debug, Clone)]
pub struct Window {
    role: String,
    minutes: u32,
    heard: Millis,
    /// Open questions of the worker to a person.
    asks: BTreeSet<String>,
    is_found: bool,
}

// === impl Window ===

impl Window {
    /// Begins the window of a worker in a role.
    #[must_use]
    pub fn new(role: &str, minutes: u32, now: Millis) -> Self {
        Self { role: role.to_owned(), minutes, heard: now, asks: BTreeSet::new(), is_found: false }
    }

    /// Records a sign of life. One that is older than the last is ignored.
    pub fn heard(&mut self, at: Millis) {
        self.heard = self.heard.max(at);
    }

    /// Extends the window by the time during which the machine was suspended.
    pub fn stood_still(&mut self, ms: i64) {
        self.heard = self.heard.plus(ms);
    }

    /// Records a question to a person.
    pub fn asked(&mut self, ask: &str) {
        self.asks.insert(ask.to_owned());
    }

    /// Records the answer to a question.
    pub fn settled(&mut self, ask: &str) {
        self.asks.remove(ask);
    }

    /// Returns the end of the window; `None` while a person owes an answer, and once the delegation is found stale.
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        let counts = self.asks.is_empty() && !self.is_found;
        counts.then(|| self.heard.plus(i64::from(self.minutes) * MINUTE_MS))
    }

    /// Returns the finding if the window is over.
    pub fn step(&mut self, now: Millis) -> Option<Finding> {
        self.due().filter(|due| now >= *due)?;
        self.is_found = true;
        let unit = if self.minutes == 1 { "minute" } else { "minutes" };
        let words = format!("{} has shown no sign of life for {} {unit}", self.role, self.minutes);
        Some(Finding::new(FindingKind::Stale, Reaction::Stop, words))
    }
}
