//! Carrying out what `pipeline` decides: intent, effect, outcome.

mod capture;
mod merge;
mod run_gates;
mod start_worker;
mod stop_worker;

use start_worker::Start;

use std::sync::Arc;

use switchboard_process::git::{Author, Repo};
use switchboard_protocol::error::Failure;
use switchboard_protocol::plan::{Task, TaskId};
use switchboard_protocol::run::{Effect, RunEvent};
use switchboard_protocol::time::Millis;

use crate::Error;
use crate::context::Inner;
use crate::engine::{Handle, LastWorker};
use crate::plan::RunPlan;
pub(crate) use run_gates::child_failed;

/// What an effect has to work with.
#[derive(Clone)]
pub(crate) struct Ctx {
    pub(crate) inner: Arc<Inner>,
    pub(crate) plan: Arc<RunPlan>,
    pub(crate) engine: Handle,
    pub(crate) last: Option<LastWorker>,
    /// Head of the run's branch when an earlier daemon began the merge that is to be gone on with.
    pub(crate) onto: Option<String>,
}

// === impl Ctx ===

impl Ctx {
    pub(crate) fn repo(&self) -> Repo {
        self.inner.config.repo.clone()
    }
}

/// An agent as the author of a commit.
pub(crate) fn author(agent: &str, at: Millis) -> Author {
    Author { name: agent.to_owned(), email: format!("{}@agents.localhost", switchboard_protocol::id::fold(agent)), at }
}

/// The message of a task's commits.
pub(crate) fn message(ctx: &Ctx, task: &Task, attempt: u32) -> String {
    let title = crate::prompt::title(task);
    format!(
        "{title}\n\nSwitchboard-Run: {}\nSwitchboard-Task: {}\nSwitchboard-Attempt: {attempt}\n",
        ctx.plan.run, task.id
    )
}

/// What an effect came to.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Steps to record.
    pub(crate) steps: Vec<RunEvent>,
    /// The worker that was started, for the attempts after it.
    pub(crate) last: Option<(TaskId, LastWorker)>,
    /// Whether the run has ended with it.
    pub(crate) is_last: bool,
}

impl Outcome {
    pub(crate) fn step(event: RunEvent) -> Self {
        Self { steps: vec![event], ..Self::default() }
    }
}

/// Carries an effect out. A failure of the world blocks the task with its reason: a person can retry it.
pub(crate) async fn carry_out(ctx: Ctx, effect: Effect) -> Outcome {
    match effect {
        Effect::StartWorker { task, attempt, starts: _, from, resume, refusals } => {
            start_worker::start_worker(ctx, task, attempt, Start { from, resume }, refusals).await
        }
        Effect::Capture { task, attempt, worker } => {
            let done = capture::capture(&ctx, &task, attempt, &worker).await;
            done.map_or_else(
                |error| blocked(task, attempt, error),
                |step| step.map_or_else(Outcome::default, Outcome::step),
            )
        }
        Effect::RunGates { task, attempt, commit, gates } => {
            let done = run_gates::run_gates(&ctx, &task, attempt, &commit, &gates).await;
            done.map_or_else(|error| blocked(task, attempt, error), |steps| Outcome { steps, ..Outcome::default() })
        }
        Effect::Merge { task, attempt, commit } => {
            let done = merge::merge(&ctx, &task, attempt, &commit, ctx.onto.clone()).await;
            done.map_or_else(|error| blocked(task, attempt, error), Outcome::step)
        }
        Effect::StopWorker { task, worker, cause } => stop_worker::stop_worker(&ctx, &task, &worker, cause).await,
        Effect::Finish { outcome } => finish(&ctx, outcome).await,
    }
}

fn blocked(task: TaskId, attempt: u32, error: Error) -> Outcome {
    if matches!(error, Error::Stopping) {
        return Outcome::default();
    }
    let failure = Failure::from(error);
    tracing::error!(%task, code = %failure.code, what = %failure.what, cause = ?failure.cause, "a task can't go on");
    let causes = failure.cause.join(": ");
    let reason = if causes.is_empty() { failure.to_string() } else { format!("{failure}: {causes}") };
    Outcome::step(RunEvent::TaskBlocked { task, attempt, reason })
}

async fn finish(ctx: &Ctx, outcome: switchboard_protocol::run::RunOutcome) -> Outcome {
    let finished = ctx.engine.step(RunEvent::RunFinished { outcome }).await;
    if let Err(error) = finished {
        tracing::error!(run = %ctx.plan.run, %error, "the end of the run was not recorded");
        return Outcome::default();
    }
    ctx.inner.crash("run-finished");
    crate::verb::merge_run::tidy(ctx).await;
    if ctx.plan.merge
        && outcome == switchboard_protocol::run::RunOutcome::Succeeded
        && let Err(error) = crate::verb::merge_run::merge(&ctx.inner, &ctx.plan.run).await
    {
        tracing::warn!(run = %ctx.plan.run, %error, "the run's branch was not merged; `switchboard merge` tries again");
    }
    Outcome { is_last: true, ..Outcome::default() }
}
