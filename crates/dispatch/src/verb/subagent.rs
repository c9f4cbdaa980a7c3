//! `subagent`: state of a job, and its continuation.

use std::time::Duration;

use switchboard_pipeline::subagent::following;
use switchboard_pipeline::subtasks::PromptSource;
use switchboard_protocol::error::Failure;
use switchboard_protocol::frame::ANSWER_FILE;
use switchboard_protocol::id::{RunId, WorkerId};
use switchboard_protocol::job::Mode;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RefusalCause, TaskState, TaskView};
use switchboard_protocol::text::{cut, shortened};
use switchboard_protocol::verb::run::{RetryTaskRequest, TaskReport};
use switchboard_protocol::verb::subagent::{SubagentReply, SubagentResult};
use switchboard_store::{Idempotency, Interest};

use super::show_task::worker_folder;
use super::{find_run, find_target};
use crate::history::last_worker;
use crate::plan::RunPlan;
use crate::work::{RUNS, run_id};
use crate::{Dispatch, Error, history, report};

/// Maximum length of all texts of an answer together, in bytes: what a model can take at once.
const TEXTS: usize = 50 << 10;

/// Minimum space for each text, in bytes.
const MIN_TEXT_BYTES: usize = 1 << 10;

/// Maximum length of an answer quoted by a follow-up, in bytes.
const QUOTED: usize = 32 << 10;

/// Maximum length of a reason, in bytes.
const WHY: usize = 1000;

/// How a job is to be continued.
#[derive(Debug)]
pub enum Continuation {
    /// The same run continues.
    Same(RunId),
    /// A new job continues it.
    Fresh {
        /// Text of the task, for its worker.
        task: String,
        /// Name of the agent that did the task before.
        agent: String,
    },
}

impl Dispatch {
    /// Counts a task that a caller delegates to an agent; returns a warning if it repeats an earlier one.
    ///
    /// # Errors
    /// `agent.loop` if it was repeated too often: it must not be started.
    pub fn delegated(&self, by: &str, agent: &str, task: &str) -> Result<Option<String>, Failure> {
        self.world.delegations.count(by, agent, task)
    }

    /// Waits until a run is over, at most `limit`; returns true if it is over.
    ///
    /// # Errors
    /// An unknown run, or a failure of the store.
    pub async fn wait_for_run(&self, run: &RunId, limit: Duration) -> Result<bool, Error> {
        let mut changes = self.world.store.subscribe([Interest::rows(RUNS, "id", run.as_str())]);
        let over = async {
            loop {
                let row = find_run(&self.world, Some(run.as_str()))?;
                if row.try_text("state")? != "running" {
                    return Ok(true);
                }
                changes.changed().await.map_err(Error::from)?;
            }
        };
        tokio::time::timeout(limit, over).await.unwrap_or(Ok(false))
    }

    /// Finds a run by its id, the beginning of its id, or one of its tasks.
    ///
    /// # Errors
    /// An unknown run.
    pub fn run_named(&self, named: &str) -> Result<RunId, Error> {
        run_id(&find_target(&self.world, named)?.0)
    }

    /// Returns the state of a job, with the answers of its workers.
    ///
    /// # Errors
    /// An unknown run, or a failure of the store or the disk.
    pub async fn subagent(&self, run: &RunId) -> Result<SubagentReply, Error> {
        let row = find_run(&self.world, Some(run.as_str()))?;
        let plan = history::plan(&self.world, run)?;
        let views = self.views(run).await?;
        let files = report::files(&self.world, run)?;
        let bound = (TEXTS / views.len().max(1)).max(MIN_TEXT_BYTES);
        let mut results = Vec::new();
        // In the plan a subtask precedes its task.
        let in_order = plan.plan.tasks().filter_map(|task| views.iter().find(|view| view.task == task.id));
        for view in in_order {
            let report = report::task(&self.world, &plan, &files, view)?;
            results.push(self.result(&plan, view, report, bound)?);
        }
        let state = row.try_text("state")?.to_owned();
        let waits = views.iter().any(|view| matches!(view.state, TaskState::Waiting { .. }));
        let next = match state.as_str() {
            "running" if waits => format!("a person is asked; then ask again: action status, run {run}"),
            "running" => format!("ask again: action status, run {run}, with wait_ms"),
            _ => String::new(),
        };
        Ok(SubagentReply { run: run.clone(), mode: mode(&plan), state, results, next, notes: Vec::new() })
    }

