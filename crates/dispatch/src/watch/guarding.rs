//! Guardrails of a team's workers: stops a worker that makes no progress or exceeds the limits of its role, and
//! recognises failures of its model.

use std::path::Path;
use std::time::Duration;

use switchboard_pipeline::settings::Settings;
use switchboard_pipeline::team::advisory::Advisory;
use switchboard_pipeline::team::fallback::Models;
use switchboard_pipeline::team::repeat::{Finding, FindingKind, Guard, Reaction};
use switchboard_protocol::answer::AnswerKind;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::frame::{ShimCommand, WorkerEvent};
use switchboard_protocol::id::{Digest, WorkerId};
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::way::RoleId;
use switchboard_protocol::run::{StepWork, TurnOutcome};
use switchboard_protocol::verb::run::AgentChoice;
use switchboard_protocol::worker::{NON_RETRYABLE_CODES, WorkerFact};
use switchboard_store::{Batch, Durability, Store};
use tokio::time::Instant;

use super::Watch;
use super::awake::Awake;
use super::ending::RATE_LIMITED;
use crate::error::shape;
use crate::flag::flagged;
use crate::plan::RunPlan;
use crate::{Error, history, report};

/// Time between asking an agent to end and ending it, in milliseconds.
const GRACE_MS: u64 = 5_000;

/// Additional time for its shim to end.
const MORE: Duration = Duration::from_secs(2);

/// Error code of a service that does not have the model.
const NO_MODEL: &str = "agent.no-model";

/// Guardrail state of a team's worker.
pub(super) struct Guarded {
    guard: Guard,
    /// Changes outside its task; for a coder only.
    advisory: Option<Advisory>,
    /// Advice about them for the end of its turn.
    advice: Option<String>,
    models: Models,
    /// Model set for the worker.
    model: Option<String>,
    /// Why it was stopped.
    halted: Option<Halted>,
    /// When a worker that was stopped, and has not ended, is killed.
    kill_at: Option<Instant>,
    awake: Awake,
}

/// Reason for which a worker was stopped.
struct Halted {
    words: String,
    ends: HaltedAs,
}

/// What the end of a stopped worker counts as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HaltedAs {
    /// A failure.
    Failed,
    /// A failure for want of time.
    TimedOut,
    /// A lost worker: no attempt is spent.
    Lost,
}

// === impl Halted ===

impl Halted {
    fn new(rule: &str, words: &str) -> Self {
        let ends = if rule == FindingKind::Minutes.as_str() {
            HaltedAs::TimedOut
        } else if rule == FindingKind::Stale.as_str() {
            HaltedAs::Lost
        } else {
            HaltedAs::Failed
        };
        Self { words: words.to_owned(), ends }
    }
}

// === impl Guarded ===

impl Guarded {
    /// Restores the state of a worker from the record; `None` without a team.
    pub(super) fn recall(
        store: &Store,
        plan: &RunPlan,
        (settings, choice): (&Settings, Option<&AgentChoice>),
        (worker, role, root): (&WorkerId, Option<RoleId>, &Path),
        is_by_hand: bool,
    ) -> Result<Option<Self>, Error> {
        let (true, Some(choice)) = (settings.team || role.is_some(), choice) else { return Ok(None) };
        let answers = role.is_some();
        let role = role.unwrap_or_else(|| RoleName::Coder.id());
        let limits = plan.role_limits(&role);
        let kind = answers.then_some(AnswerKind::Review);
        let work = StepWork { role: role.clone(), writes: Vec::new(), answer: kind, input: Digest::ZERO };
        let models = plan.models(choice, settings, &work);
        let advisory = (!answers).then(|| Advisory::new(settings.clone(), crate::plan::text(root)));
        let new = if is_by_hand { Guard::by_hand } else { Guard::new };
        let mut guarded = Self {
            guard: new(role.as_str(), limits, plan.limits, store.now()),
            advisory,
            advice: None,
            models,
            model: None,
            halted: None,
            kill_at: None,
            awake: Awake::new(store.now(), Instant::now()),
        };
        let mut unread = Ok(());
        history::events_of_worker(store, worker.as_str(), |event| match event.fact::<WorkerFact>() {
            Some(WorkerFact::WorkerEquipped { model, .. }) => {
                guarded.guard = new(role.as_str(), limits, plan.limits, event.ts);
                guarded.model = model;
            }
            Some(WorkerFact::WorkerReported { mut what, .. }) => {
                // The text of the turn is in the event's body, which is read by itself.
                if let WorkerEvent::TurnEnded { text, .. } = &mut what {
                    match store.body(event.lsn) {
                        Ok(body) => *text = body.unwrap_or_default(),
                        Err(error) => unread = Err(error),
                    }
                }
                if let WorkerEvent::TurnStarted { .. } = &what {
                    guarded.advice = None;
                }
                drop(guarded.guard.step(&what, event.ts));
            }
            Some(WorkerFact::WorkerSuspended { ms, .. }) => guarded.suspended(ms),
            Some(WorkerFact::WorkerFlagged { rule, words, .. }) if rule == FindingKind::Scope.as_str() => {
                guarded.advisory.iter_mut().for_each(Advisory::silence);
                guarded.advice = Some(words);
            }
            Some(WorkerFact::WorkerFlagged { rule, stops: true, words, .. }) => {
                guarded.halted = Some(Halted::new(&rule, &words));
            }
            Some(_) | None => {}
        })?;
        unread?;
        Ok(Some(guarded))
    }

