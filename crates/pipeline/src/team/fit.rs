//! Checks whether a plan is suitable for a team: the size of its tasks, their acceptance, and what its phases require.

use std::collections::BTreeSet;

use switchboard_protocol::error::Failure;
use switchboard_protocol::modes::OptionalSteps;
use switchboard_protocol::plan::{Plan, Task, TaskId, TaskSettings, TaskStatus};

use super::preflight::{Known, Problem, ProblemKind, preflight};
use super::size::{self, Refusal};

/// Returns what makes a plan unsuitable for a team, all at once: what its start refuses, and what would keep one of its
/// phases from beginning even after the phases before it. `files` are those of the commit at which it begins.
#[must_use]
pub fn fault(plan: &Plan, files: &BTreeSet<String>) -> Option<Failure> {
    let sizes = refusals(plan, |path| is_folder(files, path));
    let mut failure = failure(&sizes);
    for problem in plan.phases.iter().flat_map(|phase| problems(plan, phase.id)) {
        let line = format!("{}; {}", problem.reason, problem.remedy);
        let failure =
            failure.get_or_insert_with(|| Failure::new("plan.not-ready", problem.reason).hint(problem.remedy));
        if !failure.cause.contains(&line) {
            failure.cause.push(line);
        }
    }
    failure
}

/// Returns the problems of a phase that exist even if all tasks before it are done. A missing acceptance is one of the
/// size, and which steps a run leaves out is checked at its start.
fn problems(plan: &Plan, phase: u64) -> impl Iterator<Item = Problem> {
    let before = plan.phases.iter().filter(|found| found.id < phase).flat_map(|found| &found.tasks);
    let done: BTreeSet<_> =
        before.chain(plan.tasks().filter(|task| is_closed(task))).map(|task| task.id.clone()).collect();
    let of_wrap = OptionalSteps::all().of_wrap();
    let found = preflight(plan, phase, Known { done: &done, evidence: &done, of_wrap: &of_wrap });
    found.into_iter().filter(|problem| problem.kind.stops() && problem.kind != ProblemKind::AcceptanceMissing)
}

/// Returns the refusals of tasks whose changes are merged, and of descriptions that cover several tasks.
#[must_use]
pub fn refusals(plan: &Plan, is_folder: impl Fn(&str) -> bool) -> Vec<Refusal> {
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
#[must_use]
pub fn is_folder(files: &BTreeSet<String>, path: &str) -> bool {
    let folder = format!("{}/", path.trim_start_matches("./").trim_end_matches('/'));
    let has_files = files.range(folder.clone()..).next().is_some_and(|file| file.starts_with(&folder));
    has_files || (!files.contains(path.trim_start_matches("./")) && size::is_folder_by_name(path))
}

/// Returns the refusals as one failure, `plan.task-size` with task, reason and remedy of each; `None` if there are none.
#[must_use]
pub fn failure(refusals: &[Refusal]) -> Option<Failure> {
    let first = refusals.first()?;
    let what = match refusals.len() {
        1 => first.reason.clone(),
        count => format!("a team can't be given {count} things of the plan as they stand; the first: {}", first.reason),
    };
    let mut failure = Failure::new("plan.task-size", what).hint(first.remedy.clone());
    failure.cause = refusals.iter().map(|refusal| format!("{}; {}", refusal.reason, refusal.remedy)).collect();
    Some(failure)
}

/// Returns true if a task is done or set aside.
#[must_use]
pub fn is_closed(task: &Task) -> bool {
    matches!(task.status, TaskStatus::Completed | TaskStatus::Closed)
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
            "task 1.1 touches src/parser, a folder",
            "task 1.2 touches 3 files",
            "task 1.3 joins two verbs",
            "description of task 1.4 names",
        ] {
            let line = failure.cause.iter().find(|line| line.contains(part));
            assert!(line.is_some_and(|line| line.contains("; ")), "{part}: {:?}", failure.cause);
        }
    }

    #[test]
    fn what_keeps_a_phase_from_beginning_is_named_beside_the_sizes() {
        let mut plan = plan(&[("1.1", "Add the lexer and delete the scanner", &["a.rs"])]);
        plan.phases[0].required_agents = Some(vec!["reviwer".to_owned()]);

        let failure = fault(&plan, &BTreeSet::new()).unwrap();

        assert_eq!((failure.code.as_str(), failure.cause.len()), ("plan.task-size", 2));
        assert!(failure.cause[1].contains("the role reviwer") && failure.cause[1].contains("did you mean reviewer?"));
        plan.phases[0].tasks.clear();
        plan.phases[0].required_agents = None;
        assert_eq!(fault(&plan, &BTreeSet::new()).unwrap().code, "plan.not-ready");
    }

    #[test]
    fn the_tree_knows_folders_that_do_not_look_like_one_and_files_that_do() {
        let files = BTreeSet::from(["src/v1.2/a.rs".to_owned(), "LICENCE".to_owned(), "src/run".to_owned()]);

        assert!(is_folder(&files, "src/v1.2") && is_folder(&files, "src") && is_folder(&files, "new/folder"));
        assert!(!is_folder(&files, "src/run") && !is_folder(&files, "./src/run") && !is_folder(&files, "new/file.rs"));
    }
}
