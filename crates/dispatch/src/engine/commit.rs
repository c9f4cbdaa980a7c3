//! Records events: what happened is queued until the store has it, and the state follows the log, never the other way
//! round.

use std::collections::VecDeque;

use serde_json::Value;
use switchboard_pipeline::run::Refused;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::run::{EffectKey, PauseCause, RunEvent};
use switchboard_store::Batch;
use tokio::time::Instant;

use super::Engine;
use super::roster::Assigned;
use crate::backoff::Backoff;
use crate::error::{is_transient, shape};
use crate::handle::{Answer, Outcome, Record};
#[cfg(any(test, feature = "sim"))]
use crate::simulate::Defect;
use crate::{Error, history, notes};

/// Records that wait until the store accepts them again.
#[derive(Default)]
pub(super) struct Waiting {
    entries: VecDeque<(Record, Then)>,
    backoff: Backoff,
    again_at: Option<Instant>,
}

/// Action once a record is committed.
pub(super) enum Then {
    /// Answers a request.
    Answer(Answer),
    /// Ends an effect that was in progress.
    Forget(EffectKey),
    Nothing,
}

/// Reason for which a record was not committed.
pub(super) enum Unrecorded {
    /// The store may take it later.
    NotYet(switchboard_store::Error),
    /// The state refuses it: the run has gone on without it.
    Refused(Refused),
    /// It can never be recorded.
    Never(Failure),
}

// === impl Waiting ===

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns when to try again; `None` if nothing waits.
    pub(super) const fn again_at(&self) -> Option<Instant> {
        self.again_at
    }
}

// === impl Engine ===

impl Engine {
    /// Records what happened, after the records that wait already.
    pub(super) async fn happened(&mut self, record: Record, then: Then) {
        self.waiting.entries.push_back((record, then));
        if self.waiting.entries.len() == 1 {
            self.record_waiting().await;
        }
    }

    /// Records a request, now or not at all.
    pub(super) async fn record_request(&mut self, record: &Record, answer: Answer) {
        let done = self.commit(record).await.map_err(|unrecorded| match unrecorded {
            Unrecorded::NotYet(error) => error.into(),
            Unrecorded::Refused(refused) => refusal(&refused),
            Unrecorded::Never(failure) => failure.into(),
        });
        // Who asked may be gone.
        drop(answer.send(done));
    }

    /// Handles the outcome of an effect.
    pub(super) async fn done(&mut self, key: EffectKey, outcome: Outcome) {
        if let Some((task, worker)) = outcome.last {
            self.last.insert(task, worker);
        }
        let is_known = [RunEvent::RunPaused { cause: PauseCause::Disk }] == outcome.steps[..]
            && self.recorded.state().pause() == Some(PauseCause::Disk);
        if outcome.steps.is_empty() || is_known {
            self.under_way.remove(&key);
        } else {
            self.happened(Record::steps(outcome.steps), Then::Forget(key)).await;
        }
    }

    /// Records the waiting entries, oldest first, until the store refuses again.
    pub(super) async fn record_waiting(&mut self) {
        while let Some((record, then)) = self.waiting.entries.pop_front() {
            let done = match self.commit(&record).await {
                Ok(reply) => Ok(reply),
                #[cfg(any(test, feature = "sim"))]
                Err(Unrecorded::NotYet(_)) if self.world.has_defect(Defect::ForgetsReports) => Ok(Value::Null),
                Err(Unrecorded::NotYet(error)) => {
                    tracing::warn!(run = %self.plan.run, %error, "what happened is kept until it can be recorded");
                    self.waiting.entries.push_front((record, then));
                    self.waiting.again_at = Some(Instant::now() + self.waiting.backoff.next());
                    return;
                }
                Err(Unrecorded::Refused(refused)) => Err(refusal(&refused)),
                Err(Unrecorded::Never(failure)) => {
                    self.block_instead(&record, &then, &failure);
                    Err(failure.into())
                }
            };
            self.waiting.backoff.reset();
            match then {
                Then::Answer(answer) => drop(answer.send(done)),
                Then::Forget(key) => {
                    if let Err(why) = done {
                        tracing::info!(run = %self.plan.run, %why, "an effect's outcome was not taken");
                    }
                    self.under_way.remove(&key);
                }
                Then::Nothing => {
                    if let Err(why) = done {
                        tracing::info!(run = %self.plan.run, %why, "what follows from other runs was not taken");
                    }
                }
            }
        }
        self.waiting.again_at = None;
    }

