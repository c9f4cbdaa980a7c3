//! What an effect has to work with.

use std::sync::Arc;

use crate::handle::{Handle, LastWorker};
use crate::plan::RunPlan;
use crate::world::World;

/// The world, the run, and what is known of its last worker.
#[derive(Clone)]
pub(crate) struct Ctx {
    pub(crate) world: Arc<World>,
    pub(crate) plan: Arc<RunPlan>,
    pub(crate) engine: Handle,
    pub(crate) last: Option<LastWorker>,
    /// Head of the run's branch when an earlier daemon began the merge that is to be gone on with.
    pub(crate) onto: Option<String>,
}
