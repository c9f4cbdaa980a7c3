//! Carries out the effects that `pipeline` decides: intent, effect, outcome. One file per kind of step; none of them
//! calls a verb.

mod ask_person;
mod author;
mod blocked;
mod capture;
mod context;
mod contracts;
mod denied_writes;
mod finish;
mod gate_tree;
mod gather;
mod judged;
mod lease;
mod left_out;
mod lint_fix;
mod merge;
mod proposals;
mod rebase;
mod rebase_tree;
mod replies;
mod run_checks;
mod set_up;
mod start_point;
mod start_worker;
mod stop_worker;
mod take_answer;
#[cfg(test)]
pub(crate) mod tests;

use std::time::Duration;

use switchboard_protocol::run::Effect;
use switchboard_protocol::run::way::CommandStep;

pub(crate) use self::context::Ctx;
pub(crate) use self::start_worker::{Part, claim_name};

pub(crate) use self::blocked::panicked;

use self::blocked::blocked;
use self::judged::Judged;
use self::start_worker::Start;
use crate::handle::Outcome;

/// Carries an effect out. If its environment fails, the task is blocked with the reason, and a person can retry it. A
/// full disk pauses the run instead.
///
/// Each branch is boxed: otherwise spawning the future would copy the largest one (20 kB and more) several times.
pub(crate) async fn carry_out(ctx: Ctx, effect: Effect) -> Outcome {
    match effect {
        Effect::StartWorker {
            task,
            step,
            work,
            attempt,
            starts: _,
            transients,
            tried,
            from,
            resume,
            refusals,
            again,
            answers,
            by,
            declared,
            note,
        } => {
            let start =
                Start { step, work, attempt, from, resume, again, transients, tried, answers, by, declared, note };
            Box::pin(start_worker::start_worker(ctx, task, start, refusals)).await
        }
        Effect::Capture { task, attempt, worker, carried, may_keep } => {
            let done = Box::pin(capture::capture(&ctx, &task, attempt, &worker, (carried.as_deref(), may_keep))).await;
            done.map_or_else(
                |error| blocked(task, attempt, error),
                |step| step.map_or_else(Outcome::default, Outcome::step),
            )
        }
        Effect::TakeAnswer { task, step, work, attempt, worker, input } => {
            let given =
                take_answer::AnswerContext { task: &task, step: &step, work: &work, attempt, worker: &worker, input };
            let done = Box::pin(take_answer::take_answer(&ctx, given)).await;
            done.map_or_else(|error| blocked(task, attempt, error), |()| Outcome::default())
        }
        Effect::RunChecks { task, attempt, commit, base, tree_of, checks, declared } => {
            let judged =
                Judged { task: &task, attempt, commit: &commit, base: &base, tree_of: &tree_of, declared: &declared };
            let done = Box::pin(run_checks::run_checks(&ctx, judged, &checks)).await;
            done.map_or_else(|error| blocked(task, attempt, error), |steps| Outcome { steps, ..Outcome::default() })
        }
        Effect::FixLint { task, attempt, commit, base } => {
            let change = Judged { task: &task, attempt, commit: &commit, base: &base, tree_of: &task, declared: &[] };
            let done = Box::pin(lint_fix::lint_fix(&ctx, change)).await;
            done.map_or_else(|error| blocked(task, attempt, error), Outcome::step)
        }
        Effect::RunCommand { task, attempt, kind, commit, tree_of } => {
            let done = match kind {
                // Lint fixes are an effect of their own, without a turn to wait for.
                CommandStep::LintFix => Err(crate::Error::Missing("the change that lint_fix is to mend".to_owned())),
                CommandStep::Gather => Box::pin(gather::gather(&ctx, &task, attempt, false)).await,
                CommandStep::Rebase if ctx.plan.is_landing(&task) => {
                    Box::pin(gather::gather(&ctx, &task, attempt, true)).await
                }
                CommandStep::Rebase => Box::pin(rebase::rebase(&ctx, &task, attempt, &commit, &tree_of)).await,
            };
            done.map_or_else(|error| blocked(task, attempt, error), Outcome::step)
        }
        Effect::Merge { task, attempt, commit, base } => {
            let captured = merge::Captured { task: &task, attempt, commit: &commit, base: &base };
            let done = Box::pin(merge::merge(&ctx, captured, ctx.onto.clone())).await;
            done.map_or_else(|error| blocked(task, attempt, error), Outcome::step)
        }
        Effect::AwaitLease { task, attempt, commit, base, lease } => {
            let captured = merge::Captured { task: &task, attempt, commit: &commit, base: &base };
            let done = tokio::select! {
                biased;
                // The next daemon waits again.
                () = ctx.world.stop.cancelled() => Err(crate::Error::Stopping),
                done = Box::pin(lease::wait(&ctx, captured, &lease)) => done,
            };
            done.map_or_else(|error| blocked(task, attempt, error), Outcome::step)
        }
        Effect::AskPerson { task, attempt, commit, base, input, question, findings } => {
            let asked = ask_person::Question { commit: &commit, base: &base, input, question, findings };
            let done = Box::pin(ask_person::ask(&ctx, &task, attempt, asked)).await;
            done.map_or_else(|error| blocked(task, attempt, error), |()| Outcome::default())
        }
        Effect::AwaitAnswer { task, need } => Box::pin(ask_person::wait(&ctx, task, need)).await,
        Effect::WithdrawQuestion { task, need } => Box::pin(ask_person::withdraw(&ctx, task, need)).await,
        Effect::StopWorker { task, worker, cause, grace_ms } => {
            Box::pin(stop_worker::stop_worker(&ctx, &task, &worker, cause, grace_ms.map(Duration::from_millis))).await
        }
        Effect::RebaseTree { task, worker } => Box::pin(rebase_tree::rebase_tree(&ctx, &task, &worker)).await,
        Effect::Finish { outcome } => Box::pin(finish::finish(&ctx, outcome)).await,
    }
}
