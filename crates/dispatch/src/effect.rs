//! Carrying out what `pipeline` decides: intent, effect, outcome. A file per kind of step; none of them calls a verb.

mod capture;
mod finish;
mod merge;
mod rebase;
mod run_checks;
mod start_worker;
mod stop_worker;

use run_checks::Judged;
use start_worker::Start;

use std::sync::Arc;

use switchboard_protocol::error::Failure;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::CommandStep;
use switchboard_protocol::run::{Effect, RunEvent};

use crate::Error;
use crate::handle::{Handle, LastWorker, Outcome};
use crate::plan::RunPlan;
use crate::world::World;

/// What an effect has to work with.
#[derive(Clone)]
pub(crate) struct Ctx {
    pub(crate) world: Arc<World>,
    pub(crate) plan: Arc<RunPlan>,
    pub(crate) engine: Handle,
    pub(crate) last: Option<LastWorker>,
    /// Head of the run's branch when an earlier daemon began the merge that is to be gone on with.
    pub(crate) onto: Option<String>,
}

/// Carries an effect out. A failure of the world blocks the task with its reason: a person can retry it.
pub(crate) async fn carry_out(ctx: Ctx, effect: Effect) -> Outcome {
    match effect {
        Effect::StartWorker { task, step, attempt, starts: _, from, resume, refusals } => {
            start_worker::start_worker(ctx, task, Start { step, attempt, from, resume }, refusals).await
        }
        Effect::Capture { task, attempt, worker } => {
            let done = capture::capture(&ctx, &task, attempt, &worker).await;
            done.map_or_else(
                |error| blocked(task, attempt, error),
                |step| step.map_or_else(Outcome::default, Outcome::step),
            )
        }
        Effect::RunChecks { task, attempt, commit, base, checks } => {
            let judged = Judged { task: &task, attempt, commit: &commit, base: &base };
            let done = run_checks::run_checks(&ctx, judged, &checks).await;
            done.map_or_else(|error| blocked(task, attempt, error), |steps| Outcome { steps, ..Outcome::default() })
        }
        Effect::RunCommand { task, attempt, kind, commit } => {
            let done = match kind {
                CommandStep::Rebase => rebase::rebase(&ctx, &task, attempt, &commit).await,
            };
            done.map_or_else(|error| blocked(task, attempt, error), Outcome::step)
        }
        Effect::Merge { task, attempt, commit, base } => {
            let captured = merge::Captured { task: &task, attempt, commit: &commit, base: &base };
            let done = merge::merge(&ctx, captured, ctx.onto.clone()).await;
            done.map_or_else(|error| blocked(task, attempt, error), Outcome::step)
        }
        Effect::StopWorker { task, worker, cause } => stop_worker::stop_worker(&ctx, &task, &worker, cause).await,
        Effect::Finish { outcome } => finish::finish(&ctx, outcome).await,
    }
}

fn blocked(task: TaskId, attempt: u32, error: Error) -> Outcome {
    match error {
        // The next daemon, or the next decision, sees what is to be done.
        Error::Stopping => return Outcome::default(),
        Error::Superseded(why) => {
            tracing::info!(%task, %why, "the run has gone on without this");
            return Outcome::default();
        }
        Error::Refused(_)
        | Error::Store(_)
        | Error::Process(_)
        | Error::Io { .. }
        | Error::Shape { .. }
        | Error::Missing(_) => {}
    }
    let failure = Failure::from(error);
    tracing::error!(%task, code = %failure.code, what = %failure.what, cause = ?failure.cause, "a task can't go on");
    let causes = failure.cause.join(": ");
    let reason = if causes.is_empty() { failure.to_string() } else { format!("{failure}: {causes}") };
    Outcome::step(RunEvent::TaskBlocked { task, attempt, reason })
}
