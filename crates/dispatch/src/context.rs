//! What all of the dispatcher shares: the store, the engines of live runs and the links to their workers' shims.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{NeedId, RunId, WorkerId};
use switchboard_store::{Query, Store};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::checker::Checker;
use crate::crew::Crew;
use crate::engine::{self, Engine, Handle};
use crate::link::Link;
use crate::ports::Mailroom;
use crate::work::RUNS;
use crate::{Config, Error};

/// Workers whose start may be under way at the same time.
const HIRING: u32 = 256;

/// The dispatcher. Cheap to clone.
#[derive(Clone)]
pub struct Dispatch {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) config: Config,
    pub(crate) mail: Arc<dyn Mailroom>,
    pub(crate) checker: Checker,
    pub(crate) stop: CancellationToken,
    /// One run is opened at a time, so that no plan runs twice.
    pub(crate) starting: tokio::sync::Mutex<()>,
    /// One merge into the user's branch at a time.
    pub(crate) merging: tokio::sync::Mutex<()>,
    /// Starts of workers that are under way hold a place each; closed when workers are stopped for good.
    hiring: Arc<Semaphore>,
    engines: Mutex<BTreeMap<RunId, Handle>>,
    links: Mutex<BTreeMap<WorkerId, Arc<Link>>>,
    idle: tokio::sync::watch::Sender<usize>,
    crew: tokio::sync::watch::Sender<Crew>,
}

// === impl Dispatch ===

impl Dispatch {
    /// Makes a dispatcher that does nothing yet; [`boot`](Self::boot) takes live runs up again.
    #[must_use]
    pub fn new(store: Store, config: Config, mail: Arc<dyn Mailroom>, stop: CancellationToken) -> Self {
        let checker = Checker::new(config.binary.clone());
        let inner = Inner {
            store,
            config,
            mail,
            checker,
            stop,
            starting: tokio::sync::Mutex::default(),
            merging: tokio::sync::Mutex::default(),
            hiring: Arc::new(Semaphore::new(HIRING as usize)),
            engines: Mutex::default(),
            links: Mutex::default(),
            idle: tokio::sync::watch::Sender::new(0),
            crew: tokio::sync::watch::Sender::new(Crew::default()),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Takes every run up again that was live when the last daemon ended, and settles merges that it had begun.
    ///
    /// # Errors
    /// When the record can't be read; a single run that can't go on is logged and left alone.
    pub async fn boot(&self) -> Result<(), Error> {
        crate::verb::merge_run::settle(&self.inner).await?;
        let live = Query::table(RUNS).eq("state", "running").asc("seq").limit(1000);
        for row in self.inner.store.read(&live)? {
            let Ok(run) = RunId::new(row.try_text("id")?) else { continue };
            if let Err(error) = self.inner.start_engine(&run) {
                tracing::error!(%run, %error, "the run can't be taken up again");
            }
        }
        tokio::spawn(crate::needs::expire(Arc::clone(&self.inner)));
        Ok(())
    }

    /// How many runs are live; changes as they start and end.
    #[must_use]
    pub fn live_runs(&self) -> tokio::sync::watch::Receiver<usize> {
        self.inner.idle.subscribe()
    }

    /// Who has something to do in a live run; changes as tasks end and begin. A worker's agent that is not among them has left the team.
    #[must_use]
    pub fn crew(&self) -> tokio::sync::watch::Receiver<Crew> {
        self.inner.crew.subscribe()
    }

    /// Asks every live worker to stop and waits until they are gone, at most `limit`. For `down`.
    pub async fn stop_workers(&self, limit: Duration) -> usize {
        crate::link::stop_all(&self.inner, limit).await
    }

    /// How many workers have a shim linked to this daemon.
    #[must_use]
    pub fn linked_workers(&self) -> usize {
        lock(&self.inner.links).len()
    }
}

// === impl Inner ===

impl Inner {
    /// Starts the engine of a run unless it runs.
    pub(crate) fn start_engine(self: &Arc<Self>, run: &RunId) -> Result<Handle, Error> {
        let mut engines = lock(&self.engines);
        if let Some(handle) = engines.get(run) {
            return Ok(handle.clone());
        }
        let (sender, inbox) = mpsc::channel(engine::INBOX);
        let engine = Engine::fold(Arc::clone(self), run, sender.clone(), inbox)?;
        let handle = Handle::new(sender);
        self.set_crew(run, engine.crew());
        engines.insert(run.clone(), handle.clone());
        self.idle.send_replace(engines.len());
        drop(engines);
        tokio::spawn(engine.run(Arc::clone(&self.hiring).try_acquire_owned().ok()));
        Ok(handle)
    }

    pub(crate) fn engine(&self, run: &RunId) -> Option<Handle> {
        lock(&self.engines).get(run).cloned()
    }

    pub(crate) fn engine_ended(&self, run: &RunId) {
        let mut engines = lock(&self.engines);
        engines.remove(run);
        self.idle.send_replace(engines.len());
        drop(engines);
        self.set_crew(run, BTreeSet::new());
    }

    /// Says who has something to do in a run, before the record says that they are there.
    pub(crate) fn set_crew(&self, run: &RunId, names: BTreeSet<String>) {
        self.crew.send_if_modified(|crew| crew.set(run, names));
    }

    pub(crate) fn link(&self, worker: &WorkerId) -> Option<Arc<Link>> {
        lock(&self.links).get(worker).cloned()
    }

    pub(crate) fn links(&self) -> Vec<Arc<Link>> {
        lock(&self.links).values().cloned().collect()
    }

    pub(crate) fn set_link(&self, worker: &WorkerId, link: Arc<Link>) {
        lock(&self.links).insert(worker.clone(), link);
    }

    pub(crate) fn drop_link(&self, worker: &WorkerId, link: &Arc<Link>) {
        let mut links = lock(&self.links);
        if links.get(worker).is_some_and(|held| Arc::ptr_eq(held, link)) {
            links.remove(worker);
        }
    }

    /// A place for the start of a worker, to be held until its watch is known; nothing once no worker may start any more.
    pub(crate) async fn hire(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.hiring).acquire_owned().await.ok()
    }

    /// No worker starts from here on; returns when those on their way are known, or when `limit` is over.
    pub(crate) async fn end_hiring(&self, limit: Duration) {
        let places = tokio::time::timeout(limit, self.hiring.acquire_many(HIRING)).await;
        if places.is_err() {
            tracing::warn!("the start of a worker takes too long to wait for");
        }
        // The places are given back only behind this, so that nobody who waits gets one.
        self.hiring.close();
    }

    pub(crate) fn crash(&self, point: &'static str) {
        crate::crash::point(self.config.crash_at.as_deref(), point);
    }

    /// Runs blocking work (git, files) on a thread of its own.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(Error::Stopping))
    }
}

/// A poisoned lock here means that a panic happened between two map operations, which leave the map whole.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A fresh random number for an id.
pub(crate) fn random_bits() -> Result<u64, Error> {
    getrandom::u64().map_err(|error| Failure::new("internal.bug", format!("no random numbers: {error}")).into())
}

pub(crate) fn fresh_worker() -> Result<WorkerId, Error> {
    random_bits().map(WorkerId::from_bits)
}

pub(crate) fn fresh_need() -> Result<NeedId, Error> {
    random_bits().map(NeedId::from_bits)
}
