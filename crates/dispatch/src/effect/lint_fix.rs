//! Runs the plan's `lint_fix` command on a captured change before its gates judge it.
//!
//! It runs where gates run: in a checkout of our own, in a limited child process, without tools that the worker
//! installed. What it does to the files of the change is added to the change; other files stay as they were. It refuses
//! nothing: what it can't fix is reported, and left to the gate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use switchboard_process::git::{Author, Oid};
use switchboard_protocol::finding::{
    Base, CheckCommand, CheckReport, CheckRequest, CheckVerdict, CommandKind, CommandRun,
};
use switchboard_protocol::plan::CommandLine;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::text::{cut, listed};
use switchboard_protocol::worker::PortRange;

use super::author::of_change;
use super::capture::FILES_NAMED;
use super::context::Ctx;
use super::gate_tree::GateTree;
use super::judged::Judged;
use crate::Error;
use crate::authorship::message;
use crate::port::Git;

/// Maximum number of characters reported of the command's output.
const MAX_PRINTED: usize = 300;
/// Maximum number of named files outside the change.
const MAX_NAMED_OUTSIDE: usize = 5;

/// Tree and commits with which the command's changes are added to the change.
struct Mending {
    /// Tree in which the command ran.
    tree: PathBuf,
    /// Captured commit.
    commit: Oid,
    /// Parent of the captured commit.
    base: Oid,
    author: Author,
    message: String,
    /// The task's own work tree, which is moved with its branch to the fixed change.
    worktree: PathBuf,
    branch: String,
}

/// Change after the command.
struct Mended {
    commit: Oid,
    tree: Oid,
    files: Vec<PathBuf>,
    /// Files outside the change that the command touched.
    beside: Vec<PathBuf>,
}

pub(super) async fn lint_fix(ctx: &Ctx, change: Judged<'_>) -> Result<RunEvent, Error> {
    let (task, settings) = ctx.plan.settings(change.task)?;
    let line = settings.lint_fix.as_ref().ok_or_else(|| Error::Missing("the lint_fix command".to_owned()))?;
    let (commit, base) = (Oid::parse(change.commit)?, Oid::parse(change.base)?);
    let author = of_change(ctx, change.task, &settings, &commit).await?;
    let tree = GateTree::check_out(ctx, change).await?;
    let mut told = run(ctx, change, &tree.path, line).await?;
    ctx.has_room(&tree.path)?;
    let mending = Mending {
        tree: tree.path.clone(),
        commit,
        base,
        author,
        message: message(&ctx.plan.run, &task, change.attempt),
        worktree: ctx.plan.worktree(change.task),
        branch: ctx.plan.task_branch(change.task),
    };
    let Mended { commit, tree: oid, files, beside } = ctx.world.git(move |git| mending.mend(git)).await?;
    ctx.world.crash("lint-fixed");
    // The gates of this attempt judge in the same tree: only commands of the same attempt have run in it.
    tree.passed(ctx).await?;
    told.extend(left_alone(&beside));
    Ok(RunEvent::ChangeFixed {
        task: change.task.clone(),
        attempt: change.attempt,
        commit: commit.to_string(),
        tree: oid.to_string(),
        files_total: u32::try_from(files.len()).unwrap_or(u32::MAX),
        files: files.iter().take(FILES_NAMED).map(|file| crate::plan::text(file)).collect(),
        told,
    })
}

/// Runs the command; returns the lines to report.
async fn run(ctx: &Ctx, change: Judged<'_>, tree: &Path, line: &CommandLine) -> Result<Vec<String>, Error> {
    let limit = ctx.world.config.gate_limit;
    let ports = ctx.world.tree_ports.of(&ctx.plan.run, change.tree_of);
    let command = CheckCommand {
        kind: CommandKind::Lint,
        argv: line.argv(),
        cwd: None,
        time_limit_s: Some(limit.as_secs() / 2),
        env: ports.into_iter().flat_map(PortRange::env).collect(),
    };
    let request = CheckRequest {
        root: crate::plan::text(tree),
        base: Base::Rev(change.base.to_owned()),
        commit: Some(change.commit.to_owned()),
        only: vec![CommandKind::Lint.check()],
        commands: vec![command],
        ..CheckRequest::default()
    };
    let reports = ctx.world.ports.checks.check(&request, limit).await?;
    Ok(reports.iter().flat_map(command_endings).collect())
}

