//! Engine of a run: one loop that folds the run's events, asks `pipeline` what to do next, and starts one task per
//! effect.
//!
//! Only the engine steps a run, so its state and the log never differ. All other code sends it what happened and waits
//! until that is recorded.

mod commit;
mod login;
mod recorded;
mod roster;
mod sharing;
mod signals;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use switchboard_pipeline::run::Waits;
use switchboard_process::task;
use switchboard_protocol::id::{RunId, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{Effect, EffectKey, TaskState};
use switchboard_protocol::time::Millis;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use self::commit::{Then, Waiting};
use self::login::Logins;
use self::recorded::Recorded;
use self::roster::Claims;
use crate::assignees::{Roster, TaskAssignees};
use crate::handle::{Handle, LastWorker, Message};
use crate::plan::RunPlan;
use crate::watch::Reachable;
use crate::world::World;
use crate::{Error, deadline, effect, history};

/// Pause before an effect with a transient failure can be decided again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Engine {
    world: Arc<World>,
    plan: Arc<RunPlan>,
    recorded: Recorded,
    last: BTreeMap<TaskId, LastWorker>,
    under_way: BTreeSet<EffectKey>,
    logins: Logins,
    /// Notifies about changes of the limits over all runs.
    shared: watch::Receiver<u64>,
    /// Workers that were told to wait, with the reason.
    paused: BTreeMap<WorkerId, Waits>,
    /// Ends all effects when the engine panics; the next engine decides again what to do.
    effects: EffectsEnd,
    /// Effects that only wait; aborted when their wait no longer matters.
    waits: BTreeMap<EffectKey, AbortOnDropHandle<()>>,
    assignees: TaskAssignees,
    claims: Claims,
    waiting: Waiting,
    /// Time of the last decision.
    decided_at: Millis,
    /// True once a request has arrived. The engine of a run that is over is only started because a request will follow.
    is_asked: bool,
    /// True if the run was not over when the engine started.
    was_live: bool,
    me: Handle,
    inbox: mpsc::Receiver<Message>,
}

/// Ends the effects of an engine when it panics.
#[derive(Default)]
struct EffectsEnd(CancellationToken);

/// Reason for which an engine wakes up.
enum Wake {
    Message(Box<Message>),
    Again,
    /// A worker's time limit, or a change of the limits over all runs.
    Deadline,
    Stop,
}

// === impl EffectsEnd ===

impl Drop for EffectsEnd {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.cancel();
        }
    }
}

// === impl Engine ===

impl Engine {
    /// Folds a run from the log; returns the agents with a task in it, too.
    pub(crate) fn fold(
        world: Arc<World>,
        run: &RunId,
        me: mpsc::Sender<Message>,
        inbox: mpsc::Receiver<Message>,
    ) -> Result<(Self, Roster), Error> {
        let plan = history::plan(&world, run)?;
        world.plans.keep(&plan);
        let recorded = Recorded::fold(&world.store, run)?;
        let last = history::last_workers(&world, run)?;
        let assignees = TaskAssignees::of(&plan, recorded.state().task_ids().cloned())?;
        let was_live = recorded.state().outcome().is_none();
        world.retain(run, |task| !recorded.state().is_settled(task));
        let claims = Claims::of(&world.worker_names, run);
        let of_tasks = recorded.state().unsettled().filter_map(|task| assignees.get(task));
        let roster = of_tasks.map(|assignee| &assignee.folded).chain(claims.names()).cloned().collect();
        let plan_hash = recorded.state().header().map_or("", |header| header.plan_hash.as_str());
        world.shared.state().open(run, plan_hash, recorded.state().spent());
        let (shared, decided_at) = (world.shared.changes(), world.store.now());
        let engine = Self {
            world,
            plan,
            recorded,
            last,
            under_way: BTreeSet::new(),
            logins: Logins::default(),
            shared,
            paused: BTreeMap::new(),
            effects: EffectsEnd::default(),
            waits: BTreeMap::new(),
            assignees,
            claims,
            waiting: Waiting::default(),
            decided_at,
            is_asked: false,
            was_live,
            me: Handle::new(me),
            inbox,
        };
        Ok((engine, roster))
    }

    /// Runs until the run has ended or the daemon goes down.
    pub(crate) async fn run(mut self) {
        self.take_signals().await;
        self.pause_workers();
        let mut is_news = true;
        loop {
            if is_news {
                self.decided_at = self.world.store.now();
                self.share().await;
                self.start_effects();
            }
            if self.is_over() {
                return;
            }
            is_news = match self.wake().await {
                Wake::Message(message) => self.handle_message(*message).await,
                Wake::Again => {
                    self.record_waiting().await;
                    true
                }
                Wake::Deadline => true,
                Wake::Stop => return,
            };
        }
    }

