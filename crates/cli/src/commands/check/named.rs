//! `switchboard syntax_check` and the like: runs one check by its name, with the arguments and result keys of its verb, without a
//! daemon.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use switchboard_checks::{Limits, render};
use switchboard_protocol::error::{Exit, Failure};
use switchboard_protocol::verb::check::CheckCall;
use switchboard_protocol::verb::{Row, table};

use super::{engine, remember};
use crate::commands::call;
use crate::context::Context;
use crate::report::{Ending, Outcome};
use crate::session::work_tree;

/// Checks of the project in the current folder; the others are of the whole work tree.
const OF_THE_FOLDER: [&str; 3] = ["lint", "build_check", "test_runner"];

/// A check, by its name
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Named {
    /// Check that changed files parse
    #[command(name = "syntax_check", alias = "syntax-check", hide = true, after_help = "Verb: syntax_check")]
    SyntaxCheck(Args),
    /// Scan files for keys, tokens and passwords
    #[command(name = "secretscan", alias = "secret-scan", hide = true, after_help = "Verb: secretscan")]
    Secretscan(Args),
    /// Find code that only pretends to be finished
    #[command(
        name = "placeholder_scan",
        alias = "placeholder-scan",
        hide = true,
        after_help = "Verb: placeholder_scan"
    )]
    PlaceholderScan(Args),
    /// List the notes in comments, such as TODO
    #[command(name = "todo_extract", alias = "todo-extract", hide = true, after_help = "Verb: todo_extract")]
    TodoExtract(Args),
    /// Run the repository's own linter
    #[command(name = "lint", hide = true, after_help = "Verb: lint")]
    Lint(Args),
    /// Run the repository's own build and type check
    #[command(name = "build_check", alias = "build-check", hide = true, after_help = "Verb: build_check")]
    BuildCheck(Args),
    /// Run the repository's own tests
    #[command(name = "test_runner", alias = "test-runner", hide = true, after_help = "Verb: test_runner")]
    TestRunner(Args),
    /// Run the checks that precede a review, all at once
    #[command(name = "pre_check_batch", alias = "pre-check-batch", hide = true, after_help = "Verb: pre_check_batch")]
    PreCheckBatch(Args),
}

/// What to check, and how
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files and folders, and arguments as `key=value`: `switchboard call VERB --help` lists them
    #[arg(value_name = "PATH|KEY=VALUE")]
    words: Vec<String>,
    /// Separate new findings from those at this revision
    #[arg(long, value_name = "REV")]
    base: Option<String>,
}

impl Named {
    fn parts(self) -> (&'static str, Args) {
        match self {
            Self::SyntaxCheck(args) => ("syntax_check", args),
            Self::Secretscan(args) => ("secretscan", args),
            Self::PlaceholderScan(args) => ("placeholder_scan", args),
            Self::TodoExtract(args) => ("todo_extract", args),
            Self::Lint(args) => ("lint", args),
            Self::BuildCheck(args) => ("build_check", args),
            Self::TestRunner(args) => ("test_runner", args),
            Self::PreCheckBatch(args) => ("pre_check_batch", args),
        }
    }
}

/// Runs a check by its name.
pub(crate) fn run(check: Named, context: &mut Context) -> Outcome {
    let (verb, args) = check.parts();
    let rows = table();
    let row = rows.iter().find(|row| row.name == verb);
    let row = row.ok_or_else(|| Failure::new("internal.bug", format!("there is no verb {verb}")))?;
    let root = root(verb, context);
    let args = arguments(row, args, &root, context)?;
    let engine = engine(context, Limits::default(), false);
    let root = root.display().to_string();
    let answer = engine.call(&CheckCall { id: None, verb: verb.to_owned(), root, args });
    remember(&engine);
    match (answer.result, answer.failure) {
        (Some(reply), None) => show(&reply, context),
        (_, Some(failure)) => Err(failure.into()),
        (None, None) => Err(Failure::new("internal.bug", format!("{verb} gave no answer")).into()),
    }
}

