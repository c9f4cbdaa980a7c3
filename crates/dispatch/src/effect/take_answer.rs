//! Takes the answer of a worker that judges, together with the tests that it wrote.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use switchboard_pipeline::team::{objection, verdict};
use switchboard_pipeline::{modes, roles};
use switchboard_process::git::Oid;
use switchboard_protocol::answer::Answer;
use switchboard_protocol::id::{Digest, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::StepId;
use switchboard_protocol::run::{Change, RunEvent, StepWork, Verdict};

use super::context::Ctx;
use crate::authorship::message;
use crate::handle::Record;
use crate::port::git::Commit;
use crate::{Error, evidence, plan};

mod new_tests;

/// Maximum number of paths named in a refusal.
const MAX_NAMED: usize = 5;

/// Worker and task of an answer.
#[derive(Clone, Copy)]
pub(super) struct AnswerContext<'a> {
    pub(super) task: &'a TaskId,
    pub(super) step: &'a StepId,
    pub(super) work: &'a StepWork,
    pub(super) attempt: u32,
    pub(super) worker: &'a WorkerId,
    pub(super) input: Digest,
}

/// Records the verdict and what the worker wrote, or why its answer can't be used.
pub(super) async fn take_answer(ctx: &Ctx, given: AnswerContext<'_>) -> Result<(), Error> {
    let places = Places::of(ctx, given)?;
    let wrote = written(ctx, given, &places).await?;
    #[cfg(any(test, feature = "sim"))]
    let is_let = ctx.world.has_defect(crate::simulate::Defect::LetsJudgesWrite);
    #[cfg(not(any(test, feature = "sim")))]
    let is_let = false;
    let taken = match forbidden(ctx, given, &wrote).filter(|_| !is_let) {
        Some(reason) => Err(reason),
        None => match read(ctx, given).await? {
            Ok(answer) => usable(ctx, given, &places.base, answer).await?,
            Err(reason) => Err(reason),
        },
    };
    let steps = match taken {
        Ok(answer) => judged(ctx, given, &places, (answer, &wrote)).await?,
        Err(reason) => vec![given.refused(reason)],
    };
    ctx.engine.record(Record::steps(steps)).await?;
    ctx.world.crash("answer-taken");
    if given.work.is_in_task_tree() {
        return Ok(());
    }
    // Only after the record: a daemon that dies before it has to look at the tree again.
    let (path, base) = (places.tree, ctx.plan.worktrees.clone());
    if let Err(error) = ctx.world.git(move |git| git.worktree_remove(&path, &base)).await {
        tracing::warn!(worker = %given.worker, %error, "the tree of a worker that only reads stays until the run ends");
    }
    Ok(())
}

/// Checks an answer for what its schema doesn't express.
async fn usable(
    ctx: &Ctx,
    given: AnswerContext<'_>,
    base: &Oid,
    answer: Answer,
) -> Result<Result<Answer, String>, Error> {
    let (task, _) = ctx.plan.settings(given.task)?;
    let is_plan = matches!(answer, Answer::PlanDraft(_));
    let files = if is_plan { ctx.world.files_at(base).await? } else { BTreeSet::new() };
    // A question to a role takes precedence over what others have said.
    let (asked, fault) = match ctx.plan.asks(given.task) {
        Some(_) => {
            let fault = modes::fault_of(&answer, &files).or_else(|| modes::lowering_of(&answer));
            (task.description.split("\n\n").next().unwrap_or_default(), fault)
        }
        None => (task.description.as_str(), None),
    };
    Ok(fault.or_else(|| objection::to(&answer, asked)).map_or(Ok(answer), Err))
}

