//! Merges a run's branch into the user's branch, and undoes such a merge: computed, intent recorded, done, outcome
//! recorded. It completes, or leaves everything as it was.

use switchboard_process::git::{Author, Merged, Oid};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::verb::run::{MergeRunReply, UndoMergeReply};
use switchboard_store::{Batch, Idempotency, Query, Row, Store};

use crate::error::shape;
use crate::event::cut;
use crate::future::BoxFuture;
use crate::port::Git;
use crate::work::{RUNS, run_id};
use crate::world::World;
use crate::{Error, authorship, confirm_merge, history};

/// Merge that has been computed and not yet carried out.
#[derive(Clone)]
struct Move {
    target: String,
    from: Oid,
    to: Oid,
    /// True if it undoes a merge.
    undo: bool,
}

/// Source and target of a merge.
pub(crate) struct Merge<'a> {
    pub(crate) run: &'a RunId,
    /// The user's branch; `None` is the one from which the run was started.
    pub(crate) target: Option<String>,
    /// Agent that merges: files reserved by others block the merge.
    pub(crate) by: Option<&'a AgentName>,
    /// Part of the run that is missing, shown if there is nothing to merge.
    pub(crate) missing: Option<String>,
}

/// Merges a run's branch into the user's. `call` is stored with the answer, in the commit that records the merge.
pub(crate) fn merge<'a>(
    world: &'a World,
    Merge { run, target, by, missing }: Merge<'a>,
    call: Option<Idempotency>,
) -> BoxFuture<'a, Result<MergeRunReply, Error>> {
    Box::pin(async move {
        let _one_at_a_time = world.merging.lock().await;
        // Another call with the same key may have been done during the wait.
        if let Some(answered) = world.answered(call.as_ref()).await? {
            return serde_json::from_value(answered).map_err(shape("a reply"));
        }
        let row = resolved(world, run).await?;
        let target = target.map_or_else(|| row.try_text("target").map(str::to_owned), Ok)?;
        let branch = row.try_text("branch")?.to_owned();
        let title = format!("Merge {run}: {}", cut(row.try_text("title")?, 60));
        let author = authorship::author("Switchboard", world.store.now());
        let planned = world.git(move |git| work_out(git, target, &branch, &title, &author)).await?;
        if planned.from != planned.to {
            carry_out(world, run, by, &planned).await?;
        }
        let reply = conclude(world, run, (planned, missing), call).await?;
        if row.try_text("target")? == reply.target {
            confirm_merge::withdraw(world, run).await?;
        }
        Ok(reply)
    })
}

/// Returns true if a run was merged into a branch and has no newer work that this branch lacks. `None` is the branch
/// from which the run was started.
pub(crate) async fn has_it(world: &World, row: &Row, target: Option<String>) -> Result<bool, Error> {
    let target = target.map_or_else(|| row.try_text("target").map(str::to_owned), Ok)?;
    if last_merge(&world.store, &run_id(row)?, Some(&target))?.is_none() {
        return Ok(false);
    }
    let branch = row.try_text("branch")?.to_owned();
    world
        .git(move |git| match (git.branch(&target)?, git.branch(&branch)?) {
            (Some(target), Some(head)) => Ok(git.is_ancestor(&head, &target)?),
            _ => Ok(false),
        })
        .await
}

/// Moves the branch that a run was last merged into back to where it was, if it has not changed since. `call` is stored
/// with the answer.
pub(crate) async fn undo(
    world: &World,
    run: &RunId,
    by: &AgentName,
    call: Option<Idempotency>,
) -> Result<UndoMergeReply, Error> {
    let _one_at_a_time = world.merging.lock().await;
    if let Some(answered) = world.answered(call.as_ref()).await? {
        return serde_json::from_value(answered).map_err(shape("a reply"));
    }
    let row = resolved(world, run).await?;
    let last = last_merge(&world.store, run, None)?.filter(|last| last.from != last.to);
    let no_merge = || Failure::new("dispatch.cannot-undo", format!("no branch was moved by a merge of {run}"));
    let last = last.ok_or_else(no_merge)?;
    let back = Move { target: last.target, from: last.to, to: last.from, undo: true };
    let (branch, of) = (row.try_text("branch")?.to_owned(), back.clone());
    world.git(move |git| expect_unmoved(git, &of, &branch)).await?;
    carry_out(world, run, Some(by), &back).await?;
    let of = back.clone();
    let files = world.git(move |git| git.changed_files(&of.from, &of.to)).await?;
    let reply = UndoMergeReply {
        run: run.clone(),
        target: back.target.clone(),
        from: back.from.to_string(),
        to: back.to.to_string(),
        files: files.iter().map(|change| crate::plan::text(&change.path)).collect(),
    };
    let mut batch = Batch::synced().event(event(run, &done(run, &back))?);
    batch = batch.reply(serde_json::to_value(&reply).map_err(shape("a reply"))?);
    batch.idempotency = call;
    world.commit_patiently(&batch).await?;
    Ok(reply)
}

