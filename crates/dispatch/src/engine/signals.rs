//! Signal files written while no daemon answered. They are recorded before the run goes on, each once and in order.

use std::sync::Arc;

use switchboard_process::signal_files::{DAEMON, Found};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, Digest};
use switchboard_protocol::run::{PauseCause, RunEvent, TaskPauseCause};
use switchboard_protocol::signal::{RunSignal, SignalDone, SignalKind};
use switchboard_store::Idempotency;

use super::Engine;
use super::commit::Unrecorded;
use crate::backoff::Backoff;
use crate::handle::Record;
use crate::{Error, plan};

/// Returns the step of a run that a signal requests.
pub(super) fn step(signal: &RunSignal) -> RunEvent {
    match (signal.kind, signal.task.clone()) {
        (SignalKind::Pause, None) => RunEvent::RunPaused { cause: PauseCause::Requested },
        (SignalKind::Pause, Some(task)) => RunEvent::TaskPaused { task, cause: TaskPauseCause::Requested },
        (SignalKind::Resume, None) => RunEvent::RunResumed,
        (SignalKind::Resume, Some(task)) => RunEvent::TaskResumed { task },
        (SignalKind::Stop, None) => RunEvent::RunStopRequested,
        (SignalKind::Stop, Some(task)) => RunEvent::TaskStopRequested { task, grace_ms: None },
    }
}

// === impl Engine ===

impl Engine {
    /// Records what signal files request.
    pub(super) async fn take_signals(&mut self) {
        let folder = plan::signals_folder(&self.world.config, &self.plan.run);
        let files = Arc::clone(&self.world.ports.files);
        let found = {
            let folder = folder.clone();
            self.world.blocking(move || files.signals(&folder)).await
        };
        let found = found.unwrap_or_else(|error| {
            tracing::warn!(run = %self.plan.run, %error, "signal files can't be read");
            Vec::new()
        });
        for Found { n, signal } in found {
            let refused = match signal {
                Ok(signal) => match self.take_signal(&signal).await {
                    Ok(()) => String::new(),
                    Err(Error::Stopping) => return,
                    Err(error) => self.refused_signal(n, error.to_failure().what),
                },
                Err(why) => self.refused_signal(n, why),
            };
            let done = SignalDone { n, by: DAEMON.to_owned(), refused, at: self.world.store.now() };
            let (files, folder) = (Arc::clone(&self.world.ports.files), folder.clone());
            // Without the mark it is recorded again, which its idempotency key prevents.
            if let Err(error) = self.world.blocking(move || files.mark_signal(&folder, &done)).await {
                tracing::warn!(run = %self.plan.run, n, %error, "a signal can't be marked as recorded");
            }
        }
    }

    fn refused_signal(&self, n: u32, why: String) -> String {
        tracing::warn!(run = %self.plan.run, n, %why, "a signal file does not count");
        why
    }

    async fn take_signal(&mut self, signal: &RunSignal) -> Result<(), Error> {
        let (run, n) = (&self.plan.run, signal.n);
        let args = serde_json::to_vec(signal).map_err(crate::error::shape("a signal"))?;
        let caller = AgentName::new(signal.from.clone()).map_or_else(|_| "user".to_owned(), |name| name.folded());
        let call = Idempotency { key: format!("signal/{run}/{n}"), caller, verb: "signal", args: Digest::of(&args) };
        let record = Record { steps: vec![step(signal)], call: Some(call), ..Record::default() };
        let mut backoff = Backoff::default();
        loop {
            match self.commit(&record).await {
                Ok(_) => return Ok(()),
                Err(Unrecorded::NotYet(error)) => {
                    tracing::warn!(run = %self.plan.run, %error, "a signal waits until it can be recorded");
                    tokio::select! {
                        biased;
                        () = self.world.stop.cancelled() => return Err(Error::Stopping),
                        () = tokio::time::sleep(backoff.next()) => {}
                    }
                }
                Err(Unrecorded::Refused(refused)) => {
                    return Err(Failure::new(refused.code.code(), refused.why.clone()).into());
                }
                Err(Unrecorded::Never(failure)) => return Err(failure.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::plan::TaskId;
    use switchboard_protocol::time::Millis;

    use super::*;

    #[test]
    fn a_signal_is_what_the_verb_of_its_name_does() {
        let of = |kind, task: Option<&str>| {
            let task = task.map(|task| TaskId::new(task).unwrap());
            step(&RunSignal { n: 1, kind, task, from: "person".to_owned(), at: Millis(1) })
        };
        let task = || TaskId::new("1.1").unwrap();
        let requested = TaskPauseCause::Requested;

        assert_eq!(of(SignalKind::Pause, None), RunEvent::RunPaused { cause: PauseCause::Requested });
        assert_eq!(of(SignalKind::Pause, Some("1.1")), RunEvent::TaskPaused { task: task(), cause: requested });
        assert_eq!(of(SignalKind::Resume, None), RunEvent::RunResumed);
        assert_eq!(of(SignalKind::Resume, Some("1.1")), RunEvent::TaskResumed { task: task() });
        assert_eq!(of(SignalKind::Stop, None), RunEvent::RunStopRequested);
        assert_eq!(of(SignalKind::Stop, Some("1.1")), RunEvent::TaskStopRequested { task: task(), grace_ms: None });
    }
}
