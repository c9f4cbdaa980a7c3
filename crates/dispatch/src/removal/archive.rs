//! Archives unmerged work before its removal: its commits and, as one more commit, the content of its work tree, with
//! small ignored files.

use std::path::Path;

use switchboard_process::git::Oid;
use switchboard_protocol::error::Failure;
use switchboard_protocol::time::Millis;

use super::Removal;
use crate::Error;
use crate::authorship::author;
use crate::port::Git;
use crate::port::git::Commit;

/// Name of a run's own branch in the archive: no task has it.
const OF_RUN: &str = "_run";

/// Message of the commit with the content of a work tree.
const MESSAGE: &str = "What stood in the work tree when it was removed";

impl Removal {
    /// Returns the name in the archive: `RUN/TASK`, or `RUN/_run`.
    pub(crate) fn archive_name(&self) -> String {
        let task = self.task.as_ref().map_or(OF_RUN, |task| task.as_str());
        format!("{}/{task}", self.run)
    }

    /// Archives commits and files; returns the tip of the branch afterwards, if there is one.
    pub(super) fn archive(&self, git: &dyn Git) -> Result<Option<Oid>, Error> {
        let tip = (!self.branch.is_empty()).then(|| Oid::parse(&self.commit)).transpose()?;
        let path = Path::new(&self.worktree);
        let of_tree = if self.worktree.is_empty() { None } else { git.worktree_tip(path)? };
        let Some(parent) = tip.clone().or_else(|| of_tree.clone()) else { return Ok(tip) };
        // A tree whose branch is missing gets one for the capture; it is removed with the tree.
        let own = format!("switchboard-task/{}", self.archive_name());
        let branch = if self.branch.is_empty() { own.as_str() } else { self.branch.as_str() };
        let captured = match of_tree {
            Some(_) => {
                let author = author("Switchboard", Millis(0));
                git.capture_whole(path, &Commit { branch, parent: &parent, author: &author, message: MESSAGE })?
            }
            None => None,
        };
        if let Some(captured) = &captured
            && let Some(left) = captured.left_out.first()
        {
            // The tree is kept, so its branch stays where the record has it.
            match self.branch.is_empty() {
                true => git.delete_branch(branch, &captured.commit)?,
                false => git.update_branch(branch, &parent, Some(&captured.commit))?,
            }
            let what =
                format!("{} can't be archived, because it is no file of this repository", crate::plan::text(left));
            let hint = "keep what you need of it, then remove it";
            return Err(Failure::new("dispatch.nested-repository", what).at(&self.worktree).hint(hint).into());
        }
        let commit = captured.map_or(parent, |captured| captured.commit);
        git.archive(&self.archive_name(), &commit)?;
        let stands = git.branch(branch)?;
        if !self.branch.is_empty() {
            return Ok(stands);
        }
        stands.map_or(Ok(()), |at| git.delete_branch(branch, &at))?;
        Ok(None)
    }
}
