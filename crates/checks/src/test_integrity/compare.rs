//! Compares the tests of the base with those of the change: finds tests that are deleted, skipped or require less.
//!
//! A test is recognised by its name in its file, by its name elsewhere, or by what it asserts: renaming or moving a
//! test is no finding, nor is moving its assertions into other tests.

use std::collections::{BTreeMap, BTreeSet};

use super::assertion::{Assertion, Strength};
use super::change::Change;
use super::hit::{Consequence, Hit};
use super::node::{literals, squash};
use super::suite::Suite;
use super::test::{Skip, Test};

/// A test with its file.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) suite: &'a Suite,
    pub(super) test: &'a Test,
}

/// A criterion by which a test is recognised.
type IsSame<'a> = dyn Fn(&Found<'_>, &Found<'_>) -> bool + 'a;

/// Result of comparing the tests of a change with those of its base.
#[derive(Default)]
pub(super) struct Compared {
    pub(super) hits: Vec<Hit>,
    /// Number of tests that may be missing from a run because they are deleted, skipped or rewritten, which the
    /// comparison has judged.
    pub(super) explained: u64,
}

/// Compares all test files of a change, before and after.
pub(super) fn compare(before: &[&Suite], after: &[&Suite]) -> Compared {
    let all = |suites: &[&'_ Suite]| -> usize { suites.iter().map(|suite| suite.tests.len()).sum() };
    if all(before) + all(after) == 0 {
        return Compared::default();
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
        let consequence = if one.test.is_focused {
            Some(("test-focused", Consequence::NeedsReview, "keeps all other tests from running"))
        } else {
            None
        };
        let skipped =
            (one.test.skip == Skip::Always).then_some(("test-skipped", Consequence::Reported, "is new and never runs"));
        for (rule, consequence, what) in consequence.into_iter().chain(skipped) {
            hits.push(hit(rule, consequence, one, format!("the test `{}` {what}", one.test.name)));
        }
    }
    Compared { hits, explained: explained(&old, &new, &pairs) }
}

/// Counts the test runs whose absence the comparison explains: each row of a deleted or rewritten test may have been a
/// run.
fn explained(old: &[Found<'_>], new: &[Found<'_>], pairs: &BTreeMap<usize, usize>) -> u64 {
    let rows = |test: &Test| test.assertions.iter().filter(|assertion| assertion.is_row).count().max(1);
    let of = |(at, one): (usize, &Found<'_>)| match pairs.get(&at).map(|again| new[*again]) {
        None => rows(one.test),
        Some(again) if again.test.skip > one.test.skip => rows(one.test),
        Some(again) if squash(again.suite.text_of(&again.test.body)) != squash(one.suite.text_of(&one.test.body)) => {
            rows(one.test) - usize::from(again.test.runs())
        }
        Some(_) => 0,
    };
    old.iter().enumerate().map(of).sum::<usize>() as u64
}

/// Lists the tests that are new under any name.
pub(super) fn added<'a>(before: &[&'a Suite], after: &[&'a Suite]) -> Vec<Found<'a>> {
    let (old, new) = (found(before), found(after));
    let taken: BTreeSet<usize> = paired(&old, &new).into_values().collect();
    (0..new.len()).filter(|at| !taken.contains(at)).map(|at| new[at]).collect()
}

/// Judges a test file of a language that is not parsed.
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
    Some(Hit::new(what.0, Consequence::NeedsReview, path, 0..0, what.1))
}

fn found<'a>(suites: &[&'a Suite]) -> Vec<Found<'a>> {
    suites.iter().flat_map(|suite| suite.tests.iter().map(|test| Found { suite, test })).collect()
}

fn hit(rule: &'static str, consequence: Consequence, at: &Found<'_>, message: String) -> Hit {
    Hit::new(rule, consequence, &at.suite.path, at.test.range.clone(), message)
}

/// Matches each test of the base with one of the change: returns the index of the second by that of the first.
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

/// Returns the code of a test without its name.
pub(super) fn body(found: &Found<'_>) -> String {
    squash(found.suite.text_of(&found.test.body).split_once(['(', '{']).map_or("", |(_, rest)| rest))
}