    fn suspended(&mut self, ms: u64) {
        self.guard.suspended(i64::try_from(ms).unwrap_or(i64::MAX));
    }

    fn halt(&mut self, found: &[Finding]) -> bool {
        let stop = found.iter().find(|found| found.reaction == Reaction::Stop);
        let (None, Some(stop)) = (&self.halted, stop) else { return false };
        self.halted = Some(Halted::new(stop.kind.as_str(), &stop.words));
        true
    }
}

// === impl Watch ===

impl Watch {
    /// Returns the events of the findings about a report, and whether the worker has to end because of them.
    pub(super) fn guard(&mut self, event: &WorkerEvent) -> Result<(Vec<NewEvent>, bool), Error> {
        let now = self.world.store.now();
        let Some(guarded) = self.guarded.as_mut().filter(|guarded| guarded.halted.is_none()) else {
            return Ok((Vec::new(), false));
        };
        let mut found = guarded.guard.step(event, now);
        if let Some(outside) = guarded.advisory.as_mut().and_then(|advisory| advisory.step(event)) {
            guarded.advice = Some(outside.words.clone());
            found.push(outside);
        }
        let must_end = guarded.halt(&found);
        Ok((self.flags(&found)?, must_end))
    }

    /// Records that the machine was suspended.
    pub(super) async fn note_suspension(&mut self) -> Result<(), Error> {
        let now = self.world.store.now();
        let Some(guarded) = self.guarded.as_mut() else { return Ok(()) };
        let Some(ms) = guarded.awake.step(now, Instant::now()) else { return Ok(()) };
        guarded.suspended(ms);
        let fact = WorkerFact::WorkerSuspended { worker: self.worker.clone(), ms };
        let event = NewEvent::of(&fact, format!("worker/{}", self.worker), "daemon");
        let events = vec![event.map_err(shape("worker_suspended"))?];
        self.world.commit_patiently(&Batch { events, ..Batch::new(Durability::Written) }).await?;
        Ok(())
    }

    /// Returns the advice for a worker that reports being done; given once, before its report counts.
    pub(super) fn advice(&mut self) -> Option<String> {
        self.guarded.as_mut()?.advice.take()
    }

    /// Returns when time alone leads to the next finding, or to the end of a worker that was stopped.
    pub(super) fn guard_due(&self) -> Option<Instant> {
        let guarded = self.guarded.as_ref().filter(|_| !self.is_concluded)?;
        if guarded.halted.is_some() {
            return guarded.kill_at;
        }
        let left = guarded.guard.due()?.since(self.world.store.now()).max(1);
        Some(Instant::now() + Duration::from_millis(left.unsigned_abs()))
    }

