//! The ways that simulated units walk.

use std::collections::BTreeSet;

use switchboard_protocol::id::Digest;
use switchboard_protocol::plan::RetryFrom;
use switchboard_protocol::run::way::{
    CommandStep, Do, GateId, Input, Join, Limits, Need, RoleId, Step, StepId, Way, When, Zone,
};
use switchboard_protocol::run::{MAX_ATTEMPTS, MAX_LOSSES, MAX_REBASES, MAX_REPEATS, RunEvent};

/// The need of a gate, by its name.
pub(crate) fn need(gate: &str) -> Need {
    match gate {
        "gate0" => Need::Required,
        "gate1" => Need::IfConfigured,
        _ => Need::Advisory,
    }
}

/// Records a way that is not known yet.
pub(crate) fn record(way: &Way, known: &mut BTreeSet<Digest>, events: &mut Vec<RunEvent>) {
    let digest = way.digest().expect("a way");
    if known.insert(digest) {
        let text = serde_json::to_string(way).expect("a way");
        events.push(RunEvent::WayRecorded { way: digest, part: 1, of: 1, text });
    }
}

/// The way of a phase.
pub(crate) fn group() -> Way {
    Way { steps: vec![step("children", Do::Units { join: Join::All })] }
}

/// The way of a task with so many gates.
pub(crate) fn task(gates: usize) -> Way {
    let zones = vec![Zone::Source, Zone::Tests];
    let work = step(
        "work",
        Do::Work {
            role: RoleId::new("coder").expect("a role"),
            writes: zones.clone(),
            retry_from: RetryFrom::Change,
            begins_on: None,
            may_keep: false,
        },
    );
    let limits = Limits { attempts: MAX_ATTEMPTS, losses: MAX_LOSSES, refusals: MAX_REPEATS, ..Limits::default() };
    let mut steps = vec![Step { reads: vec![Input::Spec], limits, ..work }];
    for gate in 0..gates {
        let name = format!("gate{gate}");
        let check = step(&name, Do::Check { gate: GateId::new(name.clone()).expect("a gate") });
        steps.push(Step { after: ids(&["work"]), reads: vec![Input::Tree], need: need(&name), ..check });
    }
    let rebase = step("rebase", Do::Command { kind: CommandStep::Rebase, writes: zones });
    let reads = vec![Input::Output(StepId::work()), Input::Head];
    let after: Vec<_> = steps.iter().map(|step| step.id.clone()).collect();
    steps.push(Step { after, reads, limits: Limits { runs: MAX_REBASES, ..Limits::default() }, ..rebase });
    let after = steps.iter().map(|step| step.id.clone()).collect();
    steps.push(Step { after, reads: vec![Input::Tree, Input::Head], ..step("merge", Do::Merge) });
    Way { steps }
}

fn step(id: &str, does: Do) -> Step {
    let back = match &does {
        Do::Units { .. } => None,
        Do::Work { .. } | Do::Choose { .. } | Do::Check { .. } | Do::Command { .. } | Do::Ask { .. } | Do::Merge => {
            Some(StepId::work())
        }
    };
    Step {
        id: StepId::new(id).expect("an id"),
        does,
        after: Vec::new(),
        reads: Vec::new(),
        when: When::Always,
        need: Need::Required,
        back,
        limits: Limits::default(),
    }
}

fn ids(names: &[&str]) -> Vec<StepId> {
    names.iter().map(|name| StepId::new(*name).expect("an id")).collect()
}
