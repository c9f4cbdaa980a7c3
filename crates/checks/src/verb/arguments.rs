//! Shared parts of the checks' verbs: folder, base and globs of a call, and the report for its reply.

use std::path::{Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use switchboard_protocol::error::Failure;
use switchboard_protocol::finding::{
    Base, CheckFailure, CheckName, CheckReply, CheckReport, CheckRequest, CheckVerdict,
};

/// Resolves the folder of a call; it must lie in the root.
pub(super) fn folder(root: &Path, named: Option<&str>) -> Result<PathBuf, Failure> {
    let unreadable = |path: &Path, error: &std::io::Error| {
        Failure::new("check.unreadable", format!("the folder to check, `{}`, cannot be read", path.display()))
            .because(error)
    };
    let root = root.canonicalize().map_err(|error| unreadable(root, &error))?;
    let Some(named) = named.filter(|named| !matches!(*named, "" | ".")) else { return Ok(root) };
    let outside = || Failure::new("check.outside-root", format!("`{named}` lies outside the folder that is checked"));
    let full = root.join(named);
    if !full.starts_with(&root) || Path::new(named).components().any(|part| part == Component::ParentDir) {
        return Err(outside());
    }
    let folder = full.canonicalize().map_err(|error| unreadable(&full, &error))?;
    if !folder.starts_with(&root) {
        return Err(outside());
    }
    if folder.is_dir() { Ok(folder) } else { Err(unreadable(&full, &std::io::ErrorKind::NotADirectory.into())) }
}

/// Makes a request to the engine for one check.
pub(super) fn request(folder: &Path, check: CheckName, base: Base, paths: Vec<String>) -> CheckRequest {
    let root = folder.to_string_lossy().into_owned();
    CheckRequest { root, base, paths, only: vec![check], ..CheckRequest::default() }
}

/// Returns the base that a call names; by default the commit where the branch left the main one.
pub(super) fn base(named: Option<&String>) -> Base {
    named.map_or(Base::MergeBase, |rev| match rev.as_str() {
        "staged" => Base::Staged,
        "none" => Base::None,
        rev => Base::Rev(rev.to_owned()),
    })
}

/// Returns the only report of a reply, and the failures beside it; with failures its verdict is `error`. If there is no
/// report, the failure is returned.
pub(super) fn report(reply: CheckReply) -> Result<(CheckReport, Vec<CheckFailure>), Failure> {
    match (reply.reports.into_iter().next(), reply.failures) {
        (Some(report), failures) if failures.is_empty() => Ok((report, failures)),
        (Some(report), failures) => Ok((CheckReport { verdict: CheckVerdict::Error, ..report }, failures)),
        (None, failures) => Err(failures.into_iter().next().map_or_else(
            || Failure::new("internal.bug", "a check gave no report"),
            |failure| {
                let code = switchboard_protocol::error::find(&failure.code).map_or("internal.bug", |row| row.code);
                Failure::new(code, failure.what).hint(failure.hint)
            },
        )),
    }
}

/// Builds one matcher from globs with the rules of `.gitignore`.
pub(super) fn globs(patterns: &[String]) -> Result<Gitignore, Failure> {
    let mut builder = GitignoreBuilder::new("");
    let mut build = || {
        for pattern in patterns {
            builder.add_line(None, pattern)?;
        }
        builder.build()
    };
    build().map_err(|error| Failure::new("request.bad-args", format!("a glob can't be used: {error}")))
}

pub(super) fn is_named(globs: &Gitignore, path: &str) -> bool {
    globs.matched_path_or_any_parents(path, false).is_ignore()
}
