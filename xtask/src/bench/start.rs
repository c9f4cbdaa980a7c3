//! `cargo xtask bench start`: time until ready, memory, a cold command, the build, the size of the binary.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::daemon::TestRepo;
use super::stats::{median, rounded};
use crate::command::{command, output};

/// Options of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print only the JSON object
    #[arg(long)]
    json: bool,
    /// Build the release binary from nothing and measure that too
    #[arg(long)]
    build: bool,
    /// Number of starts to measure
    #[arg(long, default_value_t = 7)]
    runs: u32,
    /// Path of the binary; default `target/release/switchboard`
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Idle time of a daemon before its memory is measured.
const IDLE: Duration = Duration::from_secs(1);

/// Number of commands measured with each daemon.
const COMMANDS: u32 = 5;

/// Measures and prints the figures.
///
/// # Errors
/// When the binary is missing or fails.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let build_s = if args.build { Some(build(root)?) } else { None };
    let binary = args.binary.clone().unwrap_or_else(|| root.join("target/release/switchboard"));
    let missing = || format!("{}: build it: cargo build --release", binary.display());
    let binary = binary.canonicalize().with_context(missing)?;
    let size = binary.metadata()?.len();
    let (mut ready, mut memory, mut status) = (Vec::new(), Vec::new(), Vec::new());
    for number in 1..=args.runs.max(1) {
        let test_repo = TestRepo::new(&binary)?;
        let (daemon, took) = test_repo.start()?;
        ready.push(milliseconds(took));
        std::thread::sleep(IDLE);
        memory.push(daemon.resident_mb()?);
        for _ in 0..COMMANDS {
            let began = Instant::now();
            output(test_repo.switchboard().args(["status", "--json"]))?;
            status.push(milliseconds(began.elapsed()));
        }
        if !args.json {
            println!("{number}: ready {:.1} ms, {:.1} MB", milliseconds(took), daemon.resident_mb()?);
        }
    }
    println!("{}", report(median(ready), median(memory), median(status), build_s, size));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a file of 2^52 bytes would not fit on the disk")]
fn report(ready_ms: f64, memory_mb: f64, status_ms: f64, build_s: Option<f64>, bytes: u64) -> Value {
    json!({
        "ready_ms": rounded(ready_ms),
        "idle_rss_mb": rounded(memory_mb),
        "status_ms": rounded(status_ms),
        "build_s": build_s.map(rounded),
        "binary_mb": rounded(bytes as f64 / 1e6),
    })
}

fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

/// Builds into an empty folder, so that no earlier build counts, and copies the binary to its usual path.
pub(super) fn build(root: &Path) -> anyhow::Result<f64> {
    let target = root.join("target/bench-build");
    if target.exists() {
        std::fs::remove_dir_all(&target)?;
    }
    let began = Instant::now();
    output(command("cargo", root).args(["build", "--release", "--target-dir"]).arg(&target))?;
    let took = began.elapsed().as_secs_f64();
    std::fs::create_dir_all(root.join("target/release"))?;
    std::fs::copy(target.join("release/switchboard"), root.join("target/release/switchboard"))?;
    std::fs::remove_dir_all(&target)?;
    Ok(took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_the_five_keys_in_order() {
        let report = report(12.345, 20.0, 3.0, None, 30_000_000);

        assert_eq!(
            report.to_string(),
            r#"{"ready_ms":12.35,"idle_rss_mb":20.0,"status_ms":3.0,"build_s":null,"binary_mb":30.0}"#
        );
    }
}
