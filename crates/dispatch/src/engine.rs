//! One loop a run: folds its events, asks `pipeline` what is to be done, and starts one task per effect.
//!
//! Only the engine appends to a run's subject, so its state and the log never differ. Everybody else sends it what
//! happened and waits until it is recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use switchboard_pipeline::run::{Refused, RunState};
use switchboard_process::git::Oid;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{Effect, EffectKey, RunEvent, TaskState};
use switchboard_store::{Batch, Durability};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::assignees::{self, Assignee};
use crate::error::shape;
use crate::handle::{Handle, LastWorker, Message, Outcome, Record};
use crate::plan::RunPlan;
use crate::watch::Reachable;
use crate::world::World;
use crate::{Error, effect, history};

/// How often an engine looks at the clock when nothing happens: time limits of attempts are in minutes.
const TICK: Duration = Duration::from_secs(1);

pub(crate) struct Engine {
    world: Arc<World>,
    plan: Arc<RunPlan>,
    state: RunState,
    last: BTreeMap<TaskId, LastWorker>,
    under_way: BTreeSet<EffectKey>,
    merge_under_way: Option<EffectKey>,
    assignees: BTreeMap<TaskId, Assignee>,
    /// Who is on the roster for this run.
    on_roster: BTreeSet<String>,
    me: Handle,
    inbox: mpsc::Receiver<Message>,
}

// === impl Engine ===

impl Engine {
    /// Folds a run from the log.
    pub(crate) fn fold(
        world: Arc<World>,
        run: &RunId,
        me: mpsc::Sender<Message>,
        inbox: mpsc::Receiver<Message>,
    ) -> Result<Self, Error> {
        let plan = Arc::new(history::plan(&world, run)?);
        let state = history::fold(&world.store, run)?;
        let last = history::last_workers(&world, run)?;
        let assignees = assignees::of(&plan)?;
        let mut engine = Self {
            world,
            plan,
            state,
            last,
            under_way: BTreeSet::new(),
            merge_under_way: None,
            assignees,
            on_roster: BTreeSet::new(),
            me: Handle::new(me),
            inbox,
        };
        engine.on_roster = engine.assigned();
        Ok(engine)
    }

