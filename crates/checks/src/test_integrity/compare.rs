//! The tests of the base beside those of the change: what is gone, left out, or demands less.
//!
//! A test is found again by its name in its file, by its name elsewhere, or by what it asserts: renamed and moved tests are no
//! findings, and neither is one whose assertions went into others.

use std::collections::{BTreeMap, BTreeSet};

use super::assertion::{Assertion, Strength};
use super::change::Change;
use super::hit::{Hit, Weight};
use super::node::{literals, squash};
use super::suite::Suite;
use super::test::{Skip, Test};

/// Tests that a finding names.
const NAMED: usize = 4;

/// A test with the file that it stands in.
#[derive(Clone, Copy)]
struct Found<'a> {
    suite: &'a Suite,
    test: &'a Test,
}

/// A way to find a test again.
type IsSame<'a> = dyn Fn(&Found<'_>, &Found<'_>) -> bool + 'a;

/// Compares all test files of a change, before and after.
pub(super) fn hits(before: &[&Suite], after: &[&Suite]) -> Vec<Hit> {
    let all = |suites: &[&'_ Suite]| -> usize { suites.iter().map(|suite| suite.tests.len()).sum() };
    if all(before) + all(after) == 0 {
        return Vec::new();
    }
    let old: Vec<Found<'_>> = found(before);
    let new: Vec<Found<'_>> = found(after);
    let pairs = paired(&old, &new);
    let taken: BTreeSet<usize> = pairs.values().copied().collect();
    let added: Vec<&Found<'_>> = (0..new.len()).filter(|at| !taken.contains(at)).map(|at| &new[at]).collect();
    let mut hits = deleted(&old, &new, &pairs);
    for (old_at, new_at) in &pairs {
        hits.extend(compared(old[*old_at], new[*new_at], &added));
    }
    for one in &added {
        let weight = if one.test.is_focused {
            Some(("test-focused", Weight::Asks, "keeps all other tests from running"))
        } else {
            None
        };
        let skipped =
            (one.test.skip == Skip::Always).then_some(("test-skipped", Weight::Told, "is new and never runs"));
        for (rule, weight, what) in weight.into_iter().chain(skipped) {
            hits.push(hit(rule, weight, one, format!("the test `{}` {what}", one.test.name)));
        }
    }
    hits
}

/// Judges a test file of a language that is not read.
pub(super) fn by_path(path: &str, change: &Change) -> Option<Hit> {
    let file = change.file(path)?;
    if file.is_new() {
        return None;
    }
    let (before, after) = file.texts();
    let what = match file.is_deleted() {
        true => ("test-deleted", "the test file was deleted".to_owned()),
        false => {
            let kept = after.lines().collect::<BTreeSet<_>>();
            let gone = before.lines().filter(|line| !line.trim().is_empty() && !kept.contains(line)).count();
            if gone == 0 {
                return None;
            }
            ("not-looked-at", format!("{gone} lines of the test file changed; tests of this language are not read"))
        }
    };
    Some(Hit::new(what.0, Weight::Asks, path, 0..0, what.1))
}

fn found<'a>(suites: &[&'a Suite]) -> Vec<Found<'a>> {
    suites.iter().flat_map(|suite| suite.tests.iter().map(|test| Found { suite, test })).collect()
}

fn hit(rule: &'static str, weight: Weight, at: &Found<'_>, message: String) -> Hit {
    Hit::new(rule, weight, &at.suite.path, at.test.range.clone(), message)
}

