//! A change goes into the run's branch: one ref moves, or nothing does. No work tree is involved.

use switchboard_process::git::{Author, Merged, Oid};
use switchboard_protocol::error::Failure;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;

use super::Ctx;
use crate::Error;
use crate::authorship::{author, message};
use crate::port::Git;

/// How often a merge starts over because the branch moved in between; only a person's hand can move it.
const TRIES: u32 = 5;

/// Merges a captured change. `begun` is the branch's head when an earlier daemon began this very merge.
pub(crate) async fn merge(
    ctx: &Ctx,
    id: &TaskId,
    attempt: u32,
    commit: &str,
    mut begun: Option<String>,
) -> Result<RunEvent, Error> {
    let (task, settings) = ctx.plan.settings(id)?;
    let agent = settings.author.clone().or_else(|| ctx.plan.agent_name(&settings)).unwrap_or_else(|| "exec".to_owned());
    let job = Job {
        branch: ctx.plan.branch.clone(),
        commit: Oid::parse(commit)?,
        author: author(&agent, ctx.world.store.now()),
        message: message(&ctx.plan.run, &task, attempt),
    };
    for _ in 0..TRIES {
        let onto = match begun.take() {
            Some(onto) => onto,
            None => intend(ctx, id, attempt, &job).await?,
        };
        let work = job.clone();
        let done = ctx.world.git(move |git| work.merge(git, &Oid::parse(&onto)?)).await?;
        ctx.world.crash("merge-done");
        match done {
            Done::Merged(commit) => {
                return Ok(RunEvent::TaskMerged { task: id.clone(), attempt, commit: commit.to_string() });
            }
            Done::Conflict(files) => return Ok(RunEvent::MergeConflicted { task: id.clone(), attempt, files }),
            Done::Moved => {}
        }
    }
    let what = format!("the branch {} keeps moving while task {id} is merged into it", ctx.plan.branch);
    Err(Failure::new("git.failed", what).hint("leave the run's branch alone while it runs").into())
}

async fn intend(ctx: &Ctx, id: &TaskId, attempt: u32, job: &Job) -> Result<String, Error> {
    let branch = job.branch.clone();
    let head = ctx.world.git(move |git| git.branch(&branch)).await?;
    let onto = head.ok_or_else(|| Error::Missing(format!("the branch {}", job.branch)))?.to_string();
    let intent =
        RunEvent::MergeIntended { task: id.clone(), attempt, commit: job.commit.to_string(), onto: onto.clone() };
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
}

enum Done {
    Merged(Oid),
    Conflict(Vec<String>),
    Moved,
}

// === impl Job ===

impl Job {
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
        // A crash may have come between the move and its record: then the branch stands on `onto` with just this tree.
        if let Some(head) = git.branch(&self.branch)?
            && head != *onto
            && git.is_ancestor(onto, &head)?
            && git.tree_of(&head)? == tree
        {
            return Ok(Done::Merged(head));
        }
        let merged = git.commit_tree(&tree, &[onto], &self.author, &self.message)?;
        match git.update_branch(&self.branch, &merged, Some(onto)) {
            Ok(()) => Ok(Done::Merged(merged)),
            Err(Error::Process(switchboard_process::Error::Moved { .. })) => Ok(Done::Moved),
            Err(error) => Err(error),
        }
    }
}
