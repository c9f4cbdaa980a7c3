//! The dispatcher as the daemon holds it: the shared world, and an engine for each live run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use switchboard_process::git::Repo;
use switchboard_process::task;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::run::StopCause;
use switchboard_store::{Query, Row, Store};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::assignees::{Assignees, Roster};
use crate::drive::{Driver, DriverHandle};
use crate::engine::Engine;
use crate::future::BoxFuture;
use crate::handle::{self, Handle};
use crate::lock::lock;
use crate::port::{Others, Ports};
use crate::work::RUNS;
use crate::world::World;
use crate::{Config, Error, confirm_merge, history, removal, troubles, user_branch};

/// Time between asking an agent to end and ending it, when the daemon shuts down.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// How long resuming a run waits for its stop to complete.
const ENDING: Duration = Duration::from_secs(30);

/// The dispatcher. Cheap to clone.
#[derive(Clone)]
pub struct Dispatch {
    pub(crate) world: Arc<World>,
    engines: Arc<Engines>,
}

/// The engines of live runs.
struct Engines {
    handles: Mutex<BTreeMap<RunId, Handle>>,
    /// The drivers of live runs that a team leads.
    drivers: Mutex<BTreeMap<RunId, DriverHandle>>,
    live: watch::Sender<usize>,
}

// === impl Dispatch ===

impl Dispatch {
    /// Creates a dispatcher that is idle until [`boot`](Self::boot) takes live runs up again.
    #[must_use]
    pub fn new(store: Store, repo: Repo, config: Config, others: Others, stop: CancellationToken) -> Self {
        let ports = Ports::real(&config, repo, &store, others);
        Self::with(World::new(store, config, ports, stop))
    }

    pub(crate) fn with(world: World) -> Self {
        let engines = Engines { handles: Mutex::default(), drivers: Mutex::default(), live: watch::Sender::new(0) };
        Self { world: Arc::new(world), engines: Arc::new(engines) }
    }

