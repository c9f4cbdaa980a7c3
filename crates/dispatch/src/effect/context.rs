//! Context of an effect.

use std::path::Path;
use std::sync::Arc;

use switchboard_protocol::error::Failure;

use crate::Error;
use crate::handle::{Handle, LastWorker};
use crate::plan::RunPlan;
use crate::world::World;

/// The world, the run, and what is recorded about the task's last worker.
#[derive(Clone)]
pub(crate) struct Ctx {
    pub(crate) world: Arc<World>,
    pub(crate) plan: Arc<RunPlan>,
    pub(crate) engine: Handle,
    pub(crate) last: Option<LastWorker>,
    /// Head of the run's branch when an earlier daemon began the merge that is to be continued.
    pub(crate) onto: Option<String>,
}

// === impl Ctx ===

impl Ctx {
    /// Fails if the disk that holds a path is full: a failure there may then only be a consequence of that.
    ///
    /// # Errors
    /// `io.disk-full`.
    pub(super) fn has_room(&self, path: &Path) -> Result<(), Error> {
        if self.world.ports.files.is_full(path) {
            return Err(Failure::new("io.disk-full", "the disk is full").at(crate::plan::text(path)).into());
        }
        Ok(())
    }
}
