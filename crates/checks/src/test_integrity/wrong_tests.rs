//! Runs tests of the base with a wrong expectation: such a test must fail.
//!
//! If it passes, code of the change alters how tests are judged. This finds a patch or an exit that reading the code
//! does not: one behind a name that is computed, or one that first asks whether a test runs. A test counts only if it
//! passes with two different wrong values, and fails with one of them on the code of the base.

use std::path::Path;

use switchboard_protocol::finding::{CheckCommand, CheckRequest, CommandKind};
use switchboard_syntax::Parsers;

use super::assertion::{Assertion, Strength};
use super::base_tests::quiet;
use super::change::Change;
use super::changed_file::ChangedFile;
use super::hard_coded::others;
use super::hit::{Consequence, Hit};
use super::language::TestLanguage;
use super::node::literals;
use super::stage::Stage;
use super::suite::{Pair, Suite};
use super::test::{Skip, Test};
use super::{one_file, paths};
use crate::commands::{combined_output, has_started, run as run_command};
use crate::error::Error;
use crate::git::{Blob, Blobs, Git};
use crate::limits::Limits;
use crate::output::totals;
use crate::reader::shown;

/// Maximum number of test files of which one test is run.
const FILES: usize = 2;
/// Maximum number of test files that are searched for the names of changed code, and of those that are parsed.
const MAX_SEARCHED: usize = 500;
const MAX_PARSED: usize = 50;
/// What Rust code needs to end its process without a name that [`exits`](super::exits) finds. Other Rust code can't
/// alter the harness, so that building its tests once more would find nothing.
const BEYOND_RUST: [&str; 7] = ["extern", "asm!", "libc", "syscall", "include!", "_exit", "dlsym"];

/// A test of the base with wrong expected values.
struct WrongTest {
    path: String,
    name: String,
    /// True if the file names a file of code that the change alters.
    is_about_change: bool,
    /// The change's version of the test file, with one wrong value each.
    after: [String; 2],
    /// The base's version of the test file, with a wrong value.
    before: String,
}

/// The selected tests, and the first file of code that the change alters.
#[derive(Default)]
pub(super) struct WrongTests {
    tests: Vec<WrongTest>,
    code: String,
}

// === impl WrongTests ===

impl WrongTests {
    /// Selects tests of the base in files that name the changed code, else in any.
    pub(super) fn of(
        pairs: &[Pair],
        change: &Change,
        (git, base, blobs): (&Git, &str, &Blobs),
        parsers: &mut Parsers,
    ) -> Result<Self, Error> {
        let code: Vec<&Pair> = pairs.iter().filter(|pair| is_changed_code(pair)).collect();
        let Some(first) = code.first() else { return Ok(Self::default()) };
        let (mut tests, mut searched, mut parsed): (Vec<WrongTest>, usize, usize) = (Vec::new(), 0, 0);
        for (path, side) in git.tree(base)? {
            let path = shown(&path);
            let (Some(language), Some(id)) = (TestLanguage::of(&path), side.blob) else { continue };
            let is_test = paths::is_test(&path);
            let file = change.file(&path);
            if !code.iter().any(|pair| pair.kind == language.0)
                || file.is_some_and(ChangedFile::is_deleted)
                || (language.0 != TestLanguage::Rust && !is_test)
            {
                continue;
            }
            let found = tests.iter().filter(|test| test.is_about_change).count();
            if searched == MAX_SEARCHED || parsed == MAX_PARSED || found == FILES {
                break;
            }
            searched += 1;
            let Blob::Content(text) = blobs.read(&id)? else { continue };
            let before = String::from_utf8_lossy(&text).into_owned();
            let is_about_change = code.iter().any(|pair| before.contains(stem(&pair.path)));
            if (language.0 == TestLanguage::Rust && !before.contains("test")) || (!is_about_change && !tests.is_empty())
            {
                continue;
            }
            parsed += 1;
            let after = file.map_or_else(|| before.clone(), |file| file.texts().1);
            let mut suite = |text: String| Suite::read(&path, text, language, is_test, parsers);
            if let (Some(before), Some(after)) = (suite(before), suite(after))
                && let Some(test) = WrongTest::of(&before, &after)
            {
                tests.push(WrongTest { is_about_change, ..test });
            }
        }
        tests.sort_by_key(|test| !test.is_about_change);
        tests.truncate(FILES);
        Ok(Self { tests, code: first.path.clone() })
    }

