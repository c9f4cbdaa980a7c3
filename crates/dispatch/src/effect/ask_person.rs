//! A task waits for a person, who says what is to become of it: the answer is a row of the questions, and becomes a step of the run.

use std::time::Duration;

use switchboard_protocol::id::NeedId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;
use switchboard_store::{Batch, Interest};

use super::context::Ctx;
use crate::Error;
use crate::error::shape;
use crate::handle::Outcome;

/// Pause after a failure of the store, before the run's engine is asked again what is to be done.
const AGAIN: Duration = Duration::from_secs(1);

/// Waits until the question is answered, by a person or by its clock.
pub(super) async fn wait(ctx: &Ctx, task: TaskId, need: NeedId) -> Outcome {
    let mut answered = ctx.world.store.subscribe([Interest::Kind("need_settled".to_owned())]);
    loop {
        match answer(ctx, &task, &need) {
            Ok(Some(step)) => return Outcome::step(step),
            Ok(None) => {}
            Err(error) => return again(ctx, &need, &error).await,
        }
        tokio::select! {
            biased;
            // The next daemon waits again.
            () = ctx.world.stop.cancelled() => return Outcome::default(),
            changed = answered.changed() => if changed.is_err() { return Outcome::default() },
        }
    }
}

/// Takes a question back; one that was answered meanwhile stays as it is.
pub(super) async fn withdraw(ctx: &Ctx, task: TaskId, need: NeedId) -> Outcome {
    let done = match answer(ctx, &task, &need) {
        Ok(None) => take_back(ctx, &need).await.and_then(|()| answer(ctx, &task, &need)),
        known => known,
    };
    match done {
        Ok(step) => step.map_or_else(Outcome::default, Outcome::step),
        Err(error) => again(ctx, &need, &error).await,
    }
}

async fn take_back(ctx: &Ctx, need: &NeedId) -> Result<(), Error> {
    let settled = switchboard_needs::resolved(need, "withdrawn", None, "daemon");
    let (event, guard) = settled.map_err(shape("an answer"))?;
    match ctx.world.commit(Batch::synced().event(event).guard(guard)).await {
        // A person was faster.
        Ok(_) | Err(switchboard_store::Error::Refused(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn answer(ctx: &Ctx, task: &TaskId, need: &NeedId) -> Result<Option<RunEvent>, Error> {
    let answer = switchboard_needs::answer_about_denied(&ctx.world.store, need)?;
    Ok(answer.map(|answer| RunEvent::PersonAnswered { task: task.clone(), need: need.clone(), answer }))
}

async fn again(ctx: &Ctx, need: &NeedId, error: &Error) -> Outcome {
    tracing::error!(%need, %error, "a question about a task can't be read or taken back now");
    tokio::select! {
        () = ctx.world.stop.cancelled() => {}
        () = tokio::time::sleep(AGAIN) => {}
    }
    Outcome::default()
}
