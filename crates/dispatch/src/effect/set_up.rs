//! Prepares a new work tree for its worker: copies the ignored files that the repository lists, and runs the set-up
//! command.
//!
//! A tree that is set up is left alone, unless what its set-up depends on has changed. Whatever a set-up leaves must be
//! ignored by git: otherwise it would be captured as the worker's change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use switchboard_pipeline::setup::locks;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::Digest;
use switchboard_protocol::run::SetupCommand;
use switchboard_protocol::text::listed;
use switchboard_protocol::worker::PortRange;

use super::context::Ctx;
use crate::error::shape;
use crate::json;
use crate::port::setups::{SetupCall, SetupEnd};
use crate::{Error, plan, setup};

/// Maximum number of paths named in a failure.
const MAX_NAMED: usize = 5;

/// Work tree as it was made or found.
pub(super) struct MadeTree {
    pub(super) path: PathBuf,
    /// True if the tree did not exist before.
    pub(super) is_new: bool,
    /// True if the tree matches a commit, apart from what git ignores.
    pub(super) is_clean: bool,
}

/// Tree to be set up, with its mark and files.
pub(super) struct TreeSetup {
    /// Mark by which a daemon finds and ends processes left by the set-up of a daemon that died.
    pub(super) mark: String,
    pub(super) ports: Option<PortRange>,
    /// Time limit of each command.
    pub(super) limit: Duration,
    /// File that records what the set-up depended on when it succeeded.
    pub(super) stamp: PathBuf,
    /// File for the output of the set-up commands.
    pub(super) log: PathBuf,
    pub(super) tree: MadeTree,
}

/// Sets a tree up, unless `stopped` returns first; returns the reason if the tree can't be used.
///
/// # Errors
/// [`Error::Stopping`] if the daemon shuts down meanwhile; an error if the worker was stopped; a failure of git or of a
/// file.
pub(super) async fn set_up(
    ctx: &Ctx,
    place: TreeSetup,
    stopped: impl Future<Output = ()>,
) -> Result<Option<String>, Error> {
    let TreeSetup { mark, ports, limit, stamp, log, tree } = place;
    let mut stopped = std::pin::pin!(stopped);
    if tree.is_new {
        // What is left out was said before the run started.
        let left_out = copy_included(ctx, &tree.path).await?;
        tracing::debug!(run = %ctx.plan.run, tree = %tree.path.display(), ?left_out, "the files of .worktreeinclude are copied");
    }
    let commands = ctx.plan.setup.clone();
    if commands.is_empty() {
        return Ok(None);
    }
    let depends_on = digest(ctx, &commands, &tree.path).await?;
    if !tree.is_new && is_stamped(ctx, &stamp, &depends_on).await? {
        return Ok(None);
    }
    let mut env = ctx.world.config.env.clone();
    env.extend(setup_env(ctx).await?);
    env.extend(ports.into_iter().flat_map(PortRange::env));
    env.push(("SWITCHBOARD_WORKER".to_owned(), mark));
    for command in commands {
        if is_out_of_place(ctx, &command, &tree.path).await? {
            continue;
        }
        let (argv, cwd) = (command.argv.clone(), tree.path.join(folder_of(&command)));
        let call = SetupCall { argv, cwd, env: env.clone(), limit, log: log.clone() };
        let ended = tokio::select! {
            biased;
            ended = ctx.world.ports.setups.run(call) => ended?,
            () = &mut stopped => return Err(Failure::new("worker.lost", "it was stopped before it began").into()),
            () = ctx.world.is_ending() => return Err(Error::Stopping),
        };
        #[cfg(any(test, feature = "sim"))]
        let ended = match ctx.world.has_defect(crate::simulate::Defect::SkipsSetup) {
            true => SetupEnd::Succeeded,
            false => ended,
        };
        if let SetupEnd::Failed { how, tail } = ended {
            ctx.has_room(&tree.path)?;
            let shown = setup::shown(&command.argv);
            return Ok(Some(format!(
                "set-up of the work tree: `{shown}` {how}: {tail} (log: {}) [dispatch.setup]",
                log.display()
            )));
        }
    }
    if let Some(why) = left_behind(ctx, &tree).await? {
        return Ok(Some(why));
    }
    let (files, text) = (Arc::clone(&ctx.world.ports.files), depends_on.to_string());
    ctx.world.blocking(move || files.write(&stamp, text.as_bytes())).await?;
    Ok(None)
}