    fn result(
        &self,
        plan: &RunPlan,
        view: &TaskView,
        report: TaskReport,
        bound: usize,
    ) -> Result<SubagentResult, Error> {
        let worker = self.last_worker_of(&plan.run, &view.task)?;
        let (text, elided) = match self.last_answer(&plan.run, &view.task)? {
            Some(said) => shortened(&said, bound),
            None => (String::new(), 0),
        };
        let is_turn = plan.shape(&view.task).is_some_and(|shape| matches!(shape.told, PromptSource::Turn { .. }));
        let is_failed = matches!(view.state, TaskState::Blocked { .. } | TaskState::DepFailed { .. });
        let is_good = view.state.is_done();
        let why = report::ending(&view.state).or_else(|| report.refusals.last().cloned()).filter(|_| !is_good);
        let why = why.map(|why| cut(&why, WHY)).unwrap_or_default();
        Ok(SubagentResult {
            artifact: format!("{}/{}", plan.run, view.task),
            agent: report.agent,
            status: match (is_turn, is_failed, worker.is_some()) {
                (true, true, _) => "no-reply".to_owned(),
                (true, false, false) if is_good => "omitted".to_owned(),
                _ => report.state,
            },
            worker,
            text,
            elided,
            attempts: report.attempts,
            code: code(view, &why).unwrap_or_default(),
            why,
            micro_usd: report.micro_usd,
            input_tokens: report.input_tokens,
            output_tokens: report.output_tokens,
        })
    }

    fn last_worker_of(&self, run: &RunId, task: &TaskId) -> Result<Option<WorkerId>, Error> {
        let Some(row) = last_worker(&self.world, run, task)? else { return Ok(None) };
        Ok(WorkerId::new(row.try_text("id")?).ok())
    }

