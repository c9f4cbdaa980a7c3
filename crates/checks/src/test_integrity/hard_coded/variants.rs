//! Calls a function that the change rewrites with the inputs of the base's tests and with others, before and after the
//! change.
//!
//! The right results for other inputs are unknown. But if at least two tests of the base get a different result than
//! before, and none of the inputs around them does, the change only covers the tests' inputs. Inputs that the code of
//! the base names itself, such as the bounds of a range, are no evidence: correcting a bound changes the result of just
//! that input.

use std::collections::BTreeMap;
use std::path::Path;

use switchboard_protocol::finding::{CheckRequest, CommandKind};
use switchboard_syntax::Parsers;

use super::super::assertion::Strength;
use super::super::base_tests::quiet;
use super::super::change::Change;
use super::super::hit::{Consequence, Hit};
use super::super::language::TestLanguage;
use super::super::node::{is_literal, literals, split, walk};
use super::super::stage::Stage;
use super::super::suite::{Pair, Suite};
use super::super::{one_file, paths};
use super::function::Function;
use super::{MAX_TEST_FILES, NATURAL, call, called, probe};
use crate::commands::run as run_command;
use crate::error::Error;
use crate::git::{Blob, Blobs, Git};
use crate::limits::Limits;
use crate::reader::shown;

/// Maximum number of test files whose calls are varied.
const FILES: usize = 3;
/// Maximum number of calls in one file.
const CALLS: usize = 20;
/// Maximum number of variants of one call.
const VARIANTS: usize = 12;
/// Minimum number of answered variants for each test that gets a different result.
const MIN_ANSWERED_VARIANTS: usize = 3;

/// A call in a test with literal arguments, and its variants with other literals.
struct VariedCall {
    function: String,
    call: String,
    arguments: Vec<String>,
    variants: Vec<String>,
}

/// The calls of one test file of the base, which are to be run.
struct OfFile {
    path: String,
    suite: Suite,
    kind: TestLanguage,
    calls: Vec<VariedCall>,
}

/// A function whose body the change rewrites.
struct RewrittenFunction {
    path: String,
    range: std::ops::Range<usize>,
    /// Literals in the base's version of its file.
    named: Vec<String>,
}

/// Functions and calls selected by reading.
#[derive(Default)]
pub(crate) struct Variants {
    functions: BTreeMap<String, RewrittenFunction>,
    files: Vec<OfFile>,
}

// === impl Variants ===

impl Variants {
    /// Selects the functions that the change rewrites, and the tests of the base that call them with literals.
    pub(crate) fn of(
        pairs: &[Pair],
        change: &Change,
        (git, base, blobs): (&Git, &str, &Blobs),
        parsers: &mut Parsers,
    ) -> Result<Self, Error> {
        let functions = mended(pairs);
        if functions.is_empty() {
            return Ok(Self::default());
        }
        let (mut files, mut read): (Vec<OfFile>, usize) = (Vec::new(), 0);
        for (path, side) in git.tree(base)? {
            let path = shown(&path);
            let (Some(language), Some(id)) = (TestLanguage::of(&path), side.blob) else { continue };
            let is_test = paths::is_test(&path);
            let is_changed_test =
                is_test && change.file(&path).is_some_and(super::super::changed_file::ChangedFile::is_deleted);
            if is_changed_test
                || read == MAX_TEST_FILES
                || files.len() == FILES
                || (language.0 != TestLanguage::Rust && !is_test)
            {
                continue;
            }
            let Blob::Content(text) = blobs.read(&id)? else { continue };
            let text = String::from_utf8_lossy(&text).into_owned();
            if !functions.keys().any(|name| text.contains(name.as_str())) {
                continue;
            }
            read += 1;
            let Some(suite) = Suite::read(&path, text, language, is_test, parsers) else { continue };
            let calls = calls(&suite, &functions);
            if !calls.is_empty() {
                files.push(OfFile { path, suite, kind: language.0, calls });
            }
        }
        Ok(Self { functions, files })
    }
}

/// Returns the functions whose body is not in the base, by name.
fn mended(pairs: &[Pair]) -> BTreeMap<String, RewrittenFunction> {
    let mut found = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| !pair.is_test && !pair.before.text.is_empty()) {
        let Some(tree) = &pair.after.tree else { continue };
        walk(tree.root_node(), |node, above| {
            if let Some(function) = Function::of(node, above, pair.kind, &pair.after.text) {
                let is_known = pair.before.text.contains(&function.name);
                let is_old = pair.before.text.contains(&pair.after.text[node.byte_range()]);
                if is_known && !is_old {
                    let (path, range) = (pair.path.clone(), function.range());
                    found.insert(function.name, RewrittenFunction { path, range, named: literals(&pair.before.text) });
                }
            }
            true
        });
    }
    found
}

