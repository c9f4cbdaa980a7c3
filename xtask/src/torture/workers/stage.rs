//! The repository under test, its daemon and run, and the measurements meanwhile.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use fastrand::Rng;
use serde_json::{Value, json};

use super::script;
use crate::bench::daemon::{Client, Daemon, TestRepo, call};
use crate::processes;

/// Options of the torture.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of workers at once
    #[arg(long, default_value_t = 200)]
    pub(super) workers: usize,
    /// Seconds during which faults are injected
    #[arg(long, default_value_t = 600)]
    pub(super) seconds: u64,
    /// Seconds between two faults
    #[arg(long, default_value_t = 10)]
    pub(super) every: u64,
    /// Seed for faults, victims and what workers do
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Keep the folder, and print its path
    #[arg(long)]
    pub(super) keep: bool,
    /// Path of the binary; default `target/debug/switchboard`
    #[arg(long, value_name = "FILE")]
    pub(super) binary: Option<PathBuf>,
}

/// Milliseconds between two beats of a shim, instead of 5,000: a hanging shim is found after eight beats.
pub(super) const HEARTBEAT_MS: &str = "1000";
/// Time limit for the run to end after the last fault, besides the time in which faults are injected.
pub(super) const DRAIN: Duration = Duration::from_secs(900);

/// The repository under test, with its daemon and run.
pub(super) struct Stage {
    pub(super) repo: TestRepo,
    pub(super) folder: PathBuf,
    daemon: Option<Daemon>,
    pub(super) client: Client,
    pub(super) run: String,
}

/// Peak values of the measurements.
#[derive(Debug, Default)]
pub(super) struct Peaks {
    pub(super) daemon_mb: f64,
    pub(super) shim_mb: f64,
    pub(super) workers: usize,
}

// === impl Stage ===

impl Stage {
    /// Starts a daemon and the run; also returns the number of descriptors of an idle daemon.
    pub(super) fn begin(binary: &Path, args: &Args, rng: &mut Rng) -> anyhow::Result<(Self, usize)> {
        let repo = TestRepo::new(binary)?.with("SWITCHBOARD_HEARTBEAT_MS", Path::new(HEARTBEAT_MS));
        let folder = repo.repo().parent().context("a folder")?.to_owned();
        let repo = if args.keep { repo.kept() } else { repo };
        if args.keep {
            eprintln!("{}", folder.display());
        }
        std::fs::create_dir(folder.join("ledger"))?;
        let (daemon, _) = repo.start()?;
        let mut client = repo.connect("person")?;
        call(&mut client, "get_status", json!({}))?;
        let baseline = processes::descriptors(daemon.pid());
        let run = script::start(&mut client, &folder, binary, args, rng)?;
        Ok((Self { repo, folder, daemon: Some(daemon), client, run }, baseline))
    }

    /// Waits until half of the workers are running.
    pub(super) fn warm_up(&mut self, args: &Args) -> anyhow::Result<()> {
        let until = Instant::now() + DRAIN;
        while self.workers().len() * 2 < args.workers {
            ensure!(Instant::now() < until && self.is_running()?, "the workers don't start");
            std::thread::sleep(Duration::from_millis(500));
        }
        Ok(())
    }

    pub(super) fn workers(&self) -> Vec<processes::WorkerProcesses> {
        processes::workers(&self.folder)
    }

    pub(super) fn ask(&mut self, verb: &str, args: Value) -> anyhow::Result<Value> {
        call(&mut self.client, verb, args)
    }

    pub(super) fn is_running(&mut self) -> anyhow::Result<bool> {
        Ok(self.show()?["state"] == "running")
    }

    /// Returns the run as the daemon shows it.
    pub(super) fn show(&mut self) -> anyhow::Result<Value> {
        let run = self.run.clone();
        self.ask("get_run", json!({ "run": run }))
    }

    /// Kills the daemon and starts another.
    pub(super) fn restart(&mut self) -> anyhow::Result<()> {
        if let Some(daemon) = self.daemon.take() {
            daemon.kill()?;
        }
        let (daemon, _) = self.repo.start()?;
        self.daemon = Some(daemon);
        self.client = self.repo.connect("person")?;
        Ok(())
    }

    pub(super) fn daemon(&self) -> anyhow::Result<&Daemon> {
        self.daemon.as_ref().context("no daemon")
    }

    pub(super) fn look(&self, peaks: &mut Peaks) -> anyhow::Result<()> {
        let workers = self.workers();
        peaks.workers = peaks.workers.max(workers.len());
        peaks.daemon_mb = peaks.daemon_mb.max(self.daemon()?.resident_mb()?);
        let shims = workers.iter().filter_map(|worker| processes::resident_mb(worker.shim.pid));
        peaks.shim_mb = shims.fold(peaks.shim_mb, f64::max);
        Ok(())
    }
}