/// Refuses to undo a merge if work would be lost: later commits, or the run's own.
fn expect_unmoved(git: &dyn Git, back: &Move, branch: &str) -> Result<(), Error> {
    let cannot = |why: String, hint: String| Err(Failure::new("dispatch.cannot-undo", why).hint(hint).into());
    let target = &back.target;
    let Some(tip) = git.branch(target)? else {
        return cannot(format!("the branch {target} is gone"), "git branch --all".to_owned());
    };
    if tip != back.from {
        let why = format!("{target} has moved on since, from {} to {}", back.from.short(), tip.short());
        return cannot(
            why,
            format!(
                "undo it by a commit: git revert -m 1 {0}, or git revert {1}..{0}",
                back.from.short(),
                back.to.short()
            ),
        );
    }
    if git.branch(branch)?.is_none() {
        let why = format!("the run's branch {branch} was removed, so that its work would be in no branch any more");
        return cannot(why, format!("git branch {branch} {}, then again", back.from.short()));
    }
    Ok(())
}

/// Records the intent, and moves the branch; a failed move is recorded as abandoned.
async fn carry_out(world: &World, run: &RunId, by: Option<&AgentName>, planned: &Move) -> Result<(), Error> {
    expect_free(world, run, by, planned).await?;
    world.commit(Batch::synced().event(event(run, &intended(run, planned))?)).await?;
    world.crash("user-merge-intended");
    let go = planned.clone();
    if let Err(error) = world.git(move |git| advance(git, &go)).await {
        let why = cut(&error.to_string(), 300);
        record(world, run, &RunEvent::RunMergeAbandoned { run: run.clone(), why }).await?;
        return Err(error);
    }
    world.crash("user-branch-moved");
    Ok(())
}

/// Refuses a merge that changes files reserved by others.
async fn expect_free(world: &World, run: &RunId, by: Option<&AgentName>, planned: &Move) -> Result<(), Error> {
    let of = planned.clone();
    let changes = world.git(move |git| git.changed_files(&of.from, &of.to)).await?;
    let files: Vec<_> = changes.iter().map(|change| crate::plan::text(&change.path)).collect();
    let Some(held) = world.ports.leases.held_by_others(by, &files).await? else { return Ok(()) };
    let what = format!("{} has reserved {} until {}", held.holder, held.files.join(", "), held.until);
    let hint = format!(
        "wait for it, or take it away (switchboard leases names it): switchboard call release_files lease=…; then switchboard merge {run}"
    );
    Err(Failure::new("lease.conflict", what).hint(hint).into())
}

/// Records a merge that is done. A merge that was done and recorded before gets its earlier answer.
async fn conclude(
    world: &World,
    run: &RunId,
    (planned, missing): (Move, Option<String>),
    call: Option<Idempotency>,
) -> Result<MergeRunReply, Error> {
    let had_it = planned.from == planned.to;
    let before = if had_it { last_merge(&world.store, run, Some(&planned.target))? } else { None };
    let is_new = before.is_none();
    let moved = before.unwrap_or(planned);
    let of = moved.clone();
    let looked = world.git(move |git| {
        let notes = [git.unusual(&of.from, &of.to)?, git.left_out()?].concat();
        Ok((git.changed_files(&of.from, &of.to)?, notes))
    });
    let (files, notes) = looked.await?;
    let reply = MergeRunReply {
        run: run.clone(),
        target: moved.target.clone(),
        from: moved.from.to_string(),
        to: moved.to.to_string(),
        files: files.iter().map(|change| crate::plan::text(&change.path)).collect(),
        already: had_it,
        notes: if had_it { missing.into_iter().collect() } else { notes },
    };
    let mut batch = Batch::synced().reply(serde_json::to_value(&reply).map_err(shape("a reply"))?);
    if is_new {
        batch = batch.event(event(run, &done(run, &moved))?);
    }
    batch.idempotency = call;
    if !batch.events.is_empty() || batch.idempotency.is_some() {
        world.commit_patiently(&batch).await?;
    }
    Ok(reply)
}