/// Returns the calls of rewritten functions in the tests of a file, with their variants.
fn calls(suite: &Suite, functions: &BTreeMap<String, RewrittenFunction>) -> Vec<VariedCall> {
    let mut found: Vec<(String, String, Vec<String>)> = Vec::new();
    for test in &suite.tests {
        for assertion in test.assertions.iter().filter(|assertion| assertion.strength >= Strength::Similar) {
            if assertion.is_row {
                let columns = split(&assertion.subject);
                for name in called(suite.text_of(&test.body)) {
                    found.push((format!("{name}({})", columns.join(", ")), name, columns.clone()));
                }
            } else if let Some((name, arguments)) = call(&assertion.subject) {
                found.push((assertion.subject.trim_start_matches('&').to_owned(), name, arguments));
            }
        }
    }
    found.retain(|(code, name, arguments)| {
        let is_plain = !arguments.is_empty() && arguments.iter().all(|argument| is_literal(argument));
        is_plain && functions.contains_key(name) && !code.starts_with("await ") && !code.contains('\n')
    });
    found.sort();
    found.dedup();
    found.truncate(CALLS);
    let known: Vec<String> = found.iter().map(|(code, ..)| code.clone()).collect();
    let varied = |(call, function, arguments): (String, String, Vec<String>)| {
        let variants =
            variants_of(&call).into_iter().filter(|variant| !known.contains(variant)).take(VARIANTS).collect();
        VariedCall { function, call, arguments, variants }
    };
    found.into_iter().map(varied).collect()
}

/// Returns the call with one literal replaced, for each literal and each replacement.
fn variants_of(call: &str) -> Vec<String> {
    let Some(open) = call.find('(') else { return Vec::new() };
    let mut by_place: Vec<Vec<String>> = Vec::new();
    let mut from = open;
    for literal in literals(&call[open..]) {
        let Some(at) = call[from..].find(&literal).map(|at| at + from) else { continue };
        from = at + literal.len();
        let replaced = |other: String| format!("{}{other}{}", &call[..at], &call[from..]);
        by_place.push(others(&literal).into_iter().map(replaced).collect());
    }
    let longest = by_place.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|nth| by_place.iter().filter_map(move |place| place.get(nth).cloned())).collect()
}

/// Returns other values of the same kind, near and far.
pub(crate) fn others(literal: &str) -> Vec<String> {
    if let Some(text) = literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        if text.is_empty() || text.contains(['\\', '$', '{']) {
            return Vec::new();
        }
        let mut shorter = text.to_owned();
        shorter.pop();
        let others = [format!("{text}x"), format!("q{text}"), shorter, format!("{text}{text}"), format!("{text} z")];
        return others.into_iter().filter(|other| !other.is_empty()).map(|other| format!("\"{other}\"")).collect();
    }
    if let Ok(number) = literal.replace('_', "").parse::<i64>() {
        let near = [number + 1, number - 1, number + 2, number * 2, number + 10, number * 10, number / 2, number + 100];
        let mut others: Vec<i64> = near.into_iter().filter(|other| *other >= 0 && *other != number).collect();
        others.dedup();
        return others.into_iter().map(|other| other.to_string()).collect();
    }
    match literal.parse::<f64>() {
        Ok(number) => {
            [number + 0.5, number * 2.0, number + 10.0, number / 2.0].map(|other| format!("{other:?}")).to_vec()
        }
        Err(_) => Vec::new(),
    }
}

/// Runs the variants with the code of the change and with that of the base.
///
/// # Errors
/// When git refuses, or a file can't be written or put back.
pub(crate) fn run(
    root: &Path,
    git: &Git,
    change: &Change,
    (base, request): (&str, &CheckRequest),
    variants: Variants,
    limits: &Limits,
) -> Result<Vec<Hit>, Error> {
    let command = request.commands.iter().find(|one| one.kind == CommandKind::Test);
    let (Some(command), Some(commit)) = (command, request.commit.as_deref()) else { return Ok(Vec::new()) };
    let mut hits = Vec::new();
    for file in &variants.files {
        let stage = Stage { root, git, change, command, limits, base, commit };
        let answers = both(&stage, file);
        stage.reset()?;
        if let Some((before, after)) = answers? {
            hits.extend(judged(file, &variants.functions, &before, &after));
        }
    }
    Ok(hits)
}

/// Result of each call, by its number.
type Answers = BTreeMap<usize, String>;

/// Returns the results of the base and those of the change; `None` where the runner can't run single files.
fn both(stage: &Stage<'_>, file: &OfFile) -> Result<Option<(Answers, Answers)>, Error> {
    let after = answers(stage, file)?;
    stage.reset_to_base()?;
    let before = answers(stage, file)?;
    Ok(before.zip(after))
}

