//! The user's work trees: which of them a call or a run is about.

use std::path::Path;
use std::sync::Arc;

use switchboard_process::git::{Head, Oid};
use switchboard_protocol::error::Failure;

use crate::Error;
use crate::port::Git;
use crate::world::World;

/// How the branches begin that our own work trees have checked out.
const OURS: [&str; 2] = ["switchboard/", "switchboard-task/"];

/// The work tree that holds `folder`. The daemon's own where nothing is known of the folder, or where it lies in a tree of ours, where nobody but
/// a worker works.
///
/// # Errors
/// `git.other-repository`, `git.not-a-repository`: the folder is in no work tree of this repository.
pub(crate) async fn holding(world: &World, folder: Option<&Path>) -> Result<Arc<dyn Git>, Error> {
    let Some(folder) = folder.map(Path::to_owned) else { return Ok(Arc::clone(&world.ports.git)) };
    let own = Arc::clone(&world.ports.git);
    let found = world.git(move |git| {
        let tree = git.tree_at(&folder)?;
        Ok((!is_ours(&tree.head()?)).then_some(tree))
    });
    Ok(found.await?.unwrap_or(own))
}

/// Whether a work tree of a run has this checked out.
pub(crate) fn is_ours(head: &Head) -> bool {
    match head {
        Head::Branch { name, .. } | Head::Unborn { name } => is_our_branch(name),
        Head::Detached(_) => false,
    }
}

/// Whether a branch belongs to a run.
pub(crate) fn is_our_branch(name: &str) -> bool {
    OURS.iter().any(|ours| name.starts_with(ours))
}

/// The branch that a work tree has checked out, and its commit.
///
/// # Errors
/// `git.detached`, `git.no-commits`.
pub(crate) fn checked_out(git: &dyn Git) -> Result<(String, Oid), Error> {
    match git.head()? {
        Head::Branch { name, commit } => Ok((name, commit)),
        Head::Detached(commit) => {
            let what = format!("HEAD is detached at {}, so there is no branch to merge into", commit.short());
            Err(Failure::new("git.detached", what).hint("git switch -c NAME").into())
        }
        Head::Unborn { name } => {
            let what = format!("the branch {name} has no commit yet, so there is nothing to work on");
            Err(Failure::new("git.no-commits", what).hint("git commit --allow-empty -m start").into())
        }
    }
}
