//! Begins a step: a role's answer, or the next step of a task.

use serde_json::Value;
use switchboard_pipeline::modes::{Action, At};
use switchboard_pipeline::run::{OpenStep, RunState};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::modes::ModeEvent;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, TaskState};
use switchboard_protocol::verb::lead::{BeginStepReply, BeginStepRequest, StepExecutor};
use switchboard_store::Idempotency;

use super::status::open_of;
use super::{Driver, SeatCaller, not_open};
use crate::{Error, report};

/// Maximum number of steps named in a refusal.
const MAX_NAMED: usize = 8;

impl Driver {
    /// Begins the step of a role that the run waits for, or the next step of a task. For a step that has begun, returns
    /// its present state.
    pub(super) async fn begin(
        &mut self,
        request: BeginStepRequest,
        by: &SeatCaller,
        call: Option<Idempotency>,
    ) -> Result<Value, Error> {
        let seat = self.holder(request.fence, by)?;
        match request.task.clone() {
            Some(task) => self.begin_of_task(&task, &request, &seat.agent, call).await,
            None => self.begin_of_role(&request, by, call).await,
        }
    }

    async fn begin_of_role(
        &mut self,
        request: &BeginStepRequest,
        by: &SeatCaller,
        call: Option<Idempotency>,
    ) -> Result<Value, Error> {
        let state = self.record.state();
        let step = state.step_number();
        let begun = ModeEvent::StepBegun { step, fence: request.fence };
        let At::Asking { ask, .. } = state.at() else {
            let what = format!("the run waits for {}", state.at());
            let named = if matches!(state.at(), At::Running { .. }) { "name a task: " } else { "" };
            return Err(Failure::new("seat.not-open", what).hint(format!("{named}{}", self.remedy())).into());
        };
        let open = open_of(ask);
        expect_step(request.step.as_deref(), &open.step, "the run")?;
        if request.by == StepExecutor::Seat {
            let what = format!("the {} gives its answer itself: another one than who plans has to", ask.role());
            return Err(Failure::new("seat.not-open", what).at("by").hint("begin it without `by`").into());
        }
        let answer = begun_reply((&self.run, None), open.step, StepExecutor::Worker, "begun");
        let answer = super::value(&answer)?;
        if matches!(state.next(), Action::AskRole { .. }) {
            return Ok(answer);
        }
        state.step(&begun).map_err(|refused| not_open(&refused))?;
        let (event, _) = self.record.draft(begun, String::new(), by.name.as_str())?;
        self.record.commit_call(&self.dispatch.world, event, call, answer).await
    }

    async fn begin_of_task(
        &self,
        task: &TaskId,
        request: &BeginStepRequest,
        seat: &AgentName,
        call: Option<Idempotency>,
    ) -> Result<Value, Error> {
        let (run, state) = self.phase(&format!("task {task} can't begin")).await?;
        self.expect_task(&state, task)?;
        let Some(open) = state.open_step(task) else {
            return match begun(&run, &state, task, request) {
                Some(begun) => super::value(&begun),
                None => Err(not_ready(&state, task).into()),
            };
        };
        expect_step(request.step.as_deref(), open.step.as_str(), &format!("task {task}"))?;
        let hands = (request.by == StepExecutor::Seat).then(|| seat.clone());
        if hands.is_some() {
            self.expect_hands(&run, &open)?;
        }
        let OpenStep { task, step, attempt, .. } = open;
        let answer = begun_reply((&run, Some(&task)), step.to_string(), request.by, "begun");
        let begun = RunEvent::StepBegun { task, step, attempt, by: hands };
        let answer = super::value(&answer)?;
        self.dispatch.ask_live(&run, vec![begun], call, answer).await
    }

