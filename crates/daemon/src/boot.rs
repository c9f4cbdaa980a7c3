//! Start of the daemon, in order, and its end.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchboard_bus::{LeaseBook, Uptime};
use switchboard_dispatch::{Config, Dispatch, Others, ReadLimits, ReadWorktrees, Trust};
use switchboard_policy::{Bundle, Policy};
use switchboard_process::env::{Env, var};
use switchboard_process::lock::Lock;
use switchboard_process::task;
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::WorkerLimits;
use switchboard_store::{Clock, Store};
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::authority::Authority;
use crate::blocking::blocking;
use crate::bound::Bound;
use crate::denials::Denials;
use crate::error::io;
use crate::for_dispatch::{Mail, Reserved, Rules};
use crate::http::Http;
use crate::sessions::Sessions;
use crate::socket::Socket;
use crate::trust::Pins;
use crate::verbs::{self, Ask, Verbs};
use crate::{Error, RootPaths, ServerInfo, expiry, files, idle_work, janitor, owner, project, retention, token};

/// Number of threads that run async tasks.
pub(crate) const WORKERS: usize = 2;

/// How long `down` waits for workers to end.
const STOP_WORKERS: Duration = Duration::from_secs(12);

/// Maximum and minimum sleep between two checks whether the daemon is still needed. The maximum is how long one outlives
/// its deleted folders.
const CHECK_INTERVAL: (Duration, Duration) = (Duration::from_secs(10), Duration::from_millis(50));

/// How long after its last run and last call a daemon ends that was started for a run.
const AFTER_RUN: Duration = Duration::from_millis(1500);

/// How long a daemon that was started for a run waits for the run.
const BEFORE_RUN: Duration = Duration::from_secs(30);

/// Delay before an ended child is collected: that scans all processes, so it should happen once after a row of git calls.
const COLLECT_AFTER: Duration = Duration::from_millis(200);

/// Options of the daemon.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// True if the daemon was started for a run and ends with it.
    pub ends_with_run: bool,
    /// How long the daemon stays without calls, runs and connected workers. Default: 15 minutes; `None`: for ever.
    pub idle: Option<Duration>,
    /// Port of the loopback HTTP server; 0 takes a free one.
    pub port: u16,
}

impl Default for Options {
    fn default() -> Self {
        Self { ends_with_run: false, idle: Some(Duration::from_secs(15 * 60)), port: 0 }
    }
}

/// Why the daemon has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// A caller asked for it, it was idle, its store failed, or its folders were deleted.
    Asked {
        /// True if workers are left running.
        keep_workers: bool,
    },
    /// SIGTERM. Stops the workers, as `down` does.
    Terminated,
    /// SIGINT. Stops the workers, as `down` does.
    Interrupted,
}

/// Reads the settings files, each time that a setting is needed.
#[derive(Debug, Clone)]
pub struct ReadSettings {
    /// Reads the limits that all runs of a repository share.
    pub limits: ReadLimits,
    /// Reads the folder for work trees.
    pub worktrees: ReadWorktrees,
}

/// Runs the daemon of a repository until it is told to end or is idle.
///
/// # Errors
/// `daemon.running` when there is one already; any failure to start.
pub fn serve(place: RootPaths, options: Options, settings: ReadSettings) -> Result<Ended, Error> {
    log();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(32)
        .on_thread_park(switchboard_process::memory::release_before_wait)
        .enable_all()
        .build();
    let runtime = runtime.map_err(io(&place.root))?;
    let ended = runtime.block_on(run(place.clone(), options, settings));
    runtime.shutdown_timeout(Duration::from_secs(2));
    ended.inspect_err(|error| write_boot_failure(&place, error))
}

/// Removes unfinished work trees that the last daemon left. Called before runs are taken up, which make work trees.
async fn forget_unmade(place: &RootPaths, dispatch: &Dispatch) {
    let (repo, dispatch) = (place.repo.clone(), dispatch.clone());
    let forget = move || {
        let folders = dispatch.worktree_folders().map_err(|error| error.to_failure())?;
        repo.worktrees_forget_incomplete(&folders).map_err(|error| error.failure())
    };
    match blocking(forget).await {
        Ok(0) => {}
        Ok(forgotten) => tracing::info!(forgotten, "work trees that were never made are forgotten"),
        Err(error) => tracing::warn!(%error, "work trees that were never made stay registered"),
    }
}

