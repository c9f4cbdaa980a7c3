//! Live runs that can't go on at the moment: their engine or driver could not be started, has panicked, or fails
//! repeatedly.
//!
//! The record has such a run as live, which is true for its tasks; status shows the trouble in addition. It is kept in
//! memory only: a daemon that starts takes every run up anew.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;

use crate::lock::lock;

/// Maximum number of restarts of a run by one daemon after panics: a persistent defect would otherwise recur forever.
const RESTARTS: u32 = 3;

/// Pause before a run is taken up again after a panic. Calls of git that were in progress have usually ended by then.
pub(crate) const BEFORE_RESTART: Duration = Duration::from_secs(5);

/// Troubles by run.
#[derive(Default)]
pub(crate) struct Troubles(Mutex<BTreeMap<RunId, Trouble>>);

/// Reason for which a run can't go on.
#[derive(Default)]
struct Trouble {
    /// Number of panics since this daemon started.
    panics: u32,
    /// Failure that stops the run; `None` while it goes on.
    failure: Option<Failure>,
}

// === impl Troubles ===

impl Troubles {
    /// Records that a run can't go on now.
    pub(crate) fn failed(&self, run: &RunId, failure: Failure) {
        lock(&self.0).entry(run.clone()).or_default().failure = Some(failure);
    }

    /// Records that the engine or driver of a run has panicked; returns true if it is to be started again.
    pub(crate) fn panicked(&self, run: &RunId) -> bool {
        let mut troubles = lock(&self.0);
        let trouble = troubles.entry(run.clone()).or_default();
        trouble.panics += 1;
        let is_last = trouble.panics > RESTARTS;
        let (what, hint) = match is_last {
            false => ("what carries the run on has panicked; it is started again in a moment", ""),
            true => (
                "what carries the run on has panicked again and again; the daemon's log says where",
                "switchboard run --resume RUN",
            ),
        };
        trouble.failure = Some(Failure::new("internal.bug", what).hint(hint.replace("RUN", run.as_str())));
        !is_last
    }

    /// Records that a run goes on.
    pub(crate) fn passed(&self, run: &RunId) {
        if let Some(trouble) = lock(&self.0).get_mut(run) {
            trouble.failure = None;
        }
    }

    /// Removes the entry of a run that is over.
    pub(crate) fn forget(&self, run: &RunId) {
        lock(&self.0).remove(run);
    }

    /// Returns why a run can't go on; `None` if it can.
    pub(crate) fn of(&self, run: &RunId) -> Option<Failure> {
        lock(&self.0).get(run)?.failure.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_taken_up_again_a_few_times_and_then_left_with_what_helps() {
        let (troubles, run) = (Troubles::default(), RunId::from_bits(1));
        assert!(troubles.of(&run).is_none());

        let again: Vec<_> = (0..5).map(|_| troubles.panicked(&run)).collect();

        assert_eq!(again, [true, true, true, false, false]);
        let failure = troubles.of(&run).unwrap();
        assert_eq!((failure.code.as_str(), failure.hint), ("internal.bug", format!("switchboard run --resume {run}")));
        troubles.passed(&run);
        assert!(troubles.of(&run).is_none() && !troubles.panicked(&run));
        troubles.forget(&run);
        assert!(troubles.panicked(&run));
    }
}
