//! `evidence_check`: checks whether finished tasks have their evidence, and whether it agrees with the log.

use switchboard_protocol::error::Failure;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{TaskState, TaskView};
use switchboard_protocol::verb::check::{EvidenceCheckReply, EvidenceCheckRequest, EvidenceGap};

use super::find_run;
use crate::parts::phases_of;
use crate::plan::RunPlan;
use crate::work::run_id;
use crate::world::World;
use crate::{Dispatch, Error, evidence};

/// Maximum number of stars in a pattern.
const STARS: usize = 5;

impl Dispatch {
    /// Checks the finished tasks of a run.
    ///
    /// # Errors
    /// An unknown run, a pattern that can't be used, or a failure of the store or of the evidence's folder.
    pub async fn evidence_check(&self, request: &EvidenceCheckRequest) -> Result<EvidenceCheckReply, Error> {
        let pattern = request.task_id.as_deref().unwrap_or("*");
        if pattern.len() > 100 || pattern.matches('*').count() > STARS {
            return Err(Failure::new("request.bad-args", "the pattern of tasks is too long").into());
        }
        let row = find_run(&self.world, request.run.as_deref())?;
        let asked = request.required_types.list();
        let runs = match row.get_text("mode") {
            Some(_) => phases_of(&self.world, &run_id(&row)?)?,
            None => vec![row],
        };
        let is_wanted =
            |view: &&TaskView| matches!(view.state, TaskState::Merged { .. }) && fits(pattern, view.task.as_str());
        let (mut completed, mut full, mut gaps) = (Vec::new(), Vec::new(), Vec::new());
        for run in &runs {
            let run = run_id(run)?;
            let plan = crate::history::plan(&self.world, &run)?;
            for view in self.views(&run).await?.iter().filter(is_wanted) {
                completed.push(view.task.to_string());
                let found = evidence::valid_evidence(&self.world, &run, view)?;
                match gap(&plan, view, &asked, &found)? {
                    None => full.push(view.task.to_string()),
                    Some(gap) => gaps.push(gap),
                }
            }
        }
        let completeness = (!completed.is_empty()).then(|| full.len() as f64 / completed.len() as f64);
        let required_types = if asked.is_empty() { vec!["the gates of each task".to_owned()] } else { asked };
        Ok(EvidenceCheckReply {
            completed_tasks: completed,
            tasks_with_full_evidence: full,
            completeness,
            required_types,
            gaps,
        })
    }
}

/// Returns true if the evidence of a merged task lacks a verdict that the log has.
pub(super) fn lacks_evidence(world: &World, run: &RunId, task: &TaskId) -> Result<bool, Error> {
    let state = crate::history::fold(&world.store, run)?;
    let Some(view) = state.tasks().find(|view| view.task == *task) else { return Ok(false) };
    let plan = crate::history::plan(world, run)?;
    let found = evidence::valid_evidence(world, run, &view)?;
    Ok(gap(&plan, &view, &[], &found)?.is_some())
}

fn gap(
    plan: &RunPlan,
    view: &TaskView,
    asked: &[String],
    found: &[(String, &'static str)],
) -> Result<Option<EvidenceGap>, Error> {
    let by_gate = asked.is_empty();
    let required: Vec<String> = if by_gate {
        let counted = view.gates.iter().filter(|report| report.required && evidence::is_held_to(report.verdict));
        counted.map(|report| report.gate.clone()).collect()
    } else {
        asked.to_vec()
    };
    let has = |wanted: &str| found.iter().any(|(gate, kind)| gate == wanted || *kind == alias(wanted));
    let (present, missing): (Vec<String>, Vec<String>) = required.into_iter().partition(|wanted| has(wanted));
    if missing.is_empty() {
        return Ok(None);
    }
    let task_name = name(plan, &view.task)?;
    Ok(Some(EvidenceGap { task_id: view.task.to_string(), task_name, missing, present }))
}

fn name(plan: &RunPlan, task: &TaskId) -> Result<String, Error> {
    Ok(crate::prompt::title(&plan.settings(task)?.0).to_owned())
}

/// Returns the type of evidence that a role of a swarm provides.
fn alias(wanted: &str) -> &str {
    match wanted {
        "reviewer" => "review",
        "test_engineer" | "test_runner" => "test",
        "build_check" => "build",
        other => other,
    }
}

/// Matches a name against a pattern in which `*` matches any text.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(start) else { return false };
    rest.is_empty() || name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| fits(rest, &name[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        assert!(fits("*", "1.2") && fits("1.*", "1.2.3") && fits("*.2", "1.2") && fits("1.2", "1.2"));
        assert!(!fits("1.*", "2.1") && !fits("*.3", "1.2") && !fits("", "1.2"));
    }
}
