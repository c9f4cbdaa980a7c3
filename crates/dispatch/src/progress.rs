//! Progress of a plan: what earlier runs of it have merged, and the commit at which the next run begins.

use std::collections::{BTreeMap, BTreeSet};

use switchboard_pipeline::auto::{Turn, TurnLog};
use switchboard_pipeline::plan_json;
use switchboard_pipeline::subtasks::{expand, into};
use switchboard_process::git::Oid;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::{Plan, Task, TaskId, TaskStatus};
use switchboard_protocol::run::RunEvent;
use switchboard_store::Query;

use crate::error::shape;
use crate::event::cut;
use crate::port::Git;
use crate::work::{RUNS, run_id};
use crate::world::World;
use crate::{Error, history, user_tree};

/// Maximum length of a plan's title in the record, in bytes.
pub(crate) const TITLE: usize = 100;

/// Maximum number of runs with a plan's title that are examined, newest first.
const RUNS_READ: u64 = 200;

/// Progress of a plan.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Commit at which the next run begins.
    pub(crate) base: Oid,
    /// Run that produced the base; `None` if it is the branch or commit at which the loop was begun.
    pub(crate) follows: Option<RunId>,
    /// Turns of the loop that began there, in their order.
    pub(crate) turns: Vec<Turn>,
    /// Tasks whose changes are in `base`, or that were done without one.
    pub(crate) done: BTreeSet<TaskId>,
}

/// Results of one earlier run.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    run: Option<RunId>,
    /// Branch that the run is merged into, and the commit at which it began.
    target: String,
    base: String,
    /// Tasks of the plan that the run has merged.
    merged: Vec<TaskId>,
    /// Tasks of the plan whose results are reports.
    reported: Vec<TaskId>,
    /// Commits of the run's merges, in their order.
    commits: Vec<(TaskId, String)>,
    /// Last commit in the run's branch, which contains all others.
    tip: Option<String>,
    plan: String,
    turns: TurnLog,
}

/// Reads the results of earlier runs of a plan, newest first. `hash` is the plan's: turns for another plan of this
/// title, or for an earlier text of this one, don't count.
pub(crate) fn earlier(world: &World, plan: &Plan, hash: &str) -> Result<Vec<Earlier>, Error> {
    let tasks: BTreeMap<_, _> = plan.tasks().map(|task| (task.id.clone(), work_of(task))).collect();
    let query = Query::table(RUNS).eq("title", cut(&plan.title, TITLE)).desc("seq").limit(RUNS_READ);
    let mut runs = Vec::new();
    for row in world.store.read(&query)? {
        let run = run_id(&row)?;
        let (target, base) = (row.try_text("target")?.to_owned(), row.try_text("base")?.to_owned());
        let mut found = Earlier { run: Some(run.clone()), target, base, ..Earlier::default() };
        history::events(&world.store, &run, |event| {
            if let Some(fact) = event.fact::<RunEvent>() {
                found.turns.take(&fact, event.ts);
                found.take(fact);
            }
            true
        })?;
        if row.get_text("plan_hash") != Some(hash) {
            found.turns = TurnLog::default();
        }
        found.keep(&tasks)?;
        runs.push(found);
    }
    Ok(runs)
}

