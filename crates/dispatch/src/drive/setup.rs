//! Start request of a run that a team leads, without its plan. It is kept beside the log, because it says how agents
//! are started.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::verb::run::StartRunRequest;

use crate::error::shape;
use crate::json;
use crate::world::World;
use crate::{Config, Error, plan};

/// Settings with which every part of the run is started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// Request without its plan and without what belongs to all parts together.
    pub(crate) template: StartRunRequest,
    /// Title of the work, in one line.
    pub(crate) title: String,
    /// Agent or person that asked for the run.
    pub(crate) by: AgentName,
}

// === impl Setup ===

impl Setup {
    pub(crate) fn read(world: &World, run: &RunId) -> Result<Self, Error> {
        let path = file(&world.config, run);
        let bytes = world.ports.files.read(&path)?.ok_or_else(|| {
            let what = format!("how the agents of {run} are started is not there any more");
            Failure::new("dispatch.older-run", what).at(plan::text(&path)).hint("start it again")
        })?;
        json::from_slice(&bytes).map_err(shape("drive.json"))
    }

    pub(crate) async fn write(&self, world: &World, run: &RunId) -> Result<(), Error> {
        let bytes = serde_json::to_vec(self).map_err(shape("drive.json"))?;
        let (folder, path) = (plan::folder(&world.config, run), file(&world.config, run));
        let files = std::sync::Arc::clone(&world.ports.files);
        world
            .blocking(move || {
                files.make_folder(&folder)?;
                files.write(&path, &bytes)
            })
            .await
    }

    /// Removes the file once no part will start any more, because it may hold secrets.
    pub(crate) async fn remove(world: &World, run: &RunId) {
        let (path, files) = (file(&world.config, run), std::sync::Arc::clone(&world.ports.files));
        if let Err(error) = world.blocking(move || files.remove(&path)).await {
            tracing::warn!(%run, %error, "how its agents were started could not be removed");
        }
    }
}

fn file(config: &Config, run: &RunId) -> PathBuf {
    plan::folder(config, run).join("drive.json")
}
