//! Which places of a file no longer parse, and which of them came with the change.
//!
//! A grammar is never perfect, so the verdict compares: what the base's version already had is old, and where the
//! base did not parse cleanly only what is inside or next to changed lines counts as new.

use std::ops::Range;

use switchboard_grammars::Language;

use crate::caution::Caution;
use crate::format::{Format, Subject, template};
use crate::grammar::problems_of;
use crate::parsers::Parsers;
use crate::plain;
use crate::problem::Problem;
use crate::source::{Base, Source};

/// The most problems of one file that are told; a broken file has one cause and many symptoms.
const MOST_PER_FILE: usize = 10;

/// How much of a script is looked through for the program that it hands itself on to.
const HEAD: usize = 2_000;

/// A place that does not parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The rule, such as `python-syntax`.
    pub rule: String,
    /// What is wrong. Holds no text of the file but punctuation and keywords.
    pub message: String,
    /// Bytes.
    pub range: Range<usize>,
    /// Its first line, from 0.
    pub line: usize,
    /// Whether it came with the change.
    pub is_new: bool,
    /// Whether the grammar is trusted enough here for it to block.
    pub blocks: bool,
}

/// What is said of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// It was parsed; these are its mistakes, at most ten of them.
    Parsed(Vec<Mistake>),
    /// It could not be judged, and why.
    Skipped(String),
}

/// Judges a file beside what the base had.
pub fn judge(source: &Source, parsers: &mut Parsers) -> Judged {
    let Some(subject) = Subject::of(source) else {
        return skipped("no grammar for this kind of file");
    };
    if std::str::from_utf8(&source.text).is_err() {
        return skipped("not UTF-8");
    }
    if is_template(source) {
        return skipped("a template, not code yet");
    }
    match subject {
        Subject::Code(language) => code(source, language, parsers),
        Subject::Data(format) => data(source, format, parsers),
    }
}

fn skipped(why: &str) -> Judged {
    Judged::Skipped(why.to_owned())
}

/// Judges what a grammar reads.
fn code(source: &Source, language: Language, parsers: &mut Parsers) -> Judged {
    if matches!(language, Language::C | Language::Cpp) && is_objective(&source.text) {
        return skipped("Objective-C, for which there is no grammar");
    }
    if language == Language::Bash && !is_for_a_shell(&source.text) {
        return skipped("not a shell script, by its first line");
    }
    let Some(tree) = parsers.tree_of(language, &source.text) else {
        return skipped("parsing it took too long");
    };
    let problems = problems_of(&tree, &source.text, language);
    if problems.is_empty() {
        return Judged::Parsed(Vec::new());
    }
    let title = language.title();
    match plain::look(source, language, parsers) {
        plain::Plain::Right => return Judged::Parsed(Vec::new()),
        plain::Plain::Broken(found) => {
            return Judged::Parsed(mistakes(language.as_str(), title, &found, |_| (true, true)));
        }
        plain::Plain::Unknown => {}
    }
    let old = match &source.base {
        Base::Other(before) => parsers.parse(language, before).map(|tree| problems_of(&tree, before, language)),
        Base::Nothing | Base::Same => None,
    };
    let was_clean = old.as_ref().is_some_and(Vec::is_empty);
    if !was_clean && is_code_template(source, language, parsers) {
        return skipped("a template, not code yet");
    }
    let caution = Caution::of(language, source, was_clean);
    let newness = Newness::new(source, old);
    let may_block = |problem: &Problem| newness.is_new(problem) && caution.lets_block(problem, source);
    if source.base == Base::Nothing && caution.is_doubt() && !problems.iter().any(may_block) {
        return skipped("the grammar does not know all of this dialect");
    }
    Judged::Parsed(mistakes(language.as_str(), title, &problems, |problem| {
        (newness.is_new(problem), may_block(problem))
    }))
}

