//! Calls from the seat about tasks of the present phase: reports on by-hand work, declared files, and status.

use serde_json::Value;
use switchboard_pipeline::run::RunState;
use switchboard_pipeline::team::rationalise;
use switchboard_protocol::action::StepState;
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::ShimCommand;
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::{TaskId, TaskStatus};
use switchboard_protocol::run::{RunEvent, TaskState};
use switchboard_protocol::verb::lead::{DeclareScopeRequest, MAX_FILES, UpdateTaskStatusRequest};
use switchboard_protocol::verb::step::ReportStepRequest;
use switchboard_store::Idempotency;

use super::begin::{lacking, not_ready};
use super::{Driver, SeatCaller};
use crate::{Error, report};

/// Maximum length of a declared file's path, in bytes.
const PATH: usize = 4096;

impl Driver {
    /// Records the holder's report on a task that it does by hand. `done` ends the work, and the gates judge the tree;
    /// `stuck` ends the attempt as failed, for the reason in the note.
    pub(super) async fn report_task(
        &mut self,
        task: TaskId,
        request: ReportStepRequest,
        call: Option<Idempotency>,
    ) -> Result<Value, Error> {
        let (_, state) = self.phase(&format!("nobody works on task {task}")).await?;
        self.expect_task(&state, &task)?;
        let worker = state.leader_workers().find(|(of, _)| **of == task).map(|(_, worker)| worker.clone());
        let Some(worker) = worker else { return Err(not_by_hand(&state, &task).into()) };
        if request.state == StepState::Stuck {
            expect_reason(&request.note, "note")?;
        }
        let is_ended = request.state != StepState::Working;
        let answer = self.dispatch.act(&worker, request.into_parts(), call).await?;
        self.dispatch.world.crash("hands-reported");
        if is_ended {
            self.finish_hands(&worker).await?;
        }
        super::value(&answer)
    }

    /// Ends the placeholder worker of a by-hand step, after which the tree is captured.
    async fn finish_hands(&self, worker: &WorkerId) -> Result<(), Error> {
        let gone = || Failure::new("dispatch.stale-worker", format!("the work of {worker} is over"));
        self.dispatch.world.link(worker).ok_or_else(gone)?.tell(ShimCommand::Finish).await
    }

    /// Narrows the files that the coder of a task may change.
    pub(super) async fn declare_scope(
        &mut self,
        request: DeclareScopeRequest,
        by: &SeatCaller,
        call: Option<Idempotency>,
    ) -> Result<Value, Error> {
        self.holder(request.fence, by)?;
        let DeclareScopeRequest { task, files, .. } = request;
        expect_files(&files)?;
        let (run, state) = self.phase(&format!("task {task} has no work to declare files for")).await?;
        self.expect_task(&state, &task)?;
        let (_, settings) = self.dispatch.plan_of(&run)?.settings(&task)?;
        let outside = settings.outside(files.iter().map(String::as_str), &files.iter().cloned().collect());
        if let Some(first) = outside.first() {
            let what = format!("{} is not in the {} of task {task}", first.file, first.of);
            let hint = "declare files that the plan names; other files want another plan, which the critic reviews";
            return Err(Failure::new("seat.not-open", what).at("files").hint(hint).into());
        }
        let declared = RunEvent::ScopeDeclared { task, files };
        let answer = super::value(&self.status_of(self.record.state(), by).await?)?;
        self.dispatch.ask_live(&run, vec![declared], call, answer).await
    }

