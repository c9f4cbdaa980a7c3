//! `cargo xtask torture`: what is promised, under everything that a machine can do. Each prints one JSON object on its
//! last line and fails when a promise is broken.

mod bits;
mod board;
mod disk;
mod faults;
mod power;
mod rng;
mod scratch;
mod tape;
mod vfs;
mod work;

use clap::Subcommand;

/// A way to break things.
#[derive(Debug, Subcommand)]
pub(crate) enum Torture {
    /// Cut the power at every write of the store
    Power(power::Args),
    /// Flip bits in the files of a store
    Bits(bits::Args),
    /// Have the disk fail at every write, sync and open
    Faults(faults::Args),
}

/// Breaks things.
///
/// # Errors
/// When a promise broke with them, or nothing could be tried.
pub(crate) fn run(torture: &Torture) -> anyhow::Result<()> {
    match torture {
        Torture::Power(args) => power::run(args),
        Torture::Bits(args) => bits::run(args),
        Torture::Faults(args) => faults::run(args),
    }
}