/// Judges what a format's own reader reads.
fn data(source: &Source, format: Format, parsers: &mut Parsers) -> Judged {
    let now = format.read(&source.path, &source.text, parsers);
    if now.problems.is_empty() {
        return Judged::Parsed(Vec::new());
    }
    let old = match &source.base {
        Base::Other(before) => Some(format.read(&source.path, before, parsers).problems),
        Base::Nothing | Base::Same => None,
    };
    let was_clean = old.as_ref().is_some_and(Vec::is_empty);
    if now.is_template && !was_clean {
        return skipped("a template, not data yet");
    }
    let newness = Newness::new(source, old);
    let is_new = |problem: &Problem| (newness.is_new(problem), newness.is_new(problem));
    Judged::Parsed(mistakes(format.as_str(), format.title(), &now.problems, is_new))
}

/// Puts problems into words; `newness` tells of each whether it is new and whether it blocks.
fn mistakes(name: &str, title: &str, problems: &[Problem], newness: impl Fn(&Problem) -> (bool, bool)) -> Vec<Mistake> {
    let mistake = |problem: &Problem| {
        let (is_new, blocks) = newness(problem);
        Mistake {
            rule: format!("{name}-syntax"),
            message: problem.message(title),
            range: problem.range.clone(),
            line: problem.lines.start,
            is_new,
            blocks,
        }
    };
    problems.iter().take(MOST_PER_FILE).map(mistake).collect()
}

/// A project template (`cookiecutter`, an archetype of Maven and their kind) holds code with gaps.
fn is_template(source: &Source) -> bool {
    ["{{", "{%", "archetype-resources/"].iter().any(|mark| source.path.contains(mark))
}

/// Returns whether a file has lines that belong to ERB, EJS or their kind, or is code once their gaps are filled. In C the mark of a gap is a bracket.
fn is_code_template(source: &Source, language: Language, parsers: &mut Parsers) -> bool {
    if matches!(language, Language::C | Language::Cpp) {
        return false;
    }
    if template::has_own_lines(&source.text) {
        return true;
    }
    // What begins with a large letter may stand for any name of Ruby, also that of a class.
    let name = if language == Language::Ruby { b'A' } else { b'a' };
    let Some(filled) = template::code(&source.text, name) else { return false };
    parsers.parse(language, &filled).is_some_and(|tree| problems_of(&tree, &filled, language).is_empty())
}

/// Headers of C and Objective-C have the same ending.
fn is_objective(text: &[u8]) -> bool {
    ["\n@interface ", "\n@protocol ", "\n@implementation ", "\n@import ", "\n@class ", "\n#import "]
        .iter()
        .any(|word| memchr::memmem::find(text, word.as_bytes()).is_some())
}

/// Scripts of Perl and PHP that build tools rename, and XML made by a script, end in `.sh`, too.
fn is_for_a_shell(text: &[u8]) -> bool {
    const SHELLS: [&str; 9] = ["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish", "SHELL"];
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some(program) = first.strip_prefix(b"#!") else { return !first.starts_with(b"<?") };
    // A script of Perl that any shell may start hands itself on in its first lines.
    let head = &text[..text.len().min(HEAD)];
    if ["eval 'exec perl", "-*-perl-*-", "-*- perl -*-"]
        .iter()
        .any(|mark| memchr::memmem::find(head, mark.as_bytes()).is_some())
    {
        return false;
    }
    let program = String::from_utf8_lossy(program);
    let mut words = program.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    // A program that is named when it is installed, `#!@prefix@/bin/…`, may be one.
    const OTHERS: [&str; 12] =
        ["perl", "PERL", "php", "PHP", "python", "python3", "ruby", "node", "awk", "sed", "expect", "tclsh"];
    words.clone().any(|word| SHELLS.contains(&word)) || !words.any(|word| OTHERS.contains(&word))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_other_programs_are_no_shell_scripts() {
        for text in ["#!/bin/sh\n#! -*-perl-*-\n", "#!/bin/sh\neval 'exec perl -x $0' if 0;\n", "#!/usr/bin/perl\n"] {
            assert!(!is_for_a_shell(text.as_bytes()), "{text}");
        }
        for text in ["#!/bin/sh\nexec perl \"$@\"\n", "#!/bin/bash\n", "f() { true; }\n"] {
            assert!(is_for_a_shell(text.as_bytes()), "{text}");
        }
    }
}