/// Returns true if a run's branch was merged into the branch that it was started from since it ended, even if that was
/// undone.
pub(crate) fn has_moved(world: &World, row: &Row) -> Result<bool, Error> {
    let (own, ended_at) = (row.try_text("target")?, row.get_int("ended_at").unwrap_or(0));
    let mut has_moved = false;
    history::events(&world.store, &run_id(row)?, |event| {
        let is_late = event.ts.0 >= ended_at;
        if let Some(RunEvent::RunMerged { target, .. } | RunEvent::RunMergeUndone { target, .. }) = event.fact() {
            has_moved |= is_late && target == own;
        }
        !has_moved
    })?;
    Ok(has_moved)
}

/// Returns the last recorded merge of a run's branch that was not undone: into `into`, or into any branch.
fn last_merge(store: &Store, run: &RunId, into: Option<&str>) -> Result<Option<Move>, Error> {
    let mut merges: Vec<(String, String, String)> = Vec::new();
    history::events(store, run, |event| {
        let fact = event.fact::<RunEvent>();
        if let Some(RunEvent::RunMerged { target, from, to, .. }) = fact {
            merges.push((target, from, to));
        } else if let Some(RunEvent::RunMergeUndone { target, .. }) = fact {
            let undone = merges.iter().rposition(|merge| merge.0 == target);
            undone.map(|at| merges.remove(at));
        }
        true
    })?;
    let last = merges.into_iter().rev().find(|merge| into.is_none_or(|into| merge.0 == into));
    let read = |(target, from, to): (String, String, String)| {
        Ok(Move { target, from: Oid::parse(&from)?, to: Oid::parse(&to)?, undo: false })
    };
    last.map(read).transpose()
}

/// Returns the event of a branch that was moved.
fn done(run: &RunId, moved: &Move) -> RunEvent {
    let (run, target) = (run.clone(), moved.target.clone());
    let (from, to) = (moved.from.to_string(), moved.to.to_string());
    match moved.undo {
        false => RunEvent::RunMerged { run, target, from, to },
        true => RunEvent::RunMergeUndone { run, target, from, to },
    }
}

