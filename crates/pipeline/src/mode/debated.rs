//! A debate about a part of a plan: it comes before the part's tasks, and what is decided is told to their workers.
//!
//! The debate is a task of its own whose result is a report. All tasks of the part wait for it, and a task that waits for a report is told it.

use std::fmt::Write as _;

use switchboard_protocol::error::Failure;
use switchboard_protocol::plan::{
    DebateSettings, Extra, Plan, Task, TaskId, TaskResult, TaskSettings, TaskSize, TaskStatus,
};
use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::text::cut;

/// Bytes of the list of tasks that participants are shown.
const LIST: usize = 8 << 10;

/// Bytes of one task in it.
const LINE: usize = 300;

/// Puts a debate before all tasks of a part of a plan; the first phase says who takes part, else the plan.
///
/// # Errors
/// `request.bad-args` at `mode` where nobody is said to take part, or the debate's id is taken.
pub(super) fn debated(mut plan: Plan, unit: Option<&UnitId>) -> Result<Plan, Failure> {
    let refused = |what: &str, hint: &str| Err(Failure::new("request.bad-args", what).at("mode").hint(hint));
    let Some(debate) = participants(&plan) else {
        let what = "a debate about tasks of a plan, a phase or a slice needs participants, and the plan names none";
        return refused(what, "say x-switchboard.debate in the phase or the plan, or choose a task that says it");
    };
    let Some(first) = plan.phases.first() else { return Ok(plan) };
    let Ok(id) = TaskId::new(format!("{}.debate", first.id)) else { return Ok(plan) };
    if plan.tasks().any(|task| task.id == id) {
        let what = format!("the plan has a task {id}, which is the id of the debate before its tasks");
        return refused(&what, "rename the task");
    }
    let description = description(&plan, unit);
    for task in plan.phases.iter_mut().flat_map(|phase| &mut phase.tasks) {
        task.depends.push(id.clone());
    }
    let settings = TaskSettings { result: Some(TaskResult::Report), debate: Some(debate), ..TaskSettings::default() };
    let task = Task {
        id,
        phase: plan.phases.first().map_or(1, |phase| phase.id),
        status: TaskStatus::Pending,
        size: TaskSize::default(),
        description,
        depends: Vec::new(),
        acceptance: None,
        files_touched: Vec::new(),
        evidence_path: None,
        blocked_reason: None,
        switchboard: Some(settings),
        extra: Extra::default(),
    };
    if let Some(phase) = plan.phases.first_mut() {
        phase.tasks.insert(0, task);
    }
    Ok(plan)
}

/// Who takes part in a debate about a part of a plan, as its first phase says, else the plan.
fn participants(plan: &Plan) -> Option<DebateSettings> {
    let of_phase = plan.phases.first().and_then(|phase| phase.switchboard.as_ref()?.debate.clone());
    of_phase.or_else(|| plan.switchboard.as_ref()?.debate.clone())
}

fn description(plan: &Plan, unit: Option<&UnitId>) -> String {
    let what = unit
        .map_or_else(|| format!("the plan {:?}", plan.title), |unit| format!("{unit} of the plan {:?}", plan.title));
    let mut text =
        format!("How should {what} be done? What is decided is told to everybody who works on one of its tasks:\n");
    for task in plan.tasks() {
        let line = task.description.lines().next().unwrap_or_default();
        if text.len() > LIST {
            text.push_str("\n- and more");
            break;
        }
        let _ = write!(text, "\n- {}: {}", task.id, cut(line, LINE));
    }
    text
}
