//! Merges a change into the run's branch: one ref moves, or nothing does. No work tree is involved.

use switchboard_process::git::{Author, Merged, Oid};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{PauseCause, RunEvent};

use super::author::of_change;
use super::context::Ctx;
use crate::Error;
use crate::authorship::message;
use crate::backoff::Backoff;
use crate::event::cut;
use crate::port::Git;

/// Maximum number of restarts of a merge because the branch moved meanwhile; only a person can move it.
const MOVES: u32 = 5;

/// Maximum number of tries when git fails at a merge: about ten seconds, with the pauses between them.
const TRIES: u32 = 10;

/// Change to be merged.
#[derive(Clone, Copy)]
pub(super) struct Captured<'a> {
    pub(super) task: &'a TaskId,
    pub(super) attempt: u32,
    pub(super) commit: &'a str,
    /// Parent of the change's commit; empty in runs that were recorded before ways.
    pub(super) base: &'a str,
}

/// Merges a captured change. `begun` is the branch's head when an earlier daemon began this merge.
pub(super) async fn merge(ctx: &Ctx, captured: Captured<'_>, begun: Option<String>) -> Result<RunEvent, Error> {
    let Captured { task: id, attempt, commit, base } = captured;
    let (task, settings) = ctx.plan.settings(id)?;
    let commit = Oid::parse(commit)?;
    let job = Job {
        branch: ctx.plan.branch_into(id),
        author: of_change(ctx, id, &settings, &commit).await?,
        commit,
        message: message(&ctx.plan.run, &task, attempt),
        is_based: !base.is_empty(),
        is_whole: ctx.plan.is_landing(id),
        #[cfg(any(test, feature = "sim"))]
        is_blind: ctx.world.has_defect(crate::simulate::Defect::MergesTwice),
    };
    let onto = match begun {
        Some(onto) => onto,
        None => {
            let branch = job.branch.clone();
            let head = ctx.world.git(move |git| head(git, &branch)).await?.to_string();
            if !base.is_empty() && head != base {
                return Ok(RunEvent::BranchMoved { task: id.clone(), from: base.to_owned(), head });
            }
            if let Some(held) = super::lease::held(ctx, captured).await? {
                return Ok(held);
            }
            intend(ctx, captured, head).await?
        }
    };
    let done = carry_out(ctx, id, &job, &Oid::parse(&onto)?).await?;
    ctx.world.crash("merge-done");
    Ok(match done {
        Done::Merged(commit) => RunEvent::TaskMerged { task: id.clone(), attempt, commit: commit.to_string() },
        Done::Conflict(files) => RunEvent::MergeConflicted { task: id.clone(), attempt, files },
        Done::Moved(head) if !base.is_empty() => {
            RunEvent::BranchMoved { task: id.clone(), from: base.to_owned(), head: head.to_string() }
        }
        Done::Moved(_) => {
            let why = format!(
                "the branch {} keeps moving: leave it alone while the run is at work",
                ctx.plan.branch_into(id)
            );
            RunEvent::MergeConflicted { task: id.clone(), attempt, files: vec![why] }
        }
    })
}

/// Merges onto a head. The merge's intent is recorded by now, and nothing else takes the task out of that state. So a
/// failure of git is retried, and finally given up as a conflict.
async fn carry_out(ctx: &Ctx, id: &TaskId, job: &Job, onto: &Oid) -> Result<Done, Error> {
    let mut backoff = Backoff::default();
    let (mut tries, mut has_paused) = (0, false);
    loop {
        let (work, onto) = (job.clone(), onto.clone());
        let error = match ctx.world.git(move |git| work.merge_where_it_stands(git, onto)).await {
            Err(Error::Stopping) => return Err(Error::Stopping),
            Err(error) => error,
            Ok(done) => return Ok(done),
        };
        if error.is_disk_full() {
            // The intent is recorded, so it ends here even while the run is paused.
            if !std::mem::replace(&mut has_paused, true) {
                ctx.engine.step(RunEvent::RunPaused { cause: PauseCause::Disk }).await?;
            }
        } else {
            tries += 1;
        }
        if tries == TRIES {
            let why = cut(&error.to_failure().to_string(), 300);
            return Ok(Done::Conflict(vec![format!("git can't merge it: {why}")]));
        }
        tracing::warn!(task = %id, %error, "a merge is tried again");
        tokio::time::sleep(backoff.next()).await;
    }
}

async fn intend(ctx: &Ctx, captured: Captured<'_>, onto: String) -> Result<String, Error> {
    let (task, commit) = (captured.task.clone(), captured.commit.to_owned());
    let intent = RunEvent::MergeIntended { task, attempt: captured.attempt, commit, onto: onto.clone() };
    ctx.engine.step(intent).await?;
    ctx.world.crash("merge-intended");
    Ok(onto)
}

#[derive(Clone)]
struct Job {
    branch: String,
    commit: Oid,
    author: Author,
    message: String,
    /// True if the change is based on the head on which it was judged, so that it must not be merged onto another.
    is_based: bool,
    /// True if it is the work of a group, whose commits are kept.
    is_whole: bool,
    #[cfg(any(test, feature = "sim"))]
    is_blind: bool,
}

enum Done {
    Merged(Oid),
    Conflict(Vec<String>),
    /// The branch is at another commit.
    Moved(Oid),
}

// === impl Job ===

impl Job {
    /// Merges onto `onto`. If the branch moved meanwhile, the change of a run recorded before ways is merged onto its
    /// new head.
    fn merge_where_it_stands(&self, git: &dyn Git, mut onto: Oid) -> Result<Done, Error> {
        let tries = if self.is_based { 1 } else { MOVES };
        for _ in 0..tries {
            match self.merge(git, &onto)? {
                Done::Moved(head) => onto = head,
                done @ (Done::Merged(_) | Done::Conflict(_)) => return Ok(done),
            }
        }
        Ok(Done::Moved(onto))
    }

    fn merge(&self, git: &dyn Git, onto: &Oid) -> Result<Done, Error> {
        let tree = match git.merge_tree(onto, &self.commit)? {
            Merged::Clean { tree } => tree,
            Merged::Conflict { files } => {
                return Ok(Done::Conflict(files.iter().map(|file| crate::plan::text(file)).collect()));
            }
        };
        if tree == git.tree_of(onto)? {
            return Ok(Done::Merged(onto.clone()));
        }
        #[cfg(any(test, feature = "sim"))]
        if self.is_blind {
            let merged = git.commit_tree(&tree, &[onto], &self.author, &self.message)?;
            git.update_branch(&self.branch, &merged, Some(onto))?;
            return Ok(Done::Merged(merged));
        }
        // After a crash between the move and its record, the branch is one commit above `onto` with exactly this tree.
        if let Some(head) = git.branch(&self.branch)?
            && head != *onto
            && git.is_ancestor(onto, &head)?
            && git.tree_of(&head)? == tree
        {
            return Ok(Done::Merged(head));
        }
        let merged = match self.is_whole {
            true => self.commit.clone(),
            false => git.commit_tree(&tree, &[onto], &self.author, &self.message)?,
        };
        match git.update_branch(&self.branch, &merged, Some(onto)) {
            Ok(()) => Ok(Done::Merged(merged)),
            Err(Error::Process(switchboard_process::Error::Moved { .. })) => Ok(Done::Moved(head(git, &self.branch)?)),
            Err(error) => Err(error),
        }
    }
}

fn head(git: &dyn Git, branch: &str) -> Result<Oid, Error> {
    git.branch(branch)?.ok_or_else(|| Error::Missing(format!("the branch {branch}")))
}
