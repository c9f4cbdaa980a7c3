//! Flags that select a part of a plan to run.

use switchboard_protocol::error::Failure;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::UnitId;

/// Flags that select a part of a plan.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "A part of the plan")]
pub(crate) struct ScopeFlags {
    /// Run one phase only
    #[arg(long, value_name = "N", conflicts_with_all = ["example", "resume", "task"])]
    phase: Option<u64>,
    /// Run one slice only: the tasks of that phase that name it
    #[arg(long, value_name = "NAME", requires = "phase")]
    slice: Option<String>,
    /// Run one task only
    #[arg(long, value_name = "ID", conflicts_with_all = ["example", "resume"])]
    task: Option<String>,
}

impl ScopeFlags {
    /// Returns the selected part, if any.
    pub(super) fn unit(&self) -> Result<Option<UnitId>, Failure> {
        Ok(match (self.phase, &self.slice, &self.task) {
            (Some(phase), Some(name), _) => Some(UnitId::Slice { phase, name: name.clone() }),
            (Some(phase), None, _) => Some(UnitId::Phase(phase)),
            (None, _, Some(id)) => {
                let bad = |_| Failure::new("plan.unsafe-id", format!("{id:?} is not the id of a task"));
                Some(UnitId::Task(TaskId::new(id.clone()).map_err(bad)?))
            }
            (None, _, None) => None,
        })
    }
}
