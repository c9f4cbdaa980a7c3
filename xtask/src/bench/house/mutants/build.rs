//! Builds the mutated crates; leaves out mutants that don't compile.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use super::plant::{self, Lines};
use super::sites::{SCOPE, Site};
use crate::command::command;

/// A test program, and its working folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) folder: PathBuf,
    /// What the program tests.
    pub(super) kind: Kind,
}

/// What a test program tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A mutated crate.
    Crate,
    /// The binary: its tests start daemons, agents and git.
    Binary,
}

/// The copy of the tree with the mutants that compile.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) sites: Vec<Site>,
    pub(super) programs: Vec<Program>,
    /// Digest of the copy's code, mutants included.
    pub(super) digest: u64,
}

/// Package of the binary; its tests run the mutated crates inside of it.
const BINARY: &str = "cli";

/// Maximum number of rounds; each leaves out the mutants that the compiler names.
const ROUNDS: usize = 25;

/// Plants the mutants, leaves out those that don't compile and all beyond `most`, and builds the tests: with
/// `crates_only` not those of the binary.
///
/// # Errors
/// When the tree does not build for another reason than a mutant.
pub(super) fn viable(
    root: &Path,
    folder: &Path,
    mut sites: Vec<Site>,
    (most, crates_only): (usize, bool),
) -> anyhow::Result<Built> {
    let build = if crates_only { Pass::BuildCrates } else { Pass::Build };
    let tree = folder.join("tree");
    let mut is_checked = false;
    for _ in 0..ROUNDS {
        let (planted, lines) = plant::plant(root, &sites)?;
        let digest = plant::copy(root, &tree, &planted)?;
        let errors = match cargo(folder, &tree, if is_checked { build } else { Pass::Check })? {
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
    /// Builds the tests of the mutated crates and those of the binary.
    Build,
    /// Builds the tests of the mutated crates.
    BuildCrates,
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
    executable: Option<PathBuf>,
    profile: Option<Profile>,
    #[serde(default)]
    package_id: String,
    message: Option<Message>,
}

#[derive(Debug, Deserialize)]
struct Profile {
    test: bool,
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

fn cargo(folder: &Path, tree: &Path, pass: Pass) -> anyhow::Result<Result<Vec<Program>, Vec<Spot>>> {
    let mut cargo = command("cargo", tree);
    match pass {
        Pass::Check => cargo.arg("check"),
        Pass::BuildCrates => cargo.args(["test", "--no-run"]),
        Pass::Build => cargo.args(["test", "--no-run", "--package", &format!("switchboard-{BINARY}")]),
    };
    cargo.args(["--message-format=json", "--quiet", "--lib", "--tests"]);
    for (package, _) in SCOPE {
        cargo.args(["--package", &format!("switchboard-{package}")]);
    }
    // Optimised, simulated histories take a third of the time; run-time checks stay on.
    cargo.args(["--config", "profile.dev.opt-level=1"]);
    // A folder of its own: another build in the tree's folder would replace the mutated binary.
    let output = cargo.arg("--target-dir").arg(folder.join("build")).output().context("cargo")?;
    let mut programs = Vec::new();
    let mut errors = Vec::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
        if let Some(executable) = line.executable.filter(|_| line.profile.is_some_and(|profile| profile.test)) {
            programs.push(program(tree, executable, &line.package_id)?);
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

fn program(tree: &Path, path: PathBuf, package_id: &str) -> anyhow::Result<Program> {
    let packages = SCOPE.iter().map(|(package, _)| (*package, Kind::Crate)).chain([(BINARY, Kind::Binary)]);
    let of = |(package, _): &(&str, Kind)| package_id.contains(&format!("/crates/{package}#"));
    let (package, kind) = packages.into_iter().find(of).context("a test of another crate")?;
    Ok(Program { path, folder: tree.join("crates").join(package), kind })
}
