//! Hashes of a plan: the two that the tools of `.swarm/` compute, each over other fields, and one over all fields.

mod wyhash;

use std::cmp::Ordering;

use serde::Serialize;
use switchboard_protocol::id::Digest;
use switchboard_protocol::plan::{
    MigrationStatus, Phase, PhaseStatus, Plan, SchemaVersion, Task, TaskSize, TaskStatus, natural_order,
};

pub use wyhash::wyhash;

/// Returns the `PLAN_HASH` of a `plan.md`: 64-bit wyhash with seed 0 over the plan's main fields in a fixed order, in
/// base 36.
#[must_use]
pub fn plan_hash(plan: &Plan) -> String {
    let mut phases: Vec<_> = plan.phases.iter().collect();
    phases.sort_by_key(|phase| phase.id);
    let hashed = HashedPlan { phases: phases.into_iter().map(sorted_phase).collect(), ..HashedPlan::of(plan) };
    base36(wyhash(json(&hashed).as_bytes()))
}

/// Returns the hash in the swarm's plan ledger: SHA-256 in hex, tasks in file order, execution profile and required
/// agents included.
#[must_use]
pub fn ledger_hash(plan: &Plan) -> String {
    let profile = plan.execution_profile.as_ref().map(|profile| Profile {
        parallelization_enabled: profile.parallelization_enabled,
        max_concurrent_tasks: profile.max_concurrent_tasks,
        council_parallel: profile.council_parallel,
        locked: profile.locked,
        auto_proceed: profile.auto_proceed,
    });
    let phases = plan.phases.iter().map(ledger_phase).collect();
    let hashed = HashedPlan { execution_profile: profile, phases, ..HashedPlan::of(plan) };
    Digest::of(json(&hashed).as_bytes()).hex()
}

/// Returns the SHA-256 in hex over every field of the plan, those in `x-switchboard` and unknown ones included. Plans
/// with equal hashes describe the same work.
#[must_use]
pub fn whole(plan: &Plan) -> String {
    Digest::of(json(plan).as_bytes()).hex()
}

fn sorted_phase(phase: &Phase) -> HashedPhase<'_> {
    let mut tasks: Vec<_> = phase.tasks.iter().collect();
    tasks.sort_by(|a, b| natural_order(a.id.as_str(), b.id.as_str()));
    let tasks = tasks.into_iter().map(|task| {
        let mut hashed = HashedTask::of(task);
        hashed.depends.sort_by(|a, b| natural_order(a, b));
        hashed.files_touched.sort_by(|a, b| utf16_order(a, b));
        hashed
    });
    HashedPhase { id: phase.id, name: &phase.name, status: phase.status, required_agents: None, tasks: tasks.collect() }
}

fn ledger_phase(phase: &Phase) -> HashedPhase<'_> {
    let tasks = phase.tasks.iter().map(|task| {
        let mut hashed = HashedTask::of(task);
        hashed.depends.sort_by(|a, b| utf16_order(a, b));
        hashed.files_touched.sort_by(|a, b| utf16_order(a, b));
        hashed
    });
    let required_agents = phase.required_agents.as_ref().map(|agents| {
        let mut agents: Vec<&str> = agents.iter().map(String::as_str).collect();
        agents.sort_by(|a, b| utf16_order(a, b));
        agents
    });
    HashedPhase { id: phase.id, name: &phase.name, status: phase.status, required_agents, tasks: tasks.collect() }
}

/// Compares texts in the order in which JavaScript sorts them.
pub(crate) fn utf16_order(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a plan has only texts, numbers and lists")
}

fn base36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((number % 36) as u32, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

#[derive(Serialize)]
struct HashedPlan<'a> {
    schema_version: SchemaVersion,
    title: &'a str,
    swarm: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_phase: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    migration_status: Option<MigrationStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution_profile: Option<Profile>,
    phases: Vec<HashedPhase<'a>>,
}

impl<'a> HashedPlan<'a> {
    fn of(plan: &'a Plan) -> Self {
        Self {
            schema_version: plan.schema_version,
            title: &plan.title,
            swarm: &plan.swarm,
            current_phase: plan.current_phase,
            migration_status: plan.migration_status,
            execution_profile: None,
            phases: Vec::new(),
        }
    }
}

#[derive(Serialize)]
struct Profile {
    parallelization_enabled: bool,
    max_concurrent_tasks: u32,
    council_parallel: bool,
    locked: bool,
    auto_proceed: bool,
}

#[derive(Serialize)]
struct HashedPhase<'a> {
    id: u64,
    name: &'a str,
    status: PhaseStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    required_agents: Option<Vec<&'a str>>,
    tasks: Vec<HashedTask<'a>>,
}

#[derive(Serialize)]
struct HashedTask<'a> {
    id: &'a str,
    phase: u64,
    status: TaskStatus,
    size: TaskSize,
    description: &'a str,
    depends: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    acceptance: Option<&'a str>,
    files_touched: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_reason: Option<&'a str>,
}

impl<'a> HashedTask<'a> {
    fn of(task: &'a Task) -> Self {
        Self {
            id: task.id.as_str(),
            phase: task.phase,
            status: task.status,
            size: task.size,
            description: &task.description,
            depends: task.depends.iter().map(switchboard_protocol::plan::TaskId::as_str).collect(),
            acceptance: task.acceptance.as_deref(),
            files_touched: task.files_touched.iter().map(String::as_str).collect(),
            evidence_path: task.evidence_path.as_deref(),
            blocked_reason: task.blocked_reason.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan whose hashes are known.
    pub(crate) const DEMO: &str = include_str!("../tests/plans/demo.json");

    #[test]
    fn short_texts_have_the_known_hashes() {
        for (text, number, shown) in [
            (String::new(), 290_873_116_282_709_081, "27k1wwwhf13t"),
            ("a".to_owned(), 2_941_419_223_392_617_777, "mcie3cqm6cz5"),
            ("hello".to_owned(), 1_019_145_960_556_548_909, "7qqx3auqfzfx"),
            ("x".repeat(100), 18_162_748_338_316_724_677, "3tzpoxyfkhvid"),
        ] {
            assert_eq!(wyhash(text.as_bytes()), number, "{text}");
            assert_eq!(base36(number), shown);
        }
        assert_eq!(base36(0), "0");
    }

    #[test]
    fn a_whole_plan_has_the_known_hashes() {
        let plan: Plan = serde_json::from_str(DEMO).unwrap();

        assert_eq!(plan_hash(&plan), "4qo78ptc4y8r");
        assert_eq!(ledger_hash(&plan), "17636e6a2bda28c8c43319d7998c080296a2221f7b092c1080cce4101ddc5179");
    }

    #[test]
    fn only_the_hash_of_the_whole_sees_what_switchboard_adds() {
        let plan: Plan = serde_json::from_str(DEMO).unwrap();
        let mut other = plan.clone();
        other.phases[0].tasks[0].switchboard = Some(Default::default());

        assert_eq!(plan_hash(&plan), plan_hash(&other));
        assert_eq!(ledger_hash(&plan), ledger_hash(&other));
        assert_ne!(whole(&plan), whole(&other));
    }
}
