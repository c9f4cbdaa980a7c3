//! Records which test evaluates which mutant: each test is run once, alone and without a mutant, and the switches
//! record their calls.
//!
//! A test that does not evaluate a mutant behaves the same with it as without, so it need not be run under that mutant.
//! Of the binary's tests, nearly all of which evaluate what every run does, those run that evaluate the fewest mutants.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

use super::build::{Kind, Program};
use super::plant::SEEN;
use super::trial::{self, Ended};
use crate::command::output;
use crate::parallel;

/// Time limit of a test without a mutant.
const ALONE: Duration = Duration::from_secs(600);
/// Maximum duration of tests that share a process, each and together.
const MAX_GROUP_TIME: Duration = Duration::from_millis(700);

/// Maximum duration of the binary's tests that are run under a mutant, together.
const MAX_BINARY_TIME: Duration = Duration::from_secs(120);
/// Part of the names of tests that are about other vendors' programs, which take minutes to install.
const OTHER_VENDORS: &str = "::real_";

/// A test, its duration, and the mutants that it evaluates.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Test {
    pub(super) program: Program,
    pub(super) name: String,
    pub(super) took: Duration,
    reached: BTreeSet<usize>,
}

/// Tests of one program that are run together.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) program: &'a Program,
    pub(super) names: Vec<&'a str>,
    pub(super) took: Duration,
}

/// Runs every test alone and returns what each evaluates. A test of the binary that fails, as may happen on a busy
/// machine, is left out with a line.
///
/// # Errors
/// When a test of a mutated crate fails without a mutant.
pub(super) fn record(folder: &Path, programs: &[Program]) -> anyhow::Result<Vec<Test>> {
    let mut named = Vec::new();
    for program in programs {
        let names = names(program)?.into_iter().filter(|name| !name.contains(OTHER_VENDORS));
        named.extend(names.map(|name| (program, name)));
    }
    let seen = folder.join("seen");
    fs::create_dir_all(&seen)?;
    let tests = parallel::each(parallel::processors(), &named, |number, (program, name)| {
        let file = seen.join(number.to_string());
        let _ = fs::remove_file(&file);
        let group = Group { program, names: vec![name], took: Duration::ZERO };
        let began = Instant::now();
        let ended = trial::run(&group, &[(SEEN, &file.display().to_string())], ALONE)?;
        if ended != Ended::Passed && program.kind == Kind::Binary {
            eprintln!("mutants: {name} does not pass without a mutant and is left out");
            return Ok(None);
        }
        ensure!(ended == Ended::Passed, "{name} does not pass without a mutant: {ended:?}");
        let took = began.elapsed();
        Ok(Some(Test { program: (*program).clone(), name: name.clone(), took, reached: reached(&file)? }))
    })?;
    Ok(tests.into_iter().flatten().collect())
}

/// Lists the tests of a program.
fn names(program: &Program) -> anyhow::Result<Vec<String>> {
    let listed = output(crate::command::command(&program.path, &program.folder).args(["--list", "--format", "terse"]))?;
    let listed = String::from_utf8(listed).context("a test's name that is not UTF-8")?;
    Ok(listed.lines().filter_map(|line| line.strip_suffix(": test")).map(ToOwned::to_owned).collect())
}

/// Returns the mutants whose switches wrote into a file.
fn reached(file: &PathBuf) -> anyhow::Result<BTreeSet<usize>> {
    match fs::read_to_string(file) {
        Ok(text) => text.lines().map(|line| line.parse().with_context(|| format!("{line:?} is no mutant"))).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(error).with_context(|| file.display().to_string()),
    }
}

