//! `cargo xtask bench`: measurements. Each prints one JSON object on its last line; none of them is a test.

mod bus;
pub(crate) mod daemon;
mod dispatch;
mod files;
mod gates;
mod house;
mod report;
mod start;
mod stats;
mod team;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Subcommand;

use crate::command;

/// A measurement.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Messages against the disk, brokers and databases
    Bus(bus::Args),
    /// How fast and how small a start is
    Start(start::Args),
    /// How fast message files are taken
    Files(files::Args),
    /// How fast and how right the checks are
    Gates(gates::Args),
    /// What workers cost, at their start and by the hundred
    Dispatch(dispatch::Args),
    /// Whether tree and daemon keep within their limits
    House(house::Args),
    /// Whether the gates of a run can be fooled
    Team(team::Args),
}

/// Measures.
///
/// # Errors
/// When something that is to be measured does not run.
pub(crate) fn run(root: &Path, bench: &Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Bus(args) => bus::run(root, args),
        Bench::Start(args) => start::run(root, args),
        Bench::Files(args) => files::run(root, args),
        Bench::Gates(args) => gates::run(root, args),
        Bench::Dispatch(args) => dispatch::run(root, args),
        Bench::House(args) => house::run(root, args),
        Bench::Team(args) => team::run(root, args),
    }
}

/// The binary under measure, found when it is asked for first.
struct Binary<'a> {
    root: &'a Path,
    named: Option<&'a Path>,
    found: Option<PathBuf>,
}

// === impl Binary ===

impl<'a> Binary<'a> {
    const fn new(root: &'a Path, named: Option<&'a Path>) -> Self {
        Self { root, named, found: None }
    }

    /// Its path. It is built when none was named.
    fn path(&mut self) -> anyhow::Result<PathBuf> {
        let found = match self.found.take() {
            Some(found) => found,
            None => binary(self.root, self.named)?,
        };
        Ok(self.found.insert(found).clone())
    }
}

/// The binary under measure, built when none is named.
fn binary(root: &Path, named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let built = root.join("target/release/switchboard");
    if named.is_none() {
        let mut cargo = command::command("cargo", root);
        command::output(cargo.args(["build", "--release", "--quiet", "--package", "switchboard-cli"]))?;
    }
    let binary = named.unwrap_or(&built);
    binary.canonicalize().with_context(|| binary.display().to_string())
}

/// Some figures time code in this process: runs the same command in a release build.
fn again_optimised(root: &Path) -> anyhow::Result<()> {
    let mut cargo = command::command("cargo", root);
    cargo.args(["run", "--quiet", "--release", "--package", "xtask", "--"]).args(std::env::args_os().skip(1));
    let status = cargo.status().context("cargo")?;
    anyhow::ensure!(status.success(), "the release build of xtask ended with {status}");
    Ok(())
}
