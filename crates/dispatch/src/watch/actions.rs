//! Actions that a constrained worker requests at the end of its answer: read, checked and recorded once, in the commit
//! of its turn's end.

use switchboard_pipeline::actions;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::frame::ANSWER_FILE;
use switchboard_protocol::isolation::Isolation;

use super::Watch;
use crate::Error;
use crate::identity;
use crate::work::WORKERS;

// === impl Watch ===

impl Watch {
    /// Returns the events of the actions that the worker's answer lists; none for a full worker, which has verbs.
    ///
    /// # Errors
    /// Why the worker's output can't be applied, in words for the next attempt.
    pub(super) fn actions(&self) -> Result<Vec<NewEvent>, String> {
        self.try_actions().map_err(|error| {
            let failure = error.to_failure();
            format!("{} [{}]", failure.what, failure.code)
        })
    }

    fn try_actions(&self) -> Result<Vec<NewEvent>, Error> {
        let row = self.world.store.get(WORKERS, &[self.worker.as_str().into()])?;
        let constrained = Isolation::Constrained.as_str();
        let Some(row) = row.filter(|row| row.get_text("isolation") == Some(constrained)) else { return Ok(Vec::new()) };
        let answer = self.world.ports.files.read(&self.folder.join(ANSWER_FILE))?.unwrap_or_default();
        let asked = actions::read(&String::from_utf8_lossy(&answer))?;
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let caller = identity::identity(&row)?;
        let event = |asked: actions::RequestedAction| {
            identity::holds(&row, &self.worker, &asked.fence)?;
            self.world.ports.rules.may(&caller, asked.verb, &asked.args).map_err(|refused| {
                let what = format!("action {} ({}): {}", asked.index, asked.verb, refused.what);
                Failure { what, ..refused }
            })?;
            identity::event(&self.worker, &self.agent, asked.index, &asked.action)
        };
        asked.into_iter().map(event).collect()
    }
}