    /// Takes up every run that was live when the last daemon ended, and completes or abandons the merges it had begun.
    ///
    /// # Errors
    /// When the record can't be read. A single run that can't go on is logged and skipped.
    pub fn boot(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            removal::resolve_begun(&self.world).await?;
            let live = self.live_rows()?;
            // Claims of all runs first, before any engine starts: an engine must not lease what belongs to a tree of
            // another run.
            let mut claims = Vec::new();
            for row in &live {
                let Ok(run) = RunId::new(row.try_text("id")?) else { continue };
                let of_run = history::claimed(&self.world.store, &run)?;
                claims.extend(of_run.into_iter().map(|(task, claimed)| (run.clone(), task, claimed)));
            }
            self.world.restore(claims);
            if let Err(error) = self.world.read_limits().await {
                tracing::error!(%error, "no worker starts until the settings can be read");
            }
            let (led, live): (Vec<_>, Vec<_>) = live.into_iter().partition(|row| row.get_text("mode").is_some());
            for row in &live {
                let Ok(run) = RunId::new(row.try_text("id")?) else { continue };
                if let Err(error) = self.start_engine(&run) {
                    tracing::error!(%run, %error, "the run can't be taken up again");
                    self.world.troubles.failed(&run, error.into());
                }
            }
            for whole in self.stopped_with_parts(&live)? {
                let this = self.clone();
                task::spawn(async move { this.stop_parts(&whole, None).await });
            }
            // Drivers start after the engines, because they wait for runs that are live.
            for row in led {
                let Ok(run) = RunId::new(row.try_text("id")?) else { continue };
                if let Err(error) = self.start_driver(&run, None).await {
                    tracing::error!(%run, %error, "the run that a team leads can't be taken up again");
                    self.world.troubles.failed(&run, error.into());
                }
            }
            self.world.booted.cancel();
            // The position is read before the runs are checked, so that an answer given meanwhile is not missed.
            let told = self.world.store.head().lsn;
            task::spawn(crate::needs::tell_answers(Arc::clone(&self.world), told));
            // A merge into the user's branch may take minutes; only another merge has to wait for it.
            task::spawn(finish_merges(Arc::clone(&self.world)));
            Ok(())
        })
    }

    fn live_rows(&self) -> Result<Vec<Row>, Error> {
        Ok(self.world.store.read(&Query::table(RUNS).eq("state", "running").asc("seq"))?)
    }

    /// Returns the folders that hold nothing but work trees of runs: the default one, and that of each live run whose
    /// work trees are elsewhere.
    ///
    /// # Errors
    /// When the record can't be read.
    pub fn worktree_folders(&self) -> Result<Vec<PathBuf>, Error> {
        let mut folders = vec![self.world.config.worktrees.clone()];
        for row in self.live_rows()? {
            folders.push(Path::new(row.try_text("worktrees")?).join(row.try_text("id")?));
        }
        Ok(folders)
    }

    /// Returns the runs led by a team that were stopped while parts of them were still live, because the last daemon
    /// died in between.
    fn stopped_with_parts(&self, live: &[Row]) -> Result<BTreeSet<RunId>, Error> {
        let mut stopped = BTreeSet::new();
        for whole in live.iter().filter_map(|row| row.get_text("part_of")) {
            let row = self.world.store.get(RUNS, &[whole.into()])?;
            if row.is_some_and(|row| row.get_text("state") != Some("running")) {
                stopped.extend(RunId::new(whole));
            }
        }
        Ok(stopped)
    }

    /// Returns the path of the binary that workers, checks and other child processes are started with.
    #[must_use]
    pub fn binary(&self) -> &std::path::Path {
        &self.world.config.binary
    }

    /// Returns the number of live runs, updated as they start and end.
    #[must_use]
    pub fn live_runs(&self) -> watch::Receiver<usize> {
        self.engines.live.subscribe()
    }

    /// Returns the agents with a task in a live run, updated as tasks begin and end. A worker's agent that is not among
    /// them has left the team.
    #[must_use]
    pub fn assignees(&self) -> watch::Receiver<Assignees> {
        self.world.assignees()
    }

    /// Asks every live worker to stop and waits until they have ended, at most `limit`. Used by `down`.
    pub async fn stop_workers(&self, limit: Duration) -> usize {
        self.world.end_starts(limit / 2).await;
        for link in self.world.links() {
            link.stop(StopCause::Requested, SHUTDOWN_GRACE).await;
        }
        let mut linked = self.world.linked();
        let gone = tokio::time::timeout(limit, linked.wait_for(|left| *left == 0)).await;
        drop(gone.inspect_err(|_| tracing::warn!("workers did not end in time")));
        self.linked_workers()
    }

    /// Returns the number of workers that this daemon watches.
    #[must_use]
    pub fn linked_workers(&self) -> usize {
        *self.world.linked().borrow()
    }

    /// Returns the number of watched workers whose shim is connected.
    #[must_use]
    pub fn connected_workers(&self) -> usize {
        self.world.links().iter().filter(|link| link.is_connected()).count()
    }

    /// Starts the engine of a run unless it is running.
    pub(crate) fn start_engine(&self, run: &RunId) -> Result<Handle, Error> {
        let mut handles = lock(&self.engines.handles);
        if let Some(handle) = handles.get(run).filter(|handle| !handle.is_closed()) {
            return Ok(handle.clone());
        }
        let (sender, inbox) = mpsc::channel(handle::INBOX);
        let (mut engine, roster) = Engine::fold(Arc::clone(&self.world), run, sender.clone(), inbox)?;
        let handle = Handle::new(sender);
        self.world.assign(run, roster);
        handles.insert(run.clone(), handle.clone());
        drop(handles);
        self.count_live();
        let (this, run, own) = (self.clone(), run.clone(), handle.clone());
        // Adopted here, not in the spawned task: once this returns, a shim that reconnects finds its worker watched.
        let permit = self.world.adoption_permit();
        engine.adopt();
        drop(permit);
        self.world.troubles.passed(&run);
        task::spawn(async move {
            let mut has_panicked = has_panicked(engine.run()).await;
            // The run keeps its claims: its workers are still alive.
            if has_panicked && this.may_restart(&run).await {
                if this.is_over(&run) {
                    // An engine would wait for requests. Only the merge is left.
                    confirm_merge::resolve(&this.world, &run).await;
                    has_panicked = false;
                } else {
                    match this.start_engine(&run) {
                        Ok(_) => return,
                        Err(error) => this.world.troubles.failed(&run, error.into()),
                    }
                }
            }
            let was_ours = this.remove_engine(&run, &own);
            if was_ours && !has_panicked {
                this.run_ended(&run);
            }
        });
        Ok(handle)
    }

    /// Returns true if a run whose engine or driver panicked is to be taken up again; waits first until a restart is
    /// due.
    async fn may_restart(&self, run: &RunId) -> bool {
        let is_wanted = self.world.troubles.panicked(run);
        tracing::error!(%run, is_wanted, "what carries the run on has panicked, which is a defect");
        let pause = tokio::time::sleep(troubles::BEFORE_RESTART);
        is_wanted && self.world.stop.run_until_cancelled(pause).await.is_some()
    }

    /// Returns true if the record has the end of a run.
    fn is_over(&self, run: &RunId) -> bool {
        let row = self.world.store.get(RUNS, &[run.as_str().into()]);
        row.is_ok_and(|row| row.is_some_and(|row| row.get_text("state") != Some("running")))
    }

    /// Removes an engine that has ended; returns false if another engine of the same run has been started already.
    fn remove_engine(&self, run: &RunId, own: &Handle) -> bool {
        let mut handles = lock(&self.engines.handles);
        if !handles.get(run).is_some_and(|handle| handle.is_same(own)) {
            return false;
        }
        handles.remove(run);
        drop(handles);
        self.count_live();
        true
    }

    pub(crate) fn engine(&self, run: &RunId) -> Option<Handle> {
        lock(&self.engines.handles).get(run).filter(|handle| !handle.is_closed()).cloned()
    }

    /// Releases the claims of a run whose engine has finished.
    fn run_ended(&self, run: &RunId) {
        if self.world.shared.state().close(run) {
            self.world.shared.announce();
        }
        self.world.troubles.forget(run);
        self.world.release(run);
        self.world.assign(run, Roster::default());
    }

    fn count_live(&self) {
        let (engines, drivers) = (lock(&self.engines.handles).len(), lock(&self.engines.drivers).len());
        self.engines.live.send_replace(engines + drivers);
    }

    /// Starts the driver of a run that a team leads, unless it is running; `resumed` is the agent that resumes a
    /// stopped run.
    pub(crate) async fn start_driver(&self, run: &RunId, resumed: Option<&AgentName>) -> Result<(), Error> {
        match (self.driver(run), resumed) {
            (Some(_), None) => return Ok(()),
            (Some(ending), Some(_)) => {
                let ended = tokio::time::timeout(ENDING, ending.closed()).await;
                let still = || Failure::new("request.conflict", format!("{run} is still being stopped"));
                ended.map_err(|_| still().hint("call again in a moment"))?;
            }
            (None, _) => {}
        }
        let (mut driver, handle) = Driver::fold(self.clone(), run)?;
        if let Some(by) = resumed {
            driver.resume(by).await?;
        }
        self.lead(run, driver, handle);
        Ok(())
    }

    /// Runs a driver to the end of its run; a driver that panics is started again from the record.
    fn lead(&self, run: &RunId, driver: Driver, handle: DriverHandle) {
        lock(&self.engines.drivers).insert(run.clone(), handle);
        self.count_live();
        self.world.troubles.passed(run);
        let (this, run) = (self.clone(), run.clone());
        task::spawn(async move {
            let has_panicked = has_panicked(driver.run()).await;
            let is_again = has_panicked && this.may_restart(&run).await;
            // Another driver may have been started meanwhile.
            if this.driver(&run).is_some() {
                return;
            }
            lock(&this.engines.drivers).remove(&run);
            match is_again.then(|| Driver::fold(this.clone(), &run)) {
                Some(Ok((driver, handle))) => return this.lead(&run, driver, handle),
                Some(Err(error)) => this.world.troubles.failed(&run, error.into()),
                None if !has_panicked => this.world.troubles.forget(&run),
                None => {}
            }
            this.count_live();
        });
    }

    pub(crate) fn driver(&self, run: &RunId) -> Option<DriverHandle> {
        lock(&self.engines.drivers).get(run).filter(|handle| !handle.is_closed()).cloned()
    }
}

/// Runs a future to its end in a separate task; returns true if it panicked.
async fn has_panicked(work: impl Future<Output = ()> + Send + 'static) -> bool {
    AbortOnDropHandle::new(task::spawn(work)).await.is_err_and(|error| error.is_panic())
}

/// Completes or abandons the merges that the last daemon had begun, then carries out those approved by a person
/// meanwhile.
async fn finish_merges(world: Arc<World>) {
    if let Err(error) = user_branch::resolve_begun(&world).await {
        tracing::error!(%error, "a merge that was begun is left; the next one of its run, or the next daemon, resolves it");
    }
    if let Err(error) = confirm_merge::resolve_all(&world).await {
        tracing::error!(%error, "runs that wait for a yes to their merge can't be read");
    }
}
