//! The steps of a task's way.
//!
//! Quorums come first, if the task waits for others of which some may fail. Then comes the step that makes its change
//! or report, then the gates. A refusal by a gate goes back to that step. A change to merge is rebased, judged again if
//! its tree differs, and merged.

use switchboard_protocol::plan::{AskSettings, RetryFrom, TaskId};
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::way::{
    CommandStep, GateId, Input, Join, Limits, Need, Step, StepAction, StepId, Way, When, Zone,
};
use switchboard_protocol::run::{MAX_REBASES, MAX_REPEATS};

use super::check::RequestedGate;
use super::team::{self, TeamSteps};
use super::{Kind, step_id};
use crate::gate::GateKind;
use crate::subtasks::{Quorum, WorkResult};

pub(super) fn way(wanted: &[RequestedGate], kind: Kind<'_>) -> Option<Way> {
    let shape = kind.shape;
    let mut steps = quorums(&shape.quorums)?;
    let quorums: Vec<_> = steps.iter().map(|step| step.id.clone()).collect();
    if let Some(asked) = shape.asks {
        steps.push(ask(asked, kind, &quorums)?);
        return Some(Way { steps });
    }
    let maker = match (shape.is_landing(), shape.among.is_empty()) {
        (true, _) => gather()?,
        (false, true) => work(kind, &quorums)?,
        (false, false) => choose(&shape.among, &quorums)?,
    };
    let maker_id = maker.id.clone();
    steps.push(maker);
    if matches!(shape.result, WorkResult::Draft | WorkResult::Report) {
        return Some(Way { steps });
    }
    // A chosen or gathered change was fixed where it was made.
    let is_made_here = shape.among.is_empty() && !shape.is_landing();
    let fix = if kind.fixes_lint && is_made_here { Some(lint_fix(&maker_id)?) } else { None };
    let judged: Vec<_> = [&maker_id].into_iter().chain(fix.as_ref().map(|fix| &fix.id)).cloned().collect();
    steps.extend(fix);
    for wanted in wanted {
        steps.push(check(wanted, &judged, &maker_id)?);
    }
    for one in kind.team.into_iter().flat_map(TeamSteps::steps) {
        let after = steps.iter().map(|step| step.id.clone()).collect();
        steps.push(team::step(one, &kind.limits, &maker_id, after)?);
    }
    if shape.result == WorkResult::Merged {
        let about_scope = |wanted: &RequestedGate| wanted.gate.kind == GateKind::Scope && kind.asks_about_scope;
        let asks = |wanted: &RequestedGate| (wanted.gate.asks || about_scope(wanted)) && wanted.when.is_always();
        let asks_about_findings = !kind.asks_nobody && wanted.iter().any(asks);
        if kind.confirm.is_some() || asks_about_findings {
            let after_gates = steps.iter().map(|step| step.id.clone()).collect();
            steps.push(confirm(kind.confirm, &maker_id, after_gates)?);
        }
        let after_gates = steps.iter().map(|step| step.id.clone()).collect();
        let rebase = rebase(&maker_id, after_gates)?;
        steps.push(rebase);
        let after_rebase = steps.iter().map(|step| step.id.clone()).collect();
        steps.push(merge(maker_id, after_rebase)?);
    }
    Some(Way { steps })
}

/// Returns a step that always applies and must pass.
pub(super) fn step(id: StepId, does: StepAction) -> Step {
    Step {
        id,
        does,
        after: Vec::new(),
        reads: Vec::new(),
        when: When::Always,
        need: Need::Required,
        back: None,
        limits: Limits::default(),
    }
}

fn quorums(quorums: &[Quorum]) -> Option<Vec<Step>> {
    let one = |(number, quorum): (usize, &Quorum)| {
        let join = Join::Quorum { of: quorum.of.clone(), least: quorum.least };
        Some(step(step_id(&format!("quorum{number}"))?, StepAction::Units { join }))
    };
    (1..).zip(quorums).map(one).collect()
}

