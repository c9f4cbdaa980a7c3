//! `imports`: checks that what a change imports exists, in the tree or in a manifest.
//!
//! A written path (`./cart`, `from .cart import x`, `mod cart;`) that leads to no file blocks. A name that no manifest
//! has is reported and does not block: the package may have another name, or the machine may provide it. Only imports
//! that the base's version of a file lacks are checked.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use switchboard_grammars::Language;
use switchboard_protocol::finding::{CheckName, CheckRequest, Finding, Severity, SkippedFile, Span};
use switchboard_syntax::{Lines, Parsers};

use crate::error::Error;
use crate::fingerprint::fingerprint;
use crate::git::Git;
use crate::limits::{Limits, millis};
use crate::report::{Report, ReportWithFiles};
use crate::selection::Comparison;
use crate::test_integrity::{Change, TestLanguage};

mod found;
mod javascript;
mod manifests;
mod python;
mod rust;
mod tree;

use found::{Found, Import};
use manifests::Manifests;
use tree::Tree;

/// Rules of the check.
pub(crate) const RULES: [&str; 2] = ["imports/no-such-file", "imports/not-named"];

/// Checks the imports of the files of a change.
///
/// # Errors
/// When git refuses or breaks.
pub(crate) fn report(
    root: &Path,
    request: &CheckRequest,
    (git, against): (Option<&Git>, &Comparison),
    limits: &Limits,
) -> Result<ReportWithFiles, Error> {
    let started = Instant::now();
    let mut report = Report::new(CheckName::Imports, limits);
    let (Some(git), Some(base)) = (git, against.commit()) else { return Ok(report.finish(millis(started))) };
    let blobs = git.blobs();
    let change = Change::read(root, git, &blobs, (base, request), limits)?;
    let tree = Tree::read(git, request.commit.as_deref())?;
    let manifests = Manifests::read(root, &tree);
    let mut parsers = Parsers::new(limits.parse_time);
    for file in change.files.iter().filter(|file| !file.is_deleted() && !file.is_link) {
        let Some(language) = TestLanguage::of(&file.path) else { continue };
        let (before, after) = file.texts();
        let Some(imports) = imports(&after, language, &mut parsers) else {
            report.skip(missing(&file.path, "parsing it took too long"));
            continue;
        };
        let known = imports_of(&before, language, &mut parsers);
        let new = imports.into_iter().filter(|import| !known.contains(&import.name));
        let findings = new.filter_map(|import| {
            let found = resolve(&file.path, &import.name, language.0, (&tree, &manifests));
            finding(&file.path, &after, &import, found)
        });
        report.add_file(&file.path, findings.collect());
    }
    for (path, why) in change.unread.iter().filter(|(path, _)| TestLanguage::of(path).is_some()) {
        report.skip(missing(path, why));
    }
    Ok(report.finish(millis(started)))
}

fn missing(path: &str, why: &str) -> SkippedFile {
    SkippedFile { path: path.to_owned(), why: why.to_owned(), is_missing: true }
}

/// Lists the imports of a file; `None` where parsing took too long.
fn imports(text: &str, (kind, language): (TestLanguage, Language), parsers: &mut Parsers) -> Option<Vec<Import>> {
    parsers.next_file();
    let tree = parsers.parse(language, text.as_bytes())?;
    let read = match kind {
        TestLanguage::Python => python::imports,
        TestLanguage::JavaScript => javascript::imports,
        TestLanguage::Rust => rust::imports,
    };
    Some(read(tree.root_node(), text))
}

fn imports_of(text: &str, language: (TestLanguage, Language), parsers: &mut Parsers) -> BTreeSet<String> {
    let found = if text.is_empty() { None } else { imports(text, language, parsers) };
    found.unwrap_or_default().into_iter().map(|import| import.name).collect()
}

fn resolve(path: &str, name: &str, language: TestLanguage, (tree, manifests): (&Tree, &Manifests)) -> Found {
    match language {
        TestLanguage::Python => python::resolve(path, name, tree, manifests),
        TestLanguage::JavaScript => javascript::resolve(path, name, tree, manifests),
        TestLanguage::Rust => rust::resolve(path, name, tree),
    }
}

fn finding(path: &str, text: &str, import: &Import, found: Found) -> Option<Finding> {
    let name: String = switchboard_secrets::redact(&import.name).chars().take(80).collect();
    let (rule, severity, message, remedy) = match found {
        Found::Yes => return None,
        Found::NoFile => {
            let message = format!("the import of `{name}` leads to no file of the change");
            (RULES[0], Severity::High, message, "Add the file, or mend the path.")
        }
        Found::NotNamed => {
            let message = format!("`{name}` is in no file of the tree and no manifest names it");
            (RULES[1], Severity::Low, message, "Add it to the manifest, or take the import out.")
        }
    };
    let span: Span = Lines::new(text.as_bytes()).span(text.as_bytes(), &import.range);
    Some(Finding {
        check: CheckName::Imports,
        rule: rule.to_owned(),
        severity,
        remedy: remedy.to_owned(),
        cwe: None,
        path: path.to_owned(),
        span,
        fingerprint: fingerprint(rule, path, message.as_bytes(), 0),
        is_new: true,
        blocks: found == Found::NoFile,
        allowed: None,
        masked: None,
        excerpt: None,
        commit: None,
        message,
    })
}