    /// Handles a message; returns true if that may change what to do next.
    async fn handle_message(&mut self, message: Message) -> bool {
        self.world.may_panic();
        match message {
            Message::Happened(record, answer) => {
                let is_news = !record.steps.is_empty();
                self.happened(record, Then::Answer(answer)).await;
                return is_news;
            }
            Message::Asked(record, answer) => {
                self.is_asked = true;
                self.record_request(&record, answer).await;
            }
            Message::Done(key, outcome) => self.done(key, outcome).await,
            Message::State(answer) => {
                drop(answer.send(self.recorded.shared()));
                return false;
            }
            Message::Room(worker, answer) => {
                // The receiver is gone if the calling task was dropped.
                let _ = answer.send(self.recorded.state().has_room_for_turn(&worker));
                return false;
            }
        }
        true
    }

    /// Waits for the next message, the time to retry a failed recording, or a worker's time limit.
    async fn wake(&mut self) -> Wake {
        let now = self.world.store.now();
        // Changes that fell due since the last decision are due now.
        let changes = self.world.shared.state().next_change(self.decided_at);
        let deadline = self.recorded.state().next_deadline(self.decided_at).into_iter().chain(changes).min();
        let next = deadline.map(|at| Instant::now() + Duration::from_millis(at.since(now).max(0).unsigned_abs()));
        let again_at = self.waiting.again_at();
        tokio::select! {
            biased;
            () = self.world.stop.cancelled() => Wake::Stop,
            // Never `None`: the engine holds a sender itself.
            Some(message) = self.inbox.recv() => Wake::Message(Box::new(message)),
            () = deadline::reached(again_at) => Wake::Again,
            () = deadline::reached(next) => Wake::Deadline,
            // The sender lives as long as the world.
            Ok(()) = self.shared.changed() => Wake::Deadline,
        }
    }

    /// Returns true if the run has ended. A retry may have been requested while its end was being carried out.
    fn is_over(&self) -> bool {
        let is_finished = (self.is_asked || self.was_live) && self.recorded.state().outcome().is_some();
        is_finished && self.under_way.is_empty() && self.waiting.is_empty() && self.inbox.is_empty()
    }

    /// Takes up what the last daemon left between intent and outcome: watches workers, continues a merge.
    pub(crate) fn adopt(&mut self) {
        let views: Vec<_> = self.recorded.state().under_way().collect();
        for view in views {
            match view.state {
                #[cfg(any(test, feature = "sim"))]
                TaskState::Starting { .. } | TaskState::Working { .. }
                    if self.world.has_defect(crate::simulate::Defect::ForgetsWorkers) => {}
                TaskState::Starting { worker } | TaskState::Working { worker } => {
                    let waits = self.recorded.state().waiting_workers().find(|(waiting, _)| **waiting == worker);
                    let waits = waits.map(|(_, waits)| waits).unwrap_or_default();
                    let worker = Reachable::new(Arc::clone(&self.world), &worker);
                    worker.pause(waits);
                    worker.watch(Arc::clone(&self.plan), view.task, self.me.clone());
                }
                TaskState::Merging { change, onto } => {
                    let (commit, base) = (change.commit, change.base);
                    let effect = Effect::Merge { task: view.task, attempt: view.attempt, commit, base };
                    self.under_way.insert(effect.key());
                    drop(self.start_effect(effect, Some(onto)));
                }
                TaskState::Pending
                | TaskState::Ready
                | TaskState::Capturing { .. }
                | TaskState::Captured { .. }
                | TaskState::Gating { .. }
                | TaskState::Passed { .. }
                | TaskState::Held { .. }
                | TaskState::Waiting { .. }
                | TaskState::Merged { .. }
                | TaskState::Done { .. }
                | TaskState::Blocked { .. }
                | TaskState::DepFailed { .. }
                | TaskState::Stopped => {}
            }
        }
    }

