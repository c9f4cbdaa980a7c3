//! State shared by deciding, carrying out and watching: the record, the settings, the ports, and the links to workers'
//! shims.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use switchboard_process::git::Oid;
use switchboard_protocol::id::{AgentName, NeedId, RunId, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_store::{Batch, Committed, Idempotency, Store};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::assignees::{Assignees, Roster};
use crate::backoff::Backoff;
use crate::delegations::DelegationLog;
use crate::error::is_transient;
use crate::gate_trees::GateTrees;
use crate::history::Claimed;
use crate::link::Link;
use crate::live_plans::LivePlans;
use crate::lock::lock;
use crate::port::{Git, Ports, threads};
use crate::shared::SharedLimits;
use crate::tree_ports::TreePorts;
use crate::troubles::Troubles;
use crate::worker_names::{Key, WorkerNames};
use crate::{Config, Error};

/// Maximum number of worker starts in progress.
const STARTS: u32 = 256;

/// Subject without any event.
const UNUSED_SUBJECT: &str = "run/none";

pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) config: Config,
    pub(crate) ports: Ports,
    /// TCP ports of work trees.
    pub(crate) tree_ports: Arc<TreePorts>,
    /// Gate trees that are in use.
    pub(crate) gate_trees: GateTrees,
    /// Limits over all runs.
    pub(crate) shared: SharedLimits,
    /// Plans of live runs.
    pub(crate) plans: LivePlans,
    /// Names of workers.
    pub(crate) worker_names: WorkerNames,
    /// Live runs that can't go on at the moment.
    pub(crate) troubles: Troubles,
    /// Recent delegations of agents.
    pub(crate) delegations: DelegationLog,
    /// Cancelled once no worker may start any more: starts in progress are given up.
    ending: CancellationToken,
    pub(crate) stop: CancellationToken,
    /// Cancelled once all workers of the last daemon are watched again: before that it is unknown which shims are still
    /// needed.
    pub(crate) booted: CancellationToken,
    /// Held while a run is opened, so that no plan runs twice.
    pub(crate) starting: tokio::sync::Mutex<()>,
    /// Held during a merge into the user's branch.
    pub(crate) merging: tokio::sync::Mutex<()>,
    /// Held while a merge that needs approval is resolved.
    pub(crate) confirming: tokio::sync::Mutex<()>,
    /// Permits of worker starts in progress; closed when workers are stopped for good.
    starts: Arc<Semaphore>,
    links: Mutex<BTreeMap<WorkerId, Arc<Link>>>,
    linked: watch::Sender<usize>,
    /// Notified when a worker is no longer watched.
    unlinked: Notify,
    assignees: watch::Sender<Assignees>,
    #[cfg(any(test, feature = "sim"))]
    defect: std::sync::OnceLock<crate::simulate::Defect>,
    /// Callback of a simulation; returns true at each place at which it wants a panic.
    #[cfg(any(test, feature = "sim"))]
    panics: std::sync::OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
}

// === impl World ===

impl World {
    pub(crate) fn new(store: Store, config: Config, ports: Ports, stop: CancellationToken) -> Self {
        let tree_ports = Arc::new(TreePorts::new(Arc::clone(&ports.claims), config.seed()));
        let shared = SharedLimits::new(config.usual_workers, store.head().lsn);
        Self {
            shared,
            store,
            config,
            ports,
            tree_ports,
            gate_trees: GateTrees::default(),
            plans: LivePlans::default(),
            worker_names: WorkerNames::default(),
            troubles: Troubles::default(),
            delegations: DelegationLog::default(),
            ending: CancellationToken::new(),
            stop,
            booted: CancellationToken::new(),
            starting: tokio::sync::Mutex::default(),
            merging: tokio::sync::Mutex::default(),
            confirming: tokio::sync::Mutex::default(),
            starts: Arc::new(Semaphore::new(STARTS as usize)),
            links: Mutex::default(),
            linked: watch::Sender::new(0),
            unlinked: Notify::new(),
            assignees: watch::Sender::new(Assignees::default()),
            #[cfg(any(test, feature = "sim"))]
            defect: std::sync::OnceLock::new(),
            #[cfg(any(test, feature = "sim"))]
            panics: std::sync::OnceLock::new(),
        }
    }

    // === the record ===

    pub(crate) async fn commit(&self, batch: Batch) -> Result<Committed, switchboard_store::Error> {
        self.ports.commits.commit(batch).await
    }