/// Finds each test of the base again: its index to that of the change.
fn paired(old: &[Found<'_>], new: &[Found<'_>]) -> BTreeMap<usize, usize> {
    let mut pairs = BTreeMap::new();
    let mut free: BTreeSet<usize> = (0..new.len()).collect();
    let mut left: Vec<usize> = (0..old.len()).collect();
    let last = |name: &str| name.rsplit(['.', ':', '>']).next().unwrap_or(name).trim().to_owned();
    let is_asserting_the_same = |a: &Test, b: &Test| {
        a.demands().next().is_some()
            && a.demands().count() == b.demands().count()
            && a.demands().all(|one| b.demands().any(|other| one.is_same(other)))
    };
    let body = |found: &Found<'_>| {
        squash(found.suite.text_of(&found.test.body).split_once(['(', '{']).map_or("", |(_, rest)| rest))
    };
    let ways: [&IsSame<'_>; 5] = [
        &|a, b| a.suite.path == b.suite.path && a.test.name == b.test.name,
        &|a, b| a.test.name == b.test.name,
        &|a, b| is_asserting_the_same(a.test, b.test),
        &|a, b| a.suite.path == b.suite.path && last(&a.test.name) == last(&b.test.name),
        &|a, b| body(a) == body(b),
    ];
    for is_same in ways {
        left.retain(|at| {
            let again = free.iter().copied().find(|other| is_same(&old[*at], &new[*other]));
            if let Some(again) = again {
                free.remove(&again);
                pairs.insert(*at, again);
            }
            again.is_none()
        });
    }
    pairs
}

/// Tests that are in the change no more, one finding for each file.
fn deleted(old: &[Found<'_>], new: &[Found<'_>], pairs: &BTreeMap<usize, usize>) -> Vec<Hit> {
    let mut by_file: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (_, one) in old.iter().enumerate().filter(|(at, _)| !pairs.contains_key(at)) {
        let is_elsewhere = one.test.demands().next().is_some()
            && one.test.demands().all(|demand| {
                new.iter().any(|other| other.test.demands().any(|kept| kept.is_same(demand) || is_row_of(demand, kept)))
            });
        if !is_elsewhere {
            by_file.entry(&one.suite.path).or_default().push(&one.test.name);
        }
    }
    let hit = |(path, names): (&str, Vec<&str>)| {
        let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
        let shown = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let word = if names.len() == 1 { "the test was deleted" } else { "tests were deleted" };
        Hit::new("test-deleted", Weight::Asks, path, 0..0, format!("{word}: {shown}{more}"))
    };
    by_file.into_iter().map(hit).collect()
}

/// Returns whether a row of a table has the values of an assertion that was written out before.
fn is_row_of(demand: &Assertion, row: &Assertion) -> bool {
    let values = demand.literals();
    let columns = row.literals();
    row.is_row && !values.is_empty() && values.iter().all(|value| columns.contains(value))
}

