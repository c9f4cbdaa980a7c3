//! `placeholder_scan`: code that only pretends to be finished.
//!
//! A legal empty body, a guard clause, an abstract method, a no-op default: none of them fires. What fires says itself
//! that something is missing.

use std::ops::Range;

use switchboard_grammars::Language;
use switchboard_protocol::finding::{CheckName, Finding, Severity};

use crate::file_check::{FileCheck, Look};
use crate::fingerprint::{Occurrences, fingerprint};
use switchboard_secrets::redact;
use switchboard_syntax::Parsers;
use switchboard_syntax::Source;
use switchboard_syntax::{notes, tree};

mod built;
mod code;
mod found;
mod mark;
mod place;
mod plain;
mod stub;
mod test_double;
mod text;
mod typed;
mod words;

use found::{Placeholder, Weight};

/// The rules; those of somebody's own patterns are called `placeholder/custom-…`.
pub(crate) const RULES: [&str; 9] = [
    "placeholder/comment-todo",
    "placeholder/comment-fixme",
    "placeholder/comment-other",
    "placeholder/comment-text",
    "placeholder/text-placeholder",
    "placeholder/code-throw-todo",
    "placeholder/code-stub-body",
    "placeholder/code-stub-return",
    "placeholder/plan-bracket",
];

/// Characters of an excerpt.
const EXCERPT: usize = 100;
/// The longest line that is taken for written by hand. Of 905 findings in packages of npm, of PyPI and of crates those in source files stand on lines of
/// up to 204 bytes, those in packed ones, but for one, on lines of 1,900 and more.
const LINE: usize = 1_000;

/// The check.
#[derive(Debug, Default)]
pub(crate) struct PlaceholderScan {
    /// Whether marks count in files that are compared with nothing: somebody has named the files as the change.
    pub(crate) all_is_change: bool,
    /// Patterns that stand in place of the words for unfinished work, each with its own text.
    pub(crate) deny: Vec<(String, regex::bytes::Regex)>,
}

// === impl PlaceholderScan ===

impl PlaceholderScan {
    /// What an answer depends on besides the file.
    pub(crate) fn settings(&self) -> String {
        let patterns: Vec<&str> = self.deny.iter().map(|(text, _)| text.as_str()).collect();
        format!("{} {patterns:?}", self.all_is_change)
    }
}

impl FileCheck for PlaceholderScan {
    fn name(&self) -> CheckName {
        CheckName::PlaceholderScan
    }

    fn look(&self, source: &Source, parsers: &mut Parsers) -> Look {
        if source.path.contains(".min.") {
            return Look::Skipped("minified: nobody writes it by hand".into());
        }
        let mut found = plain::of_plan(&source.path, &source.text);
        let mut parsed = None;
        let comments = match (source.language, plain::marker(&source.path)) {
            (Some(language), _) => {
                let Some(tree) = parsers.tree_of(language, &source.text) else {
                    return Look::Skipped("parsing it took too long".into());
                };
                found.extend(code::placeholders(&tree, &source.text, language, &source.path));
                let comments = tree::comments(&tree);
                parsed = Some(tree);
                comments
            }
            (None, Some(marker)) => plain::comments(&source.text, marker),
            (None, None) if source.path.ends_with(".swarm/plan.md") => Vec::new(),
            (None, None) => return Look::Skipped("no grammar for this kind of file".into()),
        };
        let tests = match (&parsed, source.language) {
            (Some(tree), Some(Language::Rust)) => code::tests_of_rust(tree, &source.text),
            _ => Vec::new(),
        };
        // What only declares types has no code to leave out.
        let only_declares = [".d.ts", ".d.mts", ".d.cts", ".pyi"].iter().any(|ending| source.path.ends_with(ending));
        let is_for_tests = only_declares || test_double::is_file(&source.path);
        let is_test = |at: usize| {
            let next = tests.partition_point(|test| test.end <= at);
            is_for_tests || tests.get(next).is_some_and(|test| test.contains(&at))
        };
        for comment in &comments {
            match &self.deny[..] {
                [] => found.extend(words::in_comment(&source.text, comment, parsed.as_ref(), is_test(comment.start))),
                own => found.extend(denied(own, &source.text, comment)),
            }
        }
        if self.deny.is_empty() && (source.has_base || self.all_is_change) {
            let notes = notes::in_comments(&source.text, &comments);
            found.extend(mark::placeholders(&notes, parsed.as_ref(), &source.text, is_test));
        }
        // What a tool has packed into lines that nobody writes is somebody else's code.
        found.retain(|one| source.lines().bytes(&source.text, source.lines().line_of(one.range.start)).len() <= LINE);
        if built::is_built(source) {
            found = found.into_iter().map(|one| one.at_most(Weight::Note)).collect();
        }
        // Of each line the heaviest one.
        let line = |placeholder: &Placeholder| source.lines().line_of(placeholder.range.start);
        found.sort_by_key(|one| (line(one), one.weight, one.range.start, one.rule.clone()));
        found.dedup_by_key(|one| line(one));
        let is_change = source.has_base || self.all_is_change;
        let mut seen = Occurrences::default();
        Look::Looked(found.iter().map(|placeholder| finding(source, placeholder, is_change, &mut seen)).collect())
    }
}

/// Finds somebody's own words in a comment.
fn denied(own: &[(String, regex::bytes::Regex)], text: &[u8], comment: &Range<usize>) -> Vec<Placeholder> {
    let hits = own.iter().filter_map(|(name, pattern)| {
        let hit = pattern.find(&text[comment.clone()])?;
        let range = comment.start + hit.start()..comment.start + hit.end();
        let what = "a pattern that is denied here";
        Some(Placeholder { weight: Weight::Blocks, rule: format!("placeholder/custom-{name}").into(), what, range })
    });
    hits.collect()
}

fn finding(source: &Source, placeholder: &Placeholder, is_change: bool, seen: &mut Occurrences) -> Finding {
    let line = source.lines().line_of(placeholder.range.start);
    let is_new = source.touched().holds(line);
    let severity = match placeholder.weight {
        Weight::Blocks => Severity::High,
        Weight::Asks if is_change => Severity::Medium,
        Weight::Asks | Weight::Note => Severity::Low,
    };
    let what = source.lines().bytes(&source.text, line).trim_ascii();
    Finding {
        check: CheckName::PlaceholderScan,
        rule: placeholder.rule.clone().into_owned(),
        severity,
        message: placeholder.what.to_owned(),
        remedy: "Write the code, or take the promise out.".into(),
        cwe: None,
        path: source.path.clone(),
        span: source.lines().span(&source.text, &placeholder.range),
        fingerprint: fingerprint(&placeholder.rule, &source.path, what, seen.next(&placeholder.rule, what)),
        is_new,
        blocks: is_new && severity == Severity::High,
        allowed: None,
        masked: None,
        excerpt: Some(redact(&String::from_utf8_lossy(&what[..what.len().min(2_000)])).chars().take(EXCERPT).collect()),
        commit: None,
    }
}