    /// Records findings due to time, and ends a worker whose time is over.
    pub(super) async fn tick(&mut self) -> Result<(), Error> {
        let now = self.world.store.now();
        let Some(guarded) = self.guarded.as_mut() else { return Ok(()) };
        if guarded.kill_at.take_if(|at| *at <= Instant::now()).is_some() {
            return self.end_hung("it was stopped and did not end").await;
        }
        if let Some(at) = report::printed_at(&self.folder) {
            guarded.guard.heard(at);
        }
        let found = guarded.guard.tick(now);
        self.act_on(&found).await
    }

    /// Records findings, and ends the worker if they require it.
    pub(super) async fn act_on(&mut self, found: &[Finding]) -> Result<(), Error> {
        let must_end = self.guarded.as_mut().is_some_and(|guarded| guarded.halt(found));
        let events = self.flags(found)?;
        if !events.is_empty() {
            self.world.commit_patiently(&Batch { events, ..Batch::new(Durability::Written) }).await?;
        }
        if must_end {
            self.end_halted().await;
        }
        Ok(())
    }

    /// Ends a worker that was stopped.
    pub(super) async fn end_halted(&mut self) {
        if let Some(guarded) = self.guarded.as_mut().filter(|guarded| guarded.halted.is_some()) {
            guarded.kill_at = Some(Instant::now() + Duration::from_millis(GRACE_MS) + MORE);
            self.tell(ShimCommand::Stop { grace_ms: GRACE_MS }).await;
        }
    }

    fn flags(&self, found: &[Finding]) -> Result<Vec<NewEvent>, Error> {
        let flag = |found: &Finding| {
            let fact = flagged(&self.worker, found.kind.as_str(), found.reaction == Reaction::Stop, &found.words);
            NewEvent::of(&fact, format!("worker/{}", self.worker), "daemon").map_err(shape("worker_flagged"))
        };
        found.iter().map(flag).collect()
    }

    /// Returns true if the worker was stopped and counts as lost.
    pub(super) fn is_taken_back(&self) -> bool {
        let halted = self.guarded.as_ref().and_then(|guarded| guarded.halted.as_ref());
        halted.is_some_and(|halted| halted.ends == HaltedAs::Lost) && self.stopping.is_none()
    }

    /// Returns true if no further attempt can succeed before a person acts.
    pub(super) fn is_hopeless(&self, code: &str) -> bool {
        NON_RETRYABLE_CODES.contains(&code) && !(code == NO_MODEL && self.has_fallback())
    }

    /// Returns true if another model may be asked while this one can't be reached.
    pub(super) fn has_fallback(&self) -> bool {
        self.guarded.as_ref().is_some_and(|guarded| guarded.models.has_next(guarded.model.as_deref()))
    }