    /// Commits what happened, however long the store is busy or the disk is full.
    pub(crate) async fn commit_patiently(&self, batch: &Batch) -> Result<Committed, Error> {
        let mut backoff = Backoff::default();
        loop {
            let error = match self.commit(batch.clone()).await {
                Err(error) if is_transient(&error) => error,
                done => return Ok(done?),
            };
            tracing::warn!(%error, "what happened is kept until it can be recorded");
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Err(Error::Stopping),
                () = tokio::time::sleep(backoff.next()) => {}
            }
        }
    }

    /// Returns the first answer to a repeated call; `None` for the first call. The store looks for a
    /// repetition before it checks expected revisions, and no subject has this one.
    pub(crate) async fn answered(&self, call: Option<&Idempotency>) -> Result<Option<Value>, Error> {
        let Some(call) = call else { return Ok(None) };
        let probe = Batch::written().idempotent(call.clone()).expect(UNUSED_SUBJECT, u64::MAX);
        match self.commit(probe).await {
            Ok(committed) => Ok(committed.repeated.then_some(committed.reply)),
            Err(switchboard_store::Error::Conflict { subject, .. }) if subject == UNUSED_SUBJECT => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    // === assignees ===

    pub(crate) fn assignees(&self) -> watch::Receiver<Assignees> {
        self.assignees.subscribe()
    }

    /// Returns true if an agent has a task in a live run.
    pub(crate) fn is_assigned(&self, agent: &AgentName) -> bool {
        self.assignees.borrow().has(agent)
    }

    /// Restores the exclusive resources of the last workers of tasks. If two tasks had the same, the task with the
    /// newer worker gets it: the other was settled in between, which released it.
    pub(crate) fn restore(&self, mut claims: Vec<(RunId, Key, Claimed)>) {
        claims.sort_by_key(|(_, _, claimed)| std::cmp::Reverse(claimed.at));
        for (run, key, claimed) in claims {
            let task = &key.0;
            let ports = claimed.ports.map(|ports| self.tree_ports.restore(&run, task, ports));
            if let Some(Err(error)) = ports {
                tracing::warn!(%run, %task, %error, "a work tree has lost its ports");
            }
            self.worker_names.restore(&run, &key, claimed.name);
        }
    }

    /// Releases the TCP ports and names of a run's tasks, except those that `keep` accepts.
    pub(crate) fn retain(&self, run: &RunId, keep: impl Fn(&TaskId) -> bool) {
        self.tree_ports.retain(run, &keep);
        self.worker_names.retain(run, keep);
    }

    /// Releases the TCP ports and names of a task that is settled.
    pub(crate) fn release_task(&self, run: &RunId, task: &TaskId) {
        self.tree_ports.release_task(run, task);
        self.worker_names.release_task(run, task);
    }

    /// Releases all TCP ports and names of a run.
    pub(crate) fn release(&self, run: &RunId) {
        self.tree_ports.retain(run, |_| false);
        self.worker_names.release(run);
    }

    /// Sets the assignees of a run, before the record contains them.
    pub(crate) fn assign(&self, run: &RunId, roster: Roster) {
        self.assignees.send_if_modified(|assignees| assignees.set(run, roster));
    }

    /// Changes the assignees of a run.
    pub(crate) fn reassign(&self, change: impl FnOnce(&mut Assignees) -> bool) {
        self.assignees.send_if_modified(change);
    }

    /// Returns true if an agent, by its folded name, has a task in this run.
    pub(crate) fn is_assigned_in(&self, run: &RunId, folded: &str) -> bool {
        self.assignees.borrow().has_in(run, folded)
    }

    // === links ===

    pub(crate) fn link(&self, worker: &WorkerId) -> Option<Arc<Link>> {
        lock(&self.links).get(worker).cloned()
    }

    pub(crate) fn links(&self) -> Vec<Arc<Link>> {
        lock(&self.links).values().cloned().collect()
    }

    /// Returns the number of watched workers, updated as they start and end.
    pub(crate) fn linked(&self) -> watch::Receiver<usize> {
        self.linked.subscribe()
    }

    pub(crate) fn set_link(&self, worker: &WorkerId, link: Arc<Link>) {
        let mut links = lock(&self.links);
        links.insert(worker.clone(), link);
        self.linked.send_replace(links.len());
    }

    pub(crate) fn drop_link(&self, link: &Arc<Link>) {
        let mut links = lock(&self.links);
        if links.get(link.worker()).is_some_and(|held| Arc::ptr_eq(held, link)) {
            links.remove(link.worker());
        }
        self.linked.send_replace(links.len());
        drop(links);
        self.unlinked.notify_waiters();
    }

    /// Returns once a worker is no longer watched. Callers go on in the order in which they began to wait, which a watch
    /// channel would draw at random, so that the seed of a simulated history repeats it.
    pub(crate) async fn unlinked(&self, worker: &WorkerId) {
        loop {
            let mut changed = pin!(self.unlinked.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            if self.link(worker).is_none() {
                return;
            }
            changed.await;
        }
    }

    // === starts of workers ===

    /// Returns a permit to start a worker, to be held until its watch is registered; `None` once no worker may start
    /// any more.
    pub(crate) async fn start_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.starts).acquire_owned().await.ok()
    }

    /// Returns a permit to take up running workers; `None` once no worker may start any more.
    pub(crate) fn adoption_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.starts).try_acquire_owned().ok()
    }

    /// Prevents further starts of workers; returns when those in progress are registered, or after `limit`.
    pub(crate) async fn end_starts(&self, limit: Duration) {
        self.ending.cancel();
        let permits = tokio::time::timeout(limit, self.starts.acquire_many(STARTS)).await;
        let _permits = permits.inspect_err(|_| tracing::warn!("the start of a worker takes too long to wait for"));
        // The permits are released only after this, so that no waiting caller gets one.
        self.starts.close();
    }

    /// Returns when no worker may start any more, or the daemon ends.
    pub(crate) async fn is_ending(&self) {
        tokio::select! {
            biased;
            () = self.ending.cancelled() => {}
            () = self.stop.cancelled() => {}
        }
    }

    // === mistakes made on purpose ===

    #[cfg(any(test, feature = "sim"))]
    pub(crate) fn set_defect(&self, defect: Option<crate::simulate::Defect>) {
        if let Some(defect) = defect {
            self.defect.get_or_init(|| defect);
        }
    }

    /// Returns true if a simulation injects this defect, to check that it detects it.
    #[cfg(any(test, feature = "sim"))]
    pub(crate) fn has_defect(&self, defect: crate::simulate::Defect) -> bool {
        self.defect.get() == Some(&defect)
    }

    #[cfg(any(test, feature = "sim"))]
    pub(crate) fn set_panics(&self, wants: impl Fn() -> bool + Send + Sync + 'static) {
        self.panics.get_or_init(|| Box::new(wants));
    }

    /// Panics if a simulation wants that, to check that the run is taken up again; prints nothing on standard error.
    pub(crate) fn may_panic(&self) {
        #[cfg(any(test, feature = "sim"))]
        if self.panics.get().is_some_and(|wants| wants()) {
            std::panic::resume_unwind(Box::new("as the simulation wants"));
        }
    }

    // === the rest of the world ===

    pub(crate) fn crash(&self, point: &'static str) {
        crate::crash::point(self.config.crash_at.as_deref(), point);
    }

    /// Runs blocking work outside the runtime's own threads.
    pub(crate) fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> + Send {
        threads::outcome(&*self.ports.threads, work)
    }

    /// Runs calls of git outside the runtime's own threads.
    pub(crate) fn git<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Git) -> Result<T, Error> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> + Send {
        self.git_on(&self.ports.git, work)
    }

    /// Runs calls of git in one of the user's work trees, outside the runtime's own threads.
    pub(crate) fn git_on<T: Send + 'static>(
        &self,
        tree: &Arc<dyn Git>,
        work: impl FnOnce(&dyn Git) -> Result<T, Error> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> + Send {
        let tree = Arc::clone(tree);
        self.blocking(move || work(&*tree))
    }

    /// Returns the paths of the files in a commit.
    pub(crate) async fn files_at(&self, commit: &Oid) -> Result<BTreeSet<String>, Error> {
        let commit = commit.clone();
        let files = self.git(move |git| git.files_of(&commit)).await?;
        Ok(files.iter().map(|path| crate::plan::text(path)).collect())
    }

    pub(crate) fn random_bits(&self) -> Result<u64, Error> {
        self.ports.random.bits()
    }

    pub(crate) fn fresh_run(&self) -> Result<RunId, Error> {
        self.random_bits().map(RunId::from_bits)
    }

    pub(crate) fn fresh_worker(&self) -> Result<WorkerId, Error> {
        self.random_bits().map(WorkerId::from_bits)
    }

    pub(crate) fn fresh_need(&self) -> Result<NeedId, Error> {
        self.random_bits().map(NeedId::from_bits)
    }
}