/// Reports how the command ended, unless it ended well. A fixer that leaves something unfixed exits with 1.
fn command_endings(report: &CheckReport) -> Vec<String> {
    let ended = |run: &CommandRun| {
        let printed = [&run.stderr, &run.stdout].into_iter().find_map(|text| text.trim().lines().next());
        let printed = printed.map(|line| format!(": {}", cut(line, MAX_PRINTED))).unwrap_or_default();
        (run.exit_code != Some(0)).then(|| format!("lint_fix: {}{printed}", run.ending))
    };
    let is_not_run = report.runs.is_empty() && !matches!(report.verdict, CheckVerdict::Pass);
    report.runs.iter().filter_map(ended).chain(is_not_run.then(|| format!("lint_fix: {}", report.summary))).collect()
}

fn left_alone(beside: &[PathBuf]) -> Option<String> {
    let names = listed(beside.iter().map(|path| crate::plan::text(path)), MAX_NAMED_OUTSIDE);
    (!beside.is_empty()).then(|| format!("not of the change, and left as they were: {names}"))
}

// === impl Mending ===

impl Mending {
    fn mend(&self, git: &dyn Git) -> Result<Mended, Error> {
        let of_change: BTreeSet<_> =
            git.changed_files(&self.base, &self.commit)?.into_iter().map(|change| change.path).collect();
        let written = git.worktree_files_unlike(&self.tree, &self.commit)?;
        let (files, beside): (Vec<_>, Vec<_>) = written.into_iter().partition(|path| of_change.contains(path));
        if files.is_empty() {
            let (commit, tree) = (self.commit.clone(), git.tree_of(&self.commit)?);
            return Ok(Mended { commit, tree, files, beside });
        }
        let tree = git.worktree_tree(&self.tree, &self.commit, &files)?;
        let commit = git.commit_tree(&tree, &[&self.base], &self.author, &self.message)?;
        git.worktree_reset(&self.worktree, &self.branch, &commit)?;
        Ok(Mended { commit, tree, files, beside })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::command_run;

    fn endings(exit_code: Option<i32>, (stdout, stderr): (&str, &str)) -> Vec<String> {
        let run = CommandRun { stdout: stdout.to_owned(), stderr: stderr.to_owned(), ..command_run(exit_code) };
        let report = CheckReport::new(CommandKind::Lint.check(), CheckVerdict::Fail, "1 run".to_owned());
        command_endings(&CheckReport { runs: vec![run], ..report })
    }

    #[test]
    fn a_command_that_ended_badly_is_told_with_the_first_line_that_it_printed() {
        assert_eq!(endings(Some(0), ("out", "err")), Vec::<String>::new());
        assert_eq!(endings(Some(1), ("out", " \nerr\nmore")), ["lint_fix: ended: err"]);
        assert_eq!(endings(Some(1), ("out\nmore", "\n")), ["lint_fix: ended: out"]);
        assert_eq!(endings(None, ("", "")), ["lint_fix: ended"]);
    }

    #[test]
    fn a_command_that_did_not_run_is_told_with_the_reason() {
        let told =
            |verdict| command_endings(&CheckReport::new(CommandKind::Lint.check(), verdict, "no make".to_owned()));

        assert_eq!(told(CheckVerdict::Error), ["lint_fix: no make"]);
        assert_eq!(told(CheckVerdict::Pass), Vec::<String>::new());
    }

    #[test]
    fn files_beside_the_change_are_named() {
        assert_eq!(left_alone(&[]), None);
        assert_eq!(left_alone(&["a".into()]).unwrap(), "not of the change, and left as they were: a");
    }
}
