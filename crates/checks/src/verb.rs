//! The checks by their names, with the arguments and result keys of the swarm document: a file each.

use std::path::{Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde_json::Value;
use switchboard_protocol::error::Failure;
use switchboard_protocol::finding::{
    Base, CheckFailure, CheckName, CheckReply, CheckReport, CheckRequest, CheckVerdict,
};
use switchboard_protocol::verb::Verb;
use switchboard_protocol::verb::check::{
    BuildCheck, CheckAnswer, CheckCall, Lint, PlaceholderScan, PreCheckBatch, Secretscan, SyntaxCheck, TestRunner,
    TodoExtract,
};

use crate::Engine;

mod build_check;
mod excerpt;
mod lint;
mod placeholder_scan;
mod pre_check_batch;
mod secretscan;
mod syntax_check;
mod test_runner;
mod todo_extract;

// === impl Engine ===

impl Engine {
    /// Answers a call of one of the checks' verbs. Commands of the repository run only for `lint`, `build_check`,
    /// `test_runner` and `pre_check_batch`, which are calls for just that.
    #[must_use]
    pub fn call(&self, call: &CheckCall) -> CheckAnswer {
        let answer = self.dispatch(call);
        let (result, failure) = match answer {
            Ok(result) => (Some(result), None),
            Err(failure) => (None, Some(failure)),
        };
        CheckAnswer { id: call.id.clone(), result, failure }
    }

    fn dispatch(&self, call: &CheckCall) -> Result<Value, Failure> {
        let root = Path::new(&call.root);
        match call.verb.as_str() {
            SyntaxCheck::NAME => answer::<SyntaxCheck>(call, |args| syntax_check::run(self, root, &args)),
            Secretscan::NAME => answer::<Secretscan>(call, |args| secretscan::run(self, root, &args)),
            PlaceholderScan::NAME => answer::<PlaceholderScan>(call, |args| placeholder_scan::run(self, root, &args)),
            TodoExtract::NAME => answer::<TodoExtract>(call, |args| todo_extract::run(self, root, &args)),
            Lint::NAME => answer::<Lint>(call, |args| lint::run(self, root, &args)),
            BuildCheck::NAME => answer::<BuildCheck>(call, |args| build_check::run(self, root, &args)),
            TestRunner::NAME => answer::<TestRunner>(call, |args| test_runner::run(self, root, &args)),
            PreCheckBatch::NAME => answer::<PreCheckBatch>(call, |args| pre_check_batch::run(self, root, &args)),
            other => {
                let other: String = other.chars().take(80).collect();
                Err(Failure::new("request.unknown-verb", format!("`{other}` is no check")))
            }
        }
    }
}

fn answer<V: Verb>(
    call: &CheckCall,
    run: impl FnOnce(V::Request) -> Result<V::Reply, Failure>,
) -> Result<Value, Failure> {
    let args = if call.args.is_null() { Value::Object(serde_json::Map::new()) } else { call.args.clone() };
    let args = serde_json::from_value(args)
        .map_err(|error| Failure::new("request.bad-args", format!("{}: {error}", V::NAME)))?;
    let reply = run(args)?;
    serde_json::to_value(reply).map_err(|error| Failure::new("internal.bug", format!("{}: {error}", V::NAME)))
}

/// Finds the folder that a call is about; it must lie in the root.
fn folder(root: &Path, named: Option<&str>) -> Result<PathBuf, Failure> {
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

/// Asks the engine for one check.
fn request(folder: &Path, check: CheckName, base: Base, paths: Vec<String>) -> CheckRequest {
    let root = folder.to_string_lossy().into_owned();
    CheckRequest { root, base, paths, only: vec![check], ..CheckRequest::default() }
}

/// The base that a call names; where the branch left the main one otherwise.
fn base(named: Option<&String>) -> Base {
    named.map_or(Base::MergeBase, |rev| match rev.as_str() {
        "staged" => Base::Staged,
        "none" => Base::None,
        rev => Base::Rev(rev.to_owned()),
    })
}

/// Gives the one report of a reply, and what could not be checked beside it; it then has the verdict `error`. Where there is
/// no report at all, that is the failure.
fn report(reply: CheckReply) -> Result<(CheckReport, Vec<CheckFailure>), Failure> {
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

/// Makes one matcher of globs in the manner of `.gitignore`.
fn globs(patterns: &[String]) -> Result<Gitignore, Failure> {
    let mut builder = GitignoreBuilder::new("");
    let mut build = || {
        for pattern in patterns {
            builder.add_line(None, pattern)?;
        }
        builder.build()
    };
    build().map_err(|error| Failure::new("request.bad-args", format!("a glob can't be used: {error}")))
}

fn is_named(globs: &Gitignore, path: &str) -> bool {
    globs.matched_path_or_any_parents(path, false).is_ignore()
}
