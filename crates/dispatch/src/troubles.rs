//! Live runs that nobody carries on at the moment: their engine or driver could not be started, has panicked, or fails again and again.
//!
//! The record says that such a run is at work, which is true as far as its tasks go; whoever looks at it is told this beside. It is kept in memory only: a
//! daemon that starts takes every run up anew.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;

use crate::lock::lock;

/// How often one daemon takes a run up again after a panic: a defect that comes back at once would come back for ever.
const RESTARTS: u32 = 3;

/// Before a run is taken up again after a panic. Calls of git that were under way have ended by then, as a rule.
pub(crate) const BEFORE_RESTART: Duration = Duration::from_secs(5);

/// What keeps runs from going on.
#[derive(Default)]
pub(crate) struct Troubles(Mutex<BTreeMap<RunId, Trouble>>);

/// What keeps a run from going on.
#[derive(Default)]
struct Trouble {
    /// Panics since this daemon has started.
    panics: u32,
    /// Why it does not go on; `None` while it does.
    failure: Option<Failure>,
}

// === impl Troubles ===

impl Troubles {
    /// Notes that a run can't go on now.
    pub(crate) fn failed(&self, run: &RunId, failure: Failure) {
        lock(&self.0).entry(run.clone()).or_default().failure = Some(failure);
    }

    /// Notes that the engine or driver of a run has panicked; returns whether it is to be started again.
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

    /// Notes that a run goes on.
    pub(crate) fn passed(&self, run: &RunId) {
        if let Some(trouble) = lock(&self.0).get_mut(run) {
            trouble.failure = None;
        }
    }

    /// Forgets a run that is over.
    pub(crate) fn forget(&self, run: &RunId) {
        lock(&self.0).remove(run);
    }

    /// Why a run does not go on; `None` if it does.
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