/// Returns what to record for a usable answer.
async fn judged(
    ctx: &Ctx,
    given: AnswerContext<'_>,
    places: &Places,
    (answer, wrote): (Answer, &[String]),
) -> Result<Vec<RunEvent>, Error> {
    // A role that was asked passes with any answer.
    let (verdict, mut reasons) = match ctx.plan.asks(given.task) {
        Some(_) => (Verdict::Pass, Vec::new()),
        None => verdict::of(&answer),
    };
    let accepts = matches!(verdict, Verdict::Pass | Verdict::Warn);
    let wrote =
        if wrote.is_empty() || given.work.writes.is_empty() { None } else { capture(ctx, given, places).await? };
    if let Some(wrote) = wrote.as_ref().filter(|_| accepts) {
        match new_tests::judge(ctx, given, places, &wrote.commit).await? {
            Ok(note) => reasons.extend(note),
            Err(reason) => return Ok(vec![given.refused(reason)]),
        }
    }
    if let Some(wrote) = wrote.as_ref().filter(|_| !accepts) {
        let named: Vec<_> = wrote.written.iter().take(MAX_NAMED).map(String::as_str).collect();
        reasons.push(format!(
            "the change has to pass the tests that refuse it; they are in the tree: {}",
            named.join(", ")
        ));
    }
    keep(ctx, given, &places.agent, answer, verdict, &reasons).await?;
    let handed = wrote.as_ref().filter(|_| !accepts).map(Wrote::change);
    let mut steps = vec![given.answered(verdict, reasons, handed)];
    if accepts && !given.work.writes.is_empty() {
        let (task, step) = (given.task.clone(), Some(given.step.clone()));
        let nothing = RunEvent::NothingChanged { task, attempt: given.attempt, step, why: String::new() };
        steps.push(wrote.map_or(nothing, |wrote| wrote.captured(given)));
    }
    Ok(steps)
}

/// Change with the files that a worker has added to it.
struct Wrote {
    commit: String,
    tree: String,
    base: String,
    /// All files of the change.
    files: Vec<String>,
    /// Files that the worker wrote.
    written: Vec<String>,
    lines: u32,
}

// === impl Wrote ===

impl Wrote {
    fn files_total(&self) -> u32 {
        u32::try_from(self.files.len()).unwrap_or(u32::MAX)
    }

    fn change(&self) -> Change {
        let (commit, tree) = (self.commit.clone(), self.tree.clone());
        Change { commit, tree, base: String::new(), files: self.files_total(), lines: 0 }
    }

    fn captured(self, given: AnswerContext<'_>) -> RunEvent {
        let (task, attempt, files_total) = (given.task.clone(), given.attempt, self.files_total());
        let Self { commit, tree, base, mut files, lines, .. } = self;
        files.truncate(super::capture::FILES_NAMED);
        RunEvent::ChangeCaptured { task, attempt, commit, tree, base, files, files_total, lines, left_out: Vec::new() }
    }
}

/// Tree and commits of a worker.
struct Places {
    tree: PathBuf,
    /// Base commit of the change.
    base: Oid,
    /// Commit that the worker's tree started as.
    start: Oid,
    /// Name of the agent.
    agent: String,
}

// === impl Places ===

impl Places {
    fn of(ctx: &Ctx, given: AnswerContext<'_>) -> Result<Self, Error> {
        let row = ctx.world.store.get(crate::work::WORKERS, &[given.worker.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(format!("worker {}", given.worker)))?;
        Ok(Self {
            tree: match given.work.is_in_task_tree() {
                true => ctx.plan.worktree(given.task),
                false => ctx.plan.reader_tree(given.worker),
            },
            base: Oid::parse(row.try_text("base")?)?,
            start: Oid::parse(row.try_text("start")?)?,
            agent: row.get_text("agent").unwrap_or_default().to_owned(),
        })
    }
}

// === impl AnswerContext ===

impl AnswerContext<'_> {
    fn refused(self, reason: String) -> RunEvent {
        let (task, step, worker) = (self.task.clone(), self.step.clone(), self.worker.clone());
        RunEvent::AnswerRefused { task, step, attempt: self.attempt, worker, reason }
    }

    fn answered(self, verdict: Verdict, reasons: Vec<String>, change: Option<Change>) -> RunEvent {
        let (task, step, worker) = (self.task.clone(), self.step.clone(), self.worker.clone());
        RunEvent::StepAnswered {
            task,
            step,
            attempt: self.attempt,
            worker,
            input: self.input,
            verdict,
            reasons,
            change,
        }
    }
}

/// Reads the worker's answer in the form that its step needs, or returns why there is none.
async fn read(ctx: &Ctx, given: AnswerContext<'_>) -> Result<Result<Answer, String>, Error> {
    let Some(kind) = given.work.answer else { return Ok(Err("its step wants no answer".to_owned())) };
    let found = crate::answer::read_answer(&ctx.world, &ctx.plan.run, given.worker, kind).await?;
    #[cfg(any(test, feature = "sim"))]
    if found.is_err() && ctx.world.has_defect(crate::simulate::Defect::TakesAnyAnswer) {
        return Ok(crate::simulate::approval(kind).ok_or_else(|| "it can't be made".to_owned()));
    }
    Ok(found)
}

