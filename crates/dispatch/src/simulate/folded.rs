//! Compares the state of a run in its engine with the state folded from its log.

use switchboard_pipeline::run::RunState;
use switchboard_protocol::id::RunId;
use switchboard_store::Store;

use crate::{Dispatch, Error, history};

/// State of a run, folded from its log up to the last comparison.
#[derive(Default)]
pub(super) struct Folded {
    state: RunState,
    rev: u64,
}

impl Folded {
    /// Returns the state after all events of the run.
    pub(super) fn into_end(mut self, store: &Store, run: &RunId) -> Result<RunState, Error> {
        history::fold_onto(store, run, &mut self.state, &mut self.rev)?;
        Ok(self.state)
    }
}

/// Compares the state in a run's engine with the one in its log.
pub(super) async fn compare(daemon: &Dispatch, run: &RunId, folded: &mut Folded) -> Result<(), String> {
    let store = &daemon.world.store;
    let subject = history::subject(run);
    loop {
        let rev = store.rev(&subject).map_err(|error| error.to_string())?;
        let Some(engine) = daemon.engine(run) else { return Ok(()) };
        let Ok(live) = engine.state().await else { return Ok(()) };
        history::fold_onto(store, run, &mut folded.state, &mut folded.rev).map_err(|error| error.to_string())?;
        if store.rev(&subject).map_err(|error| error.to_string())? != rev {
            continue;
        }
        if *live != folded.state {
            let differs = live.tasks().zip(folded.state.tasks()).find(|(live, told)| live != told);
            return Err(format!("the engine and the log differ: {differs:?}"));
        }
        return Ok(());
    }
}
