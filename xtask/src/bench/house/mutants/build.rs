//! Builds the mutated crates; leaves out mutants that don't compile.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use switchboard_process::env::var;

use super::plant::{self, Lines};
use super::sites::{SCOPE, Site};
use crate::command::command;

/// A test program, and its working folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) folder: PathBuf,
}

/// The copy of the tree with the mutants that compile.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) sites: Vec<Site>,
    pub(super) programs: Vec<Program>,
    /// Digest of the copy's code, mutants included.
    pub(super) digest: u64,
}

/// Maximum number of rounds; each leaves out the mutants that the compiler names.
const ROUNDS: usize = 25;

/// Plants the mutants, leaves out those that don't compile and all beyond `most`, and builds the tests.
///
/// # Errors
/// When the tree does not build for another reason than a mutant.
pub(super) fn viable(root: &Path, folder: &Path, mut sites: Vec<Site>, most: usize) -> anyhow::Result<Built> {
    let tree = folder.join("tree");
    let mut is_checked = false;
    for _ in 0..ROUNDS {
        let (planted, lines) = plant::plant(root, &sites)?;
        let digest = plant::copy(root, &tree, &planted)?;
        let errors = match cargo(root, &tree, if is_checked { Pass::Build } else { Pass::Check })? {
            Ok(_) if !is_checked => {
                is_checked = true;
                sites.truncate(most);
                continue;
            }
            Ok(programs) => return Ok(Built { sites, programs, digest }),
            Err(errors) => errors,
        };
        let wrong = blamed(&lines, &errors);
        if wrong.is_empty() {
            bail!("the tree does not build: {errors:?}");
        }
        eprintln!("mutants: {} don't compile", wrong.len());
        sites.retain(|site| !wrong.contains(&site.number));
    }
    bail!("after {ROUNDS} rounds some mutants still don't compile");
}

/// Cargo command of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Finds the mutants that don't compile, in a fraction of a build's time.
    Check,
    Build,
}

/// File and line of a compiler error.
type Spot = (PathBuf, usize);

fn blamed(lines: &Lines, errors: &[Spot]) -> BTreeSet<usize> {
    let mut blamed = BTreeSet::new();
    for (path, line) in errors {
        let here = lines.iter().filter(|(file, ..)| file == path);
        let distance = |(_, first, last, _): &&(PathBuf, usize, usize, usize)| {
            if line < first { first - line } else { line.saturating_sub(*last) }
        };
        let within: Vec<_> = here.clone().filter(|row| distance(row) == 0).map(|row| row.3).collect();
        // An error may be reported behind the mutant that causes it.
        let nearest = here.min_by_key(distance).map(|row| row.3);
        blamed.extend(if within.is_empty() { nearest.into_iter().collect() } else { within });
    }
    blamed
}

/// One line of cargo's output.
#[derive(Debug, Deserialize)]
struct Line {
    reason: String,
    executable: Option<PathBuf>,
    #[serde(default)]
    package_id: String,
    message: Option<Message>,
}

#[derive(Debug, Deserialize)]
struct Message {
    level: String,
    spans: Vec<Span>,
}

#[derive(Debug, Deserialize)]
struct Span {
    file_name: PathBuf,
    line_start: usize,
    is_primary: bool,
}

fn cargo(root: &Path, tree: &Path, pass: Pass) -> anyhow::Result<Result<Vec<Program>, Vec<Spot>>> {
    let mut cargo = command("cargo", tree);
    match pass {
        Pass::Check => cargo.arg("check"),
        Pass::Build => cargo.args(["test", "--no-run"]),
    };
    cargo.args(["--message-format=json", "--quiet", "--lib", "--tests"]);
    for (package, _) in SCOPE {
        cargo.args(["--package", &format!("switchboard-{package}")]);
    }
    // Optimised, simulated histories take a third of the time; run-time checks stay on.
    cargo.args(["--config", "profile.dev.opt-level=1"]);
    // The same folder as the tree's own builds, which already contain the dependencies.
    let target = var("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let output = cargo.arg("--target-dir").arg(target).output().context("cargo")?;
    let mut programs = Vec::new();
    let mut errors = Vec::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
        if let Some(executable) = line.executable.filter(|_| line.reason == "compiler-artifact") {
            let of = |(package, _): &&(&str, _)| line.package_id.contains(&format!("/crates/{package}"));
            let (package, _) = SCOPE.iter().find(of).context("a test of another crate")?;
            programs.push(Program { path: executable, folder: tree.join("crates").join(package) });
        }
        let spans = line.message.filter(|message| message.level == "error").map(|message| message.spans);
        let primary = spans.into_iter().flatten().filter(|span| span.is_primary);
        errors.extend(primary.map(|span| (span.file_name, span.line_start)));
    }
    if output.status.success() {
        programs.sort();
        return Ok(Ok(programs));
    }
    if errors.is_empty() {
        bail!("cargo {pass:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(Err(errors))
}
