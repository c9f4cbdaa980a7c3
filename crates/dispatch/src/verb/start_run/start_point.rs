//! Where a run starts from: what git says of the user's work tree, and of the branch or commit that was named.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_pipeline::settings;
use switchboard_process::git::Oid;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::{Failure, near_matches};
use switchboard_protocol::plan::Plan;
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::run::StartRunRequest;

use crate::port::Git;
use crate::world::World;
use crate::{Error, plan, setup, user_tree};

/// Where a run starts from.
pub(super) struct StartPoint {
    /// The branch that the run is merged into.
    pub(super) target: String,
    pub(super) base: Oid,
    /// Name of the user's work tree.
    pub(super) tree: String,
    /// Folder for all work trees, and who named it.
    pub(super) worktrees: (PathBuf, String),
    /// Tracked lock files, where they say what new work trees are set up with.
    pub(super) locks: Vec<String>,
    /// Files with changes of the user, where tasks declare what they write.
    pub(super) dirty: Vec<String>,
}

// === impl StartPoint ===

impl StartPoint {
    /// Asks git what the run needs to know, all at once; each answer is a process.
    pub(super) async fn look(
        world: &World,
        tree: &Arc<dyn Git>,
        plan: &Plan,
        request: &StartRunRequest,
    ) -> Result<Self, Error> {
        let worktrees = worktrees(world, request.worktrees.as_deref()).await?;
        let base = request.base.as_deref();
        let is_set_up_by_locks = switchboard_pipeline::setup::planned(plan).is_none();
        let declares_writes = plan.tasks().any(|task| !settings::writes(plan, task).is_empty());
        let (named, of_locks) = (base.map(str::to_owned), base.map(str::to_owned));
        let ((target, base), locks, dirty) = tokio::try_join!(
            world.git_on(tree, move |git| start(git, named.as_deref())),
            world.git_on(tree, move |git| match (is_set_up_by_locks, of_locks) {
                (false, _) => Ok(Vec::new()),
                (true, None) => setup::lock_files(git),
                (true, Some(base)) => match git.rev_parse(&base)? {
                    Some(base) => setup::lock_files_at(git, &base),
                    None => Ok(Vec::new()),
                },
            }),
            world.git_on(tree, move |git| if declares_writes { git.dirty() } else { Ok(Vec::new()) }),
        )?;
        let dirty = dirty.iter().map(|path| plan::text(path)).collect();
        Ok(Self { target, base, tree: tree.tree_name(), worktrees, locks, dirty })
    }
}

/// The work tree that a request is about: the one that it names, else the one that its caller stands in.
///
/// # Errors
/// `request.bad-args` at `base_path`, `git.other-repository`, `git.not-a-repository`.
pub(super) async fn tree(world: &World, request: &StartRunRequest, caller: &Caller) -> Result<Arc<dyn Git>, Error> {
    let Some(named) = &request.base_path else { return user_tree::holding(world, caller.folder.as_deref()).await };
    if !Path::new(named).is_absolute() {
        let what = format!("the folder {} is not an absolute path", cut(named, 100));
        return Err(Failure::new("request.bad-args", what).at("base_path").into());
    }
    let (folder, own) = (PathBuf::from(named), Arc::clone(&world.ports.git));
    let tree = world.git_on(&own, move |git| git.tree_at(&folder)).await?;
    if world.git_on(&tree, |git| Ok(user_tree::is_ours(&git.head()?))).await? {
        let what = format!("{} is a work tree of a run, which nobody but its worker works in", cut(named, 100));
        return Err(Failure::new("request.bad-args", what).at("base_path").into());
    }
    Ok(tree)
}

/// The folder for work trees, and who named it: the request, a settings file, or nobody.
async fn worktrees(world: &World, named: Option<&str>) -> Result<(PathBuf, String), Error> {
    let bad = |folder: &str| {
        let what = "the folder for work trees must be an absolute path";
        Err(Failure::new("config.bad-value", what).at(folder).into())
    };
    if let Some(folder) = named {
        let path = PathBuf::from(folder);
        return if path.is_absolute() { Ok((path, "request".to_owned())) } else { bad(folder) };
    }
    let read = world.config.named_worktrees.clone();
    match world.blocking(move || Ok((read.0)()?)).await? {
        Some((folder, file)) => Ok((folder, plan::text(&file))),
        None => Ok((world.config.worktrees.clone(), "default".to_owned())),
    }
}

/// The branch that a run is merged into, and the commit that it starts at.
fn start(git: &dyn Git, named: Option<&str>) -> Result<(String, Oid), Error> {
    let Some(named) = named else { return user_tree::checked_out(git) };
    let Some(base) = git.rev_parse(named)? else { return Err(unknown(git, named)?.into()) };
    // A branch of a run is a commit to start at: nobody wants to merge into it.
    let is_branch = !user_tree::is_our_branch(named) && git.names()?.iter().any(|name| name == named);
    if is_branch && git.branch(named)?.is_some() {
        return Ok((named.to_owned(), base));
    }
    Ok((user_tree::checked_out(git)?.0, base))
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
        let (checked_out, head) = user_tree::checked_out(repo).unwrap();
        repo.update_branch("release", &first, None).unwrap();
        repo.update_branch("switchboard/run_1", &first, None).unwrap();

        assert_eq!(start(repo, None).unwrap(), (checked_out.clone(), head.clone()));
        assert_eq!((start(repo, Some("HEAD")).unwrap(), &head), ((checked_out.clone(), head.clone()), &last));
        assert_eq!(start(repo, Some("release")).unwrap(), ("release".to_owned(), first.clone()));
        assert_eq!(start(repo, Some("switchboard/run_1")).unwrap(), (checked_out.clone(), first.clone()));
        assert_eq!(start(repo, Some(first.short())).unwrap(), (checked_out, first));
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
}