    /// Pauses the workers whose tasks are paused or to be rebased, and resumes the others.
    fn pause_workers(&mut self) {
        if self.paused.is_empty() && self.recorded.state().waiting_workers().next().is_none() {
            return;
        }
        let waiting = self.recorded.state().waiting_workers();
        let wanted: BTreeMap<_, _> = waiting.map(|(worker, waits)| (worker.clone(), waits)).collect();
        for worker in wanted.keys().chain(self.paused.keys()) {
            if let Some(link) = self.world.link(worker) {
                link.pause(wanted.get(worker).copied().unwrap_or_default());
            }
        }
        self.paused = wanted;
    }

    fn start_effects(&mut self) {
        let now = self.world.store.now();
        let state = self.recorded.shared();
        let effects = state.decide_beside(now, &|key| self.under_way.contains(key));
        let starts = state.starts();
        self.end_waits(&effects);
        self.keep_places(&starts);
        for effect in effects {
            let key = effect.key();
            if self.may_begin(&key) {
                self.begin(key, effect);
            }
        }
        for start in &starts {
            let key = start.key();
            if self.may_begin(&key) && self.has_place(start, now) {
                self.begin(key, start.effect());
            }
        }
    }

    /// Returns true if the effect is not under way, and no effect under way excludes it. Only one merge runs at a time:
    /// between its start and its record, another task may come first in order. A tree that is rebased is the rebase's
    /// alone, also if its worker is lost meanwhile.
    fn may_begin(&self, key: &EffectKey) -> bool {
        if self.under_way.contains(key) {
            return false;
        }
        if key.is_merge() {
            return !self.under_way.iter().any(EffectKey::is_merge);
        }
        let is_rebased = |task: &TaskId| self.under_way.iter().any(|busy| busy.rebased() == Some(task));
        !key.tree_of().is_some_and(is_rebased)
    }

    fn begin(&mut self, key: EffectKey, effect: Effect) {
        self.under_way.insert(key.clone());
        let is_wait = matches!(effect, Effect::AwaitLease { .. } | Effect::AwaitAnswer { .. });
        let task = self.start_effect(effect, None);
        if is_wait {
            self.waits.insert(key, AbortOnDropHandle::new(task));
        }
    }

    /// Ends the waits that are no longer among the effects to carry out, for example for a lease of a task that was
    /// stopped.
    fn end_waits(&mut self, effects: &[Effect]) {
        if self.waits.is_empty() {
            return;
        }
        let wanted: BTreeSet<_> = effects.iter().map(Effect::key).collect();
        let under_way = &mut self.under_way;
        self.waits.retain(|key, _| {
            let is_wanted = wanted.contains(key);
            if !is_wanted {
                under_way.remove(key);
            }
            is_wanted
        });
    }

    fn start_effect(&self, effect: Effect, onto: Option<String>) -> JoinHandle<()> {
        let key = effect.key();
        let last = match &effect {
            Effect::StartWorker { task, .. } | Effect::Capture { task, .. } | Effect::RunChecks { task, .. } => {
                self.last.get(task).cloned()
            }
            Effect::FixLint { .. }
            | Effect::RunCommand { .. }
            | Effect::Merge { .. }
            | Effect::TakeAnswer { .. }
            | Effect::AwaitLease { .. }
            | Effect::AskPerson { .. }
            | Effect::AwaitAnswer { .. }
            | Effect::WithdrawQuestion { .. }
            | Effect::StopWorker { .. }
            | Effect::RebaseTree { .. }
            | Effect::Finish { .. } => None,
        };
        let ctx = effect::Ctx {
            world: Arc::clone(&self.world),
            plan: Arc::clone(&self.plan),
            engine: self.me.clone(),
            last,
            onto,
        };
        if let Effect::StartWorker { task, step, work, by, .. } = &effect
            && let Err(error) =
                effect::claim_name(&self.world, &self.plan, task, effect::Part { step, work, by: by.as_ref() })
        {
            // The start claims again, and blocks the task if that fails too.
            tracing::warn!(%task, %error, "a worker has no name yet");
        }
        let me = self.me.clone();
        let about = effect.attempt();
        let retries = about.as_ref().map(|(task, _)| self.recorded.state().retries_of(task));
        let carried_out = AbortOnDropHandle::new(task::spawn(effect::carry_out(ctx, effect)));
        let end = self.effects.0.clone();
        task::spawn(async move {
            let Some(carried_out) = end.run_until_cancelled(carried_out).await else { return };
            // A defect in one effect must not leave its task waiting forever.
            let outcome = match carried_out {
                Ok(outcome) => outcome,
                Err(error) => effect::panicked(about, &error),
            };
            let outcome = outcome.begun_at(retries);
            if outcome.has_failed {
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            me.done(key, outcome).await;
        })
    }
}
