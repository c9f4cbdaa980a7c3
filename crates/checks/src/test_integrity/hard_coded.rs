//! Finds hard-coded results: a function that returns what a test expects because it recognises the test's input.
//!
//! Where the tests allow it, code is run: [`variants`] calls the function with other inputs as well, before and after
//! the change.
//!
//! Else the source is read for: a condition, a `match` or `switch` on exactly a test's input that returns that test's
//! result; a table that holds only the tests' cases; and a function that ignores its parameters and returns what all
//! tests expect. Values that are natural limits (0, 1, -1, 2, empty, true) are no evidence. A value that was computed
//! in advance and hidden in other arithmetic is not found.

mod function;
mod probe;
mod variants;

use switchboard_syntax::Parsers;

use super::assertion::Strength;
use super::change::Change;
use super::hit::Hit;
use super::language::TestLanguage;
use super::node::{is_literal, literals, split, text, walk};
use super::paths;
use super::suite::{Pair, Suite};
use crate::error::Error;
use crate::git::{Blob, Blobs, Git};
use crate::reader::shown;

use function::Function;
pub(super) use variants::{Variants, others, run};

/// Maximum number of test files of the base that are read beside those of the change.
const MAX_TEST_FILES: usize = 200;
/// Inputs and results that code may legitimately name: the limits of a recursion, an empty input.
const NATURAL: [&str; 16] = [
    "0",
    "1",
    "-1",
    "2",
    "\"\"",
    "[]",
    "{}",
    "()",
    "None",
    "null",
    "undefined",
    "true",
    "false",
    "True",
    "False",
    "0.0",
];

/// A call in a test, with the result that the test expects.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Case {
    function: String,
    arguments: Vec<String>,
    expected: String,
}

/// Returns the findings, and a note for the summary if not all tests were read.
pub(super) fn hits(
    pairs: &[Pair],
    change: &Change,
    git: &Git,
    base: &str,
    blobs: &Blobs,
    parsers: &mut Parsers,
) -> Result<(Vec<Hit>, Option<String>), Error> {
    let sources: Vec<&Pair> = pairs.iter().filter(|pair| !pair.is_test && !pair.after.text.is_empty()).collect();
    if sources.is_empty() {
        return Ok((Vec::new(), None));
    }
    let mut cases: Vec<Case> = pairs.iter().flat_map(|pair| [&pair.before, &pair.after]).flat_map(of_suite).collect();
    let (of_others, note) = of_base(change, git, base, blobs, parsers)?;
    cases.extend(of_others);
    cases.sort_by(|a, b| (&a.function, &a.arguments).cmp(&(&b.function, &b.arguments)));
    cases.dedup();
    let mut hits = Vec::new();
    for pair in sources {
        let Some(tree) = &pair.after.tree else { continue };
        walk(tree.root_node(), |node, above| {
            if let Some(function) = Function::of(node, above, pair.kind, &pair.after.text) {
                let own: Vec<&Case> = cases.iter().filter(|case| case.function == function.name).collect();
                let is_old = pair.before.text.contains(text(node, &pair.after.text));
                if !own.is_empty() && !is_old {
                    hits.extend(function.judge(&own, pair));
                }
            }
            true
        });
    }
    Ok((hits, note))
}

/// Returns the cases in the base's unchanged test files, and a note if there are more files than are read.
fn of_base(
    change: &Change,
    git: &Git,
    base: &str,
    blobs: &Blobs,
    parsers: &mut Parsers,
) -> Result<(Vec<Case>, Option<String>), Error> {
    let (mut cases, mut read) = (Vec::new(), 0);
    let all = git.tree(base)?.into_iter().filter_map(|(path, side)| Some((shown(&path), side.blob?)));
    for (path, id) in all.filter(|(path, _)| change.file(path).is_none()) {
        let Some((kind, language)) = TestLanguage::of(&path) else { continue };
        let is_rust = kind == TestLanguage::Rust;
        if !is_rust && !paths::is_test(&path) {
            continue;
        }
        let Blob::Content(text) = blobs.read(&id)? else { continue };
        let text = String::from_utf8_lossy(&text).into_owned();
        if is_rust && !text.contains("#[test]") {
            continue;
        }
        if read == MAX_TEST_FILES {
            return Ok((cases, Some(format!("for `hard-coded` only {MAX_TEST_FILES} test files were read"))));
        }
        read += 1;
        cases.extend(Suite::read(&path, text, (kind, language), true, parsers).iter().flat_map(of_suite));
    }
    Ok((cases, None))
}

/// Returns the cases that the assertions of a file state with literals.
fn of_suite(suite: &Suite) -> Vec<Case> {
    let mut cases = Vec::new();
    for test in &suite.tests {
        let body = suite.text_of(&test.body);
        for assertion in test.assertions.iter().filter(|assertion| assertion.strength >= Strength::Similar) {
            if assertion.is_row {
                // The body of the loop shows which functions a table tests: each one that it calls counts.
                let columns = split(&assertion.subject);
                cases.extend(called(body).into_iter().map(|function| Case {
                    function,
                    arguments: columns.clone(),
                    expected: assertion.expected.clone(),
                }));
            } else if let Some((function, arguments)) = call(&assertion.subject)
                && is_literal(&assertion.expected)
                && arguments.iter().all(|argument| is_literal(argument))
                && !arguments.is_empty()
            {
                cases.push(Case { function, arguments, expected: assertion.expected.clone() });
            }
        }
    }
    cases
}

/// Returns the names that a piece of code calls.
fn called(code: &str) -> Vec<String> {
    let mut names: Vec<String> = code
        .match_indices('(')
        .filter_map(|(at, _)| {
            let before = &code[..at];
            let from = before.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
            let name = &before[from..];
            let is_known = name.starts_with("assert") || name.starts_with("test") || name.is_empty();
            (!is_known).then(|| name.to_owned())
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Splits a call into the last part of the function's name and the arguments.
fn call(code: &str) -> Option<(String, Vec<String>)> {
    let code = code.trim().trim_start_matches("await ").trim_start_matches('&');
    let open = code.find('(')?;
    let inner = code.strip_suffix(')')?.get(open + 1..)?;
    let name = code[..open].rsplit(['.', ':']).next()?.trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| (name.to_owned(), split(inner)))
}

/// Returns whether a key of a table is the input of a case.
fn is_input(case: &Case, key: &str) -> bool {
    let (of_key, of_case) =
        (literals(key), case.arguments.iter().flat_map(|argument| literals(argument)).collect::<Vec<_>>());
    let joined: Vec<String> =
        vec![format!("\"{}\"", of_case.iter().map(|one| one.trim_matches('"')).collect::<Vec<_>>().join(","))];
    !of_key.is_empty() && (of_key == of_case || of_key == joined)
}

/// Returns whether a case has any value other than a natural limit.
fn is_telling(case: &Case) -> bool {
    let is_natural = |value: &String| NATURAL.contains(&value.as_str());
    !case.arguments.iter().all(is_natural) && !is_natural(&case.expected)
}
