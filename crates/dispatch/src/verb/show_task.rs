//! `show_task`: shows one task, with its diff or its worker's answer.

use switchboard_process::git::Oid;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::message::Message;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{TaskState, TaskView};
use switchboard_protocol::verb::run::{ShowTaskReply, ShowTaskRequest};
use switchboard_store::Row;

use super::find_target;
use crate::identity::worker_id;
use crate::work::run_id;
use crate::world::World;
use crate::{Dispatch, Error, plan, report};

/// Number of bytes kept from each end of a diff.
const DIFF_BYTES: usize = 512 * 1024;

/// Maximum number of messages to its workers shown with a task.
const MAX_SHOWN_MESSAGES: u64 = 100;

impl Dispatch {
    /// Shows a task.
    ///
    /// # Errors
    /// An unknown run or task, or a failure of the store or of git.
    pub async fn show_task(&self, request: &ShowTaskRequest) -> Result<ShowTaskReply, Error> {
        let (row, task) = find_target(&self.world, &request.task)?;
        let run = run_id(&row)?;
        let Some(id) = task else {
            return Err(Failure::new("request.bad-args", "name a task: RUN/TASK").into());
        };
        let view = self.view(&run, &id).await?;
        let fixed = crate::history::plan(&self.world, &run)?;
        let worker = crate::history::last_worker(&self.world, &run, &id)?;
        let folder = match &worker {
            Some(row) => worker_folder(&self.world, &run, row)?,
            None => String::new(),
        };
        let diff = if request.diff { diff(&self.world, &view, worker.as_ref()).await? } else { None };
        let from = request.answer_from.filter(|_| !folder.is_empty());
        let answer = from.map(|from| report::answer(&folder, from)).transpose()?.flatten();
        let mut task = [report::task(&self.world, &fixed, &report::files(&self.world, &fixed.run)?, &view)?];
        self.measure(&mut task).await?;
        let [task] = task;
        let told = messages_to_workers(&self.world, &run, &id, worker.as_ref())?;
        Ok(ShowTaskReply { run, task, diff, answer, folder, told })
    }
}

/// Returns the messages to the workers of a task of a standalone run.
fn messages_to_workers(world: &World, run: &RunId, task: &TaskId, last: Option<&Row>) -> Result<Vec<Message>, Error> {
    let agent = last.and_then(|row| row.get_text("agent")).and_then(|name| AgentName::new(name).ok());
    agent.map_or(Ok(Vec::new()), |agent| crate::worker_messages::all(world, (run, task), &agent, MAX_SHOWN_MESSAGES))
}

pub(super) fn worker_folder(world: &World, run: &RunId, row: &Row) -> Result<String, Error> {
    Ok(plan::text(&plan::worker_folder(&world.config, run, &worker_id(row)?)))
}

/// Returns the change of the task: the merged commit against the one before, else the captured change against its base.
async fn diff(world: &World, view: &TaskView, worker: Option<&Row>) -> Result<Option<String>, Error> {
    let (from, to) = match (&view.state, worker) {
        (TaskState::Merged { commit }, _) => (format!("{commit}^"), commit.clone()),
        (
            TaskState::Captured { change }
            | TaskState::Gating { change }
            | TaskState::Passed { change }
            | TaskState::Held { change, .. }
            | TaskState::Merging { change, .. },
            row,
        ) => {
            let base = match row {
                Some(row) if change.base.is_empty() => row.try_text("base")?,
                Some(_) | None => &change.base,
            };
            (base.to_owned(), change.commit.clone())
        }
        (_, Some(row)) => {
            let worktree = std::path::PathBuf::from(row.try_text("worktree")?);
            return of_worktree(world, row.try_text("base")?.to_owned(), worktree).await;
        }
        (_, None) => return Ok(None),
    };
    let text = world.git(move |git| {
        let from = git.rev_parse(&from)?.ok_or(Error::Missing(from))?;
        git.diff_text(&from, &Oid::parse(&to)?, DIFF_BYTES)
    });
    text.await.map(Some)
}

/// Returns the content of the work tree of a task that is at work or was refused: its branch's tip against its base.
async fn of_worktree(world: &World, base: String, worktree: std::path::PathBuf) -> Result<Option<String>, Error> {
    let text = world.git(move |git| {
        let Some(tip) = git.worktree_tip(&worktree)? else { return Ok(None) };
        git.diff_text(&Oid::parse(&base)?, &tip, DIFF_BYTES).map(Some)
    });
    text.await
}
