//! Refuses tasks unsuitable for a team: too large, several in one, or without acceptance; and a phase that can't begin
//! yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use switchboard_pipeline::team::preflight::{self, Known, Problem};
use switchboard_pipeline::team::size::{self, Refusal};
use switchboard_process::git::Oid;
use switchboard_protocol::error::Failure;
use switchboard_protocol::plan::{Plan, Task, TaskId, TaskSettings, TaskStatus};
use switchboard_protocol::role::RoleName;

use super::super::evidence_check::lacks_evidence;
use crate::port::Git;
use crate::world::World;
use crate::{Error, plan, progress};

/// Refuses the tasks of a plan that are unsuitable for a team in their present form, all at once.
///
/// # Errors
/// `plan.task-size` with task, reason and remedy of each.
pub(super) async fn check(world: &World, plan: &Plan, base: &Oid, source: &str) -> Result<(), Error> {
    let base = base.clone();
    let files = world.git(move |git| git.files_of(&base)).await?;
    let files: BTreeSet<_> = files.iter().map(|path| plan::text(path)).collect();
    let refusals = refusals(plan, |path| is_folder(&files, path));
    Ok(failure(&refusals).map_or(Ok(()), |failure| Err(failure.at(source)))?)
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
    let of_plan: BTreeSet<_> = written.tasks().filter(|task| is_closed(task)).map(|task| task.id.clone()).collect();
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

fn is_closed(task: &Task) -> bool {
    matches!(task.status, TaskStatus::Completed | TaskStatus::Closed)
}

/// Returns the refusals of tasks whose changes are merged, and of descriptions that cover several tasks.
fn refusals(plan: &Plan, is_folder: impl Fn(&str) -> bool) -> Vec<Refusal> {
    let ids: BTreeSet<TaskId> = plan.tasks().map(|task| task.id.clone()).collect();
    let reports: BTreeSet<_> = plan
        .tasks()
        .filter(|task| task.switchboard.as_ref().is_some_and(TaskSettings::is_report))
        .map(|task| task.id.clone())
        .collect();
    let is_report = |refusal: &Refusal| refusal.task.as_ref().is_some_and(|task| reports.contains(task));
    let mut found: Vec<_> =
        size::plan_refusals(plan, is_folder).into_iter().filter(|refusal| !is_report(refusal)).collect();
    for task in plan.tasks().filter(|task| !is_closed(task) && !reports.contains(&task.id)) {
        let told = format!("Task {}: {}", task.id, task.description);
        found.extend(size::delegation(&told, &ids).into_iter().map(|refusal| Refusal {
            task: Some(task.id.clone()),
            reason: refusal.reason.replacen("the delegation", &format!("the description of task {}", task.id), 1),
            ..refusal
        }));
    }
    found
}

/// Returns true if a declared path is a folder: in the tree at which the run begins, else by its name.
fn is_folder(files: &BTreeSet<String>, path: &str) -> bool {
    let folder = format!("{}/", path.trim_start_matches("./").trim_end_matches('/'));
    let has_files = files.range(folder.clone()..).next().is_some_and(|file| file.starts_with(&folder));
    has_files || (!files.contains(path.trim_start_matches("./")) && size::is_folder_by_name(path))
}

fn failure(refusals: &[Refusal]) -> Option<Failure> {
    let first = refusals.first()?;
    let what = match refusals.len() {
        1 => first.reason.clone(),
        count => format!("a team can't be given {count} things of the plan as they stand; the first: {}", first.reason),
    };
    let mut failure = Failure::new("plan.task-size", what).hint(first.remedy.clone());
    failure.cause = refusals.iter().map(|refusal| format!("{}; {}", refusal.reason, refusal.remedy)).collect();
    Some(failure)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(tasks: &[(&str, &str, &[&str])]) -> Plan {
        let task = |(id, text, files): &(&str, &str, &[&str])| json!({ "id": id, "phase": 1, "description": text, "acceptance": "it is there", "files_touched": files });
        let tasks: Vec<_> = tasks.iter().map(task).collect();
        let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s",
            "phases": [{ "id": 1, "name": "one", "tasks": tasks }] });
        serde_json::from_value(plan).unwrap()
    }

    #[test]
    fn every_task_that_is_several_is_named_at_once_with_what_to_do() {
        let plan = plan(&[
            ("1.1", "Add the parser", &["src/parser"]),
            ("1.2", "Add the printer", &["a.rs", "b.rs", "c.rs"]),
            ("1.3", "Add the lexer and delete the scanner", &["a.rs"]),
            ("1.4", "Implement tasks 1.1 and 1.2 as well", &["a.rs"]),
        ]);
        let files = BTreeSet::from(["src/parser/mod.rs".to_owned()]);

        let failure = failure(&refusals(&plan, |path| is_folder(&files, path))).unwrap();

        assert_eq!(failure.code, "plan.task-size");
        for part in [
            "task 1.1 touches a folder",
            "task 1.2 touches 3 files",
            "task 1.3 joins two verbs",
            "description of task 1.4 names",
        ] {
            let line = failure.cause.iter().find(|line| line.contains(part));
            assert!(line.is_some_and(|line| line.contains("; ")), "{part}: {:?}", failure.cause);
        }
    }

    #[test]
    fn the_tree_knows_folders_that_do_not_look_like_one_and_files_that_do() {
        let files = BTreeSet::from(["src/v1.2/a.rs".to_owned(), "LICENCE".to_owned(), "src/run".to_owned()]);

        assert!(is_folder(&files, "src/v1.2") && is_folder(&files, "src") && is_folder(&files, "new/folder"));
        assert!(!is_folder(&files, "src/run") && !is_folder(&files, "./src/run") && !is_folder(&files, "new/file.rs"));
    }
}
