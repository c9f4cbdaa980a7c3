//! `cargo xtask bench`: measurements. Each prints one JSON object on its last line; none of them is a test.

mod binary;
mod bus;
pub(crate) mod daemon;
mod dispatch;
mod faultless;
mod files;
mod gates;
mod house;
mod parallel;
mod report;
mod start;
mod stats;
mod team;

use std::path::Path;

use clap::Subcommand;

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
