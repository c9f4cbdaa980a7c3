//! A run's state as the log has it, and a draft that is ahead of it by what is being committed.
//!
//! A commit can fail. So that the state never runs ahead of the log, events step the draft first, and the state only once they are
//! committed. Each step is paid twice; a copy is made only where a draft has to be thrown away.

use std::sync::Arc;

use switchboard_pipeline::run::{Refused, RunState};
use switchboard_protocol::id::RunId;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::time::Millis;
use switchboard_store::Store;

use crate::{Error, history};

pub(super) struct Recorded {
    run: RunId,
    /// Revision of the run's subject up to which `state` is folded.
    rev: u64,
    /// Copied before it changes while somebody reads it.
    state: Arc<RunState>,
    draft: RunState,
}

// === impl Recorded ===

impl Recorded {
    /// Folds a run from the log.
    pub(super) fn fold(store: &Store, run: &RunId) -> Result<Self, Error> {
        let mut recorded = Self { run: run.clone(), rev: 0, state: Arc::default(), draft: RunState::default() };
        recorded.catch_up(store)?;
        Ok(recorded)
    }

    /// The state, as the log has it.
    pub(super) fn state(&self) -> &RunState {
        &self.state
    }

    /// The same for others to read.
    pub(super) fn shared(&self) -> Arc<RunState> {
        Arc::clone(&self.state)
    }

    /// The state as it will be once what is being committed is.
    pub(super) fn draft(&self) -> &RunState {
        &self.draft
    }

    /// Revision of the run's subject.
    pub(super) fn rev(&self) -> u64 {
        self.rev
    }

    /// Steps the draft; returns the events to commit, which are the steps and what follows from them.
    ///
    /// # Errors
    /// What refuses a step; the draft is then as it was.
    pub(super) fn try_steps(&mut self, steps: &[RunEvent], now: Millis) -> Result<Vec<RunEvent>, Refused> {
        let mut events = Vec::new();
        for step in steps {
            let step = step.clone().fitted();
            match self.draft.step(&step, now) {
                Ok(follows) => {
                    events.push(step);
                    events.extend(follows.into_iter().map(RunEvent::fitted));
                }
                Err(refused) => {
                    if !events.is_empty() {
                        self.discard();
                    }
                    return Err(refused);
                }
            }
        }
        Ok(events)
    }

    /// Takes committed events over, with the time that the log gave them.
    pub(super) fn take_over(&mut self, events: &[RunEvent], ts: Millis) -> Result<(), Error> {
        let state = Arc::make_mut(&mut self.state);
        for event in events {
            self.rev += 1;
            state.step(event, ts).map_err(|refused| history::unfoldable(&self.run, self.rev, &refused))?;
        }
        Ok(())
    }

    /// Throws the draft away: it was not committed.
    pub(super) fn discard(&mut self) {
        self.draft = RunState::clone(&self.state);
    }

    /// Folds what others wrote to the run's subject meanwhile.
    pub(super) fn catch_up(&mut self, store: &Store) -> Result<(), Error> {
        let folded = history::fold_onto(store, &self.run, Arc::make_mut(&mut self.state), &mut self.rev);
        self.discard();
        folded
    }
}
