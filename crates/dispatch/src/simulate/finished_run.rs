//! Simulates what people do with a finished run: they look at it, merge it, undo the merge, merge it again, and clean
//! up. The answer of each call must agree with the log and with the repository, however often git fails and the daemon
//! dies meanwhile.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use switchboard_pipeline::run::RunState;
use switchboard_process::git::Oid;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, TaskState, TaskView};
use switchboard_protocol::verb::check::{CheckGateStatusRequest, GateStatus};
use switchboard_protocol::verb::run::{
    CleanRunsReply, CleanRunsRequest, GetRunRequest, LeftOver, MergeRunReply, MergeRunRequest, ShowTaskRequest,
    UndoMergeRequest,
};

use super::git::UNUSUAL;
use super::people::{ann, boot};
use super::repo::MAIN;
use super::shown;
use super::stage::Stage;
use crate::error::is_transient;
use crate::lock::lock;
use crate::{Dispatch, Error, history};

/// Maximum number of repetitions of a call that git or the store has failed.
const TRIES: u32 = 200;

/// Goes through all of these calls.
pub(super) async fn work(stage: &Arc<Stage>, daemon: &Dispatch, run: &RunId) -> Result<(), String> {
    boot(stage, daemon).await;
    let after = After { stage, daemon, run };
    let state = history::fold(&daemon.world.store, run).map_err(|error| error.to_string())?;
    after.look(&state).await?;
    shown::look(daemon, run, &state).await?;
    if after.head().is_some() {
        after.merge(&state).await?;
        after.take_back().await?;
    }
    after.clean(&state).await
}

struct After<'a> {
    stage: &'a Stage,
    daemon: &'a Dispatch,
    run: &'a RunId,
}

