//! `switchboard check`

mod build;

use std::io::{self, BufReader};
use std::path::PathBuf;

use checks::{Limits, render};
use protocol::error::{Exit, Failure, near_matches};
use protocol::finding::{Base, CheckFailure, CheckName, CheckReply, CheckRequest, CheckVerdict};

use crate::context::Context;
use crate::report::{Ending, Outcome};
use crate::session::work_tree;

/// Check changed files, or those named, without a daemon
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files and folders to look at, changed or not
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// What the next commit would hold
    #[arg(long, conflicts_with = "base")]
    staged: bool,
    /// Tell new findings from those that this revision had; the main branch's when left out
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Only this check; can be given several times
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    only: Vec<String>,
    /// Also run the repository's own build
    #[arg(long)]
    build: bool,
    /// How to show what was found
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Answer one request a line on standard input, for whoever checks often
    #[arg(long, conflicts_with_all = ["paths", "staged", "base", "only", "build"])]
    serve: bool,
}

/// How findings are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// The reply as it is.
    Json,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
}

/// Checks, or serves requests.
pub(crate) fn run(args: Args, context: &mut Context) -> Outcome {
    let limits = Limits::default();
    if args.serve {
        let served = checks::serve(BufReader::new(io::stdin()), io::stdout(), &limits);
        return served.map_err(|error| Failure::new("io.denied", error.to_string()).into());
    }
    let format = if context.json { Format::Json } else { args.format };
    let reply = checks::run(&request(args, context)?, &limits);
    if let (Some(failure), true) = (reply.failures.first(), reply.reports.is_empty()) {
        return Err(nothing_checked(failure).into());
    }
    let text = match format {
        Format::Text => render::text(&reply),
        Format::Json => render::json(&reply),
        Format::Sarif => render::sarif(&reply),
    };
    context.out.line(text.trim_end());
    outcome(&reply)
}

/// What kept the checks from looking at anything, as every command shows failures.
fn nothing_checked(failure: &CheckFailure) -> Failure {
    let code = protocol::error::find(&failure.code).map_or("internal.bug", |row| row.code);
    Failure::new(code, &failure.what).hint(&failure.hint)
}

/// Everything has been shown; what is left is the exit code.
fn outcome(reply: &CheckReply) -> Outcome {
    match reply.verdict {
        CheckVerdict::Pass | CheckVerdict::Skip => Ok(()),
        CheckVerdict::Fail => Err(Ending::Said(Exit::Gate)),
        CheckVerdict::Error => Err(Ending::Said(Exit::Failed)),
    }
}

fn request(args: Args, context: &Context) -> Result<CheckRequest, Failure> {
    let root = work_tree(context.folder());
    let base = match (&root, args.staged, args.base) {
        (_, true, _) => Base::Staged,
        (_, false, Some(rev)) => Base::Rev(rev),
        (Some(_), false, None) => Base::MergeBase,
        (None, false, None) => Base::None,
    };
    let root = root.unwrap_or_else(|| context.folder().to_owned());
    let only = args.only.iter().map(|word| check(word)).collect::<Result<_, _>>()?;
    let commands = if args.build { vec![build::command(&root)?] } else { Vec::new() };
    let paths = args.paths.iter().map(|path| context.resolve(path).display().to_string()).collect();
    Ok(CheckRequest { root: root.display().to_string(), base, paths, only, commands, ..CheckRequest::default() })
}

fn check(word: &str) -> Result<CheckName, Failure> {
    word.parse().map_err(|_| {
        let failure = Failure::new("request.bad-args", format!("there is no check {word}"));
        let near = near_matches(word, CheckName::ALL.iter().map(|name| name.as_str()));
        let names: Vec<_> = CheckName::ALL.iter().map(|name| name.as_str()).collect();
        let names = if near.is_empty() { names } else { near };
        failure.hint(format!("did you mean {}?", names.join(" or ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_check_gets_a_near_one() {
        assert_eq!(check("secret-scan").unwrap_err().hint, "did you mean secretscan?");
        assert_eq!(check("syntax-check"), Ok(CheckName::SyntaxCheck));
    }
}
