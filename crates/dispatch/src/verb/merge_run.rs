//! `merge_run`: the run's branch goes into the user's. It completes, or leaves everything as it was.

use std::sync::Arc;

use switchboard_process::git::{Author, Head, Merged, Oid, Repo};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::RunId;
use switchboard_protocol::run::TaskState;
use switchboard_protocol::verb::run::{MergeRunReply, MergeRunRequest};
use switchboard_store::{Batch, Durability, Query, Row};

use super::{find_run, run_id};
use crate::context::Inner;
use crate::effect::{self, Ctx};
use crate::error::shape;
use crate::event::{DispatchEvent, cut};
use crate::work::RUNS;
use crate::{Dispatch, Error};

impl Dispatch {
    /// Merges a run's branch into the branch that it was started from.
    ///
    /// # Errors
    /// A refusal (unknown, not finished, dirty files in the way, a conflict), or a failure; nothing has changed then.
    pub async fn merge_run(&self, request: &MergeRunRequest) -> Result<MergeRunReply, Error> {
        let row = find_run(&self.inner, request.run.as_deref())?;
        let run = run_id(&row)?;
        if row.try_text("state")? == "running" {
            let what = format!("{run} is still at work");
            return Err(Failure::new("dispatch.not-finished", what)
                .hint(format!("switchboard run --resume {run}"))
                .into());
        }
        merge(&self.inner, &run).await
    }
}

/// A merge that has been worked out and not yet done.
#[derive(Clone)]
struct Move {
    target: String,
    from: Oid,
    to: Oid,
}

pub(crate) async fn merge(inner: &Arc<Inner>, run: &RunId) -> Result<MergeRunReply, Error> {
    let _one_at_a_time = inner.merging.lock().await;
    let row = inner.store.get(RUNS, &[run.as_str().into()])?.ok_or_else(|| Error::Missing(run.to_string()))?;
    let (target, branch) = (row.try_text("target")?.to_owned(), row.try_text("branch")?.to_owned());
    let title = format!("Merge {run}: {}", cut(row.try_text("title")?, 60));
    let author = effect::author("Switchboard", inner.store.now());
    let repo = inner.config.repo.clone();
    let planned = inner.blocking(move || work_out(&repo, target, &branch, &title, &author)).await?;
    if planned.from != planned.to {
        record(inner, run, &intended(run, &planned)).await?;
        let (repo, go) = (inner.config.repo.clone(), planned.clone());
        if let Err(error) = inner.blocking(move || advance(&repo, &go)).await {
            let why = cut(&error.to_string(), 300);
            record(inner, run, &DispatchEvent::RunMergeAbandoned { run: run.clone(), why }).await?;
            return Err(error);
        }
    }
    let fact = DispatchEvent::RunMerged {
        run: run.clone(),
        target: planned.target.clone(),
        from: planned.from.to_string(),
        to: planned.to.to_string(),
    };
    record(inner, run, &fact).await?;
    let (repo, done) = (inner.config.repo.clone(), planned.clone());
    let files = inner.blocking(move || Ok(repo.changed_files(&done.from, &done.to)?)).await?;
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

fn work_out(repo: &Repo, target: String, branch: &str, title: &str, author: &Author) -> Result<Move, Error> {
    let missing = |name: &str| Error::from(Failure::new("git.failed", format!("the branch {name} is gone")));
    let from = repo.branch(&target)?.ok_or_else(|| missing(&target))?;
    let head = repo.branch(branch)?.ok_or_else(|| missing(branch))?;
    let to = if repo.is_ancestor(&head, &from)? {
        from.clone()
    } else if repo.is_ancestor(&from, &head)? {
        head
    } else {
        match repo.merge_tree(&from, &head)? {
            Merged::Clean { tree } => repo.commit_tree(&tree, &[&from, &head], author, title)?,
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
fn advance(repo: &Repo, go: &Move) -> Result<(), Error> {
    let is_checked_out = matches!(repo.head()?, Head::Branch { name, .. } if name == go.target);
    if is_checked_out {
        repo.advance_checkout(&go.target, &go.from, &go.to)?;
    } else {
        repo.update_branch(&go.target, &go.to, Some(&go.from))?;
    }
    Ok(())
}

async fn record(inner: &Inner, run: &RunId, fact: &DispatchEvent) -> Result<(), Error> {
    let event = NewEvent::of(fact, format!("run/{run}"), "daemon").map_err(shape("a merge"))?;
    inner.store.commit(Batch::new(Durability::Synced).event(event)).await?;
    Ok(())
}

/// At boot: completes or abandons merges into the user's branch that the last daemon had begun.
pub(crate) async fn settle(inner: &Arc<Inner>) -> Result<(), Error> {
    for row in inner.store.read(&Query::table(RUNS).ne("merging_to", "").asc("seq").limit(1000))? {
        let run = run_id(&row)?;
        let Some(go) = begun(&row)? else { continue };
        let (repo, again) = (inner.config.repo.clone(), go.clone());
        let fact = match inner.blocking(move || advance(&repo, &again)).await {
            Ok(()) => DispatchEvent::RunMerged {
                run: run.clone(),
                target: go.target,
                from: go.from.to_string(),
                to: go.to.to_string(),
            },
            Err(error) => DispatchEvent::RunMergeAbandoned { run: run.clone(), why: cut(&error.to_string(), 300) },
        };
        record(inner, &run, &fact).await?;
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

/// After a run: removes the work trees and branches of merged tasks, and, when none is left, the file that says how agents
/// are started.
pub(crate) async fn tidy(ctx: &Ctx) {
    let views = match ctx.engine.view().await {
        Ok(views) => views,
        Err(error) => return tracing::debug!(%error, "nothing is tidied"),
    };
    let is_merged = |view: &switchboard_protocol::run::TaskView| matches!(view.state, TaskState::Merged { .. });
    let is_whole = views.iter().all(is_merged);
    let merged = views.into_iter().filter(is_merged);
    let trees: Vec<_> = merged.map(|view| (ctx.plan.worktree(&view.task), ctx.plan.task_branch(&view.task))).collect();
    let (repo, base, run) = (ctx.repo(), ctx.plan.worktrees.clone(), ctx.plan.run.clone());
    let agents = crate::plan::agents_file(&ctx.inner.config, &ctx.plan.run);
    let done = ctx.inner.blocking(move || {
        for (path, branch) in trees {
            repo.worktree_remove(&path, &base)?;
            if let Some(tip) = repo.branch(&branch)? {
                repo.delete_branch(&branch, &tip)?;
            }
        }
        // A retry of what is left needs to know how its agents are started.
        if is_whole {
            crate::files::remove_if_there(&agents)?;
        }
        let folder = base.join(run.as_str());
        match std::fs::remove_dir(&folder) {
            Ok(()) => Ok(()),
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::DirectoryNotEmpty) =>
            {
                Ok(())
            }
            Err(error) => Err(crate::error::io(&folder)(error)),
        }
    });
    if let Err(error) = done.await {
        tracing::warn!(run = %ctx.plan.run, %error, "work trees of merged tasks could not be removed; `switchboard doctor --fix` does it");
    }
}
