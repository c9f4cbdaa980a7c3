//! State of a run as recorded in the log, and a draft that is ahead of it by what is being committed.
//!
//! A commit can fail. To keep the state from running ahead of the log, events step the draft first, and the state only
//! once they are committed. Each step is computed twice; a copy is made only if a draft has to be discarded.

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
    /// Copied before a change while others hold a reference to it.
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

    /// Returns the recorded state.
    pub(super) fn state(&self) -> &RunState {
        &self.state
    }

    /// Returns a shared reference to the recorded state.
    pub(super) fn shared(&self) -> Arc<RunState> {
        Arc::clone(&self.state)
    }

    /// Returns the state as it will be after the commit in progress.
    pub(super) fn draft(&self) -> &RunState {
        &self.draft
    }

    /// Returns the revision of the run's subject.
    pub(super) fn rev(&self) -> u64 {
        self.rev
    }

    /// Steps the draft; returns the events to commit, which are the steps and what follows from them. The loss of a worker
    /// whose end is recorded is none of them: a worker's start and its stop may both report it.
    ///
    /// # Errors
    /// The refusal of a step; the draft is then unchanged.
    pub(super) fn try_steps(&mut self, steps: &[RunEvent], now: Millis) -> Result<Vec<RunEvent>, Refused> {
        let mut events = Vec::new();
        for step in steps {
            let step = step.clone().fitted();
            let is_repeated =
                matches!(&step, RunEvent::WorkerLost { task, worker, .. } if !self.draft.is_live(task, worker));
            match self.draft.step(&step, now) {
                Ok(_) if is_repeated => {}
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

    /// Applies committed events to the state, with the time that the log gave them.
    pub(super) fn take_over(&mut self, events: &[RunEvent], ts: Millis) -> Result<(), Error> {
        let state = Arc::make_mut(&mut self.state);
        for event in events {
            self.rev += 1;
            state.step(event, ts).map_err(|refused| history::unfoldable(&self.run, self.rev, &refused))?;
        }
        Ok(())
    }

    /// Discards the draft: it was not committed.
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

#[cfg(test)]
mod tests {
    use switchboard_protocol::plan::TaskId;

    use super::*;

    #[test]
    fn of_steps_of_which_one_is_refused_the_draft_takes_none() {
        let (title, plan_hash, base) = ("t".to_owned(), "h".to_owned(), "b".to_owned());
        let started = RunEvent::RunStarted { title, plan_hash, base, parts: 2, max_workers: 1 };
        let run = RunId::from_bits(1);
        let mut recorded = Recorded { run, rev: 0, state: Arc::default(), draft: RunState::default() };

        let of_none = RunEvent::TaskRebaseRequested { task: TaskId::new("1.1").unwrap() };
        let refused = recorded.try_steps(&[started.clone(), of_none], Millis(0));

        assert!(refused.is_err() && recorded.draft().header().is_none(), "{refused:?}");
        assert_eq!(recorded.try_steps(std::slice::from_ref(&started), Millis(0)).unwrap(), [started]);
        assert!(recorded.draft().header().is_some() && recorded.state().header().is_none());
    }
}