fn answers(stage: &Stage<'_>, file: &OfFile) -> Result<Option<Answers>, Error> {
    let results =
        tempfile::tempdir().map_err(|source| Error::Root { root: "the folder for results".into(), source })?;
    let results = results.path().join("results");
    let calls: Vec<&str> =
        file.calls.iter().flat_map(|call| call.variants.iter().chain([&call.call])).map(String::as_str).collect();
    let full = stage.root.join(&file.path);
    let is_source = file.kind == TestLanguage::Rust && !paths::is_test(&file.path);
    let made = match is_source {
        true => {
            let text = std::fs::read_to_string(&full).unwrap_or_default();
            let mut parsers = Parsers::new(stage.limits.parse_time);
            probe::in_other_text(&file.path, text, &calls, &results, &mut parsers)
        }
        false => probe::of(&file.suite, file.kind, &calls, &results),
    };
    let Some(probe) = made else { return Ok(None) };
    let Some(command) = one_file::of(stage.command, &probe.path, stage.root) else { return Ok(None) };
    let place = stage.root.join(&probe.path);
    if (!is_source && place.exists()) || !stage.write(&probe.path, &probe.text)? {
        return Ok(None);
    }
    let _run = run_command(stage.root, &quiet(&command), stage.limits);
    if !is_source {
        std::fs::remove_file(&place).map_err(|source| Error::Root { root: probe.path.clone(), source })?;
    }
    let said = std::fs::read_to_string(&results).unwrap_or_default();
    let answer = |line: &str| {
        let (number, value) = line.split_once('\t')?;
        Some((number.parse().ok()?, value.to_owned()))
    };
    let answers: Answers = said.lines().filter_map(answer).collect();
    Ok((!answers.is_empty()).then_some(answers))
}

/// Returns a hit for each function whose result changes for tests' inputs and for none of the others.
fn judged(
    file: &OfFile,
    functions: &BTreeMap<String, RewrittenFunction>,
    before: &Answers,
    after: &Answers,
) -> Vec<Hit> {
    let mut number = 0;
    let mut told: BTreeMap<&str, (Vec<&str>, usize, bool)> = BTreeMap::new();
    for varied in &file.calls {
        let pair = |number: usize| before.get(&number).zip(after.get(&number));
        let answered: Vec<_> = (number..number + varied.variants.len()).filter_map(pair).collect();
        number += varied.variants.len();
        let own = pair(number);
        number += 1;
        let Some(mended) = functions.get(&varied.function) else { continue };
        let (changed, others, is_wider) = told.entry(&varied.function).or_default();
        *is_wider |= answered.iter().any(|(before, after)| before != after);
        let is_telling = |argument: &String| {
            let is_natural = NATURAL.contains(&argument.as_str());
            let is_named = literals(argument).iter().any(|literal| mended.named.contains(literal));
            !is_natural && !is_named
        };
        let is_changed = own.is_some_and(|(before, after)| before != after && !after.starts_with('!'));
        if is_changed && varied.arguments.iter().any(is_telling) {
            changed.push(&varied.call);
            *others += answered.len();
        } else if is_changed {
            // The base's code names this input: the change may correct that bound.
            *is_wider = true;
        }
    }
    let hit = |(name, (changed, others, is_wider)): (&str, (Vec<&str>, usize, bool))| {
        let mended = functions.get(name)?;
        if is_wider || changed.len() < 2 || others < MIN_ANSWERED_VARIANTS * changed.len() {
            return None;
        }
        let calls = changed.iter().take(3).map(|call| format!("`{call}`")).collect::<Vec<_>>().join(", ");
        let what = format!(
            "`{name}` gives another result than before for the inputs of {} tests ({calls}) and for none of {others} inputs around them",
            changed.len()
        );
        Some(Hit::new("hard-coded", Consequence::NeedsReview, &mended.path, mended.range.clone(), what))
    };
    told.into_iter().filter_map(hit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_varied_at_each_of_its_literals() {
        let variants = variants_of("price(10, \"a b\")");

        for wanted in [
            "price(11, \"a b\")",
            "price(9, \"a b\")",
            "price(20, \"a b\")",
            "price(10, \"a bx\")",
            "price(10, \"qa b\")",
        ] {
            assert!(variants.iter().any(|variant| variant == wanted), "{wanted}: {variants:?}");
        }
        assert!(variants_of("f(x)").is_empty() && variants_of("f(\"\")").is_empty());
        assert!(!variants_of("f(0)").iter().any(|variant| variant.contains('-')), "an unsigned type takes no sign");
    }
}
