//! Counts the last attempts of a task that ended alike.

use std::collections::BTreeSet;

use switchboard_protocol::run::RefusalCause;

/// A series of attempts with the same end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alike {
    pub(super) end: AttemptEnd,
    /// Number of attempts in a row with this end.
    pub(super) times: u32,
}

/// End of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AttemptEnd {
    /// The worker failed.
    Worker { cause: RefusalCause, reasons: Vec<String> },
    /// Gates refused a tree; with their names and reasons.
    Gates { tree: String, said: BTreeSet<(String, Vec<String>)> },
}

impl Alike {
    /// Records the end of an attempt; returns how many in a row had the same end.
    pub(super) fn after(alike: &mut Option<Self>, end: AttemptEnd) -> u32 {
        let before = alike.take().filter(|alike| alike.end == end).map_or(0, |alike| alike.times);
        *alike = Some(Self { end, times: before + 1 });
        before + 1
    }
}
