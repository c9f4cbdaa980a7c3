//! The user's work trees: finds the one that a call or a run concerns.

use std::path::Path;
use std::sync::Arc;

use switchboard_process::git::{Head, Oid};
use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::text::cut;

use crate::Error;
use crate::port::Git;
use crate::world::World;

/// Prefixes of the branches that our own work trees have checked out.
const OURS: [&str; 2] = ["switchboard/", "switchboard-task/"];

/// Returns the work tree that contains `folder`. Without a folder, or if it lies in one of our trees, where only
/// workers work, returns the daemon's own.
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

/// Returns true if this is checked out by a work tree of a run.
pub(crate) fn is_ours(head: &Head) -> bool {
    match head {
        Head::Branch { name, .. } | Head::Unborn { name } => is_our_branch(name),
        Head::Detached(_) => false,
    }
}

/// Returns true if a branch belongs to a run.
pub(crate) fn is_our_branch(name: &str) -> bool {
    OURS.iter().any(|ours| name.starts_with(ours))
}

/// Returns the branch that a work tree has checked out, and its commit.
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

/// Returns the branch that a run is merged into, and its start commit: of the named branch or commit, else of what is
/// checked out.
///
/// # Errors
/// `git.unknown-revision` at `base`; those of [`checked_out`].
pub(crate) fn start(git: &dyn Git, named: Option<&str>) -> Result<(String, Oid), Error> {
    let Some(named) = named else { return checked_out(git) };
    let Some(base) = git.rev_parse(named)? else { return Err(unknown(git, named)?.into()) };
    let names = git.names()?;
    let is_name = |named: &str| names.iter().any(|name| name == named);
    let short = named.strip_prefix("refs/").unwrap_or(named).strip_prefix("heads/");
    let named = if is_name(named) { named } else { short.unwrap_or(named) };
    // A branch of a run is only used as a start commit: it is no target of a merge.
    let is_branch = !is_our_branch(named) && is_name(named);
    if is_branch && git.branch(named)?.is_some() {
        return Ok((named.to_owned(), base));
    }
    Ok((checked_out(git)?.0, base))
}

fn unknown(git: &dyn Git, named: &str) -> Result<Failure, Error> {
    let names = git.names()?;
    let what = format!("there is no branch, tag or commit {}", cut(named, 100));
    let hint = match near_matches(named, names.iter().map(String::as_str)).first() {
        Some(near) => format!("did you mean {near}?"),
        None => "git branch --all".to_owned(),
    };
    Ok(Failure::new("git.unknown-revision", what).at("base").hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Repository;

    #[test]
    fn a_branch_is_started_at_and_merged_into_and_a_commit_is_started_at() {
        let repository = Repository::new();
        let (first, last) = (repository.commit("first"), repository.commit("last"));
        let repo = &repository.repo;
        let (checked_out, head) = checked_out(repo).unwrap();
        repo.update_branch("release", &first, None).unwrap();
        repo.update_branch("switchboard/run_1", &first, None).unwrap();

        assert_eq!(start(repo, None).unwrap(), (checked_out.clone(), head.clone()));
        assert_eq!((start(repo, Some("HEAD")).unwrap(), &head), ((checked_out.clone(), head.clone()), &last));
        assert_eq!(start(repo, Some("release")).unwrap(), ("release".to_owned(), first.clone()));
        assert_eq!(start(repo, Some("refs/heads/release")).unwrap(), ("release".to_owned(), first.clone()));
        assert_eq!(start(repo, Some("switchboard/run_1")).unwrap(), (checked_out.clone(), first.clone()));
        assert_eq!(start(repo, Some(first.short())).unwrap(), (checked_out, first));
    }

    #[test]
    fn a_branch_whose_name_begins_with_heads_is_that_branch() {
        let repository = Repository::new();
        let (first, repo) = (repository.commit("first"), &repository.repo);
        repository.commit("last");
        repo.update_branch("heads/next", &first, None).unwrap();

        assert_eq!(start(repo, Some("heads/next")).unwrap(), ("heads/next".to_owned(), first));
    }

    #[test]
    fn a_name_that_is_not_there_is_refused_with_what_is_spelt_nearly_so() {
        let repository = Repository::new();
        let first = repository.commit("first");
        repository.repo.update_branch("release", &first, None).unwrap();

        for (name, hint) in
            [("relaese", "did you mean release?"), ("--all", "git branch --all"), ("", "git branch --all")]
        {
            let failure = start(&repository.repo, Some(name)).unwrap_err().to_failure();
            assert_eq!(
                (failure.code.as_str(), failure.place.as_str(), failure.hint.as_str()),
                ("git.unknown-revision", "base", hint)
            );
        }
    }

    #[tokio::test]
    async fn a_folder_stands_for_its_work_tree_unless_that_is_a_runs() {
        let at = crate::effect::tests::Stand::new(|_| {});
        let (git, trees) = (&at.ctx.world.ports.git, &at.ctx.plan.worktrees);
        for (tree, branch) in [("theirs", "feature"), ("ours", "switchboard-task/run_1/1.1")] {
            git.worktree_add(&trees.join(tree), branch, &at.first, &[]).unwrap();
            std::fs::create_dir(trees.join(tree).join("deep")).unwrap();
        }

        let [theirs, ours] = ["theirs", "ours"].map(|tree| trees.join(tree));
        for (folder, root) in [
            (None, &at.folder),
            (Some(at.folder.clone()), &at.folder),
            (Some(theirs.join("deep")), &theirs),
            (Some(ours.join("deep")), &at.folder),
        ] {
            let found = holding(&at.ctx.world, folder.as_deref()).await.unwrap();
            assert_eq!(found.root(), root, "{folder:?}");
        }
    }

    #[test]
    fn only_branches_of_runs_are_ours() {
        let commit = Oid::parse(&"1".repeat(40)).unwrap();
        let on = |name: &str| {
            [Head::Branch { name: name.to_owned(), commit: commit.clone() }, Head::Unborn { name: name.to_owned() }]
        };

        for name in ["switchboard/run_1", "switchboard-task/run_1/1.1"] {
            assert_eq!(on(name).map(|head| is_ours(&head)), [true, true]);
        }
        assert_eq!(on("main").map(|head| is_ours(&head)), [false, false]);
        assert!(!is_ours(&Head::Detached(commit.clone())));
    }
}
