//! Reads a worker's answer as data: from `report_step` if it was called, else from the block at the end of the worker's
//! text.

use std::sync::Arc;

use serde_json::Value;
use switchboard_protocol::action::WorkerAction;
use switchboard_protocol::answer::{Answer, AnswerKind};
use switchboard_protocol::frame::ANSWER_FILE;
use switchboard_protocol::id::{RunId, WorkerId};

use crate::error::shape;
use crate::work::WORKERS;
use crate::world::World;
use crate::{Error, plan};

/// Reads a worker's answer of the expected kind; returns the reason if there is none.
pub(crate) async fn read_answer(
    world: &World,
    run: &RunId,
    worker: &WorkerId,
    kind: AnswerKind,
) -> Result<Result<Answer, String>, Error> {
    if let Some(answer) = reported(world, worker)? {
        return Ok(Answer::read(kind, &answer).map_err(|bad| bad.message(kind)));
    }
    let file = plan::worker_folder(&world.config, run, worker).join(ANSWER_FILE);
    let files = Arc::clone(&world.ports.files);
    let said = world.blocking(move || files.read(&file)).await?.unwrap_or_default();
    Ok(Answer::find(kind, &String::from_utf8_lossy(&said)).map_err(|bad| bad.message(kind)))
}

/// Returns the last answer that the worker reported by `report_step`.
fn reported(world: &World, worker: &WorkerId) -> Result<Option<Value>, Error> {
    let row = world.store.get(WORKERS, &[worker.as_str().into()])?;
    let Some(at) = row.and_then(|row| row.get_int("answered")).and_then(|at| u64::try_from(at).ok()) else {
        return Ok(None);
    };
    let Some(body) = world.store.body(at)? else { return Ok(None) };
    let action: WorkerAction = serde_json::from_str(&body).map_err(shape("an answer"))?;
    match action {
        WorkerAction::ReportStep { answer, .. } => Ok(answer),
        WorkerAction::ProposeTask { .. } => Ok(None),
    }
}
