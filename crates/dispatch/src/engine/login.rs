//! Logins of workers.

use std::collections::HashMap;
use std::sync::Arc;

use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::StepWork;
use switchboard_protocol::run::way::StepId;

use crate::plan::RunPlan;
use crate::{Error, shared};

/// Login of a worker.
pub(super) struct Login {
    pub(super) account: String,
    pub(super) is_scripted: bool,
}

/// Logins of workers that have started or wait to start, each of the step that its task came to last. The plan determines
/// a login, so it is computed once, however long a start waits for a place.
#[derive(Default)]
pub(super) struct Logins(HashMap<TaskId, (StepId, Arc<Login>)>);

// === impl Logins ===

impl Logins {
    pub(super) fn of(
        &mut self,
        plan: &RunPlan,
        task: &TaskId,
        (step, work): (&StepId, &StepWork),
    ) -> Result<Arc<Login>, Error> {
        if let Some((_, login)) = self.0.get(task).filter(|(known, _)| known == step) {
            return Ok(Arc::clone(login));
        }
        let (_, settings) = plan.settings(task)?;
        let choice = plan.choice_of(task, &settings, work)?;
        let login = Arc::new(Login { account: shared::account(&choice), is_scripted: choice.scripted });
        self.0.insert(task.clone(), (step.clone(), Arc::clone(&login)));
        Ok(login)
    }
}