/// What became of one test.
fn compared(old: Found<'_>, new: Found<'_>, added: &[&Found<'_>]) -> Vec<Hit> {
    let name = &new.test.name;
    let mut hits = Vec::new();
    if new.test.skip > old.test.skip {
        let in_place = added.iter().any(|one| {
            one.suite.path == new.suite.path && one.test.skip == Skip::No && one.test.demands().next().is_some()
        });
        let (weight, how) = match (new.test.skip, in_place) {
            (Skip::Always, false) => (Weight::Fails, "is skipped, and nothing stands in its place"),
            (Skip::Always, true) => (Weight::Asks, "is skipped; others are new"),
            _ => (Weight::Asks, "is skipped under a condition"),
        };
        hits.push(hit("test-skipped", weight, &new, format!("the test `{name}` {how}")));
    }
    if new.test.is_focused && !old.test.is_focused {
        hits.push(hit(
            "test-focused",
            Weight::Asks,
            &new,
            format!("the test `{name}` keeps all other tests from running"),
        ));
    }
    if new.test.swallows && !old.test.swallows {
        let message = format!("the test `{name}` catches the failure of its own assertions");
        hits.push(hit("assertion-weakened", Weight::Asks, &new, message));
    }
    hits.extend(weaker(old, new, added));
    hits
}

/// The assertions of a test that are there no more, and what stands in their place.
fn weaker(old: Found<'_>, new: Found<'_>, added: &[&Found<'_>]) -> Vec<Hit> {
    let mut fresh: Vec<&Assertion> = new.test.assertions.iter().collect();
    let mut gone: Vec<&Assertion> = Vec::new();
    for one in old.test.demands() {
        match fresh.iter().position(|other| other.is_same(one)) {
            Some(at) => drop(fresh.remove(at)),
            None => gone.push(one),
        }
    }
    // What another new test asserts now was moved there.
    gone.retain(|one| !added.iter().any(|other| other.test.demands().any(|kept| kept.is_same(one))));
    let kept: BTreeSet<String> = literals(new.suite.text_of(&new.test.body)).into_iter().collect();
    let mut hits = Vec::new();
    let name = &new.test.name;
    for one in gone {
        let take = |fresh: &mut Vec<&Assertion>, is_wanted: &dyn Fn(&Assertion) -> bool| {
            let at = fresh.iter().position(|other| is_wanted(other))?;
            Some(fresh.remove(at).clone())
        };
        let at = |other: &Assertion, rule, message: String| {
            Hit::new(rule, Weight::Asks, &new.suite.path, other.range.clone(), message)
        };
        let was = cut(&one.subject);
        // The same subject: as strong, with another value, or weaker.
        if let Some(other) = take(&mut fresh, &|other| other.subject == one.subject && one.is_row == other.is_row) {
            if other.strength == Strength::Equal && one.strength == Strength::Equal {
                let (from, to) = (cut(&one.expected), cut(&other.expected));
                hits.push(at(
                    &other,
                    "expected-value-changed",
                    format!("the test `{name}` expects {to} of `{was}`, before: {from}"),
                ));
            } else if other.strength < one.strength {
                hits.push(at(
                    &other,
                    "assertion-weakened",
                    format!("the test `{name}` no longer expects {} of `{was}`", cut(&one.expected)),
                ));
            } else if other.strength == one.strength && other.expected != one.expected {
                let (from, to) = (cut(&one.expected), cut(&other.expected));
                hits.push(at(
                    &other,
                    "expected-value-changed",
                    format!("the test `{name}` expects {to} of `{was}`, before: {from}"),
                ));
            }
            continue;
        }
        let values = one.literals();
        let is_data_kept = values.iter().all(|value| kept.contains(value));
        // Another name for the same: what is expected, and every value that goes in, are still there.
        let renamed = |other: &Assertion| {
            other.strength >= one.strength && other.expected == one.expected && other.is_row == one.is_row
        };
        if is_data_kept && take(&mut fresh, &renamed).is_some() {
            continue;
        }
        // The values became rows of a table that the test goes through.
        let has_others = new.test.demands().next().is_some();
        if is_data_kept
            && !values.is_empty()
            && has_others
            && fresh.iter().any(|other| other.is_row || other.strength >= one.strength)
        {
            continue;
        }
        if let Some(other) = take(&mut fresh, &|other| {
            other.expected == one.expected && other.strength == one.strength && !one.expected.is_empty()
        }) {
            hits.push(at(
                &other,
                "input-changed",
                format!("the test `{name}` asserts about `{}`, before: `{was}`", cut(&other.subject)),
            ));
            continue;
        }
        if let Some(other) = take(&mut fresh, &|other| other.strength < one.strength) {
            hits.push(at(
                &other,
                "assertion-weakened",
                format!("the test `{name}` no longer asserts about `{was}` what it did"),
            ));
            continue;
        }
        let rule = if one.is_row { "fewer-cases" } else { "assertion-removed" };
        let what = if one.is_row { "case" } else { "assertion about" };
        let message = format!("the test `{name}` lost its {what} `{was}`");
        hits.push(Hit::new(rule, Weight::Asks, &new.suite.path, new.test.range.clone(), message));
    }
    hits
}

/// Cuts a piece of code for a message; what may be a secret is left out.
fn cut(code: &str) -> String {
    let code = switchboard_secrets::redact(code);
    let short: String = code.chars().take(60).collect();
    if short.len() < code.len() { format!("{short}…") } else { short }
}