    /// Refuses that the leader does a step by hand, if others have to judge it or its worker would be isolated.
    fn expect_hands(&self, run: &RunId, open: &OpenStep) -> Result<(), Error> {
        if open.answers {
            let what =
                format!("step {} of task {} judges the change: who plans and works doesn't", open.step, open.task);
            return Err(Failure::new("seat.not-open", what)
                .at("by")
                .hint("begin it without `by`: a worker does it")
                .into());
        }
        let plan = self.dispatch.plan_of(run)?;
        let (_, settings) = plan.settings(&open.task)?;
        let choice = plan.choice(&open.task, &settings)?;
        if settings.command.is_some() {
            let what = format!("a command of the plan does task {}", open.task);
            return Err(Failure::new("seat.not-open", what).at("by").hint("begin it without `by`").into());
        }
        if !plan.isolation(&settings, &choice).is_full() {
            let what =
                format!("task {} is done by a worker that is held: nobody holds the leader's own hands", open.task);
            return Err(Failure::new("seat.not-open", what).at("by").hint("begin it without `by`").into());
        }
        Ok(())
    }

    /// Refuses a task that is not in the present phase.
    pub(super) fn expect_task(&self, state: &RunState, task: &TaskId) -> Result<(), Failure> {
        if state.task(task).is_some() {
            return Ok(());
        }
        let tasks: Vec<_> = state.tasks().map(|view| view.task.to_string()).collect();
        let near = switchboard_protocol::error::near_matches(task.as_str(), tasks.iter().map(String::as_str));
        let all = tasks.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let hint = near.first().map_or_else(|| format!("there are {all}"), |near| format!("did you mean {near}?"));
        Err(Failure::new("dispatch.unknown-task", format!("the present phase has no task {task}")).hint(hint))
    }
}

/// Refuses a step that is not the open one.
fn expect_step(wanted: Option<&str>, open: &str, of: &str) -> Result<(), Failure> {
    match wanted {
        Some(wanted) if wanted != open => {
            let what = format!("{wanted} of {of} is not what comes next");
            Err(Failure::new("seat.not-open", what).at("step").hint(format!("{open} is open: begin that")))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the refusal for a task without a step that may be begun, with what it still lacks.
pub(super) fn not_ready(state: &RunState, task: &TaskId) -> Failure {
    let view = state.task(task);
    let word = view.as_ref().map_or("unknown", |view| report::state_word(&view.state));
    let why = view.and_then(|view| view.not_started).map(|skipped| format!(": {}", skipped.detail)).unwrap_or_default();
    let failure = Failure::new("seat.not-open", format!("task {task} is {word}{why}"));
    failure.hint(lacking(state, task))
}

/// Describes the steps that a task has not passed yet, and how to get to them.
pub(super) fn lacking(state: &RunState, task: &TaskId) -> String {
    let missing = state.missing_steps(task);
    let names: Vec<_> = missing.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    match (state.open_step(task), names.is_empty()) {
        (Some(open), _) => format!("it lacks {}; begin_step {} of task {task} comes next", names.join(", "), open.step),
        (None, true) => "nothing is missing".to_owned(),
        (None, false) => format!("it lacks {}; seat_status with wait_ms says when one may be begun", names.join(", ")),
    }
}

/// Returns the state of a step that was begun before.
fn begun(run: &RunId, state: &RunState, task: &TaskId, request: &BeginStepRequest) -> Option<BeginStepReply> {
    let view = state.task(task)?;
    let is_at_work = matches!(view.state, TaskState::Starting { .. } | TaskState::Working { .. });
    // Begun, and its worker waits for a free place.
    let is_to_start = view.state == TaskState::Ready && !state.is_paused(task);
    if !is_at_work && !is_to_start {
        return None;
    }
    let at_work = if is_at_work { report::state_word(&view.state) } else { "begun" };
    let step = view.step.map_or_else(|| "work".to_owned(), |step| step.to_string());
    if request.step.as_ref().is_some_and(|wanted| *wanted != step) {
        return None;
    }
    let is_by_hand = state.leader_workers().any(|(of, _)| of == task);
    let by = if is_by_hand { StepExecutor::Seat } else { StepExecutor::Worker };
    if by != request.by && at_work != "begun" {
        return None;
    }
    Some(begun_reply((run, Some(task)), step, request.by, at_work))
}

/// Returns the reply about a step. What a by-hand step needs is added once it exists.
fn begun_reply((run, task): (&RunId, Option<&TaskId>), step: String, by: StepExecutor, state: &str) -> BeginStepReply {
    BeginStepReply {
        run: run.clone(),
        task: task.cloned(),
        step,
        by,
        state: state.to_owned(),
        worker: None,
        worktree: None,
        branch: None,
        prompt: None,
    }
}