fn expect(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// Returns the code of a refusal; empty for an answer.
fn code<T>(answer: &Result<T, Error>) -> String {
    answer.as_ref().err().map(|error| error.to_failure().code).unwrap_or_default()
}

/// Returns true if git or the store failed at random, or if the files are temporarily reserved.
fn is_chance(error: &Error) -> bool {
    if let Error::Store(error) = error {
        return is_transient(error);
    }
    matches!(error.to_failure().code.as_str(), "git.failed" | "lease.conflict")
}

/// Returns one kind of name of everything left over that has it.
fn names(listed: &CleanRunsReply, name: impl Fn(&LeftOver) -> &String) -> BTreeSet<String> {
    listed.left.iter().map(name).filter(|name| !name.is_empty()).cloned().collect()
}

/// Returns true if a task has its own commit in the run's branch.
fn is_merged(view: &TaskView) -> bool {
    matches!(view.state, TaskState::Merged { .. })
}

/// Returns true if nothing of a task is missing.
fn is_done(view: &TaskView) -> bool {
    matches!(view.state, TaskState::Merged { .. } | TaskState::Done { .. })
}

// === impl After ===

impl After<'_> {
    fn branch(&self) -> String {
        format!("switchboard/{}", self.run)
    }

    fn head(&self) -> Option<Oid> {
        lock(&self.stage.repo).branch(&self.branch())
    }

    fn main(&self) -> Result<Oid, String> {
        lock(&self.stage.repo).branch(MAIN).ok_or_else(|| "the user's branch is gone".to_owned())
    }

    fn has(&self, ancestor: &Oid, commit: &Oid) -> bool {
        lock(&self.stage.repo).is_ancestor(ancestor, commit)
    }

    /// Repeats a call while git or the store fails it at random. Returns its answer or its refusal.
    async fn until_answered<T, F: Future<Output = Result<T, Error>>>(
        &self,
        make: impl Fn() -> F,
    ) -> Result<Result<T, Error>, String> {
        for _ in 0..TRIES {
            match make().await {
                Err(error) if is_chance(&error) => self.stage.delay(60_000).await,
                answer => return Ok(answer),
            }
        }
        Err(format!("a call was not answered in {TRIES} tries"))
    }

    /// Reads the run and each of its tasks.
    async fn look(&self, state: &RunState) -> Result<(), String> {
        let request = GetRunRequest { run: Some(self.run.to_string()), diff: false, sizes: false };
        let reply = self.until_answered(|| self.daemon.get_run(&request)).await?.map_err(|error| error.to_string())?;
        // What has been merged into the branch of a slice may never have landed in the run's.
        let has_landed = self.head().is_some_and(|head| head.to_string() != reply.summary.base);
        let is_offered = reply.summary.merged > 0 && has_landed && !reply.summary.is_merged;
        let notes: &[&str] = if is_offered { &[UNUSUAL] } else { &[] };
        expect(reply.notes == notes, || format!("{notes:?} expected before a merge: {:?}", reply.notes))?;
        let views: Vec<_> = state.tasks().collect();
        let outcome = state.outcome().map(|outcome| format!("{outcome:?}").to_lowercase()).unwrap_or_default();
        expect(reply.summary.state == outcome, || format!("{} is said to be {}", outcome, reply.summary.state))?;
        let merged = views.iter().filter(|view| is_merged(view)).count() as u64;
        let whole = views.iter().filter(|view| state.parent_of(&view.task).is_none()).count() as u64;
        expect(reply.list.len() == views.len() && reply.summary.tasks == whole, || {
            format!("{} tasks, {} in the list, {} in the summary", views.len(), reply.list.len(), reply.summary.tasks)
        })?;
        let spent = lock(&self.stage.observer).spent();
        expect(reply.total_micro_usd == spent, || format!("{spent} was spent, told: {}", reply.total_micro_usd))?;
        let is_exceeded = reply.ceilings.iter().any(|ceiling| ceiling.spent >= ceiling.ceiling);
        expect(reply.is_budget_exceeded == is_exceeded, || format!("{:?} and {is_exceeded}", reply.ceilings))?;
        let told = reply.list.iter().filter(|task| task.commit.is_some()).count() as u64;
        expect(told == merged, || format!("{merged} tasks are merged, {told} have a commit"))?;
        for (view, report) in views.iter().zip(&reply.list) {
            let is_untried = report.attempts == 0 && !is_done(view);
            let is_it = report.id == view.task.as_str() && (report.attempts == view.attempt || is_untried);
            expect(is_it, || format!("{} in attempt {} is shown as {report:?}", view.task, view.attempt))?;
            self.look_at(view, state.is_landing(&view.task)).await?;
        }
        let request = ShowTaskRequest { task: format!("{}/9.9", self.run), diff: false, answer_from: None };
        let unknown = self.until_answered(|| self.daemon.show_task(&request)).await?;
        expect(code(&unknown) == "dispatch.unknown-task", || format!("a task that is none: {unknown:?}"))
    }

    async fn look_at(&self, view: &TaskView, is_landing: bool) -> Result<(), String> {
        let task = format!("{}/{}", self.run, view.task);
        let request = ShowTaskRequest { task: task.clone(), diff: true, answer_from: None };
        let shown = self.until_answered(|| self.daemon.show_task(&request)).await?;
        let shown = shown.map_err(|error| format!("{task} can't be shown: {error}"))?;
        let is_changed = shown.diff.as_ref().is_some_and(|diff| diff.contains(&format!("t/{}\n", view.task)));
        let is_it = shown.task.id == view.task.as_str() && (is_changed || is_landing || !is_merged(view));
        expect(is_it, || format!("{task} is shown as {shown:?}"))?;
        let request = CheckGateStatusRequest { task_id: task.clone(), working_directory: None };
        let gates = self.until_answered(|| self.daemon.check_gate_status(&request)).await?;
        let gates = gates.map_err(|error| format!("the gates of {task}: {error}"))?;
        let has_passed = gates.status == GateStatus::AllPassed && gates.missing_gates.is_empty();
        let is_known = gates.passed_gates.iter().all(|gate| gates.required_gates.contains(gate));
        expect(is_known && (has_passed || !is_merged(view) || view.gates.is_empty()), || {
            format!("{task} is merged with {gates:?}")
        })
    }

    /// Merges the run into the user's branch: first refused with what is missing, then in part. If it was merged
    /// before, the answer must say so, and what is missing.
    async fn merge(&self, state: &RunState) -> Result<(), String> {
        let missing: Vec<_> =
            state.tasks().filter(|view| state.parent_of(&view.task).is_none() && !is_done(view)).collect();
        let (before, head) = (self.main()?, self.head().ok_or("the run's branch is gone")?);
        let had_it = self.has(&head, &before);
        if !missing.is_empty() {
            let refused = self.merge_once(false).await?;
            let cause = refused.as_ref().err().map(|error| error.to_failure().cause.join("\n")).unwrap_or_default();
            let named = missing.iter().take(20).all(|view| cause.contains(&format!("task {} ", view.task)));
            let names_all = named && cause.contains(" more tasks") == (missing.len() > 20);
            let is_refused = code(&refused) == "dispatch.partial" && names_all;
            let says_so = |reply: &MergeRunReply| had_it && reply.already && !reply.notes.is_empty();
            let is_right = is_refused || refused.as_ref().is_ok_and(says_so);
            expect(is_right && self.main()? == before, || format!("{} tasks are missing: {refused:?}", missing.len()))?;
        }
        let reply = self.merge_once(!missing.is_empty()).await?.map_err(|error| format!("no merge: {error}"))?;
        let after = self.main()?;
        let is_right = reply.target == MAIN && self.is_at(&reply, &after)? && self.has(&head, &after);
        expect(is_right && self.has(&before, &after), || format!("from {before} with {head} to {after}: {reply:?}"))?;
        // A call that failed after the branch had moved was repeated.
        expect(!had_it || (reply.already && before == after), || format!("merged twice: {reply:?}"))?;
        for partial in [true, false] {
            let again = self.merge_once(partial).await?.map_err(|error| format!("no second merge: {error}"))?;
            expect(again.already && self.main()? == after, || format!("a second merge: {again:?}"))?;
        }
        let request = GetRunRequest { run: Some(self.run.to_string()), diff: false, sizes: false };
        let reply = self.until_answered(|| self.daemon.get_run(&request)).await?.map_err(|error| error.to_string())?;
        expect(reply.summary.is_merged && reply.notes.is_empty(), || {
            format!("a merged run is not said to be, or still noted: {:?}", reply.notes)
        })
    }

    /// Returns true if the merge moved the user's branch to its present tip or, if it was done before, to a commit that
    /// the branch has.
    fn is_at(&self, reply: &MergeRunReply, main: &Oid) -> Result<bool, String> {
        let to = Oid::parse(&reply.to).map_err(|error| error.to_string())?;
        Ok(to == *main || (reply.already && self.has(&to, main)))
    }

    async fn merge_once(&self, partial: bool) -> Result<Result<MergeRunReply, Error>, String> {
        let request = MergeRunRequest { run: Some(self.run.to_string()), partial };
        let by = ann()?;
        self.until_answered(|| self.daemon.merge_run(&request, &by, None)).await
    }

    /// Undoes the merge and repeats it. After another commit by the user, it can't be undone any more.
    async fn take_back(&self) -> Result<(), String> {
        let (request, by) = (UndoMergeRequest { run: Some(self.run.to_string()) }, ann()?);
        let at = self.main()?;
        let undone = self.until_answered(|| self.daemon.undo_merge(&request, &by.name, None)).await?;
        match undone {
            Ok(reply) => {
                let now = self.main()?;
                let is_right = reply.from == at.to_string() && reply.to == now.to_string() && now != at;
                expect(is_right && self.has(&now, &at), || format!("{at} was taken back to {now}: {reply:?}"))?;
            }
            // The run changed nothing, or an earlier life, or a call that failed after the branch had moved, has undone
            // it.
            Err(error) => {
                let is_told = error.to_failure().code == "dispatch.cannot-undo" && self.has(&self.main()?, &at);
                expect(is_told, || format!("{at} can't be taken back: {error}"))?;
            }
        }
        let before = self.main()?;
        let reply = self.merge_once(true).await?.map_err(|error| format!("no merge after an undo: {error}"))?;
        expect(self.is_at(&reply, &self.main()?)?, || format!("merged again from {before}: {reply:?}"))?;
        if self.stage.chance(500) {
            lock(&self.stage.repo).commit_by_hand(MAIN, self.stage.below(1_000));
            let at = self.main()?;
            let refused = self.until_answered(|| self.daemon.undo_merge(&request, &by.name, None)).await?;
            let is_kept = code(&refused) == "dispatch.cannot-undo" && self.main()? == at;
            expect(is_kept, || format!("a merge under a commit of the user's was taken back: {refused:?}"))?;
        }
        Ok(())
    }

    /// Lists what the run left, removes what is merged, then the rest.
    async fn clean(&self, state: &RunState) -> Result<(), String> {
        let listed = self.clean_once(false, false).await?;
        let (branches, mut trees) = self.left();
        // Gate trees and trees of workers that only read hold no work: they are not listed, and removed with the rest.
        trees.retain(|path| !path.contains("/.gates/") && !path.contains("/.readers/"));
        let told = names(&listed, |left| &left.branch);
        // Gate trees hold no work: they are removed with the rest, and not listed.
        let trees: BTreeSet<_> = trees.into_iter().filter(|tree| !tree.contains("/.gates/")).collect();
        expect(told == branches && names(&listed, |left| &left.worktree) == trees, || {
            format!("{branches:?} and {trees:?} are left, listed: {listed:?}")
        })?;
        for left in listed.left.iter().filter(|left| !left.branch.is_empty()) {
            let holds_more = self.is_nowhere_else(&left.branch)? || self.is_dirty(&left.worktree);
            expect(!left.removed && holds_more != left.unmerged.is_empty(), || {
                format!("{} holds work that is nowhere else: {holds_more}, told: {left:?}", left.branch)
            })?;
        }
        let kept = names(&listed, |left| if left.unmerged.is_empty() { &left.unmerged } else { &left.branch });
        self.clean_once(true, false).await?;
        expect(self.left().0 == kept, || format!("{kept:?} were to be kept, left: {:?}", self.left()))?;
        for view in state.tasks() {
            if let TaskState::Merged { commit } = &view.state {
                self.expect_reachable(&view.task, commit)?;
            }
        }
        let tips: Vec<_> = self.tips_that_go(&listed)?;
        self.clean_once(true, true).await?;
        for (branch, tip) in tips {
            let repo = lock(&self.stage.repo);
            let is_kept = repo.archived.values().any(|kept| repo.is_ancestor(&tip, kept));
            expect(is_kept, || format!("{branch} was merged nowhere, was removed, and is not archived"))?;
        }
        expect(self.left() == (BTreeSet::new(), BTreeSet::new()), || format!("left: {:?}", self.left()))?;
        let nothing = self.clean_once(false, false).await?;
        expect(nothing.left.is_empty(), || format!("nothing is left, listed: {nothing:?}"))?;
        self.expect_removals_recorded(!listed.left.is_empty())
    }

    /// Checks that the log has the outcome of each removal that it has the intent of, and of some if there were any.
    fn expect_removals_recorded(&self, were_any: bool) -> Result<(), String> {
        let (mut open, mut done) = (BTreeSet::new(), 0);
        let read = history::events(&self.daemon.world.store, self.run, |event| {
            match event.fact() {
                Some(RunEvent::RunCleanIntended { task, .. }) => drop(open.insert(task)),
                Some(RunEvent::RunCleaned { task, .. }) => done += usize::from(open.remove(&task)),
                Some(RunEvent::RunCleanAbandoned { task, .. }) => drop(open.remove(&task)),
                _ => {}
            }
            true
        });
        read.map_err(|error| error.to_string())?;
        expect(open.is_empty() && (done > 0 || !were_any), || {
            format!("{done} removals are recorded, those of {open:?} are not")
        })
    }

    /// Returns the branches that hold unmerged work, with their tips.
    fn tips_that_go(&self, listed: &CleanRunsReply) -> Result<Vec<(String, Oid)>, String> {
        let repo = lock(&self.stage.repo);
        let unmerged = listed.left.iter().filter(|left| !left.unmerged.is_empty() && !left.branch.is_empty());
        let tip = |left: &LeftOver| {
            let tip = repo.branch(&left.branch).ok_or_else(|| format!("{} is listed and gone", left.branch))?;
            Ok((left.branch.clone(), tip))
        };
        unmerged.map(tip).collect()
    }

    async fn clean_once(&self, remove: bool, unmerged: bool) -> Result<CleanRunsReply, String> {
        let (request, by) = (
            CleanRunsRequest { run: Some(self.run.to_string()), remove, unmerged, ..CleanRunsRequest::default() },
            ann()?,
        );
        let reply = self.until_answered(|| self.daemon.clean_runs(&request, &by.name, None)).await?;
        reply.map_err(|error| format!("nothing is cleaned: {error}"))
    }

    /// Returns the names of the branches without the user's, and of the work trees.
    fn left(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let repo = lock(&self.stage.repo);
        let branches = repo.branches.keys().filter(|name| *name != MAIN).cloned().collect();
        (branches, repo.worktrees.keys().map(|path| path.display().to_string()).collect())
    }

    /// Returns true if a branch has commits that neither the user's branch nor, for a task's branch, the run's has.
    fn is_nowhere_else(&self, branch: &str) -> Result<bool, String> {
        let repo = lock(&self.stage.repo);
        let tip = repo.branch(branch).ok_or_else(|| format!("{branch} is listed and gone"))?;
        let run = self.branch();
        let others = [MAIN, &run].into_iter().filter(|other| *other != branch).filter_map(|other| repo.branch(other));
        Ok(!others.into_iter().any(|other| repo.is_ancestor(&tip, &other)))
    }

    /// Returns true if a work tree has uncommitted files.
    fn is_dirty(&self, worktree: &str) -> bool {
        let mut repo = lock(&self.stage.repo);
        let Some(work) = repo.worktrees.get(Path::new(worktree)) else { return false };
        let tip = repo.tip(work);
        tip.is_some_and(|tip| repo.any_changed(Path::new(worktree), &tip, |_| true))
    }

    /// Checks that a merged commit is reachable. What a group had merged and never landed may be archived.
    fn expect_reachable(&self, task: &TaskId, commit: &str) -> Result<(), String> {
        let commit = Oid::parse(commit).map_err(|error| error.to_string())?;
        let repo = lock(&self.stage.repo);
        let is_there = repo.branches.values().chain(repo.archived.values()).any(|tip| repo.is_ancestor(&commit, tip));
        expect(is_there, || format!("the merged commit of {task} was cleaned away"))
    }
}