    /// Blocks the task of an effect whose outcome can't be recorded. Otherwise the effect would be carried out again
    /// and again.
    fn block_instead(&mut self, record: &Record, then: &Then, failure: &Failure) {
        let Then::Forget(key) = then else { return };
        let first = record.steps.first();
        let is_block = matches!(first, Some(RunEvent::TaskBlocked { .. }));
        let view = first.and_then(RunEvent::task).and_then(|task| self.recorded.state().task(task));
        let Some(view) = view.filter(|_| !is_block) else { return };
        let reason = format!("what came of it can't be recorded: {failure}");
        let retries = Some(self.recorded.state().retries_of(&view.task));
        let blocked = RunEvent::TaskBlocked { task: view.task, attempt: view.attempt, retries, reason };
        self.waiting.entries.push_front((Record::steps(vec![blocked]), Then::Forget(key.clone())));
    }

    /// Commits a record. If others wrote to the run meanwhile, their events are folded and the commit is tried once
    /// more.
    pub(super) async fn commit(&mut self, record: &Record) -> Result<Value, Unrecorded> {
        match self.commit_once(record).await {
            Err(Unrecorded::NotYet(switchboard_store::Error::Conflict { .. })) => {
                self.recorded.catch_up(&self.world.store).map_err(|error| Unrecorded::Never(error.to_failure()))?;
                self.commit_once(record).await
            }
            done => done,
        }
    }

    async fn commit_once(&mut self, record: &Record) -> Result<Value, Unrecorded> {
        let never = |error: Error| Unrecorded::Never(error.to_failure());
        let now = self.world.store.now();
        let steps = self.recorded.try_steps(&record.steps, now).map_err(Unrecorded::Refused)?;
        let assigned = self.newly_assigned();
        let joined = self.joined(&assigned).map_err(never)?;
        let batch = self.batch(record, &steps, joined).map_err(never)?;
        // Before the commit: an agent that it assigns must not be taken for one that has left.
        self.assign(&assigned);
        match self.world.commit(batch).await {
            Ok(committed) if committed.repeated => {
                self.not_committed(&assigned);
                Ok(committed.reply)
            }
            Ok(committed) => {
                self.recorded.take_over(&steps, committed.ts).map_err(never)?;
                self.take_over_roster(assigned);
                self.pause_workers();
                Ok(committed.reply)
            }
            Err(error) => {
                #[cfg(any(test, feature = "sim"))]
                if self.world.has_defect(Defect::TakesOverUncommitted) {
                    self.recorded.take_over(&steps, now).map_err(never)?;
                    return Err(Unrecorded::Never(error.failure()));
                }
                self.not_committed(&assigned);
                if is_transient(&error) {
                    return Err(Unrecorded::NotYet(error));
                }
                Err(Unrecorded::Never(error.failure()))
            }
        }
    }

    fn not_committed(&mut self, assigned: &Assigned) {
        self.recorded.discard();
        self.take_back(assigned);
    }

    fn batch(&self, record: &Record, steps: &[RunEvent], joined: Vec<NewEvent>) -> Result<Batch, Error> {
        let subject = history::subject(&self.plan.run);
        let mut batch = Batch::new(record.durability);
        let asked_by = record.call.as_ref().map(|call| call.caller.as_str());
        for step in steps {
            // The caller is the actor of the requested steps; the daemon is that of the steps that follow from them.
            let by = asked_by.filter(|_| record.steps.contains(step)).unwrap_or("daemon");
            batch = batch.event(NewEvent::of(step, subject.clone(), by).map_err(shape("a step"))?);
        }
        batch = batch.expect(subject, self.recorded.rev());
        batch.events.extend(record.beside.iter().cloned());
        batch.events.extend(joined);
        batch.events.extend(notes::of_steps(&self.world, &self.plan, steps, self.recorded.rev())?);
        batch.guards.extend(record.guards.iter().cloned());
        batch.idempotency.clone_from(&record.call);
        batch.reply = record.reply.clone();
        Ok(batch)
    }
}

fn refusal(refused: &Refused) -> Error {
    let failure = Failure::new(refused.code.code(), refused.why.clone()).hint(refused.hint.clone());
    Error::Superseded(Box::new(failure))
}