/// Finds the commit at which the next run begins, and the tasks that are done there. `named` is the branch or commit at
/// which the loop is begun, by default the one checked out. Merges of a run that was begun elsewhere count only if that
/// commit contains them.
pub(crate) fn resolve(git: &dyn Git, runs: Vec<Earlier>, named: Option<&str>) -> Result<Progress, Error> {
    let (target, head) = user_tree::start(git, named)?;
    let is_commit = named.is_some_and(|named| named != target);
    let target = (!is_commit).then_some(target.as_str());
    let belong = runs.iter().map(|run| run.belongs_to(git, target, &head)).collect::<Result<Vec<_>, _>>()?;
    let (mut base, mut follows) = (head, None);
    let own = || runs.iter().zip(&belong).filter(|(_, belongs)| **belongs).map(|(run, _)| run);
    for earlier in own().filter(|earlier| !earlier.merged.is_empty()) {
        let Some(tip) = earlier.tip(git)? else { continue };
        if !git.is_ancestor(&tip, &base)? {
            (base, follows) = (tip, earlier.run.clone());
        }
        break;
    }
    let done = done_at(git, &runs, &base)?.into_keys().collect();
    let own = runs.into_iter().zip(belong).filter(|(_, belongs)| *belongs);
    let mut turns: Vec<_> = own.flat_map(|(run, _)| run.turns.into_turns()).collect();
    turns.sort_by_key(|turn| turn.number);
    Ok(Progress { base, follows, done, turns })
}

/// Finds the tasks that are done where a run begins, each with the newest run that did it.
pub(crate) fn done_at(git: &dyn Git, runs: &[Earlier], base: &Oid) -> Result<BTreeMap<TaskId, RunId>, Error> {
    let mut done = BTreeMap::new();
    for earlier in runs {
        let Some(run) = &earlier.run else { continue };
        let mut add = |tasks: &[TaskId]| {
            for task in tasks {
                done.entry(task.clone()).or_insert_with(|| run.clone());
            }
        };
        add(&earlier.reported);
        if !earlier.merged.is_empty()
            && let Some(tip) = earlier.tip(git)?
            && git.is_ancestor(&tip, base)?
        {
            add(&earlier.merged);
        }
    }
    Ok(done)
}

/// Returns a plan in which done tasks are marked, and ineligible tasks are left out.
pub(crate) fn rest_of(mut plan: Plan, done: &BTreeSet<TaskId>, eligible: &BTreeSet<TaskId>) -> Plan {
    for phase in &mut plan.phases {
        phase.tasks.retain(|task| eligible.contains(&task.id) || is_marked(task));
        for task in phase.tasks.iter_mut().filter(|task| done.contains(&task.id) || is_marked(task)) {
            if done.contains(&task.id) {
                task.status = TaskStatus::Completed;
            }
            // The task that it depended on may be left out.
            task.depends.clear();
        }
    }
    plan.phases.retain(|phase| !phase.tasks.is_empty());
    plan
}

fn is_marked(task: &Task) -> bool {
    matches!(task.status, TaskStatus::Completed | TaskStatus::Closed)
}

/// Returns a task without its status and without its dependencies, of which the run of a part knows only some.
fn work_of(task: &Task) -> Task {
    let (status, depends) = (TaskStatus::default(), Vec::new());
    Task { status, depends, blocked_reason: None, evidence_path: None, ..task.clone() }
}

// === impl Earlier ===

impl Earlier {
    fn take(&mut self, fact: RunEvent) {
        if let RunEvent::PlanRecorded { text, .. } = fact {
            self.plan.push_str(&text);
        } else if let RunEvent::TaskMerged { task, commit, .. } = fact {
            self.merged.push(task.clone());
            self.commits.push((task, commit));
        } else if let RunEvent::TaskDone { task, of: None, .. } = fact {
            self.reported.push(task);
        }
    }

    /// Keeps the tasks that are the same in the plan.
    fn keep(&mut self, tasks: &BTreeMap<TaskId, Task>) -> Result<(), Error> {
        if self.merged.is_empty() && self.reported.is_empty() {
            return Ok(());
        }
        let plan = plan_json::recorded(&self.plan).map_err(shape("the plan of an earlier run"))?;
        let same: BTreeSet<_> =
            plan.tasks().filter(|task| tasks.get(&task.id) == Some(&work_of(task))).map(|task| &task.id).collect();
        // What a group has merged counts as done only once it is in the run's branch.
        let shapes = expand(&plan)?.shapes;
        let has_landed = |landing: &TaskId| self.commits.iter().any(|(task, _)| task == landing);
        let is_in_branch = |task: &TaskId| into(&shapes, task).is_none_or(has_landed);
        self.merged.retain(|task| same.contains(task) && is_in_branch(task));
        let last = self.commits.iter().rev().find(|(task, _)| into(&shapes, task).is_none());
        self.tip = last.map(|(_, commit)| commit.clone());
        self.reported.retain(|task| same.contains(task));
        self.plan.clear();
        Ok(())
    }