/// Returns the files in the worker's tree that differ from its start, committed or not. The task's tree goes on to the
/// next worker, so the index, which the worker could write, is not trusted. A tree that is discarded need not be read
/// completely.
async fn written(ctx: &Ctx, given: AnswerContext<'_>, places: &Places) -> Result<Vec<String>, Error> {
    let (path, start) = (places.tree.clone(), places.start.clone());
    if ctx.plan.is_kept_out(given.work) {
        // The folder is no work tree, so git can't list what was left in it.
        let files = Arc::clone(&ctx.world.ports.files);
        let left = ctx.world.blocking(move || files.entries(&path)).await?;
        return Ok(left.iter().map(|name| plan::text(name)).collect());
    }
    let is_in_task_tree = given.work.is_in_task_tree();
    let changed = ctx.world.git(move |git| {
        if is_in_task_tree {
            return Ok(git.worktree_files_unlike(&path, &start)?.into_iter().collect());
        }
        let mut changed: BTreeSet<_> = git.worktree_files(&path)?.into_iter().collect();
        if let Some(tip) = git.worktree_tip(&path)?.filter(|tip| *tip != start) {
            changed.extend(git.changed_files(&start, &tip)?.into_iter().map(|change| change.path));
        }
        Ok(changed)
    });
    Ok(changed.await?.iter().map(|path| plan::text(path)).collect())
}

/// Describes forbidden writes of the worker, for the next one.
fn forbidden(ctx: &Ctx, given: AnswerContext<'_>, wrote: &[String]) -> Option<String> {
    let role = &given.work.role;
    let is_forbidden = |path: &&String| !given.work.writes.contains(&roles::way_zone_of(path));
    let outside: Vec<_> = wrote.iter().filter(is_forbidden).collect();
    let first = outside.iter().take(MAX_NAMED).map(|path| path.as_str()).collect::<Vec<_>>().join(", ");
    let may = if given.work.writes.is_empty() { "may change nothing" } else { "may change tests only" };
    if !outside.is_empty() {
        return Some(format!("the {role} {may}, and changed {first}: the answer does not count"));
    }
    let rights = ctx.plan.rights(role);
    let denied = wrote.iter().find_map(|path| roles::may_write(role, &rights, path).err())?;
    Some(format!("the {denied}: the answer does not count"))
}

/// Makes the written tests part of the change; `None` if there are none.
async fn capture(ctx: &Ctx, given: AnswerContext<'_>, places: &Places) -> Result<Option<Wrote>, Error> {
    let AnswerContext { task: id, attempt, .. } = given;
    let (path, base, start) = (places.tree.clone(), places.base.clone(), places.start.clone());
    let (task, _) = ctx.plan.settings(id)?;
    let (message, now) = (message(&ctx.plan.run, &task, attempt), ctx.world.store.now());
    let branch = ctx.plan.task_branch(id);
    let captured = ctx.world.git(move |git| {
        // The change keeps its author.
        let author = git.author_of(&start, now)?;
        let commit = Commit { branch: &branch, parent: &base, author: &author, message: &message };
        let Some(captured) = git.capture(&path, &commit)? else { return Ok(None) };
        if captured.tree == git.tree_of(&start)? {
            return Ok(None);
        }
        let names = |from: &Oid| -> Result<Vec<String>, Error> {
            let files = git.changed_files(from, &captured.commit)?;
            Ok(files.iter().map(|change| plan::text(&change.path)).collect())
        };
        let (files, written) = (names(&base)?, names(&start)?);
        let lines = git.changed_lines(&base, &captured.commit)?;
        let (commit, tree, base) = (captured.commit.to_string(), captured.tree.to_string(), base.to_string());
        Ok(Some(Wrote { commit, tree, base, files, written, lines }))
    });
    captured.await
}

/// Adds the answer to the task's evidence.
async fn keep(
    ctx: &Ctx,
    given: AnswerContext<'_>,
    agent: &str,
    answer: Answer,
    verdict: Verdict,
    reasons: &[String],
) -> Result<(), Error> {
    let found = evidence::of_answer(given.step, &answer, verdict, reasons);
    let (world, run) = (Arc::clone(&ctx.world), ctx.plan.run.clone());
    let (task, attempt, agent) = (given.task.clone(), given.attempt, agent.to_owned());
    ctx.world.blocking(move || evidence::add(&world, &run, &task, attempt, found, &agent)).await
}
