//! Times of the checks: compared with Kingfisher on the whole library, and after an edit of twenty files.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::library::Library;
use super::peers::Peer;
use super::session::{Session, at_home};
use super::setup::Bench;
use crate::bench::stats::median;
use crate::command::{command, output};

/// Number of files in an edit.
const CHANGED: usize = 20;

/// Returns the peer's time divided by ours, both over the whole library, warm, measured alternately; `None` without the
/// peer.
pub(crate) fn against_kingfisher(bench: &Bench<'_>, library: &Library) -> anyhow::Result<Option<f64>> {
    let peer = match Peer::Kingfisher.installed(bench) {
        Ok(peer) => peer,
        Err(error) => {
            bench.say(&format!("kingfisher: skipped: {error:#}"));
            return Ok(None);
        }
    };
    let home = TempDir::new()?;
    let theirs = || {
        let mut scan = command(&peer, library.root());
        at_home(&mut scan, home.path());
        scan.arg("scan").arg(library.root()).args(["--no-validate", "--no-update-check", "--format", "json"]);
        timed(scan.arg("-o").arg(home.path().join("found.json")))
    };
    let ours = || {
        // A new home each time: cached results of the files must not count.
        let home = TempDir::new()?;
        let mut scan = command(&bench.binary, library.root());
        timed(at_home(&mut scan, home.path()).args(["check", "--only", "secretscan", "--format", "json"]))
    };
    let _warm = (theirs()?, ours()?);
    let (mut their_times, mut our_times) = (Vec::new(), Vec::new());
    for _ in 0..bench.args.runs.max(1) {
        their_times.push(theirs()?);
        our_times.push(ours()?);
    }
    let (theirs, ours) = (median(their_times), median(our_times));
    bench.say(&format!("secrets: kingfisher {theirs:.2} s, ours {ours:.2} s"));
    Ok(Some(theirs / ours))
}

/// Runs a scanner to its end; its exit status may report findings.
fn timed(scan: &mut std::process::Command) -> anyhow::Result<f64> {
    let began = Instant::now();
    let ended = scan.output().with_context(|| format!("{scan:?} does not start"))?;
    let took = began.elapsed().as_secs_f64();
    anyhow::ensure!(ended.status.code().is_some(), "{scan:?} ended with {}", ended.status);
    Ok(took)
}

/// Edits twenty files repeatedly; returns the milliseconds of the three checks, and of `pre_check_batch` if the binary
/// has it.
pub(crate) fn changed_files(bench: &Bench<'_>, library: &Library) -> anyhow::Result<(f64, Option<f64>)> {
    let (repository, paths) = repository(library)?;
    let root = repository.path().canonicalize()?;
    let mut session = Session::start(&bench.binary, &root)?;
    let only = ["syntax_check", "secretscan", "placeholder_scan"];
    let checks = json!({ "root": root, "paths": paths, "only": only });
    let batch =
        json!({ "verb": "pre_check_batch", "root": root, "args": { "files": paths, "may_run_commands": false } });
    let mut times = |question: &Value, is_answer: fn(&Value) -> bool| -> anyhow::Result<Option<f64>> {
        let mut times = Vec::new();
        for round in 0..bench.args.runs.max(1) + 2 {
            edit(&root, &paths, round)?;
            let began = Instant::now();
            let answer = session.ask(question)?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
            if !is_answer(&answer) {
                return Ok(None);
            }
        }
        // The first two runs were cold.
        Ok(Some(median(times.split_off(2))))
    };
    let checks = times(&checks, |answer| answer["reports"].as_array().is_some_and(|reports| reports.len() == 3))?;
    let batch = times(&batch, |answer| !answer["result"].is_null())?;
    if batch.is_none() {
        bench.say("pre_check_batch: skipped: this binary has none");
    }
    Ok((checks.context("the three checks gave no reports")?, batch))
}

/// Creates a repository of twenty files of ordinary size.
fn repository(library: &Library) -> anyhow::Result<(TempDir, Vec<String>)> {
    let folder = TempDir::new()?;
    let files = library.files("py")?;
    let is_ordinary = |file: &&PathBuf| file.metadata().is_ok_and(|file| (5_000..40_000).contains(&file.len()));
    let ordinary: Vec<&PathBuf> = files.iter().filter(is_ordinary).collect();
    let mut paths = Vec::new();
    for (number, file) in ordinary.iter().step_by((ordinary.len() / CHANGED).max(1)).take(CHANGED).enumerate() {
        let name = format!("file{number}.py");
        fs::copy(file, folder.path().join(&name))?;
        paths.push(name);
    }
    let git = |args: &[&str]| output(at_home(&mut command("git", folder.path()), folder.path()).args(args));
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["add", "--all"])?;
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    git(&[who.as_slice(), &["commit", "--quiet", "--message=start"]].concat())?;
    Ok((folder, paths))
}

/// Adds a function to each file, a different one each time.
fn edit(root: &Path, paths: &[String], round: u32) -> anyhow::Result<()> {
    for path in paths {
        let mut file = OpenOptions::new().append(true).open(root.join(path))?;
        writeln!(file, "\n\ndef added_in_round_{round}(value):\n    return [value, {round}]")?;
    }
    Ok(())
}