/// Groups the tests that evaluate a mutant, in the order of their run: those of the hint, then short ones together,
/// then the others.
pub(super) fn groups<'a>(tests: &'a [Test], mutant: usize, hint: &[String]) -> Vec<Group<'a>> {
    let reaching = tests.iter().filter(|test| test.reached.contains(&mutant));
    let (mut reaching, of_binary): (Vec<&Test>, Vec<&Test>) =
        reaching.partition(|test| test.program.kind == Kind::Crate || hint.contains(&test.name));
    reaching.extend(most_specific(of_binary));
    reaching.sort_by_key(|test| (!hint.contains(&test.name), test.took));
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut hinted = 0;
    for test in reaching {
        if hint.contains(&test.name) {
            hinted += 1;
        }
        let shared = groups.iter_mut().skip(hinted).find(|group| {
            *group.program == test.program && group.took + test.took <= MAX_GROUP_TIME && !hint.contains(&test.name)
        });
        match shared {
            Some(group) => {
                group.names.push(&test.name);
                group.took += test.took;
            }
            None => groups.push(Group { program: &test.program, names: vec![&test.name], took: test.took }),
        }
    }
    groups
}

/// Returns the tests that evaluate the fewest mutants, as far as they fit into the time.
fn most_specific(mut tests: Vec<&Test>) -> Vec<&Test> {
    tests.sort_by_key(|test| (test.reached.len(), test.took));
    let mut total = Duration::ZERO;
    tests.retain(|test| {
        let fits = total + test.took <= MAX_BINARY_TIME;
        total += if fits { test.took } else { Duration::ZERO };
        fits
    });
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(program: &str, name: &str, ms: u64, reached: &[usize]) -> Test {
        let kind = if program == "binary" { Kind::Binary } else { Kind::Crate };
        let program = Program { path: PathBuf::from(program), folder: PathBuf::new(), kind };
        let reached = reached.iter().copied().collect();
        Test { program, name: name.to_owned(), took: Duration::from_millis(ms), reached }
    }

    fn order(tests: &[Test], mutant: usize, hint: &[&str]) -> Vec<String> {
        let hint: Vec<String> = hint.iter().map(|name| (*name).to_owned()).collect();
        groups(tests, mutant, &hint).iter().map(|group| group.names.join(" ")).collect()
    }

    #[test]
    fn only_tests_that_evaluate_a_mutant_are_run_under_it_short_ones_first_and_together() {
        let tests = [
            test("a", "long", 9_000, &[1, 2]),
            test("a", "short", 10, &[1]),
            test("a", "other", 5, &[2]),
            test("b", "elsewhere", 12, &[1]),
            test("a", "shorter", 9, &[1]),
            test("a", "middling", 695, &[1]),
        ];

        assert_eq!(order(&tests, 1, &[]), ["shorter short", "elsewhere", "middling", "long"]);
        assert_eq!(order(&tests, 2, &[]), ["other", "long"]);
        assert!(order(&tests, 3, &[]).is_empty());
    }

    #[test]
    fn the_test_that_caught_a_mutant_before_is_run_first_and_every_other_after_it() {
        let tests = [test("a", "long", 9_000, &[1]), test("a", "short", 10, &[1]), test("a", "short too", 11, &[1])];

        assert_eq!(order(&tests, 1, &["long"]), ["long", "short short too"]);
        assert_eq!(order(&tests, 1, &["short too"]), ["short too", "short", "long"]);
        assert_eq!(order(&tests, 1, &["gone"]), ["short short too", "long"]);
    }

    #[test]
    fn of_the_binarys_tests_the_most_specific_are_run_as_far_as_their_time_goes() {
        let tests = [
            test("binary", "wide", 50_000, &[1, 2, 3]),
            test("binary", "narrow", 80_000, &[1]),
            test("binary", "wide and short", 30_000, &[1, 2]),
            test("a", "long", 200_000, &[1]),
            test("a", "short", 10, &[1]),
        ];

        assert_eq!(order(&tests, 1, &[]), ["short", "wide and short", "narrow", "long"]);
        assert_eq!(order(&tests, 1, &["wide"])[0], "wide");
        assert_eq!(order(&tests, 3, &[]), ["wide"]);
    }

    #[test]
    fn what_the_switches_wrote_is_read_and_a_test_without_a_file_evaluates_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("0"), "7\n3\n7\n").unwrap();
        fs::write(folder.path().join("1"), "seven\n").unwrap();

        assert_eq!(reached(&folder.path().join("0")).unwrap(), BTreeSet::from([3, 7]));
        assert!(reached(&folder.path().join("1")).is_err());
        assert!(reached(&folder.path().join("2")).unwrap().is_empty());
    }
}