/// Sets up logging to standard error, which is the state folder's `daemon.log` for a daemon in the background. `RUST_LOG` sets
/// the level; rmcp would log whole requests, which must not be kept.
fn log() {
    let filter = var("RUST_LOG").unwrap_or_else(|| "info,rmcp=warn,hyper=warn".to_owned());
    let subscriber = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).with_env_filter(filter);
    if subscriber.try_init().is_err() {
        tracing::debug!("somebody else logs already");
    }
}

/// Records why the daemon did not start, for the command that waits for it.
fn write_boot_failure(place: &RootPaths, error: &Error) {
    let text = serde_json::to_vec(&error.to_failure()).unwrap_or_default();
    if let Err(error) = project::write_private(&place.boot_failure(), &text) {
        tracing::error!(%error, "nor could that be written down");
    }
}

async fn run(place: RootPaths, options: Options, settings: ReadSettings) -> Result<Ended, Error> {
    project::prepare(&place.project)?;
    let lock = owner::take(&place)?;
    switchboard_process::orphans::become_subreaper()?;
    let store = open_store(&place)?;
    let leases = Arc::new(LeaseBook::open(store.clone(), Uptime::system()).await.map_err(Failure::from)?);
    let policy = Arc::new(load_policy(&place)?);
    token::ensure(&place)?;
    let stop = CancellationToken::new();
    let dispatch = Dispatch::new(
        store.clone(),
        place.repo.clone(),
        dispatch_config(&place, settings)?,
        Others {
            mail: Arc::new(Mail(store.clone())),
            leases: Arc::new(Reserved(Arc::clone(&leases))),
            rules: Arc::new(Rules { policy: Arc::clone(&policy), store: store.clone() }),
        },
        stop.clone(),
    );
    let listener = bind(&place)?;
    let http = Http::bind(options.port).await.map_err(io(&place.root))?;
    let started_at = store.now();
    let info = ServerInfo::new(&place, http.address().port(), started_at);
    let (asks, inbox) = mpsc::channel(16);
    let last_call = Mutex::new(tokio::time::Instant::now());
    let denials = Arc::<Denials>::default();
    let parts = Verbs {
        store: store.clone(),
        leases: Arc::clone(&leases),
        dispatch: dispatch.clone(),
        policy,
        place: place.clone(),
        authority: Authority::new(),
        sessions: Sessions::default(),
        bound: Bound::default(),
        tokens: Arc::default(),
        denials: Arc::clone(&denials),
        limits: switchboard_bus::Limits::default(),
        info: info.clone(),
        started_at,
        asks,
        last_call,
        upstreams: verbs::Upstreams::default(),
        panics_in: var("SWITCHBOARD_PANIC_IN"),
    };
    let (verbs, invoke) = verbs::shared(parts);
    let socket = Socket { invoke: Arc::clone(&invoke), dispatch: dispatch.clone(), stop: stop.clone() };
    let serving = task::spawn(socket.serve(listener));
    let ageing = task::spawn(retention::run(store.clone(), stop.clone()));
    let serving_http = task::spawn(http.serve(invoke, stop.clone()));
    let sweeping = task::spawn(janitor::run(store.clone(), stop.clone()));
    let resting = task::spawn(idle_work::run(place.clone(), store.clone(), stop.clone()));
    verbs::withdraw_all(&store).await?;
    let expiring = task::spawn(switchboard_needs::expire(store.clone(), stop.clone()));
    forget_unmade(&place, &dispatch).await;
    dispatch.boot().await?;
    // Only after boot: earlier, every worker would seem to be without a task.
    let keeping = task::spawn(expiry::watch(store.clone(), leases, dispatch.assignees(), stop.clone()));
    let no_files = stop.child_token();
    let files = {
        let (host, store, stop) = (files::Host::new(Arc::clone(&verbs)), store.clone(), no_files.clone());
        let runtime = tokio::runtime::Handle::current();
        task::spawn_blocking(move || switchboard_files::serve(Arc::new(host), store, runtime, &stop))
    };
    // Before the first call, which needs some of these pages again.
    switchboard_process::memory::unmap_startup_pages();
    announce(&info, &place)?;

    let ended = life(&verbs, &dispatch, &lock, options, inbox).await;
    let is_at_rest = *dispatch.live_runs().borrow() == 0;
    if ended != (Ended::Asked { keep_workers: true }) {
        dispatch.stop_workers(STOP_WORKERS).await;
    }
    info.retract(&place.project);
    info.retract(&place.state);
    // The files first, so that the record is closed soon after the sockets are.
    no_files.cancel();
    ends(files).await;
    // The answer to the verb that ends the daemon is being sent; 50 ms are enough for a socket on this machine.
    tokio::time::sleep(Duration::from_millis(50)).await;
    stop.cancel();
    for task in [serving, serving_http, sweeping, resting, keeping, ageing, expiring] {
        ends(task).await;
    }
    // Another state folder of the same name belongs to another daemon.
    let is_ours = lock.is_in_place();
    if is_ours {
        remove_socket(&place);
    }
    denials.flush(&store).await;
    drop(verbs);
    if is_ours {
        crate::record::note_head(&place, &store, false);
    }
    store.close();
    if is_ours {
        place.set_at_rest(is_at_rest);
    }
    drop(lock);
    Ok(ended)
}