fn work(kind: Kind<'_>, after: &[StepId]) -> Option<Step> {
    let Kind { tries, shape, .. } = kind;
    let is_report = shape.result == WorkResult::Report;
    let does = StepAction::Work {
        role: if is_report { RoleName::Explorer.id() } else { RoleName::Coder.id() },
        writes: if is_report { Vec::new() } else { vec![Zone::Source, Zone::Tests] },
        retry_from: tries.from,
        begins_on: shape.begins_on.clone(),
        may_keep: shape.may_keep || shape.result == WorkResult::Draft,
        answer: None,
    };
    let id = StepId::work();
    Some(Step {
        after: after.to_vec(),
        reads: vec![Input::Spec],
        back: Some(id.clone()),
        limits: Limits {
            attempts: tries.attempts,
            losses: kind.limits.lost_workers,
            transients: kind.team.map_or(0, |_| kind.limits.transient_errors),
            repeats: MAX_REPEATS,
            is_lenient: true,
            refusals: MAX_REPEATS,
            ..Limits::default()
        },
        ..step(id, does)
    })
}

/// Returns the question to a role, as a step with the name of its answer. Only the answer is kept; an unusable one is
/// requested again.
fn ask(AskSettings { role, answer }: AskSettings, kind: Kind<'_>, after: &[StepId]) -> Option<Step> {
    let does = StepAction::Work {
        role: role.id(),
        writes: Vec::new(),
        retry_from: RetryFrom::Clean,
        begins_on: None,
        may_keep: false,
        answer: Some(answer),
    };
    Some(Step {
        after: after.to_vec(),
        reads: vec![Input::Spec],
        limits: Limits {
            attempts: kind.limits.malformed_answers + 1,
            losses: kind.limits.lost_workers,
            failures: kind.limits.agent_errors + 1,
            transients: kind.limits.transient_errors,
            ..Limits::default()
        },
        ..step(step_id(answer.as_str())?, does)
    })
}

fn choose(among: &[TaskId], after: &[StepId]) -> Option<Step> {
    let id = step_id("choose")?;
    Some(Step {
        after: after.to_vec(),
        reads: vec![Input::Spec],
        back: Some(id.clone()),
        ..step(id, StepAction::Choose { among: among.to_vec() })
    })
}

/// Allows one attempt: a gate's refusal of a group, or a conflict, needs a person and would recur.
fn gather() -> Option<Step> {
    let id = step_id("gather")?;
    let writes = vec![Zone::Source, Zone::Tests];
    Some(Step {
        reads: vec![Input::Spec],
        back: Some(id.clone()),
        limits: Limits { attempts: 1, ..Limits::default() },
        ..step(id, StepAction::Command { kind: CommandStep::Gather, writes })
    })
}

/// Runs before the gates, so that they judge the merged code. It refuses nothing: the gate reports what it can't fix.
fn lint_fix(maker: &StepId) -> Option<Step> {
    Some(Step {
        after: vec![maker.clone()],
        reads: vec![Input::Output(maker.clone())],
        ..step(
            step_id("lint_fix")?,
            StepAction::Command { kind: CommandStep::LintFix, writes: vec![Zone::Source, Zone::Tests] },
        )
    })
}

/// Judges the tree after the steps that make the change, and goes back to the maker if it refuses.
fn check(wanted: &RequestedGate, judged: &[StepId], maker: &StepId) -> Option<Step> {
    Some(Step {
        after: judged.to_vec(),
        reads: vec![Input::Tree],
        when: wanted.when.clone(),
        need: wanted.need,
        back: Some(maker.clone()),
        ..step(step_id(wanted.gate.id)?, StepAction::Check { gate: GateId::new(wanted.gate.id).ok()? })
    })
}

/// Returns the step in which a person approves the judged tree. If a rebase results in another tree, the same approval
/// is not requested again.
fn confirm(question: Option<&str>, maker: &StepId, after: Vec<StepId>) -> Option<Step> {
    Some(Step {
        after,
        reads: vec![Input::Tree],
        back: Some(maker.clone()),
        ..step(step_id("confirm")?, StepAction::Ask { question: question.map(str::to_owned) })
    })
}

fn rebase(maker: &StepId, after: Vec<StepId>) -> Option<Step> {
    Some(Step {
        after,
        reads: vec![Input::Output(maker.clone()), Input::Head],
        back: Some(maker.clone()),
        limits: Limits { runs: MAX_REBASES, ..Limits::default() },
        ..step(
            step_id("rebase")?,
            StepAction::Command { kind: CommandStep::Rebase, writes: vec![Zone::Source, Zone::Tests] },
        )
    })
}

fn merge(maker: StepId, after: Vec<StepId>) -> Option<Step> {
    Some(Step {
        after,
        reads: vec![Input::Tree, Input::Head],
        back: Some(maker),
        ..step(step_id("merge")?, StepAction::Merge)
    })
}
