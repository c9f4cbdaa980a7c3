//! `switchboard check`

mod hook;
pub(crate) mod named;

use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use switchboard_checks::{Cache, Engine, HistoryRequest, Limits, render};
use switchboard_protocol::error::{Exit, Failure, near_matches};
use switchboard_protocol::finding::{
    Base, CheckCommand, CheckFailure, CheckName, CheckReply, CheckRequest, CheckVerdict,
};

use crate::context::Context;
use crate::output::Table;
use crate::report::{Ending, Outcome};
use crate::session::work_tree;
use crate::settings::Agents;

/// Check changed files, or those named, without a daemon
#[derive(Debug, clap::Args)]
#[command(after_help = "Each check has a command of its own name, such as `switchboard secretscan`: --list names them")]
pub(crate) struct Args {
    /// Files and folders to check, changed or not
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Check what the next commit would contain
    #[arg(long, conflicts_with = "base")]
    staged: bool,
    /// Separate new findings from those at this revision; the point where the branch left the main one when left out
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Leave these files out, by globs as in a .gitignore; they are counted and named
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    exclude: Vec<String>,
    /// Run only this check; can be given several times
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    only: Vec<String>,
    /// Also run the repository's own build
    #[arg(long)]
    build: bool,
    /// Accept the findings that this file lists
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write a file that accepts all current findings
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    write_baseline: Option<PathBuf>,
    /// How to print the findings
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Look for secrets in all commits instead of in files
    #[arg(long, conflicts_with_all = ["paths", "staged", "base", "exclude", "only", "build"])]
    history: bool,
    /// With --history: only commits after this revision
    #[arg(long, value_name = "REV", requires = "history")]
    since: Option<String>,
    /// Neither read nor write the cache
    #[arg(long)]
    no_cache: bool,
    /// List the checks and their rules
    #[arg(long, conflicts_with_all = ["paths", "staged", "base", "exclude", "only", "build", "history"])]
    list: bool,
    /// Install a git hook that checks every commit before it is made
    #[arg(long, conflicts_with_all = ["paths", "staged", "base", "exclude", "only", "build", "history", "list"])]
    install_hook: bool,
    /// Answer one request per line on standard input, for programs that check often
    #[arg(long, conflicts_with_all = ["paths", "staged", "base", "exclude", "only", "build", "history", "list", "install_hook"])]
    serve: bool,
}

/// Output format of the findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Text for people.
    Text,
    /// The reply as JSON.
    Json,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
}

/// Runs the checks, or serves requests.
pub(crate) fn run(args: Args, context: &mut Context) -> Outcome {
    if args.serve {
        let served = switchboard_checks::serve(BufReader::new(io::stdin()), io::stdout(), &Limits::default());
        return served.map_err(|error| Failure::new("io.denied", error.to_string()).into());
    }
    if args.list {
        list(context);
        return Ok(());
    }
    let root = work_tree(context.folder());
    if args.install_hook {
        return hook::install(&root.unwrap_or_else(|| context.folder().to_owned()), context);
    }
    let format = if context.json { Format::Json } else { args.format };
    let folder = root.as_deref().unwrap_or(context.folder());
    let written = args.write_baseline.as_ref().map(|path| baseline_place(context.resolve(path), folder)).transpose()?;
    let findings = if written.is_some() { usize::MAX } else { Limits::default().findings };
    let engine = engine(context, Limits { findings, ..Limits::default() }, args.no_cache);
    let reply = if args.history {
        engine.secret_history(&history(args, root, context))
    } else {
        engine.run(&request(args, root, context)?)
    };
    remember(&engine);
    if let (Some(failure), true) = (reply.failures.first(), reply.reports.is_empty()) {
        return Err(nothing_checked(failure).into());
    }
    if let Some(path) = written {
        return write_baseline(&path, &reply, context);
    }
    let text = match format {
        Format::Text => render::text(&reply),
        Format::Json => render::json(&reply),
        Format::Sarif => render::sarif(&reply),
    };
    context.out.line(text.trim_end());
    outcome(&reply)
}

/// Creates an engine that caches results in the user's cache folder; under `sudo` not in another user's.
fn engine(context: &Context, limits: Limits, forgets: bool) -> Engine {
    let engine = Engine::new(limits);
    match context.environment.cache_folder() {
        Some(folder) if !forgets && switchboard_daemon::refuse_foreign_owner(&folder, "the cache").is_ok() => {
            engine.with_cache(Cache::in_folder(&folder))
        }
        Some(_) | None => engine,
    }
}

/// Saves the cache. A failure is ignored: the next run computes the results again.
fn remember(engine: &Engine) {
    let _forgotten = engine.save();
}