async fn ends(task: tokio::task::JoinHandle<()>) {
    if tokio::time::timeout(Duration::from_secs(5), task).await.is_err() {
        tracing::warn!("a part did not end in time");
    }
}

fn open_store(place: &RootPaths) -> Result<Store, Error> {
    let config = switchboard_store::Config::new(place.store());
    Ok(Store::open(switchboard_store::Config { clock: Clock::system(), ..config }, crate::record::parts())?)
}

/// Loads the user's rules or the default ones, narrowed by the project's.
fn load_policy(place: &RootPaths) -> Result<Policy, Error> {
    let bundle =
        Bundle::from_folder(&place.settings.join("policy")).and_then(|bundle| bundle.with_project(&place.root));
    let policy = bundle.and_then(|bundle| Policy::load(&bundle));
    Ok(policy.map_err(|error| error.to_failure())?)
}

fn dispatch_config(place: &RootPaths, settings: ReadSettings) -> Result<Config, Error> {
    let pins = Pins::at(&place.settings);
    Ok(Config {
        trusts: Trust(Arc::new(move |digest| pins.has(digest))),
        state: place.state.clone(),
        worktrees: place.state.join("worktrees"),
        named_worktrees: settings.worktrees,
        git_dir: place.repo.common_dir().to_owned(),
        home: var("HOME").map(Into::into),
        private: vec![place.state.clone(), place.settings.clone(), place.project.clone()],
        tree_ports: place.state.with_file_name("tree-ports"),
        socket: place.socket.clone(),
        binary: std::env::current_exe().map_err(io(&place.root))?,
        env: Env::plain().into_pairs(),
        limits: limits(),
        shared: settings.limits,
        usual_workers: usual_workers(),
        shim_grace: Duration::from_secs(3),
        heartbeat: heartbeat(),
        gate_limit: Duration::from_secs(600),
        crash_at: var("SWITCHBOARD_CRASH_AT"),
    })
}

/// Returns the limits of workers and the wait for a person; tests scale them.
fn limits() -> WorkerLimits {
    let usual = WorkerLimits::default();
    let scaled = var("SWITCHBOARD_ASK_MS").and_then(|ms| ms.parse().ok());
    WorkerLimits { permission_ms: scaled.unwrap_or(usual.permission_ms), ..usual }
}

/// Returns the interval of the shims' heartbeats; tests scale it.
fn heartbeat() -> Duration {
    let scaled = var("SWITCHBOARD_HEARTBEAT_MS").and_then(|ms| ms.parse().ok());
    scaled.map_or(Duration::from_secs(5), Duration::from_millis)
}

/// Returns the default maximum of live workers: one for each 256 MB of memory, about what an agent takes with its tools, 4 to 256.
fn usual_workers() -> u32 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total =
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u32>().ok());
    // If the memory is unknown, a machine of 4 GB is assumed.
    (total.unwrap_or(4 << 20) / (256 << 10)).clamp(4, 256)
}

fn bind(place: &RootPaths) -> Result<UnixListener, Error> {
    remove_socket(place);
    let listener = UnixListener::bind(&place.socket).map_err(io(&place.socket))?;
    let only_user = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&place.socket, only_user).map_err(io(&place.socket))?;
    Ok(listener)
}

/// Removes an old socket. The lock is ours, so the socket belongs to a dead daemon.
fn remove_socket(place: &RootPaths) {
    match std::fs::remove_file(&place.socket) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, "the socket could not be removed")
        }
        Ok(()) | Err(_) => {}
    }
}

