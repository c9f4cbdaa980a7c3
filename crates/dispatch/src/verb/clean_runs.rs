//! `clean_runs`: work trees and branches that runs have left.

use std::path::PathBuf;

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;
use switchboard_protocol::verb::run::{CleanRunsReply, CleanRunsRequest, LeftOver};
use switchboard_store::{Query, Row};

use super::find_run;
use crate::port::Git;
use crate::work::{RUNS, run_id};
use crate::{Dispatch, Error, history, plan};

/// Runs that are looked at in one call, newest first.
const MAX_RUNS: u64 = 1000;

/// What is to be looked at of one run.
struct Ended {
    run: RunId,
    /// Its branch.
    branch: String,
    /// The user's branch that it was started from.
    target: String,
    /// Folder of all work trees.
    base: PathBuf,
    /// Its tasks, each with its work tree and branch.
    tasks: Vec<(String, PathBuf, String)>,
}

impl Dispatch {
    /// Lists or removes what ended runs have left. What holds work that is merged nowhere is removed only if that is asked for.
    ///
    /// # Errors
    /// An unknown run or one that is at work, a failure of the store or of git.
    pub async fn clean_runs(&self, request: &CleanRunsRequest) -> Result<CleanRunsReply, Error> {
        let mut ended = Vec::new();
        for row in self.ended_rows(request.run.as_deref())? {
            ended.push(self.ended(&row)?);
        }
        // No merge looks at a branch that goes meanwhile.
        let _one_at_a_time = self.world.merging.lock().await;
        let CleanRunsRequest { remove, unmerged, .. } = *request;
        let left = self.world.git(move |git| {
            let mut left = Vec::new();
            for run in &ended {
                let found = found(git, run)?;
                for mut one in found {
                    one.removed = remove && (unmerged || one.unmerged.is_empty());
                    if one.removed {
                        remove_one(git, &one, &run.base)?;
                    }
                    left.push(one);
                }
            }
            Ok(left)
        });
        Ok(CleanRunsReply { left: left.await? })
    }

    fn ended_rows(&self, named: Option<&str>) -> Result<Vec<Row>, Error> {
        let is_live = |row: &Row| row.get_text("state") == Some("running");
        let Some(named) = named else {
            let rows = self.world.store.read(&Query::table(RUNS).desc("seq").limit(MAX_RUNS))?;
            return Ok(rows.into_iter().filter(|row| !is_live(row)).collect());
        };
        let row = find_run(&self.world, Some(named))?;
        if is_live(&row) {
            let what = format!("{} is still at work", run_id(&row)?);
            return Err(Failure::new("dispatch.not-finished", what).hint("stop it first: switchboard stop RUN").into());
        }
        Ok(vec![row])
    }

    fn ended(&self, row: &Row) -> Result<Ended, Error> {
        let run = run_id(row)?;
        let fixed = history::plan(&self.world, &run)?;
        let tasks = fixed.plan.tasks();
        let tasks = tasks.map(|task| (task.id.to_string(), fixed.worktree(&task.id), fixed.task_branch(&task.id)));
        Ok(Ended {
            branch: row.try_text("branch")?.to_owned(),
            target: row.try_text("target")?.to_owned(),
            base: fixed.worktrees.clone(),
            tasks: tasks.collect(),
            run,
        })
    }
}

/// What is there of a run: trees and branches of its tasks, then its own branch.
fn found(git: &dyn Git, ended: &Ended) -> Result<Vec<LeftOver>, Error> {
    let mut found = Vec::new();
    let head = git.branch(&ended.branch)?;
    for (task, path, branch) in &ended.tasks {
        let tip = git.branch(branch)?;
        let tree = git.worktree_tip(path)?;
        if tip.is_none() && tree.is_none() {
            continue;
        }
        let mut unmerged = Vec::new();
        if let Some(tip) = &tip {
            let is_merged = head.as_ref().is_some_and(|head| git.is_ancestor(tip, head).unwrap_or(false));
            if !is_merged && !is_in(git, tip, &ended.target)? {
                unmerged.push(format!("the change {}", tip.short()));
            }
        }
        if tree.is_some() {
            let changes = git.worktree_changes(path)?.len();
            if changes > 0 {
                unmerged.push(format!("{changes} files that are no commit"));
            }
        }
        found.push(LeftOver {
            run: ended.run.clone(),
            task: task.clone(),
            worktree: tree.map(|_| plan::text(path)).unwrap_or_default(),
            branch: tip.map(|_| branch.clone()).unwrap_or_default(),
            unmerged: unmerged.join(", "),
            removed: false,
        });
    }
    if let Some(head) = head {
        let is_merged = is_in(git, &head, &ended.target)?;
        let unmerged = if is_merged { String::new() } else { format!("not merged into {}", ended.target) };
        found.push(LeftOver {
            run: ended.run.clone(),
            task: String::new(),
            worktree: String::new(),
            branch: ended.branch.clone(),
            unmerged,
            removed: false,
        });
    }
    Ok(found)
}

/// Whether a branch of the user's has a commit.
fn is_in(git: &dyn Git, commit: &switchboard_process::git::Oid, branch: &str) -> Result<bool, Error> {
    match git.branch(branch)? {
        Some(tip) => git.is_ancestor(commit, &tip),
        None => Ok(false),
    }
}

fn remove_one(git: &dyn Git, one: &LeftOver, base: &std::path::Path) -> Result<(), Error> {
    if !one.worktree.is_empty() {
        git.worktree_remove(std::path::Path::new(&one.worktree), base)?;
    }
    match git.branch(&one.branch)? {
        Some(tip) => git.delete_branch(&one.branch, &tip),
        None => Ok(()),
    }
}
