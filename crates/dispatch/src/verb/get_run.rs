//! `get_run`: shows each task with agent, attempts, gate verdicts and merged commit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_process::git::Oid;
use switchboard_protocol::id::RunId;
use switchboard_protocol::run::Ceiling;
use switchboard_protocol::verb::run::{GetRunReply, GetRunRequest, RunPart, RunSummary, TaskReport};
use switchboard_store::{Query, Row};

use super::find_run;
use crate::parts::{parts_of, phases_of};
use crate::plan::RunPlan;
use crate::port::Git;
use crate::work::RUNS;
use crate::work::run_id;
use crate::{Dispatch, Error, history, report};

/// Number of bytes kept from each end of a run's diff.
const DIFF_BYTES: usize = 2 << 20;

/// Returns the size of a work tree in bytes; `None` if there is none.
fn bytes_of(git: &dyn Git, path: &Path) -> Result<Option<u64>, Error> {
    if path.as_os_str().is_empty() { Ok(None) } else { git.worktree_bytes(path) }
}

impl Dispatch {
    /// Shows a run.
    ///
    /// # Errors
    /// An unknown run, or a failure of the store.
    pub async fn get_run(&self, request: &GetRunRequest) -> Result<GetRunReply, Error> {
        let row = find_run(&self.world, request.run.as_deref())?;
        let run = run_id(&row)?;
        if let Err(error) = self.world.read_limits().await {
            tracing::warn!(%error, "the settings that all runs have in common can't be read");
        }
        if row.get_text("mode").is_some() {
            return self.get_led(&row, request).await;
        }
        let (plan, list) = self.reports(&run).await?;
        let summary = report::summary(&self.world, &row)?;
        let reply = self.shown(&row, (summary, list), request).await?;
        Ok(GetRunReply { skipped: super::left_out(&plan), ..reply })
    }

    /// Returns the plan and the tasks of one run.
    async fn reports(&self, run: &RunId) -> Result<(Arc<RunPlan>, Vec<TaskReport>), Error> {
        let views = self.views(run).await?;
        let (plan, files) = (history::plan(&self.world, run)?, report::files(&self.world, run)?);
        let list = views.iter().map(|view| report::task(&self.world, &plan, &files, view)).collect::<Result<_, _>>()?;
        Ok((plan, list))
    }

    /// Returns the part of the reply that every run has.
    async fn shown(
        &self,
        row: &Row,
        (summary, mut list): (RunSummary, Vec<TaskReport>),
        request: &GetRunRequest,
    ) -> Result<GetRunReply, Error> {
        if request.sizes {
            self.measure(&mut list).await?;
        }
        let (messages_sent, messages_acked) = report::mail(&self.world, row)?;
        let notes = self.notes(&summary).await?;
        let diff = if request.diff { self.diff(&summary).await? } else { None };
        let total_micro_usd = summary.micro_usd.unwrap_or(0).saturating_add(summary.estimated_micro_usd.unwrap_or(0));
        let ceilings = report::ceilings(&self.world, row, &summary, total_micro_usd)?;
        Ok(GetRunReply {
            total_micro_usd,
            is_budget_exceeded: ceilings.iter().any(Ceiling::is_reached),
            ceilings,
            summary,
            list,
            messages_sent,
            messages_acked,
            skipped: Vec::new(),
            notes,
            diff,
            parts: Vec::new(),
        })
    }

    /// Shows a run that a team leads: the tasks of its phases, each in its latest state, and the parts of the run.
    async fn get_led(&self, row: &Row, request: &GetRunRequest) -> Result<GetRunReply, Error> {
        let run = run_id(row)?;
        let mut list: Vec<TaskReport> = Vec::new();
        for part in phases_of(&self.world, &run)? {
            let (_, tasks) = self.reports(&run_id(&part)?).await?;
            for task in tasks {
                list.retain(|known| known.id != task.id);
                list.push(task);
            }
        }
        let part = |row: &Row| {
            let what = row.get_text("part").unwrap_or_default().to_owned();
            Ok::<_, Error>(RunPart { run: run_id(row)?, what, state: row.try_text("state")?.to_owned() })
        };
        let parts = parts_of(&self.world, &run)?.iter().map(part).collect::<Result<_, _>>()?;
        let mut summary = report::summary(&self.world, row)?;
        let is_merged = |task: &&TaskReport| matches!(task.state.as_str(), "merged" | "done");
        let is_lost = |task: &&TaskReport| matches!(task.state.as_str(), "blocked" | "dep_failed");
        // A subtask is a part of its task in the counts as well.
        let whole = || list.iter().filter(|task| task.of.is_none());
        summary.tasks = whole().count() as u64;
        summary.merged = whole().filter(is_merged).count() as u64;
        summary.blocked = whole().filter(is_lost).count() as u64;
        let reply = self.shown(row, (summary, list), request).await?;
        Ok(GetRunReply { parts, ..reply })
    }

    /// Adds the sizes of tasks' work trees that exist.
    pub(super) async fn measure(&self, tasks: &mut [TaskReport]) -> Result<(), Error> {
        let trees: Vec<_> = tasks.iter().map(|task| PathBuf::from(&task.worktree)).collect();
        let sizes =
            self.world.git(move |git| trees.iter().map(|path| bytes_of(git, path)).collect::<Result<Vec<_>, _>>());
        for (task, size) in tasks.iter_mut().zip(sizes.await?) {
            task.worktree_bytes = size;
        }
        Ok(())
    }

    /// Returns notes for the user before the branch of a finished run is merged.
    async fn notes(&self, summary: &RunSummary) -> Result<Vec<String>, Error> {
        if let Some(failure) = self.world.troubles.of(&summary.run).filter(|_| summary.state == "running") {
            let hint = if failure.hint.is_empty() { String::new() } else { format!("; {}", failure.hint) };
            return Ok(vec![format!("the run does not go on now: {} [{}]{hint}", failure.what, failure.code)]);
        }
        if summary.state == "running" || summary.is_merged || summary.merged == 0 {
            return Ok(Vec::new());
        }
        let notes = self.of_branch(summary, |git, base, head| git.unusual(base, head)).await?;
        Ok(notes.unwrap_or_default())
    }

    async fn diff(&self, summary: &RunSummary) -> Result<Option<String>, Error> {
        self.of_branch(summary, |git, base, head| git.diff_text(base, head, DIFF_BYTES)).await
    }

    /// Compares a run's branch with the commit from which it started; `None` if the branch is missing.
    async fn of_branch<T: Send + 'static>(
        &self,
        summary: &RunSummary,
        look: impl FnOnce(&dyn Git, &Oid, &Oid) -> Result<T, Error> + Send + 'static,
    ) -> Result<Option<T>, Error> {
        let (base, branch) = (Oid::parse(&summary.base)?, summary.branch.clone());
        let look = move |git: &dyn Git| git.branch(&branch)?.map(|head| look(git, &base, &head)).transpose();
        self.world.git(look).await
    }

    /// Returns the newest runs, at most `limit`.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn runs(&self, limit: u64) -> Result<Vec<RunSummary>, Error> {
        // Parts are shown with the run that they belong to.
        let whole = Query::table(RUNS).is_null("part_of").desc("seq").limit(limit);
        self.world.store.read(&whole)?.iter().map(|row| report::summary(&self.world, row)).collect()
    }
}