/// Writes down where a daemon that is ready is reached. Commands find it by the file in the state folder, so that one
/// comes last: who has found the daemon also finds the file of the work tree.
fn announce(info: &ServerInfo, place: &RootPaths) -> Result<(), Error> {
    info.write(&place.project)?;
    info.write(&place.state)?;
    if let Err(error) = std::fs::remove_file(place.boot_failure()) {
        tracing::debug!(%error, "no earlier daemon left word of a failure");
    }
    place.set_at_rest(false);
    tracing::info!(pid = info.pid, port = info.port, root = %place.root.display(), "ready");
    Ok(())
}

/// Waits for the reason to end the daemon.
async fn life(
    verbs: &Verbs,
    dispatch: &Dispatch,
    lock: &Lock,
    options: Options,
    mut asks: mpsc::Receiver<Ask>,
) -> Ended {
    const KEPT: Ended = Ended::Asked { keep_workers: true };
    let mut ends_with_run = options.ends_with_run;
    let mut had_run = false;
    let mut signals = Signals::new();
    let mut busy = tokio::time::Instant::now();
    let mut runs = dispatch.live_runs();
    // No subscription: it only reports that the store has ended.
    let mut end = verbs.store.subscribe([]);
    let mut wait = CHECK_INTERVAL.1;
    let mut collect_at = None;
    loop {
        tokio::select! {
            ask = asks.recv() => match ask {
                Some(Ask::Shutdown { keep_workers }) => {
                    tracing::info!(keep_workers, "somebody asked the daemon to end");
                    return Ended::Asked { keep_workers };
                }
                Some(Ask::EndWithRun) => ends_with_run = true,
                None => return KEPT,
            },
            () = one(&mut signals.terminate) => {
                tracing::info!("the daemon was told to end by SIGTERM");
                return Ended::Terminated;
            }
            () = one(&mut signals.interrupt) => {
                tracing::info!("the daemon was told to end by SIGINT");
                return Ended::Interrupted;
            }
            // An orphan may have ended; usually it was a git process, which its caller collects.
            () = one(&mut signals.child) => {
                collect_at.get_or_insert_with(|| tokio::time::Instant::now() + COLLECT_AFTER);
                continue;
            }
            () = at(collect_at) => {
                collect_at = None;
                drop(switchboard_process::orphans::reap());
            }
            changed = runs.changed() => {
                busy = tokio::time::Instant::now();
                if changed.is_err() {
                    return KEPT;
                }
            }
            // The end of the store is checked below.
            _ = end.changed() => {}
            () = tokio::time::sleep(wait) => {}
        }
        if let Some(error) = verbs.store.dead() {
            // Nothing can be recorded any more: the next daemon opens the store again and adopts the workers.
            tracing::error!(%error, "the store does not write any more; the daemon ends");
            return KEPT;
        }
        if !lock.is_in_place() || is_gone(verbs.place.repo.common_dir()) {
            // No later daemon could adopt the workers.
            tracing::error!("the state folder or the repository is gone; the daemon ends with its workers");
            return Ended::Asked { keep_workers: false };
        }
        let live = *dispatch.live_runs().borrow() > 0;
        had_run |= live;
        if live {
            busy = tokio::time::Instant::now();
        }
        let quiet = verbs.last_call.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        let limit = match (ends_with_run, had_run) {
            (true, true) => Some(AFTER_RUN),
            (true, false) => Some(BEFORE_RUN),
            (false, _) => options.idle,
        };
        let idle = quiet.min(busy.elapsed());
        if !live && limit.is_some_and(|limit| idle > limit) {
            return KEPT;
        }
        wait = limit
            .filter(|_| !live)
            .map_or(CHECK_INTERVAL.0, |limit| limit.saturating_sub(idle))
            .clamp(CHECK_INTERVAL.1, CHECK_INTERVAL.0);
    }
}

/// Returns true if a folder was deleted; false if it can't be looked at.
fn is_gone(folder: &Path) -> bool {
    matches!(folder.try_exists(), Ok(false))
}

/// Signals that the daemon handles: two end it, one reports the end of a child.
struct Signals {
    terminate: Option<tokio::signal::unix::Signal>,
    interrupt: Option<tokio::signal::unix::Signal>,
    child: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let listen =
            |kind| signal(kind).inspect_err(|error| tracing::warn!(%error, "a signal can't be listened to")).ok();
        Self {
            terminate: listen(SignalKind::terminate()),
            interrupt: listen(SignalKind::interrupt()),
            child: listen(SignalKind::child()),
        }
    }
}

/// Waits until a point in time; for ever if there is none.
async fn at(when: Option<tokio::time::Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}

/// Waits for a signal; for ever if it can't be received.
async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