    /// Runs until the run has ended or the daemon goes down. `permit` is held until workers that are there already are watched.
    pub(crate) async fn run(mut self, permit: Option<OwnedSemaphorePermit>) {
        if let Err(error) = self.ensure_branch().await {
            return tracing::error!(run = %self.plan.run, %error, "the run's branch can't be made");
        }
        self.adopt();
        drop(permit);
        let stop = self.world.stop.clone();
        loop {
            self.start_effects();
            let message = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                message = self.inbox.recv() => message,
                () = tokio::time::sleep(TICK) => continue,
            };
            match message {
                Some(Message::Record(record)) => self.record(record).await,
                Some(Message::Done(key, outcome)) => {
                    if self.settle(key, outcome).await {
                        break;
                    }
                }
                Some(Message::View(answer)) => drop(answer.send(self.state.tasks().collect())),
                None => break,
            }
        }
    }

    /// The run's branch is made after the run is recorded, so a crash may have come between the two.
    async fn ensure_branch(&self) -> Result<(), Error> {
        let (name, base) = (self.plan.branch.clone(), self.plan.base.clone());
        let made = self.world.git(move |git| match git.branch(&name)? {
            Some(_) => Ok(()),
            None => git.update_branch(&name, &Oid::parse(&base)?, None),
        });
        made.await
    }

    /// Takes up what the last daemon left between intent and outcome: watches workers, goes on with a merge.
    fn adopt(&mut self) {
        let views: Vec<_> = self.state.tasks().collect();
        for view in views {
            match view.state {
                TaskState::Starting { worker } | TaskState::Working { worker } => {
                    let worker = Reachable::new(Arc::clone(&self.world), &worker);
                    worker.watch(Arc::clone(&self.plan), view.task, self.me.clone());
                }
                TaskState::Merging { change, onto } => {
                    let effect = Effect::Merge { task: view.task, attempt: view.attempt, commit: change.commit };
                    self.under_way.insert(effect.key());
                    self.merge_under_way = Some(effect.key());
                    self.start_effect(effect, Some(onto));
                }
                TaskState::Pending
                | TaskState::Ready
                | TaskState::Capturing { .. }
                | TaskState::Captured { .. }
                | TaskState::Gating { .. }
                | TaskState::Passed { .. }
                | TaskState::Merged { .. }
                | TaskState::Blocked { .. }
                | TaskState::DepFailed { .. }
                | TaskState::Stopped => {}
            }
        }
    }

    fn start_effects(&mut self) {
        for effect in self.state.decide(self.world.store.now()) {
            // Between the start of a merge and its intent another task may come first in order: one merge at a time.
            let is_merge = matches!(effect, Effect::Merge { .. });
            if is_merge && self.merge_under_way.is_some() {
                continue;
            }
            if is_merge {
                self.merge_under_way = Some(effect.key());
            }
            if self.under_way.insert(effect.key()) {
                self.start_effect(effect, None);
            }
        }
    }

    fn start_effect(&self, effect: Effect, onto: Option<String>) {
        let key = effect.key();
        let last = match &effect {
            Effect::StartWorker { task, .. } | Effect::Capture { task, .. } | Effect::RunGates { task, .. } => {
                self.last.get(task).cloned()
            }
            Effect::Merge { .. } | Effect::StopWorker { .. } | Effect::Finish { .. } => None,
        };
        let ctx = effect::Ctx {
            world: Arc::clone(&self.world),
            plan: Arc::clone(&self.plan),
            engine: self.me.clone(),
            last,
            onto,
        };
        let me = self.me.clone();
        tokio::spawn(async move {
            let outcome = effect::carry_out(ctx, effect).await;
            me.done(key, outcome).await;
        });
    }

    /// Takes an effect's outcome in; returns whether the run has ended.
    async fn settle(&mut self, key: EffectKey, outcome: Outcome) -> bool {
        let is_over = outcome.is_last;
        if let Some(last) = outcome.last {
            self.last.insert(last.0, last.1);
        }
        for step in outcome.steps {
            if let Err(failure) = self.commit(vec![step], Vec::new(), Durability::Synced).await {
                tracing::error!(run = %self.plan.run, %failure, "an effect's outcome was refused");
            }
        }
        self.under_way.remove(&key);
        if self.merge_under_way.as_ref() == Some(&key) {
            self.merge_under_way = None;
        }
        is_over
    }

    async fn record(&mut self, record: Record) {
        let done = self.commit(record.steps, record.beside, record.durability).await;
        if record.answer.send(done).is_err() {
            tracing::debug!(run = %self.plan.run, "nobody waits for the answer");
        }
    }

    /// Who has a task that is not settled.
    pub(crate) fn assigned(&self) -> BTreeSet<String> {
        let assignees = self.state.unsettled().filter_map(|task| self.assignees.get(task));
        assignees.map(|assignee| assignee.name.folded()).collect()
    }

    /// Puts agents on the roster whose tasks are open again. Who is done leaves it by the daemon's hand.
    fn assign(&mut self) -> Result<Vec<NewEvent>, Error> {
        let after = self.assigned();
        let before = std::mem::replace(&mut self.on_roster, after.clone());
        let mut back = BTreeMap::new();
        for assignee in self.assignees.values() {
            let id = assignee.name.folded();
            if after.contains(&id) && !before.contains(&id) {
                back.entry(id).or_insert(assignee);
            }
        }
        self.world.assign(&self.plan.run, after);
        let joined = |assignee: &&Assignee| self.world.ports.mail.joined(&assignee.name, assignee.is_scripted);
        back.values().map(joined).collect()
    }

    /// Steps the state, then commits. A failed commit is the store's end, and with it the daemon's.
    async fn commit(
        &mut self,
        steps: Vec<RunEvent>,
        beside: Vec<NewEvent>,
        durability: Durability,
    ) -> Result<(), Failure> {
        let mut batch = Batch::new(durability);
        let subject = history::subject(&self.plan.run);
        let open = self.state.unsettled_count();
        for step in steps {
            let step = step.fitted();
            let follows = self.state.step(&step, self.world.store.now()).map_err(|refused| refusal(&refused))?;
            for step in std::iter::once(step).chain(follows) {
                let step = step.fitted();
                batch = batch.event(NewEvent::of(&step, subject.clone(), "daemon").map_err(shape("a step"))?);
            }
        }
        for event in beside {
            batch = batch.event(event);
        }
        if self.state.unsettled_count() != open {
            batch.events.extend(self.assign()?);
        }
        self.world.commit(batch).await.map_err(|error| error.failure())?;
        Ok(())
    }
}

fn refusal(refused: &Refused) -> Failure {
    Failure::new(refused.code.code(), refused.why.clone()).hint(refused.hint.clone())
}
