//! Environment variables that a person's `retry` or `resume` passes to the agents of a run, which otherwise keep those of
//! the command that started it.

use switchboard_protocol::verb::run::InheritedEnv;
use switchboard_store::Row;

use super::find_run;
use super::start_run::write_agents;
use crate::drive::Setup;
use crate::parts::parts_of;
use crate::plan::renewed_env;
use crate::work::run_id;
use crate::{Dispatch, Error, history};

impl Dispatch {
    /// Passes variables to the agents of a run, and of its parts if a team leads it. Workers that start from now on get
    /// them, also after a restart of the daemon.
    pub(super) async fn renew_env(&self, row: &Row, given: &[InheritedEnv]) -> Result<(), Error> {
        if given.is_empty() {
            return Ok(());
        }
        let whole = row.get_text("part_of").filter(|whole| !whole.is_empty());
        let whole = whole.map(|whole| find_run(&self.world, Some(whole))).transpose()?;
        let row = whole.as_ref().unwrap_or(row);
        let run = run_id(row)?;
        let is_led = row.get_text("mode").is_some();
        // A run that a team leads has no workers of its own, and no plan if it began with a request.
        let rows = if is_led { parts_of(&self.world, &run)? } else { vec![row.clone()] };
        for row in rows.iter().filter(|row| row.get_text("state") != Some("succeeded")) {
            let plan = history::plan(&self.world, &run_id(row)?)?;
            if plan.renew_env(given) {
                write_agents(&self.world, &plan).await?;
            }
        }
        if !is_led {
            return Ok(());
        }
        // Once no part will start any more, there is no start request.
        let Ok(mut setup) = Setup::read(&self.world, &run) else { return Ok(()) };
        for choice in &mut setup.template.agents {
            if let Some(env) = renewed_env(choice, given) {
                choice.env = env;
            }
        }
        setup.write(&self.world, &run).await
    }
}
