//! `cargo xtask torture`: checks the promises under faults of the machine. Each torture prints one JSON object on its
//! last line and fails when a promise is broken.

mod bits;
mod board;
mod disk;
mod dispatch;
mod exclusive;
mod faults;
mod files;
mod kill;
mod machine;
mod power;
mod scratch;
mod seen;
mod sim;
mod tape;
mod vfs;
mod work;
mod workers;

use clap::Subcommand;

/// A kind of fault injection.
#[derive(Debug, Subcommand)]
pub(crate) enum Torture {
    /// Cut the power at every write of the store
    Power(power::Args),
    /// Simulate histories of runs under simulated time
    Dispatch(dispatch::Args),
    /// Flip bits in the files of a store
    Bits(bits::Args),
    /// Make the disk fail at every write, sync and open
    Faults(faults::Args),
    /// Kill the daemon at random moments while hundreds of message files are dropped
    Files(files::Args),
    /// Kill the daemon at random moments under senders, receivers and holders of leases
    Kill(kill::Args),
    /// Give the daemon a disk that fills up, and few file descriptors
    Machine(machine::Args),
    /// Send mail to agents in every state, and check whether it is seen in time
    Seen(seen::Args),
    /// Simulate histories of the bus under simulated time
    Sim(sim::Args),
    /// Run hundreds of real workers, with a fault every few seconds
    Workers(workers::Args),
}

/// Runs a torture.
///
/// # Errors
/// When a promise is broken, or nothing could be tried.
pub(crate) fn run(root: &std::path::Path, torture: &Torture) -> anyhow::Result<()> {
    match torture {
        Torture::Power(args) => power::run(args),
        Torture::Bits(args) => bits::run(args),
        Torture::Dispatch(args) => dispatch::run(args),
        Torture::Faults(args) => faults::run(args),
        Torture::Files(args) => files::run(root, args),
        Torture::Kill(args) => kill::run(root, args),
        Torture::Machine(args) => machine::run(root, args),
        Torture::Seen(args) => seen::run(root, args),
        Torture::Sim(args) => sim::run(args),
        Torture::Workers(args) => workers::run(root, args),
    }
}

/// Returns the hook of redo logs whose syncs [`count_syncs`] counts.
pub(crate) fn io_hook() -> Option<std::sync::Arc<dyn switchboard_store::IoHook>> {
    tape::io_hook()
}

/// Installs the hook into SQLite's file layer, and returns how many syncs it and the hook of redo logs have counted.
///
/// # Errors
/// When SQLite refuses the layer.
pub(crate) fn count_syncs() -> anyhow::Result<u64> {
    vfs::install()?;
    Ok(vfs::syncs() + tape::syncs())
}
