//! Seeded mutants of the code that decides and carries out runs: measures whether a test catches each.
//!
//! All mutants are compiled at once, each behind a switch that an environment variable turns on, so that a mutant costs
//! a run of tests and no build. Only tests that evaluate a mutant are run under it, up to the first that fails. The
//! tree is copied first; results are kept below `target/mutants`, so that an interrupted measurement continues where it
//! stopped.

mod answers;
mod build;
mod plant;
mod reach;
mod sites;
mod trial;

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use self::answers::{Answer, Answers};
use self::build::Built;
use self::reach::Test;
use self::sites::{SCOPE, Site};
use self::trial::Ended;
use crate::bench::stats::count;
use crate::parallel;

/// Files that are only compiled for tests or simulations and are not shipped.
const LEFT_OUT: [&str; 4] = ["/tests.rs", "/tests/", "/simulate.rs", "/simulate/"];
/// Number of candidates for each wanted mutant: some don't compile.
const SPARE: f64 = 1.4;

/// Number and choice of mutants.
#[derive(Debug, clap::Args)]
pub(crate) struct Draw {
    /// Number of mutants to make
    #[arg(long, default_value_t = 200)]
    mutants: usize,
    /// Seed that chooses the mutants
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print each mutant that no test catches
    #[arg(long)]
    survivors: bool,
    /// Run only the tests of the mutated crates: much faster, and the share is lower than with those of the binary
    #[arg(long)]
    crates_only: bool,
}

/// Results for the mutants.
#[derive(Debug, Default)]
pub(super) struct Caught {
    by_failing: usize,
    by_limit: usize,
    survivors: Vec<String>,
    unreached: Vec<String>,
}

// === impl Caught ===

impl Caught {
    /// Returns the share of mutants that a test caught.
    pub(super) fn share(&self) -> f64 {
        let caught = self.by_failing + self.by_limit;
        count(caught) / count((caught + self.survivors.len() + self.unreached.len()).max(1))
    }

    /// Returns the counts, and every survivor with its line.
    pub(super) fn details(&self) -> Value {
        json!({
            "failed_a_test": self.by_failing,
            "ended_at_the_time_limit": self.by_limit,
            "survived": self.survivors,
            "evaluated_by_no_test": self.unreached,
        })
    }

    fn add(&mut self, site: &Site, answer: &Answer) {
        match answer {
            Answer::Failed(_) => self.by_failing += 1,
            Answer::Hung(_) => self.by_limit += 1,
            Answer::Survived => self.survivors.push(site.to_string()),
            Answer::Unreached => self.unreached.push(site.to_string()),
        }
    }
}

/// Makes the mutants, runs the tests under each and counts.
///
/// # Errors
/// When the tree without a mutant does not build or fails its tests.
pub(super) fn run(root: &Path, args: &Draw) -> anyhow::Result<Caught> {
    let folder = root.join("target/mutants");
    fs::create_dir_all(&folder)?;
    let (most, crates_only) = (args.mutants, args.crates_only);
    let Built { sites, programs, digest } = build::viable(root, &folder, draw(root, args)?, (most, crates_only))?;
    let digest = format!("{digest:016x}{}", if crates_only { "-crates" } else { "" });
    let recorded = folder.join(format!("reach-{digest}.json"));
    let tests = match answers::read(&recorded)? {
        Some(tests) => tests,
        None => reach::record(&folder, &programs)?,
    };
    answers::write(&recorded, &tests)?;
    let answers = Mutex::new(Answers::open(&folder, &digest)?);
    let found = parallel::each(parallel::processors(), &sites, |_, site| {
        let known = locked(&answers).get(site);
        if let Some(answer) = known {
            return Ok(answer);
        }
        let hint = locked(&answers).hint(site);
        let answer = answer(&tests, site, &hint)?;
        if args.survivors && matches!(answer, Answer::Survived | Answer::Unreached) {
            println!("{answer:?}: {site}");
        }
        locked(&answers).put(site, answer.clone())?;
        Ok(answer)
    })?;
    let mut caught = Caught::default();
    for (site, answer) in sites.iter().zip(&found) {
        caught.add(site, answer);
    }
    Ok(caught)
}

fn locked(answers: &Mutex<Answers>) -> MutexGuard<'_, Answers> {
    answers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the tests that evaluate a mutant, up to the first that fails.
fn answer(tests: &[Test], site: &Site, hint: &[String]) -> anyhow::Result<Answer> {
    let groups = reach::groups(tests, site.number, hint);
    if groups.is_empty() {
        return Ok(Answer::Unreached);
    }
    for group in groups {
        let names = || group.names.iter().map(|name| (*name).to_owned()).collect();
        match trial::trial(&group, site.number)? {
            Ended::Failed => return Ok(Answer::Failed(names())),
            Ended::Hung => return Ok(Answer::Hung(names())),
            Ended::Passed => {}
        }
    }
    Ok(Answer::Survived)
}

/// Draws sites that don't overlap, in the order of the seed. A change of the code adds and removes sites; the order of
/// the others stays.
fn draw(root: &Path, args: &Draw) -> anyhow::Result<Vec<Site>> {
    let mut all = Vec::new();
    for (package, prefixes) in SCOPE {
        let src = root.join("crates").join(package).join("src");
        for path in files(&src)? {
            let below = path.strip_prefix(&src)?.to_string_lossy().into_owned();
            let is_wanted = prefixes.iter().any(|prefix| below.starts_with(prefix));
            if is_wanted && !is_left_out(&below) {
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                all.extend(sites::find(path.strip_prefix(root)?, &text)?);
            }
        }
    }
    ensure!(!all.is_empty(), "nothing to mutate");
    all.sort_by_cached_key(|site| {
        let mut place = DefaultHasher::new();
        (args.seed, site.key()).hash(&mut place);
        place.finish()
    });
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

/// Returns true for a file, by its path below the crate's `src`, that is not shipped.
fn is_left_out(below: &str) -> bool {
    let below = format!("/{below}");
    LEFT_OUT.iter().any(|left_out| below.contains(left_out))
}

/// Lists all Rust files below a folder, in order.
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
