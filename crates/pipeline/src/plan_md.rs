//! Reading and writing `plan.md`, the human-readable form of a plan.
//!
//! Fields that its lines can't hold (acceptance, files, `x-switchboard`, unknown fields, …) are in comments below the
//! line. A comment holds only the difference between the plan and the line above it. If somebody edited the line, the
//! line takes precedence.

mod carry;
mod parse;
mod render;
mod task_body;
mod task_line;

use switchboard_protocol::plan::{
    MigrationStatus, Phase, PhaseStatus, Plan, SchemaVersion, Task, TaskId, TaskSize, TaskStatus,
};

use crate::plan_hash::plan_hash;
use crate::plan_json::PlanError;

/// Content of a `plan.md`.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The plan, checked as [`crate::plan_json::parse`] does.
    pub plan: Plan,
    /// Time of the last change according to the file.
    pub updated: Option<String>,
    /// Parts that were ignored, or read otherwise than they may be meant.
    pub warnings: Vec<Warning>,
}

/// A part of a `plan.md` that was ignored, or read otherwise than it may be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Line number, from 1.
    pub line: u32,
    /// Description of the problem.
    pub what: String,
}

/// Renders a plan as `plan.md`, with comments for what its lines can't hold. `updated` is printed unchanged (ISO 8601).
#[must_use]
pub fn render(plan: &Plan, updated: &str) -> String {
    render::render(plan, updated, render::Comments::Write)
}

/// Renders a plan as the swarm's own tools do: without comments, so that fields may be lost.
#[must_use]
pub fn projection(plan: &Plan, updated: &str) -> String {
    render::render(plan, updated, render::Comments::Omit)
}

/// Reads a `plan.md` that was written by this module, by the tools of `.swarm/`, or in the form that their manual
/// describes.
///
/// # Errors
/// `plan.syntax` if the text has no phase, else as for [`crate::plan_json::parse`], with the line of the task or phase.
pub fn parse(text: &str) -> Result<Parsed, PlanError> {
    parse::parse(text)
}

/// Reads a `plan.md` as the swarm's tools do on migration: a text without a phase becomes a plan with one task that
/// says so.
///
/// # Errors
/// As for [`parse`], except that a text without phases is accepted.
pub fn migrate(text: &str) -> Result<Parsed, PlanError> {
    if parse::has_phase(text) {
        return parse(text);
    }
    Ok(Parsed { plan: failed_migration(), updated: None, warnings: Vec::new() })
}

/// Returns true if a `plan.md` belongs to a plan: its hash is the plan's, or its text is what would be rendered now.
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
