//! Refuses tasks unsuitable for a team: too large, several in one, or without acceptance; and a phase that can't begin
//! yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use switchboard_pipeline::team::fit;
use switchboard_pipeline::team::preflight::{self, Known, Problem};
use switchboard_process::git::Oid;
use switchboard_protocol::error::Failure;
use switchboard_protocol::plan::Plan;
use switchboard_protocol::role::RoleName;

use super::super::evidence_check::lacks_evidence;
use crate::port::Git;
use crate::world::World;
use crate::{Error, progress};

/// Refuses the tasks of a plan that are unsuitable for a team in their present form, all at once.
///
/// # Errors
/// `plan.task-size` with task, reason and remedy of each.
pub(super) async fn check(world: &World, plan: &Plan, base: &Oid, source: &str) -> Result<(), Error> {
    let files = world.files_at(base).await?;
    let refusals = fit::refusals(plan, |path| fit::is_folder(&files, path));
    Ok(fit::failure(&refusals).map_or(Ok(()), |failure| Err(failure.at(source)))?)
}

/// Returns what blocks the phases of a run, and refuses one that can't begin. `written` is the whole plan, `part` the
/// part to run, `of_wrap` the roles at the end of each phase.
///
/// # Errors
/// `plan.not-ready` with task, reason and remedy of each problem.
pub(super) async fn preflight(
    world: &World,
    tree: &Arc<dyn Git>,
    (written, hash): (&Plan, &str),
    part: &Plan,
    (base, source): (&Oid, &str),
    of_wrap: &[RoleName],
) -> Result<Vec<String>, Error> {
    let Some(first) = part.phases.first().map(|phase| phase.id) else { return Ok(Vec::new()) };
    let has_earlier = written.phases.iter().any(|phase| phase.id < first);
    let merged = match has_earlier {
        true => {
            let (runs, base) = (progress::earlier(world, written, hash)?, base.clone());
            world.git_on(tree, move |git| progress::done_at(git, &runs, &base)).await?
        }
        false => BTreeMap::new(),
    };
    let of_plan: BTreeSet<_> =
        written.tasks().filter(|task| fit::is_closed(task)).map(|task| task.id.clone()).collect();
    // Evidence of tasks that the plan itself marks as done is not checked: another tool has it, or a person vouches for
    // it.
    let mut proven: BTreeSet<_> = of_plan.iter().filter(|task| !merged.contains_key(task)).cloned().collect();
    let unproven = proven.len();
    for (task, run) in &merged {
        if !lacks_evidence(world, run, task)? {
            proven.insert(task.clone());
        }
    }
    let done = of_plan.into_iter().chain(merged.into_keys()).collect();
    // A later phase of the same run waits for the one before, whose tasks are then done with all that their ways
    // require.
    let found = preflight::preflight(written, first, Known { done: &done, evidence: &proven, of_wrap });
    let (stops, blockers): (Vec<_>, Vec<_>) = found.into_iter().partition(|problem| problem.kind.stops());
    if let Some(failure) = not_ready(first, &stops) {
        return Err(failure.at(source).into());
    }
    let taken = (unproven > 0)
        .then(|| format!("{unproven} tasks count as done because the plan says so: no run has evidence of them"));
    let line = |problem: &Problem| format!("{}; {}", problem.reason, problem.remedy);
    Ok(blockers.iter().map(line).chain(taken).collect())
}

fn not_ready(phase: u64, problems: &[Problem]) -> Option<Failure> {
    let first = problems.first()?;
    let what = match problems.len() {
        1 => format!("phase {phase} can't begin: {}", first.reason),
        count => format!("phase {phase} can't begin for {count} reasons; the first: {}", first.reason),
    };
    let mut failure = Failure::new("plan.not-ready", what).hint(first.remedy.clone());
    failure.cause = problems.iter().map(|problem| format!("{}; {}", problem.reason, problem.remedy)).collect();
    Some(failure)
}
