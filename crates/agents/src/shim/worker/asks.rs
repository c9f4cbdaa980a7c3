//! The agent's open questions. A question without an answer in time is refused, never granted.

use std::collections::BTreeMap;
use std::time::Duration;

use switchboard_protocol::frame::PermissionOption;
use tokio::time::Instant;

/// The open questions, by id.
pub(super) struct Asks {
    limit: Duration,
    open: BTreeMap<String, Ask>,
}

struct Ask {
    due: Instant,
    offered: Vec<String>,
    reject: Option<String>,
}

// === impl Asks ===

impl Asks {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, open: BTreeMap::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn open(&mut self, ask: &str, options: &[PermissionOption]) {
        let of_kind = |kind: &str| options.iter().find(|option| option.kind == kind).map(|option| option.id.clone());
        let entry = Ask {
            due: Instant::now() + self.limit,
            offered: options.iter().map(|option| option.id.clone()).collect(),
            reject: of_kind("reject_once").or_else(|| of_kind("reject_always")),
        };
        self.open.insert(ask.to_owned(), entry);
    }

    /// Closes an open question and returns the chosen option; an option that was not offered counts as no answer.
    pub(super) fn take_answer(&mut self, ask: &str, option: Option<String>) -> Option<Option<String>> {
        let entry = self.open.remove(ask)?;
        Some(option.filter(|option| entry.offered.contains(option)))
    }

    /// Returns the questions whose time is over, each with the option that refuses.
    pub(super) fn due(&self, now: Instant) -> Vec<(String, Option<String>)> {
        self.open.iter().filter(|(_, ask)| now >= ask.due).map(|(id, ask)| (id.clone(), ask.reject.clone())).collect()
    }

    /// Extends the deadline of every open question.
    pub(super) fn put_off(&mut self, by: Duration) {
        self.open.values_mut().for_each(|ask| ask.due += by);
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.open.values().map(|ask| ask.due).min()
    }

    pub(super) fn take_all(&mut self) -> Vec<String> {
        std::mem::take(&mut self.open).into_keys().collect()
    }
}
