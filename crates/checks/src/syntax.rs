//! `syntax_check`: code that no longer parses.
//!
//! A grammar is never perfect, so the verdict compares: what the base's version already had is old, and where the
//! base did not parse cleanly only what is inside or next to changed lines counts as new.

use switchboard_grammars::Language;
use switchboard_protocol::finding::{CheckName, Finding, Severity};

use crate::engine::{FileCheck, Look};
use crate::fingerprint::fingerprint;
use crate::source::{Base, Source};

mod brackets;
mod caution;
mod forgiven;
mod go;
mod java;
mod javascript;
mod parsers;
mod problem;
mod python;
mod rust;
mod tidied;

use caution::Caution;
pub(crate) use parsers::Parsers;
use problem::Problem;

/// The most problems of one file that are told; a broken file has one cause and many symptoms.
const MOST_PER_FILE: usize = 10;

/// The check.
pub(crate) struct SyntaxCheck;

// === impl SyntaxCheck ===

impl FileCheck for SyntaxCheck {
    fn name(&self) -> CheckName {
        CheckName::SyntaxCheck
    }

    fn look(&self, source: &Source, parsers: &mut Parsers) -> Look {
        let Some(language) = parsers::language_of(source) else {
            return Look::Skipped("no grammar for this kind of file".into());
        };
        if std::str::from_utf8(&source.text).is_err() {
            return Look::Skipped("not UTF-8".into());
        }
        if is_template(source) {
            return Look::Skipped("a template, not code yet".into());
        }
        if matches!(language, Language::C | Language::Cpp) && is_objective(&source.text) {
            return Look::Skipped("Objective-C, for which there is no grammar".into());
        }
        let Some(tree) = parsers.tree_of(language, &source.text) else {
            return Look::Skipped("parsing it took too long".into());
        };
        let problems = problems_of(&tree, &source.text, language);
        if problems.is_empty() {
            return Look::Looked(Vec::new());
        }
        let old = match &source.base {
            Base::Other(before) => parsers.parse(language, before).map(|tree| problems_of(&tree, before, language)),
            Base::Nothing | Base::Same => None,
        };
        let caution = Caution::of(language, source, old.as_ref().is_some_and(Vec::is_empty));
        let newness = Newness::new(source, old);
        let may_block = |problem: &Problem| newness.is_new(problem) && caution.lets_block(problem, source);
        if source.base == Base::Nothing && caution.is_doubt() && !problems.iter().any(may_block) {
            return Look::Skipped("the grammar does not know all of this dialect".into());
        }
        let findings = problems.iter().enumerate().map(|(at, problem)| {
            let is_new = newness.is_new(problem);
            finding(source, language, problem, at, is_new, is_new && caution.lets_block(problem, source))
        });
        Look::Looked(findings.take(MOST_PER_FILE).collect())
    }
}

/// Lists what is wrong with a text: the grammar's view, what the grammar forgives and the language does not, and for Rust
/// that of the parser which procedural macros use.
fn problems_of(tree: &tree_sitter::Tree, text: &[u8], language: Language) -> Vec<Problem> {
    let seen = problem::all(tree, text);
    if language != Language::Rust {
        return if seen.is_empty() { forgiven::mistakes(tree, text, language) } else { seen };
    }
    match rust::opinion(&tidied::tidied(language, text)) {
        rust::Opinion::Fine => Vec::new(),
        rust::Opinion::Wrong(problem) if seen.is_empty() => vec![problem],
        rust::Opinion::Wrong(_) | rust::Opinion::None => seen,
    }
}

/// A project template (`cookiecutter` and its kind) holds code with gaps.
fn is_template(source: &Source) -> bool {
    source.path.contains("{{") || source.path.contains("{%")
}

/// Headers of C and Objective-C have the same ending.
fn is_objective(text: &[u8]) -> bool {
    ["\n@interface ", "\n@protocol ", "\n@implementation ", "\n@import ", "\n@class ", "\n#import "]
        .iter()
        .any(|word| memchr::memmem::find(text, word.as_bytes()).is_some())
}

/// What tells new problems from old ones.
enum Newness<'a> {
    /// The file is new, or the base parsed: whatever is wrong now came with the change.
    AllNew,
    NoneNew,
    /// The base had problems of its own.
    Beside {
        old: Vec<Problem>,
        source: &'a Source,
    },
}

// === impl Newness ===

impl<'a> Newness<'a> {
    fn new(source: &'a Source, old: Option<Vec<Problem>>) -> Self {
        match (&source.base, old) {
            (Base::Same, _) => Self::NoneNew,
            (Base::Other(_), Some(old)) if !old.is_empty() => Self::Beside { old, source },
            (Base::Nothing | Base::Other(_), _) => Self::AllNew,
        }
    }

    fn is_new(&self, problem: &Problem) -> bool {
        match self {
            Self::AllNew => true,
            Self::NoneNew => false,
            Self::Beside { old, source } => {
                let touched = source.touched();
                let was_there = old.iter().any(|before| {
                    before.kind == problem.kind && touched.moved(before.lines.start) == Some(problem.lines.start)
                });
                !was_there && touched.is_near(&problem.lines)
            }
        }
    }
}

fn finding(source: &Source, language: Language, problem: &Problem, at: usize, is_new: bool, blocks: bool) -> Finding {
    let rule = format!("{}-syntax", language.as_str());
    let line = source.lines().bytes(&source.text, problem.lines.start);
    Finding {
        check: CheckName::SyntaxCheck,
        severity: if blocks || !is_new { Severity::High } else { Severity::Low },
        message: problem.message(language),
        remedy: "Make the file parse again; look at the lines just above as well.".into(),
        cwe: None,
        path: source.path.clone(),
        span: source.lines().span(&source.text, &problem.range),
        fingerprint: fingerprint(&rule, &source.path, line.trim_ascii(), at),
        is_new,
        blocks,
        allowed: None,
        masked: None,
        excerpt: None,
        commit: None,
        rule,
    }
}
