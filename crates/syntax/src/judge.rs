//! Decides where a file no longer parses, and which of these mistakes came with the change.
//!
//! No grammar is perfect, so the verdict compares: mistakes of the base's version are old, and where the base did not
//! parse cleanly only those inside or next to changed lines count as new.

use std::ops::Range;

use switchboard_grammars::Language;

use crate::caution::Caution;
use crate::format::{Format, Subject, template};
use crate::grammar::problems_of;
use crate::parsers::Parsers;
use crate::plain;
use crate::problem::Problem;
use crate::source::{Base, Source};

/// Maximum number of mistakes reported for one file; a broken file has one cause and many symptoms.
const MOST_PER_FILE: usize = 10;

/// Number of bytes of a script searched for the program that it re-executes itself with.
const HEAD: usize = 2_000;

/// A position where the file does not parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Name of the rule, such as `python-syntax`.
    pub rule: String,
    /// Description of the mistake. Holds no text of the file but punctuation and keywords.
    pub message: String,
    /// Byte range in the file.
    pub range: Range<usize>,
    /// First line of the range, from 0.
    pub line: usize,
    /// True if the mistake came with the change.
    pub is_new: bool,
    /// True if the grammar is trusted enough here for the mistake to block.
    pub blocks: bool,
}

/// Result of judging a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// The file was parsed; holds its mistakes, at most ten.
    Parsed(Vec<Mistake>),
    /// The file could not be judged; holds the reason.
    Skipped(String),
}

/// Judges a file, compared with its base.
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

/// Judges a file of a language with a grammar.
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

/// Judges a file of a format with a reader of its own.
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

/// Converts problems to mistakes; `newness` returns whether a problem is new and whether it blocks.
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

/// Returns whether a file is part of a project template (`cookiecutter`, a Maven archetype and the like): code with
/// gaps.
fn is_template(source: &Source) -> bool {
    ["{{", "{%", "archetype-resources/"].iter().any(|mark| source.path.contains(mark))
}

/// Returns whether a file has whole lines of ERB, EJS or the like, or is code once their gaps are filled. Never true
/// for C, where the marks of gaps are brackets.
fn is_code_template(source: &Source, language: Language, parsers: &mut Parsers) -> bool {
    if matches!(language, Language::C | Language::Cpp) {
        return false;
    }
    if template::has_own_lines(&source.text) {
        return true;
    }
    // A name in capital letters may be any name of Ruby, including a class.
    let name = if language == Language::Ruby { b'A' } else { b'a' };
    let Some(filled) = template::code(&source.text, name) else { return false };
    parsers.parse(language, &filled).is_some_and(|tree| problems_of(&tree, &filled, language).is_empty())
}

/// Returns whether a header is Objective-C, which has the same file ending as C.
fn is_objective(text: &[u8]) -> bool {
    ["\n@interface ", "\n@protocol ", "\n@implementation ", "\n@import ", "\n@class ", "\n#import "]
        .iter()
        .any(|word| memchr::memmem::find(text, word.as_bytes()).is_some())
}

/// Returns whether a `.sh` file is for a shell: scripts of Perl and PHP that build tools rename, and generated XML,
/// also end so.
fn is_for_a_shell(text: &[u8]) -> bool {
    const SHELLS: [&str; 9] = ["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish", "SHELL"];
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some(program) = first.strip_prefix(b"#!") else { return !first.starts_with(b"<?") };
    // A Perl script that any shell may start re-executes itself with Perl in its first lines.
    let head = &text[..text.len().min(HEAD)];
    if ["eval 'exec perl", "-*-perl-*-", "-*- perl -*-"]
        .iter()
        .any(|mark| memchr::memmem::find(head, mark.as_bytes()).is_some())
    {
        return false;
    }
    let program = String::from_utf8_lossy(program);
    let mut words = program.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    // A program named during installation, `#!@prefix@/bin/…`, may be a shell.
    const OTHERS: [&str; 12] =
        ["perl", "PERL", "php", "PHP", "python", "python3", "ruby", "node", "awk", "sed", "expect", "tclsh"];
    words.clone().any(|word| SHELLS.contains(&word)) || !words.any(|word| OTHERS.contains(&word))
}

/// Criterion for new problems.
enum Newness<'a> {
    /// The file is new, or the base parsed: every problem came with the change.
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
