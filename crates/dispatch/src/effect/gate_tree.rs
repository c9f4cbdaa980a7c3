//! Work tree in which gates judge: a checkout of our own of the captured commit, to which no worker has ever written.
//!
//! A run has as many gate trees as judge at the same time. A tree is reused, with what git ignores in it (build
//! outputs, installed packages), only if its last use was by the same attempt, or by a change that has passed its gates
//! and is in the run's branch by now. Otherwise it is removed and made anew: what a refused change left there could
//! make the next one pass.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use switchboard_process::git::Oid;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;

use super::context::Ctx;
use super::judged::Judged;
use super::set_up::{MadeTree, TreeSetup, set_up};
use crate::gate_trees::Slot;
use crate::port::{Files, Git};
use crate::{Error, plan};

/// Checkout held exclusively until it is dropped.
pub(super) struct GateTree {
    pub(super) path: PathBuf,
    stamp: PathBuf,
    judged: Stamp,
    _slot: Slot,
}

/// Last change that ran in a gate tree and passed. Without a stamp, the content of the tree is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    run: RunId,
    task: TaskId,
    attempt: u32,
    commit: String,
}

// === impl GateTree ===

impl GateTree {
    /// Checks the change out in a tree that no other gate uses now, and sets the tree up.
    ///
    /// # Errors
    /// `dispatch.setup` if the tree can't be set up; [`Error::Stopping`]; a failure of git or of a file.
    pub(super) async fn check_out(ctx: &Ctx, change: Judged<'_>) -> Result<Self, Error> {
        let slot = ctx.world.gate_trees.take(&ctx.plan.run);
        let path = ctx.plan.gate_tree(slot.number());
        let places = plan::gate_tree_files(&ctx.world.config, &ctx.plan.run, slot.number());
        let judged = Stamp {
            run: ctx.plan.run.clone(),
            task: change.task.clone(),
            attempt: change.attempt,
            commit: change.commit.to_owned(),
        };
        let tree = Making {
            path: path.clone(),
            base: ctx.plan.worktrees.clone(),
            branch: ctx.plan.branch.clone(),
            commit: Oid::parse(change.commit)?,
            stamp: places.stamp.clone(),
            judged: judged.clone(),
        };
        let files = Arc::clone(&ctx.world.ports.files);
        let tree = ctx.world.git(move |git| tree.make(git, &*files)).await?;
        ctx.world.crash("gate-tree-made");
        let (_, settings) = ctx.plan.settings(change.task)?;
        let place = TreeSetup {
            mark: format!("gates-{}-{}", ctx.plan.run, slot.number()),
            ports: ctx.world.tree_ports.of(&ctx.plan.run, change.tree_of),
            limit: Duration::from_millis(settings.setup_ms),
            stamp: places.set_up,
            log: places.log,
            tree,
        };
        if let Some(reason) = set_up(ctx, place, std::future::pending()).await? {
            return Err(Failure::new("dispatch.setup", format!("the gates' {reason}")).into());
        }
        Ok(Self { path, stamp: places.stamp, judged, _slot: slot })
    }

    /// Marks the tree as reusable, because the change passed all gates.
    pub(super) async fn passed(self, ctx: &Ctx) -> Result<(), Error> {
        let text = serde_json::to_vec(&self.judged).map_err(crate::error::shape("what a gate tree was used for"))?;
        let files = Arc::clone(&ctx.world.ports.files);
        ctx.world.blocking(move || files.write(&self.stamp, &text)).await
    }
}

/// Gate tree to be made or reused.
struct Making {
    path: PathBuf,
    /// Folder of all work trees.
    base: PathBuf,
    /// Name of the run's branch.
    branch: String,
    commit: Oid,
    stamp: PathBuf,
    judged: Stamp,
}

// === impl Making ===

impl Making {
    fn make(self, git: &dyn Git, files: &dyn Files) -> Result<MadeTree, Error> {
        if let Some(parent) = self.path.parent() {
            files.make_folder(parent)?;
        }
        let stamp = files.read(&self.stamp)?;
        // Removed first: until the change has passed, it is unknown what has run in the tree.
        files.remove(&self.stamp)?;
        let last: Option<Stamp> = stamp.and_then(|text| serde_json::from_slice(&text).ok());
        let is_kept = match &last {
            Some(last) => self.is_same_attempt(last) || self.is_in_branch(git, last)?,
            None => false,
        };
        if !is_kept {
            git.worktree_remove(&self.path, &self.base)?;
        }
        git.worktree_detached(&self.path, &self.commit)?;
        Ok(MadeTree { path: self.path, is_new: !is_kept, is_clean: true })
    }

    fn is_same_attempt(&self, last: &Stamp) -> bool {
        let Stamp { run, task, attempt, commit: _ } = &self.judged;
        (&last.run, &last.task, &last.attempt) == (run, task, attempt)
    }

    /// Returns true if the change judged last has been merged into the run's branch.
    fn is_in_branch(&self, git: &dyn Git, last: &Stamp) -> Result<bool, Error> {
        let (Ok(commit), Some(head)) = (Oid::parse(&last.commit), git.branch(&self.branch)?) else { return Ok(false) };
        git.is_ancestor(&commit, &head)
    }
}
