//! A run's branch goes into the user's: worked out, recorded as intended, done, recorded as done. It completes, or leaves
//! everything as it was.

use switchboard_process::git::{Author, Head, Merged, Oid};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::RunId;
use switchboard_protocol::verb::run::MergeRunReply;
use switchboard_store::{Batch, Durability, Query, Row};

use crate::error::shape;
use crate::event::{DispatchEvent, cut};
use crate::port::Git;
use crate::work::{RUNS, run_id};
use crate::world::World;
use crate::{Error, authorship, history};

/// A merge that has been worked out and not yet done.
#[derive(Clone)]
struct Move {
    target: String,
    from: Oid,
    to: Oid,
}

pub(crate) async fn merge(world: &World, run: &RunId) -> Result<MergeRunReply, Error> {
    let _one_at_a_time = world.merging.lock().await;
    let row = world.store.get(RUNS, &[run.as_str().into()])?.ok_or_else(|| Error::Missing(run.to_string()))?;
    let (target, branch) = (row.try_text("target")?.to_owned(), row.try_text("branch")?.to_owned());
    let title = format!("Merge {run}: {}", cut(row.try_text("title")?, 60));
    let author = authorship::author("Switchboard", world.store.now());
    let planned = world.git(move |git| work_out(git, target, &branch, &title, &author)).await?;
    if planned.from != planned.to {
        record(world, run, &intended(run, &planned)).await?;
        let go = planned.clone();
        if let Err(error) = world.git(move |git| advance(git, &go)).await {
            let why = cut(&error.to_string(), 300);
            record(world, run, &DispatchEvent::RunMergeAbandoned { run: run.clone(), why }).await?;
            return Err(error);
        }
    }
    let fact = DispatchEvent::RunMerged {
        run: run.clone(),
        target: planned.target.clone(),
        from: planned.from.to_string(),
        to: planned.to.to_string(),
    };
    record(world, run, &fact).await?;
    let done = planned.clone();
    let files = world.git(move |git| git.changed_files(&done.from, &done.to)).await?;
    Ok(MergeRunReply {
        run: run.clone(),
        target: planned.target,
        from: planned.from.to_string(),
        to: planned.to.to_string(),
        files: files.iter().map(|change| crate::plan::text(&change.path)).collect(),
    })
}

fn intended(run: &RunId, planned: &Move) -> DispatchEvent {
    DispatchEvent::RunMergeIntended {
        run: run.clone(),
        target: planned.target.clone(),
        from: planned.from.to_string(),
        to: planned.to.to_string(),
    }
}

fn work_out(git: &dyn Git, target: String, branch: &str, title: &str, author: &Author) -> Result<Move, Error> {
    let missing = |name: &str| Error::from(Failure::new("git.failed", format!("the branch {name} is gone")));
    let from = git.branch(&target)?.ok_or_else(|| missing(&target))?;
    let head = git.branch(branch)?.ok_or_else(|| missing(branch))?;
    let to = if git.is_ancestor(&head, &from)? {
        from.clone()
    } else if git.is_ancestor(&from, &head)? {
        head
    } else {
        match git.merge_tree(&from, &head)? {
            Merged::Clean { tree } => git.commit_tree(&tree, &[&from, &head], author, title)?,
            Merged::Conflict { files } => return Err(conflict(&target, branch, &files)),
        }
    };
    Ok(Move { target, from, to })
}

fn conflict(target: &str, branch: &str, files: &[std::path::PathBuf]) -> Error {
    let names: Vec<_> = files.iter().take(20).map(|file| crate::plan::text(file)).collect();
    let what = format!("merging {branch} into {target} conflicts in {}", names.join(", "));
    Failure::new("dispatch.merge-conflict", what).hint(format!("merge it by hand: git merge {branch}")).into()
}

/// Moves the branch: with index and files where the user has it checked out, else the ref alone.
fn advance(git: &dyn Git, go: &Move) -> Result<(), Error> {
    let is_checked_out = matches!(git.head()?, Head::Branch { name, .. } if name == go.target);
    if is_checked_out {
        git.advance_checkout(&go.target, &go.from, &go.to)?;
    } else {
        git.update_branch(&go.target, &go.to, Some(&go.from))?;
    }
    Ok(())
}

async fn record(world: &World, run: &RunId, fact: &DispatchEvent) -> Result<(), Error> {
    let event = NewEvent::of(fact, history::subject(run), "daemon").map_err(shape("a merge"))?;
    world.commit(Batch::new(Durability::Synced).event(event)).await?;
    Ok(())
}

/// At boot: completes or abandons merges into the user's branch that the last daemon had begun.
pub(crate) async fn settle(world: &World) -> Result<(), Error> {
    for row in world.store.read(&Query::table(RUNS).ne("merging_to", "").asc("seq").limit(1000))? {
        let run = run_id(&row)?;
        let Some(go) = begun(&row)? else { continue };
        let again = go.clone();
        let fact = match world.git(move |git| advance(git, &again)).await {
            Ok(()) => DispatchEvent::RunMerged {
                run: run.clone(),
                target: go.target,
                from: go.from.to_string(),
                to: go.to.to_string(),
            },
            Err(error) => DispatchEvent::RunMergeAbandoned { run: run.clone(), why: cut(&error.to_string(), 300) },
        };
        record(world, &run, &fact).await?;
    }
    Ok(())
}

fn begun(row: &Row) -> Result<Option<Move>, Error> {
    let (Some(from), Some(to)) = (row.get_text("merging_from"), row.get_text("merging_to").filter(|to| !to.is_empty()))
    else {
        return Ok(None);
    };
    Ok(Some(Move { target: row.try_text("target")?.to_owned(), from: Oid::parse(from)?, to: Oid::parse(to)? }))
}
