//! A debate about a part of a plan: it precedes the part's tasks, and their workers get its result.
//!
//! The debate is a task of its own whose result is a report. All tasks of the part wait for it, and a task that waits
//! for a report gets it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use switchboard_protocol::error::Failure;
use switchboard_protocol::plan::{
    DebateSettings, Extra, Phase, Plan, Task, TaskId, TaskResult, TaskSettings, TaskSize, TaskStatus,
};
use switchboard_protocol::run::way::UnitId;
use switchboard_protocol::text::cut;

use crate::prepare;

/// Maximum size in bytes of the task list that participants are shown.
const LIST: usize = 8 << 10;

/// Maximum size in bytes of one task in the list.
const LINE: usize = 300;

/// Adds a debate before all tasks of a part of a plan that its run does, to the phase of the first of them. That phase
/// names the participants, else the plan. Tasks that the run leaves out get no dependency: they would wait for a later
/// phase.
///
/// # Errors
/// `request.bad-args` at `mode` if no task is left to debate, no participants are named, or the debate's id is taken.
pub(super) fn debated(mut plan: Plan, unit: Option<&UnitId>) -> Result<Plan, Failure> {
    let refused = |what: &str, hint: &str| Failure::new("request.bad-args", what).at("mode").hint(hint);
    let left_out: BTreeSet<TaskId> =
        prepare::skipped(&plan, &BTreeSet::new()).into_iter().map(|skipped| skipped.id).collect();
    let has_work = |phase: &Phase| phase.tasks.iter().any(|task| !left_out.contains(&task.id));
    let Some(first) = plan.phases.iter().position(has_work) else {
        let what = "there is nothing to debate: the run leaves out all tasks, by their status or their phase's";
        return Err(refused(what, "set the status of what is to be done in the plan"));
    };
    let Some(debate) = participants(&plan, &plan.phases[first]) else {
        let what = "a debate about tasks of a plan, a phase or a slice needs participants, and the plan names none";
        let hint = "say x-switchboard.debate in the phase or the plan, or choose a task that says it";
        return Err(refused(what, hint));
    };
    let phase = plan.phases[first].id;
    let id =
        TaskId::new(format!("{phase}.debate")).map_err(|error| refused(&error.to_string(), "renumber the phase"))?;
    if plan.tasks().any(|task| task.id == id) {
        let what = format!("the plan has a task {id}, which is the id of the debate before its tasks");
        return Err(refused(&what, "rename the task"));
    }
    let description = description(&plan, unit, &left_out);
    let tasks = plan.phases.iter_mut().flat_map(|phase| &mut phase.tasks);
    for task in tasks.filter(|task| !left_out.contains(&task.id)) {
        task.depends.push(id.clone());
    }
    let settings = TaskSettings { result: Some(TaskResult::Report), debate: Some(debate), ..TaskSettings::default() };
    let task = Task {
        id,
        phase,
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
    plan.phases[first].tasks.insert(0, task);
    Ok(plan)
}

/// Returns the debate settings of the phase that the debate is added to, else those of the plan.
fn participants(plan: &Plan, phase: &Phase) -> Option<DebateSettings> {
    let of_phase = phase.switchboard.as_ref().and_then(|settings| settings.debate.clone());
    of_phase.or_else(|| plan.switchboard.as_ref()?.debate.clone())
}

fn description(plan: &Plan, unit: Option<&UnitId>, left_out: &BTreeSet<TaskId>) -> String {
    let what = unit
        .map_or_else(|| format!("the plan {:?}", plan.title), |unit| format!("{unit} of the plan {:?}", plan.title));
    let mut text =
        format!("How should {what} be done? What is decided is told to everybody who works on one of its tasks:\n");
    for task in plan.tasks().filter(|task| !left_out.contains(&task.id)) {
        let line = task.description.lines().next().unwrap_or_default();
        if text.len() > LIST {
            text.push_str("\n- and more");
            break;
        }
        let _ = write!(text, "\n- {}: {}", task.id, cut(line, LINE));
    }
    text
}