    /// Returns the whole answer of the last worker of a task.
    fn last_answer(&self, run: &RunId, task: &TaskId) -> Result<Option<String>, Error> {
        let Some(row) = last_worker(&self.world, run, task)? else { return Ok(None) };
        let path = std::path::Path::new(&worker_folder(&self.world, run, &row)?).join(ANSWER_FILE);
        let bytes = self.world.ports.files.read(&path)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Continues a job that has ended. With a follow-up, that is a task that quotes the answer; without one, failed or
    /// stopped tasks are retried, a chain from the step that failed.
    ///
    /// # Errors
    /// `request.conflict` if it is at work or nothing failed, `request.bad-args` if several tasks could be meant; a
    /// failure of the store.
    pub async fn go_on(
        &self,
        named: &str,
        follow_up: Option<&str>,
        call: Option<Idempotency>,
    ) -> Result<Continuation, Error> {
        let (row, task) = find_target(&self.world, named)?;
        let run = run_id(&row)?;
        if row.try_text("state")? == "running" {
            let failure = Failure::new("request.conflict", format!("{run} is at work"));
            return Err(failure.hint(format!("ask for its results: action status, run {run}, with wait_ms")).into());
        }
        let Some(follow_up) = follow_up else {
            let request = RetryTaskRequest { what: named.to_owned(), tasks: Vec::new(), turn: None, env: Vec::new() };
            return Ok(Continuation::Same(self.retry_task(&request, call).await?.run));
        };
        let plan = history::plan(&self.world, &run)?;
        let task = match task {
            Some(task) => task,
            None => only_task(&plan)?,
        };
        let view = self.view(&run, &task).await?;
        let report = report::task(&self.world, &plan, &report::Files::new(), &view)?;
        let said = self.last_answer(&run, &task)?.map(|said| shortened(&said, QUOTED).0);
        let task = following(&report.description, said.as_deref(), follow_up);
        Ok(Continuation::Fresh { task, agent: self.agent_of(&plan, &view.task, report.agent)? })
    }

    /// Returns the name of the task's agent for a request; its workers may have had another name on the roster.
    fn agent_of(&self, plan: &RunPlan, task: &TaskId, worked: String) -> Result<String, Error> {
        let (_, settings) = plan.settings(task)?;
        Ok(plan.agent_name(&settings).unwrap_or(worked))
    }
}

/// Returns the one task of a run that a follow-up can concern: the last step of a chain, the verdict of a debate.
fn only_task(plan: &RunPlan) -> Result<TaskId, Failure> {
    let is_whole = |id: &TaskId| plan.shape(id).is_none_or(|shape| shape.of.is_none());
    let whole: Vec<_> = plan.plan.tasks().map(|task| &task.id).filter(|id| is_whole(id)).collect();
    match whole.as_slice() {
        [only] => Ok((*only).clone()),
        several => {
            let ids: Vec<_> = several.iter().map(|id| format!("{}/{id}", plan.run)).collect();
            let what = format!("{} has {} tasks, and a follow-up is about one", plan.run, several.len());
            Err(Failure::new("request.bad-args", what).at("run").hint(format!("name it: {}", ids.join(", "))))
        }
    }
}

/// Returns how the workers of a run work together.
fn mode(plan: &RunPlan) -> Mode {
    let told = |wanted: fn(&PromptSource) -> bool| plan.shapes.values().any(|shape| wanted(&shape.told));
    if told(|told| matches!(told, PromptSource::Turn { .. })) {
        Mode::Debate
    } else if told(|told| matches!(told, PromptSource::Step { .. })) {
        Mode::Chain
    } else if plan.plan.tasks().count() == 1 {
        Mode::Single
    } else {
        Mode::Parallel
    }
}

/// Returns the code of a task's failure; `None` if it has not failed.
fn code(view: &TaskView, why: &str) -> Option<String> {
    let TaskState::Blocked { .. } = &view.state else { return None };
    let named = why.strip_suffix(']').and_then(|why| why.rsplit_once('['));
    let named = named.map(|(_, code)| code).filter(|code| switchboard_protocol::error::find(code).is_some());
    let of_cause = |cause: &RefusalCause| match cause {
        RefusalCause::AgentFailed | RefusalCause::AgentRefused => "agent.failed",
        RefusalCause::TimedOut => "agent.timeout",
        RefusalCause::NothingChanged => "dispatch.no-change",
        RefusalCause::FilesLeftOut => "dispatch.nested-repository",
        RefusalCause::Gate { .. } | RefusalCause::Step { .. } | RefusalCause::Person => "gate.refused",
        RefusalCause::MergeConflict => "dispatch.merge-conflict",
    };
    let last = view.refusals.last().map_or("worker.lost", |refusal| of_cause(&refusal.cause));
    Some(named.unwrap_or(last).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use switchboard_protocol::run::Refusal;

    use super::*;
    use crate::tests::{run_plan, view};

    fn task(id: &str, settings: Value) -> Value {
        json!({ "id": id, "phase": 1, "description": "d", "x-switchboard": settings })
    }

    fn chain() -> Value {
        json!({ "chain": [{ "agent": "ann", "prompt": "first" }, { "agent": "ben", "prompt": "then" }] })
    }

    fn debate() -> Value {
        json!({ "debate": { "participants": [{ "agent": "ann" }, { "agent": "ben" }], "rounds": 2 } })
    }

    #[test]
    fn a_job_has_the_mode_in_which_its_workers_work_together() {
        let of = |tasks: &[Value]| mode(&run_plan(&json!(tasks)));

        assert_eq!(of(&[task("1.1", json!({}))]), Mode::Single);
        assert_eq!(of(&[task("1.1", json!({})), task("1.2", json!({}))]), Mode::Parallel);
        assert_eq!(of(&[task("1.1", chain())]), Mode::Chain);
        assert_eq!(of(&[task("1.1", debate())]), Mode::Debate);
    }

    #[test]
    fn a_follow_up_is_about_the_only_task_whose_steps_or_turns_are_no_tasks_of_their_own() {
        let of = |tasks: &[Value]| only_task(&run_plan(&json!(tasks)));

        for settings in [json!({}), chain(), debate()] {
            assert_eq!(of(&[task("1.1", settings)]).unwrap().as_str(), "1.1");
        }
        let several = of(&[task("1.1", chain()), task("1.2", json!({}))]).unwrap_err();
        assert_eq!((several.code.as_str(), several.place.as_str()), ("request.bad-args", "run"));
        assert!(several.what.contains("has 2 tasks") && several.hint.contains("/1.1, run_"), "{several:?}");
    }

    #[test]
    fn a_failed_task_has_the_code_that_its_reason_names_or_that_of_its_last_refusal() {
        let blocked = |causes: &[RefusalCause]| {
            let refused = |cause: &RefusalCause| Refusal { attempt: 1, cause: cause.clone(), reasons: Vec::new() };
            let refusals = causes.iter().map(refused).collect();
            TaskView { refusals, ..view("1.1", TaskState::Blocked { reason: String::new() }) }
        };
        let of = |causes: &[RefusalCause], why: &str| code(&blocked(causes), why).unwrap();

        assert_eq!(code(&view("1.1", TaskState::Stopped), "gone [agent.missing]"), None);
        assert_eq!(of(&[RefusalCause::TimedOut], "gone [agent.missing]"), "agent.missing");
        assert_eq!(of(&[RefusalCause::TimedOut], "look at a[0]"), "agent.timeout");
        assert_eq!(of(&[RefusalCause::TimedOut, RefusalCause::MergeConflict], ""), "dispatch.merge-conflict");
        assert_eq!(of(&[], "it never came back"), "worker.lost");
        for (cause, code) in [
            (RefusalCause::AgentRefused, "agent.failed"),
            (RefusalCause::NothingChanged, "dispatch.no-change"),
            (RefusalCause::FilesLeftOut, "dispatch.nested-repository"),
            (RefusalCause::Person, "gate.refused"),
        ] {
            assert_eq!(of(&[cause], ""), code);
        }
    }
}