    /// Runs the tests.
    ///
    /// # Errors
    /// When git refuses, or a file can't be written or put back.
    pub(super) fn run(
        &self,
        root: &Path,
        git: &Git,
        change: &Change,
        (base, request): (&str, &CheckRequest),
        limits: &Limits,
    ) -> Result<Option<Hit>, Error> {
        let command = request.commands.iter().find(|one| one.kind == CommandKind::Test);
        let (Some(command), Some(commit)) = (command, request.commit.as_deref()) else { return Ok(None) };
        let stage = Stage { root, git, change, command, limits, base, commit };
        for test in &self.tests {
            let is_passed = is_passed_by_change_alone(&stage, test);
            // Resets even after an error: the next step judges the change.
            stage.reset()?;
            if is_passed? {
                let message = format!(
                    "the test `{}` in {} passes with a wrong expectation, and fails with it on the base: the change alters how tests are judged",
                    test.name, test.path
                );
                return Ok(Some(Hit::new("wrong-test-passes", Consequence::Refused, &self.code, 0..0, message)));
            }
        }
        Ok(None)
    }
}

fn is_changed_code(pair: &Pair) -> bool {
    let text = &pair.after.text;
    let is_able = pair.kind != TestLanguage::Rust || BEYOND_RUST.iter().any(|word| text.contains(word));
    !pair.is_test && !text.is_empty() && *text != pair.before.text && is_able
}

/// Returns the name of a file without its folders and extensions. For `index`, `mod` and the like, tests name the folder.
fn stem(path: &str) -> &str {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    match stem {
        "index" | "__init__" | "mod" | "lib" | "main" if !folder.is_empty() => {
            folder.rsplit('/').next().unwrap_or(stem)
        }
        _ => stem,
    }
}

// === impl WrongTest ===

impl WrongTest {
    /// Makes a wrong test out of the first test of a file that requires the same value before and after the change.
    fn of(before: &Suite, after: &Suite) -> Option<Self> {
        let is_plain = |test: &&Test| test.skip == Skip::No && !test.swallows;
        before.tests.iter().filter(is_plain).find_map(|test| {
            let now = after.tests.iter().filter(is_plain).find(|now| now.name == test.name)?;
            test.assertions.iter().find_map(|assertion| {
                let same = now.assertions.iter().find(|other| other.is_same(assertion))?;
                Some(Self {
                    path: before.path.clone(),
                    name: test.name.clone(),
                    is_about_change: false,
                    after: [with_wrong_value(after, same, 1)?, with_wrong_value(after, same, 3)?],
                    before: with_wrong_value(before, assertion, 1)?,
                })
            })
        })
    }
}

/// Returns the file with another expected value in an assertion: the nth last of those that are tried for the value.
fn with_wrong_value(suite: &Suite, assertion: &Assertion, nth_last: usize) -> Option<String> {
    if assertion.strength != Strength::Equal {
        return None;
    }
    let literal = literals(&assertion.expected).pop()?;
    let values = others(&literal);
    let value = &values[values.len().checked_sub(nth_last)?];
    let code = suite.text_of(&assertion.range);
    let (at, written) = last_place(code, &literal)?;
    let quote = written.chars().next().filter(|first| ['\'', '`'].contains(first));
    let value = quote.map_or_else(|| value.clone(), |quote| value.replace('"', &quote.to_string()));
    let at = assertion.range.start + at;
    let mut text = format!("{}{value}{}", &suite.text[..at], &suite.text[at + written.len()..]);
    // Of another length than the file: Python takes the bytecode of a file of the same length and second.
    text.push('\n');
    while text.len() <= suite.text.len() {
        text.push('\n');
    }
    Some(text)
}