    /// Returns true if a loop begun at `head` may continue this run: it is for the same branch, or the run began at
    /// `head` or later, so that nothing of `head` is left out. For a loop that is begun at a commit, `target` is
    /// `None`.
    fn belongs_to(&self, git: &dyn Git, target: Option<&str>, head: &Oid) -> Result<bool, Error> {
        if target == Some(self.target.as_str()) {
            return Ok(true);
        }
        match git.rev_parse(&self.base)? {
            Some(base) => git.is_ancestor(head, &base),
            None => Ok(false),
        }
    }

    /// Returns the last commit that the run has merged, if the repository still has it.
    fn tip(&self, git: &dyn Git) -> Result<Option<Oid>, Error> {
        let Some(tip) = &self.tip else { return Ok(None) };
        git.rev_parse(tip)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use switchboard_protocol::event::Fact;
    use switchboard_protocol::time::Millis;

    use super::*;

    fn plan() -> Plan {
        let task = |id: &str, status: &str| json!({ "id": id, "phase": 1, "description": id, "status": status });
        let tasks = [task("1.1", "pending"), task("1.2", "blocked"), task("1.3", "completed"), task("1.4", "pending")];
        let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s",
            "phases": [{ "id": 1, "name": "one", "tasks": tasks }] });
        serde_json::from_value(plan).unwrap()
    }

    fn ids(ids: &[&str]) -> BTreeSet<TaskId> {
        ids.iter().map(|id| TaskId::new(*id).unwrap()).collect()
    }

    #[test]
    fn the_rest_of_a_plan_marks_what_is_done_and_leaves_out_what_cannot_be() {
        let mut whole = plan();
        let blocked = serde_json::from_value(json!({ "id": "2.1", "phase": 2, "description": "d" })).unwrap();
        whole.phases.push(switchboard_protocol::plan::Phase { id: 2, tasks: vec![blocked], ..whole.phases[0].clone() });
        for (at, depends) in [(0, "1.2"), (2, "1.2"), (3, "1.1")] {
            whole.phases[0].tasks[at].depends = vec![TaskId::new(depends).unwrap()];
        }

        let rest = rest_of(whole, &ids(&["1.1"]), &ids(&["1.1", "1.4"]));

        let tasks: Vec<_> = rest.tasks().map(|task| (task.id.as_str(), task.status)).collect();
        let depends: Vec<_> = rest.tasks().map(|task| task.depends.len()).collect();
        assert_eq!((rest.phases.len(), depends), (1, vec![0, 0, 1]), "what is done waits for nothing");
        let expected = [("1.1", TaskStatus::Completed), ("1.3", TaskStatus::Completed), ("1.4", TaskStatus::Pending)];
        assert_eq!(tasks, expected);
    }

    #[test]
    fn a_task_whose_text_has_changed_is_another_task_and_one_that_is_marked_or_waits_for_others_is_not() {
        let first = plan();
        let tasks: BTreeMap<_, _> = first.tasks().map(|task| (task.id.clone(), work_of(task))).collect();
        let mut recorded = plan();
        recorded.phases[0].tasks[0].status = TaskStatus::Completed;
        recorded.phases[0].tasks[0].depends = vec![TaskId::new("1.4").unwrap()];
        recorded.phases[0].tasks[3].description = "other".to_owned();
        let all = ["1.1", "1.4"].map(|id| TaskId::new(id).unwrap()).to_vec();
        let text = serde_json::to_string(&recorded).unwrap();
        let mut earlier = Earlier { merged: all.clone(), reported: all, plan: text, ..Earlier::default() };

        earlier.keep(&tasks).unwrap();

        assert_eq!((earlier.merged.len(), earlier.reported.len()), (1, 1));
        assert_eq!(earlier.merged[0].as_str(), "1.1");
    }

    #[test]
    fn a_loop_on_a_branch_follows_its_runs_and_one_at_a_commit_those_that_began_there() {
        let repository = crate::tests::Repository::new();
        let (first, head, tip) = (repository.commit("first"), repository.commit("head"), repository.commit("tip"));
        let repo = &repository.repo;
        repo.update_branch("main", &head, Some(&tip)).unwrap();
        let run = RunId::from_bits(1);
        let resolved = |named: Option<&str>| {
            let earlier = Earlier {
                run: Some(run.clone()),
                target: "main".to_owned(),
                base: first.to_string(),
                merged: vec![TaskId::new("1.1").unwrap()],
                tip: Some(tip.to_string()),
                ..Earlier::default()
            };
            let progress = resolve(repo, vec![earlier], named).unwrap();
            (progress.base, progress.follows, progress.done)
        };
        let follows = (tip.clone(), Some(run.clone()), ids(&["1.1"]));

        assert_eq!(resolved(None), follows);
        assert_eq!(resolved(Some("main")), follows);
        assert_eq!(resolved(Some(head.short())), (head.clone(), None, ids(&[])));
        assert_eq!(resolved(Some(first.short())), follows);
    }

    /// Returns an earlier run with this number that was to be merged into `main`, and has merged a task with a commit.
    fn merged(number: u64, base: &Oid, merged: Option<(&str, &Oid)>) -> Earlier {
        Earlier {
            run: Some(RunId::from_bits(number)),
            target: "main".to_owned(),
            base: base.to_string(),
            merged: merged.iter().map(|(task, _)| TaskId::new(*task).unwrap()).collect(),
            tip: merged.map(|(_, tip)| tip.to_string()),
            ..Earlier::default()
        }
    }

    #[test]
    fn a_loop_follows_the_newest_run_that_has_merged_something_which_the_repository_still_has() {
        let repository = crate::tests::Repository::new();
        let (head, older, newer) = (repository.commit("head"), repository.commit("older"), repository.commit("newer"));
        let repo = &repository.repo;
        repo.update_branch("main", &head, Some(&newer)).unwrap();
        let gone = Oid::parse(&"1".repeat(40)).unwrap();
        let nothing = Earlier { reported: vec![TaskId::new("1.9").unwrap()], ..merged(5, &head, None) };
        let lost = merged(4, &head, Some(("1.4", &gone)));
        let (third, second) = (merged(3, &head, Some(("1.3", &newer))), merged(2, &head, Some(("1.2", &older))));
        let runs = vec![nothing, lost, third, second];

        let Progress { base, follows, done, .. } = resolve(repo, runs, None).unwrap();

        assert_eq!((base, follows), (newer, Some(RunId::from_bits(3))));
        assert_eq!(done, ids(&["1.2", "1.3", "1.9"]));
    }

    #[test]
    fn a_loop_begins_at_the_branch_once_that_has_what_the_newest_run_has_merged() {
        let repository = crate::tests::Repository::new();
        let first = repository.commit("first");
        let (newer, head) = (repository.commit("newer"), repository.commit("head"));
        let repo = &repository.repo;
        let tree = repository.folder.path().canonicalize().unwrap().join("side");
        repo.worktree_add(&tree, "side-of-older", &first, &[]).unwrap();
        let older = repository.commit_in(&tree, "older");
        let runs = vec![merged(2, &first, Some(("1.2", &newer))), merged(1, &first, Some(("1.1", &older)))];

        let Progress { base, follows, done, .. } = resolve(repo, runs, None).unwrap();

        assert_eq!((base, follows, done), (head, None, ids(&["1.2"])));
    }

    #[test]
    fn a_task_that_several_runs_did_is_of_the_newest_and_only_if_its_change_is_in_the_base() {
        let repository = crate::tests::Repository::new();
        let (first, tip) = (repository.commit("first"), repository.commit("tip"));
        let task = || TaskId::new("1.1").unwrap();
        let reported = Earlier { reported: vec![task()], ..merged(1, &first, None) };
        let runs = [merged(3, &first, Some(("1.1", &tip))), merged(2, &first, Some(("1.1", &first))), reported];
        let done = |base: &Oid| done_at(&repository.repo, &runs, base).unwrap();

        assert_eq!(done(&tip), BTreeMap::from([(task(), RunId::from_bits(3))]));
        assert_eq!(done(&first), BTreeMap::from([(task(), RunId::from_bits(2))]));
        assert_eq!(done_at(&repository.repo, &runs[2..], &first).unwrap().len(), 1, "a report needs no commit");
    }

    #[test]
    fn the_turns_of_a_loop_are_those_of_its_own_runs_in_their_order() {
        let repository = crate::tests::Repository::new();
        let head = repository.commit("head");
        let turned = |number: u32, target: &str| {
            let run = RunId::from_bits(number.into());
            let mut earlier = merged(number.into(), &Oid::parse(&"1".repeat(40)).unwrap(), None);
            earlier.target = target.to_owned();
            let turned = json!({ "run": run, "turn": number, "turn_kind": "first", "unit": null, "follows": null,
                "why": "it is next" });
            earlier.turns.take(&RunEvent::read("loop_turned", &turned.into()).unwrap(), Millis(0));
            earlier
        };
        assert_eq!(repository.repo.head_commit().unwrap(), head);

        let runs = vec![turned(3, "main"), turned(4, "release"), turned(1, "main"), turned(2, "main")];
        let turns = resolve(&repository.repo, runs, None).unwrap().turns;

        assert_eq!(turns.iter().map(|turn| turn.number).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn a_report_counts_for_its_task_and_that_of_a_subtask_does_not() {
        let done = |task: &str, of: Option<&str>| {
            let of = of.map(|of| TaskId::new(of).unwrap());
            let facts = json!({ "task": task, "of": of, "worker": "wrk_1", "attempt": 1 });
            RunEvent::read("task_done", &facts.into()).unwrap()
        };
        let mut earlier = Earlier::default();

        earlier.take(done("1.1", None));
        earlier.take(done("1.2.1", Some("1.2")));

        assert_eq!(earlier.reported, [TaskId::new("1.1").unwrap()]);
    }

    #[test]
    fn what_a_slice_has_merged_counts_once_the_slice_is_in_the_branch() {
        let task = |id: &str| json!({ "id": id, "phase": 1, "description": id, "x-switchboard": { "slice": "api" } });
        let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "s", "x-switchboard": { "merge": "slice" },
            "phases": [{ "id": 1, "name": "one", "tasks": [task("1.1"), task("1.2")] }] });
        let plan: Plan = serde_json::from_value(plan).unwrap();
        let tasks: BTreeMap<_, _> = plan.tasks().map(|task| (task.id.clone(), work_of(task))).collect();
        let first = TaskId::new("1.1").unwrap();
        let landing = into(&expand(&plan).unwrap().shapes, &first).unwrap().clone();
        let merged = |commits: &[(&TaskId, &str)]| {
            let commits = commits.iter().map(|(task, commit)| ((*task).clone(), (*commit).to_owned())).collect();
            let text = serde_json::to_string(&plan).unwrap();
            let mut earlier = Earlier { merged: vec![first.clone()], commits, plan: text, ..Earlier::default() };
            earlier.keep(&tasks).unwrap();
            (earlier.merged, earlier.tip)
        };

        assert_eq!(merged(&[(&first, "a")]), (Vec::new(), None));
        assert_eq!(merged(&[(&first, "a"), (&landing, "b")]), (vec![first.clone()], Some("b".to_owned())));
    }
}
