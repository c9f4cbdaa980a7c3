//! The plan's `lint_fix` command mends a captured change before its gates judge it.
//!
//! It runs where gates run: in a checkout of our own, in a limited child, with no tool that the worker has brought along. What it does to the files of the
//! change is added to the change; what else it touches stays as it was. It refuses nothing: what it can't mend is told, and is the gate's to refuse.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use switchboard_process::git::{Author, Oid};
use switchboard_protocol::finding::{
    Base, CheckCommand, CheckReport, CheckRequest, CheckVerdict, CommandKind, CommandRun,
};
use switchboard_protocol::plan::CommandLine;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::text::cut;
use switchboard_protocol::worker::PortRange;

use super::author::of_change;
use super::capture::FILES_NAMED;
use super::context::Ctx;
use super::gate_tree::GateTree;
use super::judged::Judged;
use crate::Error;
use crate::authorship::message;
use crate::port::Git;

/// Most characters of what the command printed that are told.
const PRINTED: usize = 300;
/// Files beside the change that are named.
const BESIDE: usize = 5;

/// What is to become of the files that the command has written.
struct Mending {
    /// The tree that it ran in.
    tree: PathBuf,
    /// The captured commit.
    commit: Oid,
    /// The commit below it.
    base: Oid,
    author: Author,
    message: String,
    /// The task's own work tree and its branch, which are brought to the mended change.
    worktree: PathBuf,
    branch: String,
}

/// A change after the command.
struct Mended {
    commit: Oid,
    tree: Oid,
    files: Vec<PathBuf>,
    /// Files beside the change.
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
    // The gates of this attempt judge in the same tree: nothing has run in it but what they are about to run beside.
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

/// Runs the command; returns what is to be said of it.
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
    Ok(reports.iter().flat_map(said).collect())
}

/// How the command ended, where that is not well: a fixer that leaves something to be mended exits with 1.
fn said(report: &CheckReport) -> Vec<String> {
    let ended = |run: &CommandRun| {
        let printed = [&run.stderr, &run.stdout].into_iter().find_map(|text| text.trim().lines().next());
        let printed = printed.map(|line| format!(": {}", cut(line, PRINTED))).unwrap_or_default();
        (run.exit_code != Some(0)).then(|| format!("lint_fix: {}{printed}", run.ending))
    };
    let is_not_run = report.runs.is_empty() && !matches!(report.verdict, CheckVerdict::Pass);
    report.runs.iter().filter_map(ended).chain(is_not_run.then(|| format!("lint_fix: {}", report.summary))).collect()
}

fn left_alone(beside: &[PathBuf]) -> Option<String> {
    let names: Vec<_> = beside.iter().take(BESIDE).map(|path| crate::plan::text(path)).collect();
    let more = beside.len().saturating_sub(BESIDE);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("not of the change, and left as they were: {}{more}", names.join(", ")))
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