/// Returns the last place of a literal in a piece of code, and the literal as it is written there.
fn last_place(code: &str, literal: &str) -> Option<(usize, String)> {
    if let Some(inner) = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        let written = ['"', '\'', '`'].map(|quote| format!("{quote}{inner}{quote}"));
        return written.into_iter().filter_map(|written| code.rfind(&written).map(|at| (at, written))).max();
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let is_whole = |at: usize| !code[..at].ends_with(is_word) && !code[at + literal.len()..].starts_with(is_word);
    let at = code.rmatch_indices(literal).map(|(at, _)| at).find(|at| is_whole(*at))?;
    Some((at, literal.to_owned()))
}

/// Returns whether a wrong test passes with the change and fails on the base. False where the runner can't run single
/// files.
fn is_passed_by_change_alone(stage: &Stage<'_>, test: &WrongTest) -> Result<bool, Error> {
    let Some(command) = one_file::of(stage.command, &test.path, stage.root) else { return Ok(false) };
    for text in &test.after {
        if !passes(stage, &command, &test.path, text)? {
            return Ok(false);
        }
    }
    stage.reset_to_base()?;
    Ok(!passes(stage, &command, &test.path, &test.before)?)
}

/// Returns whether the command passes with this text of the test file.
fn passes(stage: &Stage<'_>, command: &CheckCommand, path: &str, text: &str) -> Result<bool, Error> {
    if !stage.write(path, text)? {
        return Ok(false);
    }
    let run = run_command(stage.root, &quiet(command), stage.limits);
    Ok(has_started(&run) && run.exit_code == Some(0) && !totals::counts_none(&combined_output(&run)))
}

#[cfg(test)]
mod tests {
    use switchboard_grammars::Language;

    use super::*;
    use crate::limits::Limits;

    fn wrong(path: &str, text: &str, nth_last: usize) -> Option<String> {
        let language: (TestLanguage, Language) = TestLanguage::of(path).unwrap();
        let mut parsers = Parsers::new(Limits::default().parse_time);
        let suite = Suite::read(path, text.to_owned(), language, true, &mut parsers).unwrap();
        suite.tests[0].assertions.iter().find_map(|assertion| with_wrong_value(&suite, assertion, nth_last))
    }

    #[test]
    fn the_expected_value_is_replaced_and_nothing_else() {
        let rows = [
            ("test_a.py", "def test_a():\n    assert add(3, 13) == 3\n", "    assert add(3, 13) == 103\n"),
            ("test_a.py", "def test_a():\n    assert name(\"b\") == 'b'\n", "    assert name(\"b\") == 'b z'\n"),
            ("a.test.js", "test(\"a\", () => {\n  expect(add(1)).toBe(2);\n});\n", "  expect(add(1)).toBe(102);\n"),
            ("a.test.js", "test('a', () => {\n  assert.equal(f(), `x`);\n});\n", "  assert.equal(f(), `x z`);\n"),
            ("tests/a.rs", "#[test]\nfn a() {\n    assert_eq!(add(1), 2);\n}\n", "    assert_eq!(add(1), 102);\n"),
        ];
        for (path, text, expected) in rows {
            let text = wrong(path, text, 1).unwrap();
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn a_condition_and_a_truth_have_no_value_to_replace() {
        let none = ["assert ok(3)", "assert add(1, 2) > 3", "assert add(1, 2) == True", "assert f() == g()"];
        for code in none {
            assert_eq!(wrong("test_a.py", &format!("def test_a():\n    {code}\n"), 1), None, "{code}");
        }
    }

    #[test]
    fn a_file_is_named_in_tests_by_its_stem_or_its_folder() {
        let rows = [("src/a/index.ts", "a"), ("src/price.spec.js", "price"), ("lib.rs", "lib"), ("p/__init__.py", "p")];
        for (path, expected) in rows {
            assert_eq!(stem(path), expected);
        }
    }
}
