//! One loop a run: folds its events, asks `pipeline` what is to be done, and starts one task per effect.
//!
//! Only the engine appends to a run's subject, so its state and the log never differ. Everybody else sends it what
//! happened and waits until it is recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use switchboard_pipeline::run::RunState;
use switchboard_process::git::Oid;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{RunId, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{Effect, EffectKey, RunEvent, TaskState, TaskView};
use switchboard_store::{Batch, Durability, Filter};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use crate::context::Inner;
use crate::crew::{self, Doer};
use crate::effect::{self, Outcome};
use crate::error::shape;
use crate::event::DispatchEvent;
use crate::plan::{self, RunPlan};
use crate::{Error, watch};

/// Messages that wait for an engine; senders wait when it is full.
pub(crate) const INBOX: usize = 256;

/// How often an engine looks at the clock when nothing happens: time limits of attempts are in minutes.
const TICK: Duration = Duration::from_secs(1);

/// What an engine is told.
pub(crate) enum Msg {
    /// Something happened that belongs into the record.
    Record(Record),
    /// An effect has ended.
    Done(EffectKey, Outcome),
    /// Somebody wants to see the tasks.
    View(oneshot::Sender<Vec<TaskView>>),
}

/// Events to be recorded in one commit.
pub(crate) struct Record {
    /// Steps of the run.
    pub(crate) steps: Vec<RunEvent>,
    /// Events of other subjects that belong to them.
    pub(crate) beside: Vec<NewEvent>,
    /// Whether the disk must have them before the answer.
    pub(crate) durability: Durability,
    /// Where the answer goes.
    pub(crate) answer: oneshot::Sender<Result<(), Failure>>,
}

/// The way to an engine. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Handle {
    sender: mpsc::Sender<Msg>,
}

/// The last worker of a task: what the next attempt may build on.
#[derive(Debug, Clone)]
pub(crate) struct LastWorker {
    pub(crate) base: String,
    pub(crate) start: String,
}

pub(crate) struct Engine {
    inner: Arc<Inner>,
    plan: Arc<RunPlan>,
    state: RunState,
    last: BTreeMap<TaskId, LastWorker>,
    under_way: BTreeSet<EffectKey>,
    merge_under_way: Option<EffectKey>,
    doers: BTreeMap<TaskId, Doer>,
    /// Who is on the roster for this run.
    mustered: BTreeSet<String>,
    me: Handle,
    inbox: mpsc::Receiver<Msg>,
}

// === impl Handle ===

impl Handle {
    pub(crate) fn new(sender: mpsc::Sender<Msg>) -> Self {
        Self { sender }
    }

    /// Records events and returns when they are in the log.
    pub(crate) async fn record(
        &self,
        steps: Vec<RunEvent>,
        beside: Vec<NewEvent>,
        durability: Durability,
    ) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        let record = Record { steps, beside, durability, answer };
        self.sender.send(Msg::Record(record)).await.map_err(|_| Error::Stopping)?;
        answered.await.map_err(|_| Error::Stopping)?.map_err(Error::from)
    }

    /// Records one step of the run.
    pub(crate) async fn step(&self, event: RunEvent) -> Result<(), Error> {
        self.record(vec![event], Vec::new(), Durability::Synced).await
    }

    /// The tasks as they stand.
    pub(crate) async fn view(&self) -> Result<Vec<TaskView>, Error> {
        let (answer, answered) = oneshot::channel();
        self.sender.send(Msg::View(answer)).await.map_err(|_| Error::Stopping)?;
        answered.await.map_err(|_| Error::Stopping)
    }

    async fn done(&self, key: EffectKey, outcome: Outcome) {
        // The engine is gone only when the run has ended or the daemon goes down; boot settles what is open then.
        let _ = self.sender.send(Msg::Done(key, outcome)).await;
    }
}

// === impl Engine ===

