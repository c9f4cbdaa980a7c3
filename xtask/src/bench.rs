//! `cargo xtask bench`: measurements. Each prints one JSON object on its last line; none of them is a test.

mod binary;
mod bus;
pub(crate) mod daemon;
mod dispatch;
mod faultless;
mod files;
mod gates;
mod house;
mod report;
mod start;
mod stats;
mod team;

use std::path::Path;

use clap::Subcommand;

/// A measurement.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// Measure messages against the disk, brokers and databases
    Bus(bus::Args),
    /// Measure the time and memory of a start
    Start(start::Args),
    /// Measure how fast message files are processed
    Files(files::Args),
    /// Measure speed and accuracy of the checks
    Gates(gates::Args),
    /// Measure the cost of workers: at their start, and with hundreds at once
    Dispatch(dispatch::Args),
    /// Check whether tree and daemon keep within their limits
    House(house::Args),
    /// Check whether agents can cheat the gates of a run
    Team(team::Args),
}

/// Runs a measurement.
///
/// # Errors
/// When something to be measured does not run.
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