/// Lists the tests that the change deletes.
fn deleted(old: &[Found<'_>], new: &[Found<'_>], pairs: &BTreeMap<usize, usize>) -> Vec<Hit> {
    let gone = old.iter().enumerate().filter(|(at, _)| !pairs.contains_key(at)).map(|(_, one)| one);
    let is_elsewhere = |one: &&Found<'_>| {
        one.test.demands().next().is_some()
            && one.test.demands().all(|demand| {
                new.iter().any(|other| other.test.demands().any(|kept| kept.is_same(demand) || is_row_of(demand, kept)))
            })
    };
    let hit = |one: &Found<'_>| {
        let message = format!("the test `{}` was deleted", one.test.name);
        Hit::new("test-deleted", Consequence::NeedsReview, &one.suite.path, 0..0, message)
    };
    gone.filter(|one| !is_elsewhere(one)).map(hit).collect()
}

/// Returns whether a table row has the values of an assertion that was written out before.
fn is_row_of(demand: &Assertion, row: &Assertion) -> bool {
    let values = demand.literals();
    let columns = row.literals();
    row.is_row && !values.is_empty() && values.iter().all(|value| columns.contains(value))
}

/// Judges the change to one test.
fn compared(old: Found<'_>, new: Found<'_>, added: &[&Found<'_>]) -> Vec<Hit> {
    let name = &new.test.name;
    let mut hits = Vec::new();
    if new.test.skip > old.test.skip {
        let in_place = added.iter().any(|one| {
            one.suite.path == new.suite.path && one.test.skip == Skip::No && one.test.demands().next().is_some()
        });
        let (consequence, how) = match (new.test.skip, in_place) {
            (Skip::Always, false) => (Consequence::Refused, "is skipped, and nothing stands in its place"),
            (Skip::Always, true) => (Consequence::NeedsReview, "is skipped; others are new"),
            _ => (Consequence::NeedsReview, "is skipped under a condition"),
        };
        hits.push(hit("test-skipped", consequence, &new, format!("the test `{name}` {how}")));
    }
    if new.test.is_focused && !old.test.is_focused {
        hits.push(hit(
            "test-focused",
            Consequence::NeedsReview,
            &new,
            format!("the test `{name}` keeps all other tests from running"),
        ));
    }
    if new.test.swallows && !old.test.swallows {
        let message = format!("the test `{name}` catches the failure of its own assertions");
        hits.push(hit("assertion-weakened", Consequence::NeedsReview, &new, message));
    }
    hits.extend(weaker(old, new, added));
    hits
}

/// Judges the removed assertions of a test by what replaces them.
fn weaker(old: Found<'_>, new: Found<'_>, added: &[&Found<'_>]) -> Vec<Hit> {
    let mut fresh: Vec<&Assertion> = new.test.assertions.iter().collect();
    let mut gone: Vec<&Assertion> = Vec::new();
    for one in old.test.demands() {
        match fresh.iter().position(|other| other.is_same(one)) {
            Some(at) => drop(fresh.remove(at)),
            None => gone.push(one),
        }
    }
    // An assertion that another new test has was moved there.
    gone.retain(|one| !added.iter().any(|other| other.test.demands().any(|kept| kept.is_same(one))));
    let body = new.suite.text_of(&new.test.body);
    let mut rewritten = Rewritten {
        new,
        fresh,
        values: literals(&squash(body)).into_iter().collect(),
        lines: body.lines().map(squash).collect(),
    };
    gone.into_iter().filter_map(|one| rewritten.judge(one)).collect()
}

/// A test after the change.
struct Rewritten<'a> {
    new: Found<'a>,
    /// Assertions that the base lacks and that replace none of its assertions yet.
    fresh: Vec<&'a Assertion>,
    /// Literals in the test.
    values: BTreeSet<String>,
    lines: Vec<String>,
}

// === impl Rewritten ===

impl<'a> Rewritten<'a> {
    /// Finds the replacement of a removed assertion, and judges it.
    fn judge(&mut self, one: &Assertion) -> Option<Hit> {
        if let Some(other) = self.take_about_the_same(one) {
            return self.demands_other(one, other);
        }
        if self.is_renamed(one) || self.is_spread(one) {
            return None;
        }
        let (name, was) = (&self.new.test.name, cut(&one.subject));
        let is_other_input = |other: &Assertion| {
            !one.expected.is_empty() && other.expected == one.expected && other.strength == one.strength
        };
        if let Some(other) = self.take(is_other_input) {
            let message = format!("the test `{name}` asserts about `{}`, before: `{was}`", cut(&other.subject));
            return Some(self.hit(other, "input-changed", message));
        }
        if let Some(other) = self.take(|other| other.strength < one.strength) {
            let message = format!("the test `{name}` no longer asserts about `{was}` what it did");
            return Some(self.hit(other, "assertion-weakened", message));
        }
        let (rule, what) = match one.is_row {
            true => ("fewer-cases", "case"),
            false => ("assertion-removed", "assertion about"),
        };
        Some(hit(rule, Consequence::NeedsReview, &self.new, format!("the test `{name}` lost its {what} `{was}`")))
    }

    fn take(&mut self, is_wanted: impl Fn(&Assertion) -> bool) -> Option<&'a Assertion> {
        let at = self.fresh.iter().position(|other| is_wanted(other))?;
        Some(self.fresh.remove(at))
    }

    /// Takes an assertion about the same subject, preferably one that is at least as strict.
    fn take_about_the_same(&mut self, one: &Assertion) -> Option<&'a Assertion> {
        let is_about = |other: &Assertion| other.subject == one.subject && one.is_row == other.is_row;
        self.take(|other| is_about(other) && one.is_met_by(other)).or_else(|| self.take(is_about))
    }

    /// Judges another assertion about the same subject.
    fn demands_other(&self, one: &Assertion, other: &Assertion) -> Option<Hit> {
        if one.is_met_by(other) {
            return None;
        }
        let (name, was) = (&self.new.test.name, cut(&one.subject));
        if other.strength < one.strength {
            let message = format!("the test `{name}` no longer expects {} of `{was}`", demand(one));
            return Some(self.hit(other, "assertion-weakened", message));
        }
        let message = format!("the test `{name}` expects {} of `{was}`, before: {}", demand(other), demand(one));
        Some(self.hit(other, "expected-value-changed", message))
    }

    /// Returns whether the same is asserted in other words: all input values are still there, or a variable now holds
    /// the subject.
    fn is_renamed(&mut self, one: &Assertion) -> bool {
        let is_alike =
            |other: &Assertion| other.is_row == one.is_row && other.expected == one.expected && one.is_met_by(other);
        if self.holds_values_of(one) && self.take(is_alike).is_some() {
            return true;
        }
        let code = one.subject.strip_prefix("not ").map(|of| format!("!{of}"));
        let codes: Vec<&str> = code.as_deref().into_iter().chain([one.subject.as_str()]).collect();
        let is_named = |name: &str| {
            let ends = |line: &String| codes.iter().any(|code| line.ends_with(&format!("{name} = {code}")));
            self.lines.iter().any(ends)
        };
        let is_name = |other: &&Assertion| {
            other.strength == Strength::Truth && other.operator.is_empty() && is_named(&other.subject)
        };
        let at = self.fresh.iter().position(|other| one.expected.is_empty() && is_name(other));
        at.is_some_and(|at| {
            self.fresh.remove(at);
            true
        })
    }

    /// Returns whether the values of an assertion became rows of a table that the test iterates over.
    fn is_spread(&self, one: &Assertion) -> bool {
        let is_alike = |other: &Assertion| match one.strength {
            Strength::Equal => other.strength == Strength::Equal,
            Strength::Vacuous | Strength::Truth | Strength::Condition | Strength::Similar => {
                other.operator == one.operator
            }
        };
        let has_judge = self.new.test.demands().any(|other| is_alike(other) && (one.is_row || !other.is_row));
        let has_values = !one.literals().is_empty() && self.holds_values_of(one);
        has_judge && has_values && self.fresh.iter().any(|other| other.is_row || is_alike(other))
    }

    fn holds_values_of(&self, one: &Assertion) -> bool {
        one.literals().iter().all(|value| self.values.contains(value))
    }

    fn hit(&self, at: &Assertion, rule: &'static str, message: String) -> Hit {
        Hit::new(rule, Consequence::NeedsReview, &self.new.suite.path, at.range.clone(), message)
    }
}

/// Describes what an assertion requires of its subject.
fn demand(of: &Assertion) -> String {
    let expected = cut(&of.expected);
    match of.operator.as_str() {
        "" => "that it is true".to_owned(),
        operator if operator.starts_with("==") || operator == of.subject => expected,
        operator if expected.is_empty() => format!("`{operator}`"),
        operator => format!("`{operator}` {expected}"),
    }
}

/// Shortens a piece of code for a message, without secrets.
fn cut(code: &str) -> String {
    let code = switchboard_secrets::redact(code);
    let short: String = code.chars().take(60).collect();
    if short.len() < code.len() { format!("{short}…") } else { short }
}
