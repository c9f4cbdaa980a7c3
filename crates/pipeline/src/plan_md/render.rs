//! Writing a `plan.md`.

use serde_json::Value;
use switchboard_protocol::plan::{Phase, PhaseStatus, Plan, Task, TaskSize, TaskStatus, natural_order};

use super::carry::{self, Carry, Level, Sparse};
use super::parse;
use super::task_line::{self, CURRENT};
use crate::plan_hash::{plan_hash, utf16_order};

/// Whether to write comments for what the lines can't hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comments {
    Write,
    Omit,
}

pub(super) fn render(plan: &Plan, updated: &str, comments: Comments) -> String {
    let mut phases: Vec<_> = plan.phases.iter().collect();
    phases.sort_by_key(|phase| phase.id);
    let mut text = format!("<!-- PLAN_HASH: {} -->\n{}", plan_hash(plan), header(plan, updated));
    if comments == Comments::Write {
        let sorted: Vec<_> = phases.iter().map(|phase| Value::from(phase.id)).collect();
        let original = plan.phases.iter().map(|phase| Value::from(phase.id)).collect();
        let line = parse::header_fields(&text);
        let carry = Carry::between(&line, &carry::sparse(Level::Plan, plan), None, carry::order(original, &sorted));
        push_comment(&mut text, &carry, Level::Plan);
    }
    for phase in phases {
        text.push_str("\n---\n");
        push_phase(&mut text, plan, phase, comments);
    }
    format!("{}\n", text.trim_end())
}

fn header(plan: &Plan, updated: &str) -> String {
    let current = plan.current_phase.unwrap_or(1);
    let status =
        plan.phases.iter().find(|phase| phase.id == current).map_or(PhaseStatus::Pending, |phase| phase.status);
    format!(
        "# {}\nSwarm: {}\nPhase: {current} [{}] | Updated: {}\n",
        one_line(&plan.title),
        one_line(&plan.swarm),
        status_word(status),
        one_line(updated)
    )
}

fn push_phase(text: &mut String, plan: &Plan, phase: &Phase, comments: Comments) {
    let line = format!("## Phase {}: {} [{}]", phase.id, one_line(&phase.name), status_word(phase.status));
    text.push_str(&line);
    text.push('\n');
    let mut tasks: Vec<_> = phase.tasks.iter().collect();
    tasks.sort_by(|a, b| natural_order(a.id.as_str(), b.id.as_str()));
    if comments == Comments::Write {
        let id = |task: &Task| Value::from(task.id.as_str());
        let sorted: Vec<_> = tasks.iter().map(|task| id(task)).collect();
        let order = carry::order(phase.tasks.iter().map(id).collect(), &sorted);
        let said = parse::phase_header(&line).map(|header| header.fields).unwrap_or_default();
        let carry = Carry::between(&said, &carry::sparse(Level::Phase, phase), said.get("id").cloned(), order);
        push_comment(text, &carry, Level::Phase);
    }
    let is_current = |task: &&&Task| Some(phase.id) == plan.current_phase && task.status == TaskStatus::InProgress;
    let current = tasks.iter().find(is_current).map(|task| &task.id);
    for task in &tasks {
        push_task(text, phase, task, current == Some(&task.id), comments);
    }
}

fn push_task(text: &mut String, phase: &Phase, task: &Task, is_current: bool, comments: Comments) {
    let line = task_line(task, is_current);
    text.push_str(&line);
    text.push('\n');
    if comments == Comments::Omit {
        return;
    }
    let said = task_line::checkbox(&line).map(|line| line.fields).unwrap_or_default();
    let carry = Carry::between(&said, &task_fields(phase, task), said.get("id").cloned(), Vec::new());
    push_comment(text, &carry, Level::Task);
}

/// Returns a task's fields, without its phase if it is the one that contains the task.
fn task_fields(phase: &Phase, task: &Task) -> Sparse {
    let mut fields = carry::sparse(Level::Task, task);
    if task.phase == phase.id {
        fields.shift_remove("phase");
    }
    fields
}

fn task_line(task: &Task, is_current: bool) -> String {
    let mark = match task.status {
        TaskStatus::Completed => "x",
        TaskStatus::Blocked => "BLOCKED",
        TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Closed => " ",
    };
    let mut line = format!("- [{mark}] {}: {}", task.id, one_line(&task.description));
    if task.status == TaskStatus::Blocked
        && let Some(reason) = task.blocked_reason.as_deref().filter(|reason| !reason.is_empty())
    {
        line.push_str(" - ");
        line.push_str(&one_line(reason));
    }
    line.push_str(match task.size {
        TaskSize::Small => " [SMALL]",
        TaskSize::Medium => " [MEDIUM]",
        TaskSize::Large => " [LARGE]",
    });
    if !task.depends.is_empty() {
        let mut ids: Vec<_> = task.depends.iter().map(switchboard_protocol::plan::TaskId::as_str).collect();
        ids.sort_by(|a, b| utf16_order(a, b));
        line.push_str(&format!(" (depends: {})", ids.join(", ")));
    }
    if is_current {
        line.push(' ');
        line.push_str(CURRENT);
    }
    line
}

fn push_comment(text: &mut String, carry: &Carry, level: Level) {
    if !carry.is_empty() {
        text.push_str(&carry.write(level));
        text.push('\n');
    }
}

fn status_word(status: PhaseStatus) -> &'static str {
    match status {
        PhaseStatus::Pending => "PENDING",
        PhaseStatus::InProgress => "IN PROGRESS",
        PhaseStatus::Complete | PhaseStatus::Completed => "COMPLETE",
        PhaseStatus::Blocked => "BLOCKED",
        PhaseStatus::Closed => "CLOSED",
    }
}

/// Converts a text to a single line; if that changes it, the comment below holds the original.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
