//! `cargo xtask bench bus`: messages against the disk below them, and against brokers and databases. Every figure is a
//! ratio of two things measured alternately in one run, first on a quiet machine, then with two busy loops for each
//! core.
//!
//! The disk is this machine's: a virtual one may answer a sync before the data is safe. Missing peers are skipped with
//! a line.

mod clients;
mod disk;
mod jetstream;
mod local;
mod postgres;
mod remote;
mod workload;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use self::workload::CpuLoad;
use super::stats::{median, rounded};

/// Options of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print only the JSON object
    #[arg(long)]
    json: bool,
    /// Path of the binary; default `target/release/switchboard`
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Rounds of each figure
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Leave out the runs with busy loops
    #[arg(long)]
    quiet_only: bool,
    /// Measure only this part, on a quiet machine
    #[arg(long, value_enum)]
    part: Option<Part>,
    /// Act as a sender for another run of this command: repository of the socket, and number of sends
    #[arg(long, hide = true, num_args = 3, value_names = ["REPO", "NAME", "COUNT"])]
    client: Option<Vec<String>>,
}

/// A part that can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// The bus in this process
    Local,
    /// The bus behind a socket, and its peers
    Socket,
    /// Sizes, and figures that do not grow with them
    Sizes,
}

/// Measures and prints the figures.
///
/// # Errors
/// When the binary is missing or fails.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    if let Some(client) = &args.client {
        return clients::run_as_client(client);
    }
    let binary = args.binary.clone().unwrap_or_else(|| root.join("target/release/switchboard"));
    let missing = || format!("{}: build it: cargo build --release", binary.display());
    let binary = binary.canonicalize().with_context(missing)?;
    let rounds = args.rounds.max(1);
    let peers = root.join("target/peers");
    let mut report = Map::new();
    if args.part != Some(Part::Sizes) {
        report = timed(&binary, &peers, rounds, args.part)?;
    }
    if !args.quiet_only && args.part.is_none() {
        let load = CpuLoad::start()?;
        report.insert("hogged".to_owned(), Value::Object(timed(&binary, &peers, rounds.min(3), None)?));
        drop(load);
    }
    if matches!(args.part, None | Some(Part::Sizes)) {
        report.extend(local::sizes()?);
        report.extend(remote::sizes(&binary)?);
    }
    if !args.json {
        for (key, value) in &report {
            println!("{key}: {value}");
        }
    }
    println!("{}", Value::Object(report));
    Ok(())
}

/// Measures the figures that take time.
fn timed(binary: &Path, peers: &Path, rounds: usize, part: Option<Part>) -> anyhow::Result<Map<String, Value>> {
    let folder = tempfile::TempDir::new_in(disk::home()?)?;
    let mut report = Map::new();
    let mut rows: Vec<Map<String, Value>> = Vec::new();
    let (local, socket) = (part != Some(Part::Socket), part != Some(Part::Local));
    let nats = if socket { jetstream::Server::start(peers, folder.path())? } else { None };
    let database = if socket { postgres::Server::start(folder.path())? } else { None };
    for round in 0..rounds {
        let place = folder.path().join(format!("round-{round}"));
        std::fs::create_dir(&place)?;
        let mut row = Map::new();
        let floor = disk::append_p50(&place)?;
        row.insert("fdatasync_p50_us".to_owned(), json!(floor * 1e6));
        if local {
            row.extend(local::round(&place, floor)?);
        }
        if socket {
            row.extend(remote::round(binary, floor, nats.as_ref(), database.as_ref())?);
        }
        eprintln!("round {} of {rounds}: {}", round + 1, Value::Object(row.clone()));
        rows.push(row);
    }
    let keys: Vec<String> = rows.first().map(|row| row.keys().cloned().collect()).unwrap_or_default();
    for key in keys {
        let values: Vec<f64> = rows.iter().filter_map(|row| row.get(&key).and_then(Value::as_f64)).collect();
        let value = if values.is_empty() { Value::Null } else { json!(rounded(median(values))) };
        report.insert(key, value);
    }
    Ok(report)
}
