//! How the last attempts of a task ended, as far as they ended alike.

use std::collections::BTreeSet;

use switchboard_protocol::run::RefusalCause;

/// How attempts ended, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Alike {
    pub(super) end: AttemptEnd,
    /// How many in a row ended so.
    pub(super) times: u32,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AttemptEnd {
    /// Its worker failed.
    Worker { cause: RefusalCause, reasons: Vec<String> },
    /// Gates refused a tree: which, and why.
    Gates { tree: String, said: BTreeSet<(String, Vec<String>)> },
}

impl Alike {
    /// An attempt ended so; returns how many in a row did.
    pub(super) fn after(alike: &mut Option<Self>, end: AttemptEnd) -> u32 {
        let before = alike.take().filter(|alike| alike.end == end).map_or(0, |alike| alike.times);
        *alike = Some(Self { end, times: before + 1 });
        before + 1
    }
}
