//! Outcome of a task whose effect fails.

use switchboard_protocol::error::Failure;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;

use tokio::task::JoinError;

use crate::Error;
use crate::handle::Outcome;

/// Blocks a task with the reason. If the daemon stops or the run has gone on, nothing is recorded. A full disk pauses
/// the run, and a busy store is asked again: neither is the task's failure.
pub(super) fn blocked(task: TaskId, attempt: u32, error: Error) -> Outcome {
    match error {
        // The next daemon, or the next decision, finds what to do.
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
    if error.is_disk_full() {
        tracing::error!(%task, %error, "the disk is full; the run is paused");
        return Outcome::disk_full();
    }
    if error.is_busy() {
        tracing::warn!(%task, %error, "the store is busy; this is tried again");
        return Outcome::again();
    }
    let failure = Failure::from(error);
    tracing::error!(%task, code = %failure.code, what = %failure.what, cause = ?failure.cause, "a task can't go on");
    let causes = failure.cause.join(": ");
    let reason = if causes.is_empty() { failure.to_string() } else { format!("{failure}: {causes}") };
    Outcome::step(RunEvent::TaskBlocked { task, attempt, retries: None, reason })
}

/// Blocks the task of an effect that panicked, which is a defect: a person sees it and can try again.
pub(crate) fn panicked(about: Option<(TaskId, u32)>, error: &JoinError) -> Outcome {
    if !error.is_panic() {
        return Outcome::default();
    }
    let failure = Failure::new("internal.bug", "an effect of the run has panicked; the daemon's log says where");
    about.map_or_else(Outcome::default, |(task, attempt)| blocked(task, attempt, failure.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failure_of_the_task_itself_blocks_it() {
        let of = |error| blocked(TaskId::new("1.1").unwrap(), 2, error);
        let said = "fatal: could not write: No space left on device".to_owned();
        let full = of(switchboard_process::Error::Git { call: "write".to_owned(), said }.into());
        assert!(matches!(full.steps.as_slice(), [RunEvent::RunPaused { .. }]) && full.has_failed, "{:?}", full.steps);
        let busy = of(switchboard_store::Error::Busy.into());
        assert!(busy.steps.is_empty() && busy.has_failed);
        let late = Box::new(Failure::new("request.conflict", "late"));
        for nothing in [of(Error::Stopping), of(Error::Superseded(late))] {
            assert!(nothing.steps.is_empty() && !nothing.has_failed);
        }

        let refused = of(Failure::new("io.denied", "no").into());

        let [RunEvent::TaskBlocked { attempt: 2, retries: None, reason, .. }] = refused.steps.as_slice() else {
            panic!("{:?}", refused.steps)
        };
        assert!(reason.contains("no") && !refused.has_failed, "{reason}");
        assert!(!reason.ends_with(": "), "{reason}");
        let causes = vec!["one".to_owned(), "two".to_owned()];
        let caused = of(Failure { cause: causes, ..Failure::new("io.denied", "no") }.into());
        let [RunEvent::TaskBlocked { reason, .. }] = caused.steps.as_slice() else { panic!("{:?}", caused.steps) };
        assert!(reason.ends_with(": one: two"), "{reason}");
    }

    fn fails() {
        std::panic::resume_unwind(Box::new("a defect"))
    }

    #[tokio::test]
    async fn an_effect_that_panicked_blocks_its_task_and_one_that_was_ended_does_not() {
        let about = || Some((TaskId::new("1.1").unwrap(), 2));
        let ended = tokio::spawn(std::future::pending::<()>());
        ended.abort();
        let ended = ended.await.unwrap_err();
        let failed = tokio::task::spawn_blocking(fails).await.unwrap_err();

        assert!(panicked(about(), &ended).steps.is_empty());
        assert!(panicked(None, &failed).steps.is_empty());
        let steps = panicked(about(), &failed).steps;

        assert!(
            matches!(steps.as_slice(), [RunEvent::TaskBlocked { task, attempt: 2, reason, .. }]
                if task.as_str() == "1.1" && reason.contains("internal.bug")),
            "{steps:?}"
        );
    }
}