fn root(verb: &str, context: &Context) -> PathBuf {
    let here = context.folder().to_owned();
    if OF_THE_FOLDER.contains(&verb) { here } else { work_tree(&here).unwrap_or(here) }
}

/// Combines paths and `key=value` words into one object.
fn arguments(row: &Row, args: Args, root: &Path, context: &Context) -> Result<Value, Failure> {
    let is_named = |word: &str| {
        let key = word.split_once('=').map(|(key, _)| key.trim_end_matches(':')).unwrap_or_default();
        !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            && !context.resolve(Path::new(word)).exists()
    };
    let (named, paths): (Vec<String>, Vec<String>) =
        args.words.into_iter().partition(|word| is_named(word) || word == "-");
    let request = row.request.value();
    let named = call::arguments(&named, &request, context.folder())?;
    let mut object = named.as_object().cloned().unwrap_or_default();
    if !paths.is_empty() {
        let key = ["changed_files", "files", "paths"].into_iter().find(|key| request["properties"][key].is_object());
        let key = key.ok_or_else(|| Failure::new("request.bad-args", format!("{} takes no paths", row.name)))?;
        let paths: Vec<String> = paths.iter().map(|path| relative(root, &context.resolve(Path::new(path)))).collect();
        object.insert(key.to_owned(), json!(paths));
        if row.name == "build_check" {
            object.entry("scope").or_insert(json!("changed"));
        }
    }
    if let Some(base) = args.base {
        object.insert("base".to_owned(), json!(base));
    }
    Ok(Value::Object(object))
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn show(reply: &Value, context: &mut Context) -> Outcome {
    if context.json {
        context.out.json(reply);
    } else {
        context.out.line(render::answer(reply).trim_end());
    }
    outcome(reply)
}

/// Returns the exit code: 3 if a check refuses, 1 if it could not do what was asked.
fn outcome(reply: &Value) -> Outcome {
    let word = |key: &str| reply[key].as_str().unwrap_or_default().to_owned();
    if word("verdict") == "fail" || word("outcome") == "regression" || word("status") == "fail" {
        return Err(Ending::Said(Exit::Gate));
    }
    // A check that was to run and did not has not passed.
    let is_undone = ["error", "not_run"].contains(&word("verdict").as_str())
        || ["error", "scope_exceeded", "no_tests"].contains(&word("outcome").as_str());
    if is_undone {
        return Err(Ending::Said(Exit::Failed));
    }
    match (reply["success"] == false, reply["exitCode"].is_number()) {
        (true, true) => Err(Ending::Said(Exit::Gate)),
        (true, false) => Err(Ending::Said(Exit::Failed)),
        (false, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_follows_what_the_check_says() {
        let code = |reply: Value| match outcome(&reply) {
            Ok(()) => 0,
            Err(Ending::Said(exit)) => exit as u8,
            Err(Ending::Failed(_) | Ending::Signal(_)) => 99,
        };

        assert_eq!(code(json!({ "verdict": "pass" })), 0);
        assert_eq!(code(json!({ "verdict": "fail" })), 3);
        assert_eq!(code(json!({ "verdict": "error" })), 1);
        assert_eq!(code(json!({ "success": false, "exitCode": 1 })), 3);
        assert_eq!(code(json!({ "success": false, "message": "nothing was linted" })), 1);
        assert_eq!(code(json!({ "success": false, "outcome": "skip" })), 1);
        assert_eq!(code(json!({ "success": false, "outcome": "no_tests", "exitCode": 0 })), 1);
        assert_eq!(code(json!({ "verdict": "not_run" })), 1);
        assert_eq!(code(json!({ "verdict": "info" })), 0);
        assert_eq!(code(json!({ "outcome": "regression", "success": false })), 3);
        assert_eq!(code(json!({ "gates_passed": false, "status": "nothing_to_check" })), 0);
    }
}
