//! `imports`: whether what a change imports is there, in the tree or in a manifest.
//!
//! A path that is written out (`./cart`, `from .cart import x`, `mod cart;`) leads to a file or it does not: that blocks. A name may come from
//! elsewhere than the manifests say, by another name than its package has, or from the machine: one that nothing names is told and blocks
//! nothing. Only imports that the base's version of a file hasn't are looked at.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use switchboard_grammars::Language;
use switchboard_protocol::finding::{CheckName, CheckRequest, Finding, Severity, Span};
use switchboard_syntax::{Lines, Parsers};

use crate::error::Error;
use crate::fingerprint::fingerprint;
use crate::git::{Blob, Blobs, Git, Mode, Side};
use crate::limits::{Limits, millis};
use crate::reader::{Reader, shown};
use crate::report::{Looked, Report};
use crate::selection::Against;

mod found;
mod javascript;
mod manifests;
mod python;
mod rust;
mod tree;

use found::{Found, Import};
use manifests::Manifests;
use tree::Tree;

/// The rules.
pub(crate) const RULES: [&str; 2] = ["imports/no-such-file", "imports/not-named"];

/// Looks at the imports of the files of a change.
///
/// # Errors
/// When git refuses or breaks.
pub(crate) fn report(
    root: &Path,
    request: &CheckRequest,
    (git, against): (Option<&Git>, &Against),
    limits: &Limits,
) -> Result<Looked, Error> {
    let started = Instant::now();
    let mut report = Report::new(CheckName::Imports, limits);
    let (Some(git), Some(base)) = (git, against.commit()) else { return Ok(report.finish(millis(started))) };
    let blobs = git.blobs();
    let changes = match &request.commit {
        Some(commit) => git.changes_between(base, commit)?,
        None => git.changes(base, false)?,
    };
    let tree = Tree::read(git, request.commit.as_deref())?;
    let manifests = Manifests::read(root, &tree);
    let reader = Reader::new(root, Some(&blobs), limits.file_bytes);
    let mut parsers = Parsers::new(limits.parse_time);
    let untracked = if request.commit.is_none() { git.untracked()? } else { Vec::new() };
    let untracked = untracked.into_iter().map(|path| (path, None, None));
    let tracked = changes.into_iter().filter(|change| matches!(change.after.mode, Mode::File));
    let tracked = tracked.map(|change| (change.path, Some(change.before), Some(change.after)));
    for (path, before, after) in tracked.chain(untracked) {
        let name = shown(&path);
        let Some(language) = Language::of(&name, b"") else { continue };
        let Some(text) = text(&blobs, &reader, &path, after.as_ref())? else { continue };
        let old = match &before {
            Some(side) if side.mode == Mode::File => text_of(&blobs, side)?.unwrap_or_default(),
            Some(_) | None => String::new(),
        };
        let Some(imports) = imports(&text, language, &mut parsers) else { continue };
        let known: BTreeSet<String> = imports_of(&old, language, &mut parsers);
        let new = imports.into_iter().filter(|import| !known.contains(&import.name));
        let findings = new.filter_map(|import| {
            let found = resolve(&name, &import.name, language, &tree, &manifests);
            finding(&name, &text, &import, found)
        });
        let findings = findings.collect();
        report.looked(&name, findings);
    }
    Ok(report.finish(millis(started)))
}

fn text(blobs: &Blobs, reader: &Reader<'_>, path: &Path, side: Option<&Side>) -> Result<Option<String>, Error> {
    match side.filter(|side| side.blob.is_some()) {
        Some(side) => text_of(blobs, side),
        None => Ok(reader.read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())),
    }
}

fn text_of(blobs: &Blobs, side: &Side) -> Result<Option<String>, Error> {
    let Some(id) = &side.blob else { return Ok(None) };
    let Blob::Content(text) = blobs.read(id)? else { return Ok(None) };
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

/// Lists the imports of a file; `None` of a language whose imports are not read, or where parsing took too long.
fn imports(text: &str, language: Language, parsers: &mut Parsers) -> Option<Vec<Import>> {
    let read = match language {
        Language::Python => python::imports,
        Language::JavaScript | Language::TypeScript | Language::Tsx => javascript::imports,
        Language::Rust => rust::imports,
        Language::Bash
        | Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Css
        | Language::Dart
        | Language::Go
        | Language::Ini
        | Language::Java
        | Language::Kotlin
        | Language::Php
        | Language::PowerShell
        | Language::Regex
        | Language::Ruby
        | Language::Swift => return None,
    };
    parsers.next_file();
    let tree = parsers.parse(language, text.as_bytes())?;
    Some(read(tree.root_node(), text))
}

fn imports_of(text: &str, language: Language, parsers: &mut Parsers) -> BTreeSet<String> {
    let found = if text.is_empty() { None } else { imports(text, language, parsers) };
    found.unwrap_or_default().into_iter().map(|import| import.name).collect()
}

fn resolve(path: &str, name: &str, language: Language, tree: &Tree, manifests: &Manifests) -> Found {
    if language == Language::Python {
        return python::resolve(path, name, tree, manifests);
    }
    if language == Language::Rust {
        return rust::resolve(path, name, tree);
    }
    // Of no other language imports are listed.
    javascript::resolve(path, name, tree, manifests)
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
