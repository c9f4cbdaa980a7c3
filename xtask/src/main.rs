//! Chores of this repository: `cargo xtask layers`, `words`, `schemas`, `bench`, `torture`.

mod bench;
mod circles;
mod command;
mod layers;
mod links;
mod parallel;
mod processes;
mod schemas;
mod torture;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores of this repository
#[derive(Debug, Parser)]
#[command(name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Check that every crate depends only on those that its level allows
    Layers,
    /// List files of a crate that import each other in a ring
    Circles,
    /// List the uses of words that `docs/glossary.md` rules out
    Words,
    /// Write the JSON schemas of all verbs to `crates/protocol/schemas/verbs.json`
    Schemas(schemas::Args),
    /// Measure, and print one JSON object on the last line
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Inject faults, and check whether a promise breaks
    #[command(subcommand)]
    Torture(torture::Torture),
}

/// The allocator of the binary, because some measurements run its parts in this process.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let done = match Args::parse().chore {
        Chore::Layers => layers::run(&root()),
        Chore::Circles => circles::run(&root()),
        Chore::Words => words::run(&root()),
        Chore::Schemas(args) => schemas::run(&root(), &args),
        Chore::Bench(bench) => bench::run(&root(), &bench),
        Chore::Torture(torture) => torture::run(&root(), &torture),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the root of the repository.
fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}
