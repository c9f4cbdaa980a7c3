//! Starts a daemon for a command that needs one, and waits until it is ready.

use std::time::Duration;

use switchboard_process::clock::Deadline;
use switchboard_process::env::{Env, var};
use switchboard_process::fingerprint::Fingerprint;
use switchboard_process::lineage::{self, Part, Process};
use switchboard_process::lock::{self, Lock};
use switchboard_process::spawn::Spawn;
use switchboard_protocol::error::Failure;

use crate::{Error, Owner, RootPaths, ServerInfo};

/// Time limit for a daemon to become ready; it scans a long log first if its last end was not clean.
const READY: Duration = Duration::from_secs(20);

/// Interval between two checks whether it is ready.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Environment variables that a command passes to the daemon that it starts.
const PASSED: [&str; 6] = [
    "RUST_LOG",
    "SWITCHBOARD_ASK_MS",
    "SWITCHBOARD_CRASH_AT",
    "SWITCHBOARD_HEARTBEAT_MS",
    "SWITCHBOARD_IDLE_S",
    "SWITCHBOARD_PANIC_IN",
];

/// Purpose of the daemon's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Launch {
    /// True if the daemon ends as soon as no run is live, instead of after idle minutes.
    pub ends_with_run: bool,
}

/// Finds the daemon of a repository or starts one, and returns its server_info. Only one command starts it at a time; the others wait for it.
///
/// # Errors
/// `agent.unmanaged` inside a worker; `daemon.unreachable` with the end of its log when it does not become ready.
pub fn launch(place: &RootPaths, launch: Launch) -> Result<ServerInfo, Error> {
    let limit = Deadline::after(READY);
    loop {
        if let Some(info) = running(place)? {
            return Ok(info);
        }
        refuse_below_a_worker()?;
        match Lock::take(&place.start_lock(), "") {
            Ok(_starting) => match start(place, launch) {
                // The previous daemon was ending, or a command without the lock (`up`) has started one meanwhile.
                Err(error) if error.to_failure().code == "daemon.running" && !limit.has_passed() => {}
                other => return other,
            },
            Err(switchboard_process::Error::Held { .. }) if !limit.has_passed() => {}
            Err(error) => return Err(error.into()),
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Waits until no start is in progress: then the daemon is ready, or there is none.
///
/// # Errors
/// `daemon.unreachable` when the start takes too long.
pub fn wait_for_start(place: &RootPaths) -> Result<(), Error> {
    let limit = Deadline::after(READY);
    while lock::holder(&place.start_lock())?.is_some() || (Owner::of(place)?.is_some() && running(place)?.is_none()) {
        if limit.has_passed() {
            return Err(not_ready(place));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn refuse_below_a_worker() -> Result<(), Error> {
    if !is_below_a_worker() {
        return Ok(());
    }
    let what = "no daemon runs, and a worker may not start one";
    Err(Failure::new("agent.unmanaged", what).hint("start it outside of the worker: switchboard up").into())
}

/// Starts a daemon, unless another command has done so, and waits until it is ready.
fn start(place: &RootPaths, launch: Launch) -> Result<ServerInfo, Error> {
    if let Some(info) = running(place)? {
        return Ok(info);
    }
    let binary = std::env::current_exe().map_err(crate::error::io(&place.root))?;
    let mut argv = vec![binary.display().to_string(), "up".to_owned(), "--foreground-internal".to_owned()];
    if launch.ends_with_run {
        argv.push("--ends-with-run".to_owned());
    }
    let spawn = Spawn::new(argv).cwd(&place.root).env_only(Env::plain().inherit(PASSED)).own_session();
    let started = spawn.detached(Some(&place.log()))?;
    let lives = || started.fingerprint.as_ref().is_some_and(Fingerprint::is_alive);
    let limit = Deadline::after(READY);
    while !limit.has_passed() {
        if let Some(info) = running(place)? {
            return Ok(info);
        }
        if !lives() {
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    // `up` in a terminal may have been faster: then the daemon started here has ended, and the other is ready soon.
    if let Some(info) = other(place)? {
        return Ok(info);
    }
    Err(take_boot_failure(place).map_or_else(|| not_ready(place), Error::from))
}

fn not_ready(place: &RootPaths) -> Error {
    let what = format!("the daemon did not become ready within {} s", READY.as_secs());
    Failure::new("daemon.unreachable", what).at(place.log().display().to_string()).hint("switchboard doctor").into()
}

/// Returns true if this process runs below a worker's shim or a daemon, whatever its environment says.
#[must_use]
pub fn is_below_a_worker() -> bool {
    let is_started = |process: &Process| matches!(process.part, Part::Shim | Part::Daemon);
    let lineage = lineage::of_pid(std::process::id());
    var("SWITCHBOARD_WORKER").is_some() || lineage.is_some_and(|own| own.processes.iter().skip(1).any(is_started))
}

/// Waits for a daemon that another command has started.
fn other(place: &RootPaths) -> Result<Option<ServerInfo>, Error> {
    let limit = Deadline::after(READY);
    while Owner::of(place)?.is_some() && !limit.has_passed() {
        if let Some(info) = running(place)? {
            return Ok(Some(info));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(None)
}

/// Returns the failure that the started daemon left when it ended.
fn take_boot_failure(place: &RootPaths) -> Option<Failure> {
    let path = place.boot_failure();
    let failure = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
    // Deleted after reading, so that a later failure is not mistaken for it. A file that can't be deleted is overwritten by the next one.
    std::fs::remove_file(&path).ok()?;
    Some(failure)
}

/// Returns the daemon of a repository if it is ready: it holds the lock and has written its server_info.
fn running(place: &RootPaths) -> Result<Option<ServerInfo>, Error> {
    let Some(owner) = Owner::of(place)? else { return Ok(None) };
    Ok(ServerInfo::read(&place.state).filter(|info| info.pid == owner.pid))
}
