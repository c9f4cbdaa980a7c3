//! Detects whether a worker's agent has our tools: the daemon records when it lists them, and checks after its first
//! turn whether it did.

use std::sync::Arc;

use switchboard_process::task;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::worker::WorkerFact;
use switchboard_store::Batch;

use crate::error::shape;
use crate::work::WORKERS;
use crate::world::World;
use crate::{Dispatch, Error};

impl Dispatch {
    /// Records that a worker's agent listed our tools, once per worker.
    pub fn tools_listed(&self, worker: &WorkerId) {
        let (world, worker) = (Arc::clone(&self.world), worker.clone());
        task::spawn(async move {
            if let Err(error) = record(&world, &worker).await {
                tracing::warn!(%worker, %error, "that the agent knows our tools was not recorded");
            }
        });
    }
}

async fn record(world: &World, worker: &WorkerId) -> Result<(), Error> {
    if is_listed(world, worker)? {
        return Ok(());
    }
    let fact = WorkerFact::WorkerToolsListed { worker: worker.clone() };
    let event = NewEvent::of(&fact, format!("worker/{worker}"), "daemon").map_err(shape("worker_tools_listed"))?;
    world.commit(Batch::written().event(event)).await?;
    Ok(())
}

/// Returns the event that the agent ended its first turn without listing our tools; `None` if it listed them.
pub(crate) fn missed(world: &World, worker: &WorkerId) -> Result<Option<NewEvent>, Error> {
    if is_listed(world, worker)? {
        return Ok(None);
    }
    let fact = WorkerFact::WorkerToolsMissed { worker: worker.clone() };
    let event = NewEvent::of(&fact, format!("worker/{worker}"), "daemon");
    Ok(Some(event.map_err(shape("worker_tools_missed"))?))
}

fn is_listed(world: &World, worker: &WorkerId) -> Result<bool, Error> {
    let row = world.store.get(WORKERS, &[worker.as_str().into()])?;
    Ok(row.is_some_and(|row| row.get_int("lists_tools") == Some(1)))
}