/// Returns the variables that the command which started the run passes to set-ups.
async fn setup_env(ctx: &Ctx) -> Result<Vec<(String, String)>, Error> {
    let (path, files) = (plan::setup_env_file(&ctx.world.config, &ctx.plan.run), Arc::clone(&ctx.world.ports.files));
    match ctx.world.blocking(move || files.read(&path)).await? {
        Some(bytes) => json::from_slice(&bytes).map_err(shape("setup-env.json")),
        None => Ok(Vec::new()),
    }
}

/// Copies the files named by `.worktreeinclude`; returns those left out, with the reason.
async fn copy_included(ctx: &Ctx, tree: &Path) -> Result<Vec<String>, Error> {
    let (setups, tree, from) = (Arc::clone(&ctx.world.ports.setups), tree.to_owned(), ctx.plan.tree.clone());
    let copied = ctx.world.git(move |git| {
        let users = git.tree_named(&from)?;
        let included = setup::included(&*users, &*setups)?;
        setups.copy(users.root(), &tree, included)
    });
    copied.await
}

/// Returns the digest of what a set-up depends on: its commands, and the lock files in the tree.
async fn digest(ctx: &Ctx, commands: &[SetupCommand], tree: &Path) -> Result<Digest, Error> {
    let (files, tree) = (Arc::clone(&ctx.world.ports.files), tree.to_owned());
    let chosen: Vec<_> = commands.iter().filter_map(|command| command.lock.clone()).collect();
    let read = ctx.world.blocking(move || {
        let below = chosen.into_iter().filter(|lock| lock.contains('/'));
        let locks = locks().map(str::to_owned).chain(below);
        locks.map(|lock| files.read(&tree.join(lock))).collect::<Result<Vec<_>, Error>>()
    });
    let read: Vec<Option<Vec<u8>>> = read.await?;
    let parts = read.iter().map(|content| content.as_deref().unwrap_or_default());
    let words = serde_json::to_vec(commands).map_err(crate::error::shape("a set-up"))?;
    let parts: Vec<&[u8]> = [words.as_slice()].into_iter().chain(parts).collect();
    Ok(Digest::of_parts(&parts))
}

async fn is_stamped(ctx: &Ctx, stamp: &Path, depends_on: &Digest) -> Result<bool, Error> {
    let (files, stamp) = (Arc::clone(&ctx.world.ports.files), stamp.to_owned());
    let text = ctx.world.blocking(move || files.read(&stamp)).await?;
    Ok(text.is_some_and(|text| text == depends_on.to_string().as_bytes()))
}

/// Returns the folder in a tree in which a command runs: that of its lock file.
fn folder_of(command: &SetupCommand) -> &Path {
    command.lock.as_deref().and_then(|lock| Path::new(lock).parent()).unwrap_or(Path::new(""))
}

/// Returns true if a command depends on a lock file that is missing in the tree, or that is reached by a link out of
/// the tree.
async fn is_out_of_place(ctx: &Ctx, command: &SetupCommand, tree: &Path) -> Result<bool, Error> {
    let Some(lock) = &command.lock else { return Ok(false) };
    let (setups, tree, lock) = (Arc::clone(&ctx.world.ports.setups), tree.to_owned(), lock.clone());
    ctx.world.blocking(move || Ok(!setups.has_file(&tree, &lock))).await
}

/// Returns the changes that git sees after a set-up in a tree that was clean before, as a reason.
async fn left_behind(ctx: &Ctx, tree: &MadeTree) -> Result<Option<String>, Error> {
    if !tree.is_clean {
        return Ok(None);
    }
    let path = tree.path.clone();
    let changes = ctx.world.git(move |git| git.worktree_changes(&path)).await?;
    if changes.is_empty() {
        return Ok(None);
    }
    let named = listed(changes.iter().map(|path| plan::text(path)), MAX_NAMED);
    Ok(Some(format!(
        "set-up of the work tree left what git does not ignore, so that it would be taken for the agent's change: {named}; \
         name it in .gitignore, or have the set-up command remove it [dispatch.setup]"
    )))
}