fn list(context: &mut Context) {
    if context.json {
        context.out.json(&switchboard_checks::checks());
        return;
    }
    let mut table = Table::new(&["CHECK", "RULES", "FINDS"]);
    for check in switchboard_checks::checks() {
        let rules = if check.rules.is_empty() { "-".to_owned() } else { check.rules.len().to_string() };
        let on_request = if check.runs_commands { "; runs commands, so only when asked for" } else { "" };
        table.row([check.name.to_owned(), rules, format!("{}{on_request}", check.about)]);
    }
    context.out.table(&table);
    context.out.line("");
    context.out.line("The rules: switchboard check --list --json");
}

/// Rejects a path outside the checked folder: a baseline is read only from below it.
fn baseline_place(path: PathBuf, folder: &Path) -> Result<PathBuf, Failure> {
    let parent = path.parent().unwrap_or(folder);
    let is_below = match (parent.canonicalize(), folder.canonicalize()) {
        (Ok(parent), Ok(folder)) => parent.starts_with(folder),
        (Err(_), _) | (_, Err(_)) => false,
    };
    if is_below {
        return Ok(path);
    }
    let what = format!("`{}` is in no folder below the one that is checked", path.display());
    Err(Failure::new("check.bad-baseline", what).hint("name a file in the work tree, and commit it"))
}

fn write_baseline(path: &Path, reply: &CheckReply, context: &mut Context) -> Outcome {
    let count: usize = reply.reports.iter().map(|report| report.findings.len()).sum();
    std::fs::write(path, render::baseline(reply)).map_err(|error| {
        Failure::new("io.denied", "the baseline can't be written").at(path.display().to_string()).because(&error)
    })?;
    if context.json {
        context.out.json(&serde_json::json!({ "baseline": path, "findings": count }));
    } else {
        context.out.line(format!("{} accepts {count} findings; use it with --baseline", path.display()));
    }
    Ok(())
}

/// Converts the failure that kept all checks from running into one that every command can print.
fn nothing_checked(failure: &CheckFailure) -> Failure {
    let code = switchboard_protocol::error::find(&failure.code).map_or("internal.bug", |row| row.code);
    Failure::new(code, &failure.what).hint(&failure.hint)
}

/// Maps the reply to an exit code; everything has been printed by now.
fn outcome(reply: &CheckReply) -> Outcome {
    match reply.verdict {
        CheckVerdict::Pass | CheckVerdict::Warn | CheckVerdict::Skip => Ok(()),
        CheckVerdict::Fail | CheckVerdict::Incomplete => Err(Ending::Said(Exit::Gate)),
        CheckVerdict::Error => {
            let code = reply.failures.first().and_then(|failure| switchboard_protocol::error::find(&failure.code));
            Err(Ending::Said(code.map_or(Exit::Failed, |row| row.exit)))
        }
    }
}

fn request(args: Args, root: Option<PathBuf>, context: &Context) -> Result<CheckRequest, Failure> {
    let base = match (&root, args.staged, args.base) {
        (_, true, _) => Base::Staged,
        (_, false, Some(rev)) => Base::Rev(rev),
        (Some(_), false, None) => Base::MergeBase,
        (None, false, None) => Base::None,
    };
    let root = root.unwrap_or_else(|| context.folder().to_owned());
    let only = args.only.iter().map(|word| check(word)).collect::<Result<_, _>>()?;
    let commands = if args.build { build(&root)? } else { Vec::new() };
    let settings = context.environment.config_folder().as_deref().map(Agents::read).transpose()?.unwrap_or_default();
    let text = |path: PathBuf| context.resolve(&path).display().to_string();
    // Git gives its hooks the index of the commit in the making, which may differ from the repository's own.
    let index_file = context.environment.variable("GIT_INDEX_FILE").filter(|_| args.staged);
    Ok(CheckRequest {
        base,
        paths: args.paths.into_iter().map(text).collect(),
        exclude: args.exclude.into_iter().chain(settings.exclude).collect(),
        only,
        commands,
        baseline: args.baseline.map(text),
        index_file: index_file.map(|file| text(PathBuf::from(file))),
        root: root.display().to_string(),
        ..CheckRequest::default()
    })
}

fn history(args: Args, root: Option<PathBuf>, context: &Context) -> HistoryRequest {
    let text = |path: PathBuf| context.resolve(&path).display().to_string();
    HistoryRequest {
        root: root.unwrap_or_else(|| context.folder().to_owned()).display().to_string(),
        since: args.since,
        baseline: args.baseline.map(text),
    }
}

fn build(root: &Path) -> Result<Vec<CheckCommand>, Failure> {
    let commands = switchboard_checks::build_commands(root);
    if commands.is_empty() {
        return Err(Failure::new("request.bad-args", "nothing here says how it is built")
            .at(root.display().to_string())
            .hint("switchboard check without --build looks at the files only"));
    }
    Ok(commands)
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