impl Engine {
    /// Folds a run from the log.
    pub(crate) fn fold(
        inner: Arc<Inner>,
        run: &RunId,
        me: mpsc::Sender<Msg>,
        inbox: mpsc::Receiver<Msg>,
    ) -> Result<Self, Error> {
        let plan = Arc::new(load(&inner, run)?);
        let state = fold_state(&inner.store, run)?;
        let last = last_workers(&inner, run)?;
        let doers = crew::doers(&plan)?;
        let mut engine = Self {
            doers,
            mustered: BTreeSet::new(),
            inner,
            plan,
            state,
            last,
            under_way: BTreeSet::new(),
            merge_under_way: None,
            me: Handle::new(me),
            inbox,
        };
        engine.mustered = engine.crew();
        Ok(engine)
    }

    /// Runs until the run has ended or the daemon goes down. `place` is held until workers that are there already are known.
    pub(crate) async fn run(mut self, place: Option<OwnedSemaphorePermit>) {
        if let Err(error) = self.ensure_branch().await {
            tracing::error!(run = %self.plan.run, %error, "the run's branch can't be made");
            return self.inner.engine_ended(&self.plan.run);
        }
        self.adopt();
        drop(place);
        let stop = self.inner.stop.clone();
        loop {
            self.start_effects();
            let message = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                message = self.inbox.recv() => message,
                () = tokio::time::sleep(TICK) => continue,
            };
            match message {
                Some(Msg::Record(record)) => self.record(record).await,
                Some(Msg::Done(key, outcome)) => {
                    if self.settle(key, outcome).await {
                        break;
                    }
                }
                Some(Msg::View(answer)) => drop(answer.send(self.state.tasks().collect())),
                None => break,
            }
        }
        self.inner.engine_ended(&self.plan.run);
    }

    /// The run's branch is made after the run is recorded, so a crash may have come between the two.
    async fn ensure_branch(&self) -> Result<(), Error> {
        let (repo, name, base) = (self.inner.config.repo.clone(), self.plan.branch.clone(), self.plan.base.clone());
        let made = self.inner.blocking(move || match repo.branch(&name)? {
            Some(_) => Ok(()),
            None => Ok(repo.update_branch(&name, &Oid::parse(&base)?, None)?),
        });
        made.await
    }

    /// Takes up what the last daemon left between intent and outcome: watches workers, goes on with a merge.
    fn adopt(&mut self) {
        let views: Vec<_> = self.state.tasks().collect();
        for view in views {
            match view.state {
                TaskState::Starting { worker } | TaskState::Working { worker } => {
                    let (inner, plan) = (Arc::clone(&self.inner), Arc::clone(&self.plan));
                    watch::worker(inner, plan, view.task, worker, self.me.clone());
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
        for effect in self.state.decide(self.inner.store.now()) {
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
            inner: Arc::clone(&self.inner),
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

    /// Takes an effect's outcome in; says whether the run has ended.
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

    /// Who has something to do.
    pub(crate) fn crew(&self) -> BTreeSet<String> {
        self.state.unsettled().filter_map(|task| self.doers.get(task)).map(|doer| doer.name.folded()).collect()
    }

    /// Puts agents on the roster whose tasks are open again. Who is done leaves it by the daemon's hand.
    fn muster(&mut self) -> Result<Vec<NewEvent>, Error> {
        let after = self.crew();
        let before = std::mem::replace(&mut self.mustered, after.clone());
        let mut back = BTreeMap::new();
        for doer in self.doers.values() {
            let id = doer.name.folded();
            if after.contains(&id) && !before.contains(&id) {
                back.entry(id).or_insert(doer);
            }
        }
        self.inner.set_crew(&self.plan.run, after);
        back.values().map(|doer| self.inner.mail.joined(&doer.name, doer.is_scripted)).collect()
    }

    /// Steps the state, then commits. A failed commit is the store's end, and with it the daemon's.
    async fn commit(
        &mut self,
        steps: Vec<RunEvent>,
        beside: Vec<NewEvent>,
        durability: Durability,
    ) -> Result<(), Failure> {
        let mut batch = Batch::new(durability);
        let subject = format!("run/{}", self.plan.run);
        let open = self.state.unsettled_count();
        for step in steps {
            let step = step.fitted();
            let follows = self.state.step(&step, self.inner.store.now()).map_err(|refused| refusal(&refused))?;
            for step in std::iter::once(step).chain(follows) {
                let step = step.fitted();
                batch = batch.event(NewEvent::of(&step, subject.clone(), "daemon").map_err(shape("a step"))?);
            }
        }
        for event in beside {
            batch = batch.event(event);
        }
        if self.state.unsettled_count() != open {
            batch.events.extend(self.muster()?);
        }
        self.inner.store.commit(batch).await.map_err(|error| error.failure())?;
        Ok(())
    }
}

fn refusal(refused: &switchboard_pipeline::run::Refused) -> Failure {
    Failure::new(refused.code.code(), refused.why.clone()).hint(refused.hint.clone())
}

/// Folds a run's events into its state.
pub(crate) fn fold_state(store: &switchboard_store::Store, run: &RunId) -> Result<RunState, Error> {
    let mut state = RunState::default();
    let mut after = 0;
    let filter = Filter::all().subject(format!("run/{run}"));
    loop {
        let page = store.events(after, &filter, 1000)?;
        let Some(last) = page.last() else { return Ok(state) };
        after = last.lsn;
        for event in page.iter().filter(|event| event.subject == format!("run/{run}")) {
            let Some(step) = event.fact::<RunEvent>() else { continue };
            if let Err(refused) = state.step(&step, event.ts) {
                let what = format!("event {} of {run} does not follow from those before: {}", event.lsn, refused.why);
                return Err(Failure::new("store.corrupt", what).hint("run `switchboard verify`").into());
            }
        }
    }
}

/// Reads a run's fixed part: the log has it, but for how its agents are started.
pub(crate) fn load(inner: &Inner, run: &RunId) -> Result<RunPlan, Error> {
    let row = inner.store.get(crate::work::RUNS, &[run.as_str().into()])?;
    let row = row.ok_or_else(|| Failure::new("dispatch.unknown-run", format!("there is no run {run}")))?;
    let configured = row.try_u64("configured")?;
    let text = inner.store.body(configured)?.ok_or_else(|| Error::Missing(format!("the plan of {run}")))?;
    let plan = serde_json::from_str(&text).map_err(shape(format!("the plan of {run}")))?;
    let agents = crate::files::read_if_there(&plan::agents_file(&inner.config, run))?;
    let agents: Vec<switchboard_protocol::verb::run::AgentChoice> = match agents {
        Some(bytes) => serde_json::from_slice(&bytes).map_err(shape("agents.json"))?,
        None => Vec::new(),
    };
    Ok(RunPlan {
        run: run.clone(),
        plan,
        base: row.try_text("base")?.to_owned(),
        branch: row.try_text("branch")?.to_owned(),
        worktrees: row.try_text("worktrees")?.into(),
        default_agent: row
            .get_text("default_agent")
            .and_then(|name| switchboard_protocol::id::AgentName::new(name).ok()),
        agents: agents.into_iter().map(|choice| (choice.name.folded(), choice)).collect(),
        merge: row.get_bool("merge"),
    })
}

fn last_workers(inner: &Inner, run: &RunId) -> Result<BTreeMap<TaskId, LastWorker>, Error> {
    let mut last = BTreeMap::new();
    let query = switchboard_store::Query::table(crate::work::WORKERS).eq("run", run.as_str()).asc("seq").limit(100_000);
    for row in inner.store.read(&query)? {
        let Ok(task) = TaskId::new(row.try_text("task")?) else { continue };
        let (base, start) = (row.try_text("base")?.to_owned(), row.try_text("start")?.to_owned());
        last.insert(task, LastWorker { base, start });
    }
    Ok(last)
}

/// The event that goes beside `worker_intended`.
pub(crate) fn equipped(event: &DispatchEvent, worker: &WorkerId) -> Result<NewEvent, Error> {
    NewEvent::of(event, format!("worker/{worker}"), "daemon").map_err(shape("worker_equipped"))
}
