//! Seeded mutants of what decides and what carries out runs, and whether a test catches each.
//!
//! All mutants are compiled at once, each behind a switch that an environment variable turns on, so that a mutant costs a run of the tests and no
//! build. The tree is copied first; answers are kept below `target/mutants`, so that an interrupted measurement goes on where it was.

mod answers;
mod build;
mod plant;
mod sites;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use fastrand::Rng;
use serde_json::{Value, json};

use self::answers::{Answer, Answers};
use self::build::Tests;
use self::sites::{SCOPE, Site};
use self::trial::Ended;
use crate::bench::stats::count;

/// Files that are only compiled for tests or simulations: nobody ships them.
const LEFT_OUT: [&str; 4] = ["tests.rs", "/tests/", "simulate.rs", "simulate/"];
/// Candidates for each mutant that is wanted: some don't compile.
const SPARE: f64 = 1.4;

/// How many mutants, and which.
#[derive(Debug, clap::Args)]
pub(crate) struct Draw {
    /// Mutants to make
    #[arg(long, default_value_t = 200)]
    mutants: usize,
    /// Draws other mutants
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print each mutant that no test catches
    #[arg(long)]
    survivors: bool,
}

/// What became of the mutants.
#[derive(Debug, Default)]
pub(super) struct Caught {
    by_own: usize,
    by_others: usize,
    by_limit: usize,
    survivors: Vec<String>,
}

// === impl Caught ===

impl Caught {
    /// The share that a test caught.
    pub(super) fn share(&self) -> f64 {
        let caught = self.by_own + self.by_others + self.by_limit;
        count(caught) / count((caught + self.survivors.len()).max(1))
    }

    /// Counts, and every survivor with its line.
    pub(super) fn details(&self) -> Value {
        json!({
            "caught_by_tests_of_its_crate": self.by_own,
            "caught_by_tests_of_the_other": self.by_others,
            "ended_at_the_time_limit": self.by_limit,
            "survived": self.survivors,
        })
    }

    fn add(&mut self, site: &Site, answer: Answer) {
        match answer {
            Answer::Own => self.by_own += 1,
            Answer::Other => self.by_others += 1,
            Answer::Hung => self.by_limit += 1,
            Answer::Survived => self.survivors.push(site.to_string()),
        }
    }
}

/// Makes the mutants, runs the tests under each and counts.
///
/// # Errors
/// When the tree without a mutant does not build or fails its tests.
pub(super) fn run(root: &Path, args: &Draw) -> anyhow::Result<Caught> {
    let folder = root.join("target/mutants");
    let tree = folder.join("tree");
    plant::copy(root, &tree)?;
    let drawn = draw(&tree, args)?;
    let (sites, tests) = build::viable(&folder, &tree, drawn, args.mutants)?;
    let limits = trial::baseline(&tree, &tests)?;
    let mut answers = Answers::open(&folder, args.seed, &sites)?;
    let mut caught = Caught::default();
    for site in &sites {
        let answer = match answers.get(site) {
            Some(answer) => answer,
            None => {
                let answer = answer(&tree, &tests, &limits, site)?;
                answers.put(site, answer)?;
                answer
            }
        };
        if answer == Answer::Survived && args.survivors {
            println!("survived: {site}");
        }
        caught.add(site, answer);
    }
    Ok(caught)
}

/// Runs the tests of the mutated crate, then those of the other.
fn answer(tree: &Path, tests: &Tests, limits: &trial::Limits, site: &Site) -> anyhow::Result<Answer> {
    match trial::trial(tree, tests, limits, &site.package, site.number)? {
        Ended::Failed => return Ok(Answer::Own),
        Ended::Hung => return Ok(Answer::Hung),
        Ended::Passed => {}
    }
    for (other, _) in SCOPE.iter().filter(|(package, _)| *package != site.package) {
        match trial::trial(tree, tests, limits, other, site.number)? {
            Ended::Failed => return Ok(Answer::Other),
            Ended::Hung => return Ok(Answer::Hung),
            Ended::Passed => {}
        }
    }
    Ok(Answer::Survived)
}

/// Draws sites that don't overlap, in the order of the seed.
fn draw(tree: &Path, args: &Draw) -> anyhow::Result<Vec<Site>> {
    let mut all = Vec::new();
    for (package, prefixes) in SCOPE {
        let src = tree.join("crates").join(package).join("src");
        for path in files(&src)? {
            let below = path.strip_prefix(&src)?.to_string_lossy().into_owned();
            let is_wanted = prefixes.iter().any(|prefix| below.starts_with(prefix));
            if is_wanted
                && !LEFT_OUT.iter().any(|left_out| format!("/{below}").ends_with(left_out) || below.contains(left_out))
            {
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                all.extend(sites::find(package, &path, &text)?);
            }
        }
    }
    ensure!(!all.is_empty(), "nothing to mutate");
    let mut rng = Rng::with_seed(args.seed);
    for last in (1..all.len()).rev() {
        all.swap(last, rng.usize(..last + 1));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
    let most = (count(args.mutants) * SPARE).ceil() as usize;
    let mut drawn: Vec<Site> = Vec::new();
    for mut site in all {
        if drawn.len() < most && !drawn.iter().any(|other| other.overlaps(&site)) {
            site.number = drawn.len() + 1;
            drawn.push(site);
        }
    }
    Ok(drawn)
}

/// All Rust files below a folder, in order.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