    /// Interprets the end of a worker if a limit of its role or its model is the reason.
    pub(super) fn judged(&self, (outcome, reason): (TurnOutcome, String)) -> (TurnOutcome, String) {
        let Some(guarded) = &self.guarded else { return (outcome, reason) };
        if let (Some(Halted { words, ends }), None) = (&guarded.halted, self.stopping) {
            let outcome = match ends {
                HaltedAs::TimedOut => TurnOutcome::TimedOut,
                HaltedAs::Failed => TurnOutcome::Failed,
                HaltedAs::Lost => return (TurnOutcome::Stopped, words.clone()),
            };
            return (outcome, format!("{words} [worker.halted]"));
        }
        let is_models = match outcome {
            TurnOutcome::Failed if !self.is_exec => {
                let is_absent = self.stop.as_deref() == Some(NO_MODEL) && self.has_fallback();
                is_absent || guarded.models.passes(&reason, guarded.model.as_deref())
            }
            TurnOutcome::RateLimited => self.stop.as_deref() == Some(RATE_LIMITED) && self.has_fallback(),
            TurnOutcome::Failed
            | TurnOutcome::Finished
            | TurnOutcome::Stopped
            | TurnOutcome::Refused
            | TurnOutcome::TimedOut
            | TurnOutcome::Paused
            | TurnOutcome::ModelFailed => false,
        };
        if is_models { (TurnOutcome::ModelFailed, reason) } else { (outcome, reason) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchboard_protocol::frame::DriverSpec;
    use switchboard_protocol::id::AgentName;
    use switchboard_protocol::run::TeamLimits;
    use switchboard_store::Clock;

    use super::*;
    use crate::tests::run_plan;

    fn worker() -> WorkerId {
        WorkerId::from_bits(2)
    }

    /// Returns the guardrails of a coder, as restored from a record with these facts.
    async fn recalled(facts: &[WorkerFact]) -> Guarded {
        let store = Store::in_memory(Vec::new(), Clock::system());
        let event = |fact| NewEvent::of(fact, format!("worker/{}", worker()), "daemon").unwrap();
        let events = facts.iter().map(event).collect();
        store.commit(Batch { events, ..Batch::written() }).await.unwrap();
        recall(&store)
    }

    fn recall(store: &Store) -> Guarded {
        let plan = run_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
        let settings = Settings { team: true, files_touched: vec!["a.rs".to_owned()], ..Settings::default() };
        let driver = DriverSpec::Acp { argv: vec!["ann".to_owned()] };
        let choice = AgentChoice::new(AgentName::new("ann").unwrap(), driver);
        let of = (&worker(), None, Path::new("/tree"));
        Guarded::recall(store, &plan, (&settings, Some(&choice)), of, false).unwrap().unwrap()
    }

    fn reported(what: WorkerEvent) -> WorkerFact {
        WorkerFact::WorkerReported { worker: worker(), epoch: 1, seq: 1, what }
    }

    fn changed(path: &str) -> WorkerEvent {
        WorkerEvent::ToolCalled {
            call: "1".to_owned(),
            title: "Edit".to_owned(),
            tool_kind: "edit".to_owned(),
            status: "completed".to_owned(),
            paths: vec![path.to_owned()],
            why: String::new(),
        }
    }

    #[tokio::test]
    async fn advice_that_a_worker_has_not_had_is_given_by_the_next_daemon_once() {
        let warned = flagged(&worker(), FindingKind::Scope.as_str(), false, "b.rs is not in the task's files_touched");
        let turn = reported(WorkerEvent::TurnStarted { turn: 1, mail: Vec::new() });
        let step = |guarded: Guarded| guarded.advisory.unwrap().step(&changed("b.rs"));

        assert!(step(recalled(&[]).await).is_some());
        let waits = recalled(std::slice::from_ref(&warned)).await;
        assert_eq!(waits.advice.as_deref(), Some("b.rs is not in the task's files_touched"));
        assert!(waits.halted.is_none());
        assert_eq!(step(waits), None, "it was warned");
        assert_eq!(recalled(&[warned, turn]).await.advice, None, "it has had the advice with this turn");
    }

    #[tokio::test]
    async fn the_next_daemon_knows_for_how_long_the_machine_was_suspended() {
        let hour = 3_600_000;
        let (without, with) =
            (recalled(&[]).await, recalled(&[WorkerFact::WorkerSuspended { worker: worker(), ms: hour }]).await);

        let later = with.guard.due().unwrap().since(without.guard.due().unwrap());

        // The records were made one after the other.
        assert!(later >= i64::try_from(hour).unwrap(), "{later}");
    }

    #[tokio::test]
    async fn the_next_daemon_goes_on_counting_turns_of_text_alone() {
        let ended = WorkerEvent::TurnEnded { turn: 1, stop: "end_turn".to_owned(), text: "hm".to_owned() };
        let store = Store::in_memory(Vec::new(), Clock::system());
        // As it is recorded: the text is in the body.
        let fact = reported(ended.clone().fitted());
        let event = NewEvent::of(&fact, format!("worker/{}", worker()), "ann").unwrap().with_body("hm".to_owned());
        let limit = TeamLimits::default().text_turns as usize;
        let events = vec![event; limit - 1];
        store.commit(Batch { events, ..Batch::written() }).await.unwrap();

        let found = recall(&store).guard.step(&ended, store.now());

        assert!(matches!(found.as_slice(), [Finding { kind: FindingKind::Runaway, .. }]), "{found:?}");
        let words = &found[0].words;
        assert!(words.contains(&format!("{limit} turns in a row")), "{words}");
    }
}
