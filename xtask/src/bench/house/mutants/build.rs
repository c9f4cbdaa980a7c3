//! Builds the mutated crates; mutants that don't compile are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Deserialize;

use super::plant::{self, Lines};
use super::sites::{SCOPE, Site};
use crate::command::command;

/// The test programs of each mutated crate.
pub(super) type Tests = BTreeMap<String, Vec<PathBuf>>;

/// Builds that are tried; each leaves out the mutants that the compiler names.
const BUILDS: usize = 25;

/// The mutants that compile, at most so many, and the tests with them.
///
/// # Errors
/// When the tree does not build for another reason than a mutant.
pub(super) fn viable(
    folder: &Path,
    tree: &Path,
    mut sites: Vec<Site>,
    most: usize,
) -> anyhow::Result<(Vec<Site>, Tests)> {
    let root = folder.parent().and_then(Path::parent).context("a folder below target")?;
    for _ in 0..BUILDS {
        plant::copy(root, tree)?;
        for (package, _) in SCOPE {
            plant::add_switch(root, tree, package)?;
        }
        let lines = plant::plant(root, tree, &sites)?;
        match build(tree, &folder.join("target"))? {
            Ok(tests) => {
                sites.truncate(most);
                return Ok((sites, tests));
            }
            Err(errors) => {
                let wrong = blamed(&lines, &errors);
                if wrong.is_empty() {
                    bail!("the tree does not build: {errors:?}");
                }
                eprintln!("mutants: {} don't compile", wrong.len());
                sites.retain(|site| !wrong.contains(&site.number));
            }
        }
    }
    bail!("after {BUILDS} builds some mutants still don't compile");
}

/// A file and line that the compiler complains about.
type Spot = (PathBuf, usize);

fn blamed(lines: &Lines, errors: &[Spot]) -> BTreeSet<usize> {
    let mut blamed = BTreeSet::new();
    for (path, line) in errors {
        let here = lines.iter().filter(|(file, ..)| file == path);
        let distance = |(_, first, last, _): &&(PathBuf, usize, usize, usize)| {
            if line < first { first - line } else { line.saturating_sub(*last) }
        };
        let within: Vec<_> = here.clone().filter(|row| distance(row) == 0).map(|row| row.3).collect();
        // An error may stand behind the mutant that causes it.
        let nearest = here.min_by_key(distance).map(|row| row.3);
        blamed.extend(if within.is_empty() { nearest.into_iter().collect() } else { within });
    }
    blamed
}

/// One line of what cargo prints.
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

fn build(tree: &Path, target: &Path) -> anyhow::Result<Result<Tests, Vec<Spot>>> {
    let mut cargo = command("cargo", tree);
    cargo.args(["test", "--no-run", "--message-format=json", "--quiet", "--lib", "--tests"]);
    for (package, _) in SCOPE {
        cargo.args(["--package", &format!("switchboard-{package}")]);
    }
    let output = cargo.arg("--target-dir").arg(target).output().context("cargo")?;
    let mut tests = Tests::new();
    let mut errors = Vec::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
        if let Some(executable) = line.executable.filter(|_| line.reason == "compiler-artifact") {
            let package = SCOPE.iter().find(|(package, _)| line.package_id.contains(&format!("/crates/{package}")));
            tests.entry(package.context("a test of another crate")?.0.to_owned()).or_default().push(executable);
        }
        let spans = line.message.filter(|message| message.level == "error").map(|message| message.spans);
        let primary = spans.into_iter().flatten().filter(|span| span.is_primary);
        errors.extend(primary.map(|span| (tree.join(span.file_name), span.line_start)));
    }
    if output.status.success() {
        return Ok(Ok(tests));
    }
    if errors.is_empty() {
        bail!("cargo test --no-run: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(Err(errors))
}
