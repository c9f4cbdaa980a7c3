//! Start point of a run: facts from git about the user's work tree, and about the named branch or commit.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_pipeline::settings;
use switchboard_process::git::Oid;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::error::Failure;
use switchboard_protocol::plan::Plan;
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::run::StartRunRequest;

use crate::port::Git;
use crate::world::World;
use crate::{Error, plan, setup, user_tree};

/// Source of the folder for work trees if neither request nor settings name one.
const DEFAULT: &str = "default";

/// Start point of a run.
pub(super) struct StartPoint {
    /// Branch that the run is merged into.
    pub(super) target: String,
    pub(super) base: Oid,
    /// Name of the user's work tree.
    pub(super) tree: String,
    /// Folder for all work trees, and who named it.
    pub(super) worktrees: (PathBuf, String),
    /// Tracked lock files, if they determine the set-up of new work trees.
    pub(super) locks: Vec<String>,
    /// Files with uncommitted changes of the user, if tasks declare what they write.
    pub(super) dirty: Vec<String>,
}

// === impl StartPoint ===

impl StartPoint {
    /// Reads all facts that the run needs from git at once; each is a process.
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
        let ((target, base), locks, dirty, ()) = tokio::try_join!(
            world.git_on(tree, move |git| user_tree::start(git, named.as_deref())),
            world.git_on(tree, move |git| match (is_set_up_by_locks, of_locks) {
                (false, _) => Ok(Vec::new()),
                (true, None) => setup::lock_files(git),
                (true, Some(base)) => match git.rev_parse(&base)? {
                    Some(base) => setup::lock_files_at(git, &base),
                    None => Ok(Vec::new()),
                },
            }),
            world.git_on(tree, move |git| if declares_writes { git.dirty() } else { Ok(Vec::new()) }),
            world.git_on(tree, room_for_branches),
        )?;
        let dirty = dirty.iter().map(|path| plan::text(path)).collect();
        Ok(Self { target, base, tree: tree.tree_name(), worktrees, locks, dirty })
    }

    /// Creates the named folder for work trees, so that a run that could not create a tree in it is refused. A full
    /// disk is no reason to refuse: the run waits for room.
    ///
    /// # Errors
    /// `config.bad-value` at the folder.
    pub(super) async fn make_folder(&self, world: &World) -> Result<(), Error> {
        if self.worktrees.1 == DEFAULT {
            return Ok(());
        }
        let folder = self.worktrees.0.clone();
        let made = world.blocking(move || {
            Ok(match is_in_git_folder(&folder) {
                true => None,
                false => Some(std::fs::create_dir_all(&folder)),
            })
        });
        let Some(made) = made.await? else {
            let what = "the folder for work trees lies in a folder of git's own";
            return Err(Failure::new("config.bad-value", what).at(plan::text(&self.worktrees.0)).into());
        };
        let Err(error) = made else { return Ok(()) };
        if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
            return Ok(());
        }
        let what = format!("the folder for work trees can't be made: {error}");
        Err(Failure::new("config.bad-value", what).at(plan::text(&self.worktrees.0)).into())
    }
}

/// Refuses a repository in which a branch of the user leaves no room for those of a run.
fn room_for_branches(git: &dyn Git) -> Result<(), Error> {
    let Some(name) = git.branch_in_the_way()? else { return Ok(()) };
    let what = format!("there is a branch {name}, and git can't hold {name}/RUN beside it");
    Err(Failure::new("dispatch.worktree", what).hint(format!("rename it: git branch -m {name} NAME")).into())
}

/// Returns the work tree of a request: the one that it names, else the caller's.
///
/// # Errors
/// `request.bad-args` at `base_path`, `git.other-repository`, `git.not-a-repository`.
pub(crate) async fn tree(world: &World, request: &StartRunRequest, caller: &Caller) -> Result<Arc<dyn Git>, Error> {
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

/// Returns true if a folder, which need not exist, is one in which git keeps a repository, or lies below one.
fn is_in_git_folder(folder: &Path) -> bool {
    let exists = folder.ancestors().find_map(|folder| folder.canonicalize().ok());
    let is_git_folder = |folder: &Path| {
        folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir()
    };
    exists.is_some_and(|folder| folder.ancestors().any(is_git_folder))
}

/// Returns the folder for work trees, and its source: the request, a settings file, or the default.
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
        None => Ok((world.config.worktrees.clone(), DEFAULT.to_owned())),
    }
}
