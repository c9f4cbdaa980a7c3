//! A full disk between the parts of a run: the run is paused for that reason, and goes on by itself once there is room.

use switchboard_protocol::event::NewEvent;
use switchboard_protocol::run::{PauseCause, RunEvent};
use switchboard_store::Batch;

use super::Driver;
use crate::error::shape;
use crate::report;
use crate::work::RUNS;
use crate::{Error, history};

// === impl Driver ===

impl Driver {
    /// Records that the run waits for room on the disk, unless the record has that already.
    pub(super) async fn pause_for_room(&self) -> Result<(), Error> {
        match self.is_out_of_room()? {
            true => Ok(()),
            false => self.record_pause(RunEvent::RunPaused { cause: PauseCause::Disk }).await,
        }
    }

    /// Records that there is room again, if the run waited for it.
    pub(super) async fn end_pause_for_room(&self) -> Result<(), Error> {
        match self.is_out_of_room()? {
            true => self.record_pause(RunEvent::RunResumed).await,
            false => Ok(()),
        }
    }

    fn is_out_of_room(&self) -> Result<bool, Error> {
        let row = self.dispatch.world.store.get(RUNS, &[self.run.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(self.run.to_string()))?;
        Ok(report::paused(&row)? == Some(PauseCause::Disk))
    }

    async fn record_pause(&self, event: RunEvent) -> Result<(), Error> {
        let event = NewEvent::of(&event, history::subject(&self.run), "daemon").map_err(shape("a pause"))?;
        self.dispatch.world.commit(Batch::synced().event(event)).await?;
        Ok(())
    }
}
