//! Reading and writing `plan.md`, the readable face of a plan.
//!
//! What its lines can't hold (acceptance, files, `x-switchboard`, unknown fields, …) stands below them in comments that only
//! say where the plan differs from what the line above says. A comment gives way to a line that somebody has edited.

mod carry;
mod parse;
mod render;
mod task_line;

use switchboard_protocol::plan::{
    MigrationStatus, Phase, PhaseStatus, Plan, SchemaVersion, Task, TaskId, TaskSize, TaskStatus,
};

use crate::plan_hash::plan_hash;
use crate::plan_json::PlanError;

/// What a `plan.md` says.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The plan, checked as [`crate::plan_json::parse`] does.
    pub plan: Plan,
    /// When the file says it was last changed.
    pub updated: Option<String>,
    /// What could not be used, each with its line, from 1.
    pub warnings: Vec<Warning>,
}

/// Something in a `plan.md` that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The line, from 1.
    pub line: u32,
    /// What is odd about it.
    pub what: String,
}

/// Writes a plan as `plan.md`, with comments where its lines can't hold all of it. `updated` is shown as it is (ISO 8601).
#[must_use]
pub fn render(plan: &Plan, updated: &str) -> String {
    render::render(plan, updated, render::Comments::Write)
}

/// Writes a plan as the swarm's own tools do: without comments, so that something may be lost.
#[must_use]
pub fn projection(plan: &Plan, updated: &str) -> String {
    render::render(plan, updated, render::Comments::Omit)
}

/// Reads a `plan.md`: one that was written here, one of the tools of `.swarm/`, or one in the form of their manual.
///
/// # Errors
/// `plan.syntax` when there is no phase in it, else as for [`crate::plan_json::parse`], with the line of the task or phase.
pub fn parse(text: &str) -> Result<Parsed, PlanError> {
    parse::parse(text)
}

/// Reads a `plan.md` as the swarm's tools do on migration: one without any phase becomes a plan whose only task says so.
///
/// # Errors
/// As for [`parse`], but for a text without phases.
pub fn migrate(text: &str) -> Result<Parsed, PlanError> {
    if parse::has_phase(text) {
        return parse(text);
    }
    Ok(Parsed { plan: failed_migration(), updated: None, warnings: Vec::new() })
}

/// Whether a `plan.md` belongs to a plan: its hash is the plan's, or its text is what would be written now.
#[must_use]
pub fn is_in_sync(text: &str, plan: &Plan) -> bool {
    if parse::header_hash(text).is_some_and(|hash| hash == plan_hash(plan)) {
        return true;
    }
    let updated = parse::updated(text).unwrap_or_default();
    let same = |rendered: String| rendered.trim() == text.trim();
    same(render(plan, &updated)) || same(projection(plan, &updated))
}

fn failed_migration() -> Plan {
    let task = Task {
        id: TaskId::new("1.1").expect("it is a safe id"),
        phase: 1,
        status: TaskStatus::Blocked,
        size: TaskSize::Large,
        description: "Write the plan anew by hand".to_owned(),
        depends: Vec::new(),
        acceptance: None,
        files_touched: Vec::new(),
        evidence_path: None,
        blocked_reason: Some("plan.md holds no phase that could be read".to_owned()),
        switchboard: None,
        extra: serde_json::Map::new(),
    };
    let phase = Phase {
        id: 1,
        name: "Migration Failed".to_owned(),
        status: PhaseStatus::Blocked,
        tasks: vec![task],
        kind: None,
        required_agents: None,
        switchboard: None,
        extra: serde_json::Map::new(),
    };
    Plan {
        schema_version: SchemaVersion::V1,
        title: parse::UNTITLED.to_owned(),
        swarm: parse::DEFAULT_SWARM.to_owned(),
        current_phase: Some(1),
        migration_status: Some(MigrationStatus::MigrationFailed),
        spec_mtime: None,
        spec_hash: None,
        execution_profile: None,
        phases: vec![phase],
        switchboard: None,
        extra: serde_json::Map::new(),
    }
}

#[cfg(test)]
mod tests;