fn intended(run: &RunId, planned: &Move) -> RunEvent {
    RunEvent::RunMergeIntended {
        run: run.clone(),
        target: planned.target.clone(),
        from: planned.from.to_string(),
        to: planned.to.to_string(),
        undo: planned.undo,
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
    Ok(Move { target, from, to, undo: false })
}

fn conflict(target: &str, branch: &str, files: &[std::path::PathBuf]) -> Error {
    let names: Vec<_> = files.iter().take(20).map(|file| crate::plan::text(file)).collect();
    let what = format!("merging {branch} into {target} conflicts in {}", names.join(", "));
    Failure::new("dispatch.merge-conflict", what).hint(format!("merge it by hand: git merge {branch}")).into()
}

/// Moves the branch: with index and files in the work tree that has it checked out, else the ref alone.
///
/// Git may fail after it has moved the branch: then the move is completed, and not reported as failed.
fn advance(git: &dyn Git, go: &Move) -> Result<(), Error> {
    let tree = git.tree_on(&go.target)?;
    let moved = match &tree {
        Some(tree) => tree.advance_checkout(&go.target, &go.from, &go.to),
        None => git.update_branch(&go.target, &go.to, Some(&go.from)),
    };
    match (moved, tree) {
        (Ok(()), _) => Ok(()),
        (Err(error), _) if git.branch(&go.target)?.as_ref() != Some(&go.to) => Err(error),
        (Err(_), Some(tree)) => tree.advance_checkout(&go.target, &go.from, &go.to),
        (Err(_), None) => Ok(()),
    }
}

fn event(run: &RunId, fact: &RunEvent) -> Result<NewEvent, Error> {
    NewEvent::of(fact, history::subject(run), "daemon").map_err(shape("a merge"))
}

/// Records the outcome of a merge, however long the store is busy.
async fn record(world: &World, run: &RunId, fact: &RunEvent) -> Result<(), Error> {
    world.commit_patiently(&Batch::synced().event(event(run, fact)?)).await?;
    Ok(())
}

/// At boot: completes or abandons merges into the user's branch that the last daemon had begun.
pub(crate) async fn resolve_begun(world: &World) -> Result<(), Error> {
    for row in world.store.read(&Query::table(RUNS).ne("merging_to", "").asc("seq"))? {
        let _one_at_a_time = world.merging.lock().await;
        // A call may have merged or undone it by now.
        resolved(world, &run_id(&row)?).await?;
    }
    Ok(())
}

/// Returns the row of a run, after completing or abandoning a branch move that was left unfinished.
async fn resolved(world: &World, run: &RunId) -> Result<Row, Error> {
    let row = world.store.get(RUNS, &[run.as_str().into()])?.ok_or_else(|| Error::Missing(run.to_string()))?;
    if let Some(begun) = begun(&row)? {
        resolve_one(world, run, begun).await?;
    }
    Ok(row)
}

async fn resolve_one(world: &World, run: &RunId, begun: Move) -> Result<(), Error> {
    let again = begun.clone();
    let fact = match world.git(move |git| advance(git, &again)).await {
        Ok(()) => done(run, &begun),
        Err(error) => RunEvent::RunMergeAbandoned { run: run.clone(), why: cut(&error.to_string(), 300) },
    };
    record(world, run, &fact).await
}

fn begun(row: &Row) -> Result<Option<Move>, Error> {
    let (Some(from), Some(to)) = (row.get_text("merging_from"), row.get_text("merging_to").filter(|to| !to.is_empty()))
    else {
        return Ok(None);
    };
    let target = row.get_text("merging_target").map_or_else(|| row.try_text("target"), Ok)?.to_owned();
    Ok(Some(Move { target, from: Oid::parse(from)?, to: Oid::parse(to)?, undo: row.get_bool("merging_undo") }))
}

#[cfg(test)]
mod tests {
    use switchboard_store::Clock;

    use super::*;

    #[tokio::test]
    async fn the_last_merge_into_a_branch_is_the_last_that_was_not_undone() {
        let store = Store::in_memory(Vec::new(), Clock::system());
        let run = RunId::from_bits(1);
        let oid = |number: u8| Oid::parse(&number.to_string().repeat(40)).unwrap();
        let moved =
            |target: &str, from, to, undo| Move { target: target.to_owned(), from: oid(from), to: oid(to), undo };
        let expected = |into: Option<&str>| {
            let last = last_merge(&store, &run, into).unwrap();
            last.map(|last| (last.target, last.to))
        };
        let main = |to| Some(("main".to_owned(), oid(to)));
        let next = Some(("next".to_owned(), oid(2)));
        assert_eq!(expected(None), None);

        let record = async |moved: Move| {
            let event = NewEvent::of(&done(&run, &moved), history::subject(&run), "ann").unwrap();
            store.commit(Batch::written().event(event)).await.unwrap();
        };
        record(moved("main", 0, 1, false)).await;
        record(moved("next", 0, 2, false)).await;
        record(moved("main", 1, 3, false)).await;
        assert_eq!([expected(None), expected(Some("main")), expected(Some("next"))], [main(3), main(3), next.clone()]);

        record(moved("main", 3, 1, true)).await;
        assert_eq!([expected(None), expected(Some("main"))], [next.clone(), main(1)]);
        record(moved("main", 1, 0, true)).await;
        assert_eq!([expected(None), expected(Some("main")), expected(Some("next"))], [next.clone(), None, next]);
    }

    #[test]
    fn a_conflict_names_the_first_twenty_files_and_how_to_merge_by_hand() {
        let files: Vec<_> = (0..30).map(|file| std::path::PathBuf::from(format!("file-{file}"))).collect();

        let failure = conflict("main", "switchboard/run_1", &files).to_failure();

        assert_eq!(failure.what.matches("file-").count(), 20, "{}", failure.what);
        assert!(failure.what.ends_with("file-18, file-19"), "{}", failure.what);
        assert_eq!(failure.hint, "merge it by hand: git merge switchboard/run_1");
    }
}