    /// Sets the status of a task if the record agrees with it, or blocks the task.
    pub(super) async fn set_status(
        &mut self,
        request: UpdateTaskStatusRequest,
        by: &SeatCaller,
        call: Option<Idempotency>,
    ) -> Result<Value, Error> {
        self.holder(request.fence, by)?;
        let UpdateTaskStatusRequest { task, status, reason, .. } = request;
        let (run, state) = self.phase(&format!("the status of task {task} can't be set")).await?;
        self.expect_task(&state, &task)?;
        let Some(view) = state.task(&task) else { return Err(Error::Missing(task.to_string())) };
        let is_done = view.state.is_done();
        let word = report::state_word(&view.state);
        let unearned = |why: String, hint: String| Err(Failure::new("seat.not-earned", why).hint(hint).into());
        let steps = match status {
            TaskStatus::Completed if is_done => Vec::new(),
            TaskStatus::Completed => {
                return unearned(format!("task {task} is {word}, and not completed"), lacking(&state, &task));
            }
            TaskStatus::InProgress if is_done || view.state.is_settled() => {
                let hint = format!("a person tries it again: switchboard retry {task}");
                return unearned(format!("task {task} is {word}: it is not in progress"), hint);
            }
            TaskStatus::InProgress
                if state.open_step(&task).is_some() && view.attempt == 1 && view.steps.is_empty() =>
            {
                return unearned(format!("task {task} is {word}: nobody works on it"), lacking(&state, &task));
            }
            TaskStatus::InProgress => Vec::new(),
            TaskStatus::Blocked => {
                let why = reason.unwrap_or_default();
                expect_reason(&why, "reason")?;
                let reason = format!("{why} ({} says so)", by.name);
                let retries = Some(state.retries_of(&task));
                vec![RunEvent::TaskBlocked { task, attempt: view.attempt, retries, reason }]
            }
            TaskStatus::Pending | TaskStatus::Closed => {
                let hint =
                    format!("a person tries a blocked task again (switchboard retry {task}), or has it planned anew");
                return unearned(
                    format!("a task that is {word} is not set to {status}", status = status_word(status)),
                    hint,
                );
            }
        };
        let answer = super::value(&self.status_of(self.record.state(), by).await?)?;
        if steps.is_empty() {
            return Ok(answer);
        }
        self.dispatch.ask_live(&run, steps, call, answer).await
    }
}

const fn status_word(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "pending",
        TaskStatus::InProgress => "in_progress",
        TaskStatus::Completed => "completed",
        TaskStatus::Blocked => "blocked",
        TaskStatus::Closed => "closed",
    }
}

/// Returns the refusal for a task that is not being done by hand by the leader of the run.
fn not_by_hand(state: &RunState, task: &TaskId) -> Failure {
    let at_work = state
        .task(task)
        .is_some_and(|view| matches!(view.state, TaskState::Starting { .. } | TaskState::Working { .. }));
    if at_work {
        let what = format!("a worker of the run works on task {task}: it says itself when it is done");
        return Failure::new("seat.not-open", what).hint("seat_status with wait_ms says when there is something to do");
    }
    not_ready(state, task)
}

/// Refuses that a task doesn't go on without a reason, or for an excuse.
fn expect_reason(why: &str, at: &str) -> Result<(), Failure> {
    if why.trim().is_empty() {
        return Err(Failure::new("request.bad-args", "a task is blocked for a reason").at(at));
    }
    let Some(excuse) = rationalise::offered(why).into_iter().next() else { return Ok(()) };
    let what = format!("\"{}\" is no reason to leave a task", excuse.wording);
    Err(Failure::new("request.bad-args", what).at(at).hint(excuse.remedy))
}

/// Refuses a list that is not one of files in the repository.
fn expect_files(files: &[String]) -> Result<(), Failure> {
    let bad = |what: String| Err(Failure::new("request.bad-args", what).at("files"));
    if files.is_empty() || files.len() > MAX_FILES {
        return bad(format!("1 to {MAX_FILES} files are declared"));
    }
    for file in files {
        let is_path = !file.is_empty() && file.len() <= PATH && !file.starts_with('/') && !file.contains('\0');
        let is_plain = !file.contains(['*', '?', '[', '{']) && !file.ends_with('/');
        if !is_path || !is_plain || file.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return bad(format!("{file:?} is no path of a file in the repository, relative to its root"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_file_is_a_path_in_the_repository_of_limited_length() {
        let expect = |file: String| expect_files(&[file]).map_err(|failure| failure.what);

        assert_eq!(expect("a".repeat(PATH)), Ok(()));
        assert!(expect("a".repeat(PATH + 1)).unwrap_err().contains("is no path of a file"));
        for wrong in ["", "/a", "a/", "a//b", "./a", "a/../b", "*.rs", "a\0"] {
            assert!(expect(wrong.to_owned()).is_err(), "{wrong:?}");
        }
        let many = |count| expect_files(&vec!["a".to_owned(); count]).is_ok();
        assert_eq!([0, MAX_FILES, MAX_FILES + 1].map(many), [false, true, false]);
    }
}
