//! Tests in which state the next worker of a task finds its tree, and which trees and branches a run leaves.

use std::path::Path;

use switchboard_pipeline::subtasks::WorkResult;
use switchboard_protocol::job::Coordination;
use switchboard_protocol::worker::WorkerFact;

use super::super::shim::{Act, turn_ended};
use super::at_work::{LOOKS, with_worker};
use super::*;

#[test]
fn a_worker_goes_on_with_what_a_lost_one_left_and_a_new_attempt_begins_with_a_clean_tree() {
    for (last, is_kept) in [(Act::Say(turn_ended(1, "error", "can't")), false), (Act::Vanish, true)] {
        with_worker(Coordination::Managed, async |at| {
            let acts = vec![Act::Write { is_bad: false }, last.clone()];
            if is_kept {
                lock(&at.stage.shims).values_mut().for_each(|shim| shim.acts.clear());
                at.does(acts);
            } else {
                at.does_only(acts);
            }
            let tree = Path::new("/worktrees").join(at.run.as_str()).join("1.1");
            let of_task = || lock(&at.stage.shims).values_mut().filter(|shim| shim.spec.task == "1.1").count();
            for _ in 0..LOOKS {
                if of_task() == 2 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }

            assert_eq!(of_task(), 2, "another worker starts");
            let changed = lock(&at.stage.repo).changed_in(&tree).unwrap();
            assert_eq!(!changed.is_empty(), is_kept, "{changed:?}");
        });
    }
}

#[test]
fn a_run_that_is_over_leaves_no_tree_and_of_its_tasks_only_the_branches_of_changes_that_were_compared() {
    with_stage(SimSpec::kind(), async |stage, daemon, request| {
        let task = |id: &str, settings: Value| {
            json!({ "id": id, "phase": 1, "description": "d", "acceptance": "it is done",
                "files_touched": [format!("t/{id}"), repo::removed_by(id)], "x-switchboard": settings })
        };
        let tasks = [task("1.1", json!({})), task("1.2", json!({ "best_of": 2 }))];
        let plan = json!({ "schema_version": "1.0.0", "title": "t", "swarm": "sim", "x-switchboard": { "ports": 0 },
            "phases": [{ "id": 1, "name": "one", "tasks": tasks }] });
        let request = StartRunRequest { plan: plan.to_string(), merge: false, ..request };
        let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        assert_eq!(daemon.state_of(&run).unwrap(), "succeeded");

        let views = daemon.views(&run).await.unwrap();
        let plan = daemon.plan_of(&run).unwrap();
        let is_compared = |task: &TaskId| plan.shape(task).is_some_and(|shape| shape.result == WorkResult::Candidate);
        let compared: Vec<_> =
            views.iter().filter(|view| is_compared(&view.task)).map(|view| plan.task_branch(&view.task)).collect();
        let agents = crate::plan::agents_file(&daemon.world.config, &run);
        assert!(lock(&stage.files).get(&agents).is_none(), "it says how agents are started, and none is any more");
        let repo = lock(&stage.repo);
        let left: Vec<_> = repo.branches.keys().filter(|name| name.starts_with("switchboard-task/")).cloned().collect();
        assert_eq!((left, compared.len()), (compared, 2));
        assert!(repo.worktrees.keys().all(|path| !path.starts_with("/worktrees")), "{:?}", repo.worktrees.keys());
    });
}

#[test]
fn a_run_that_was_stopped_keeps_what_a_retry_needs() {
    with_worker(Coordination::Managed, async |at| {
        let stop = serde_json::from_value(json!({ "what": at.run })).unwrap();
        at.daemon.stop_run(&stop, &people::ann().unwrap().name, None).await.unwrap();
        at.is_over().await;

        let agents = crate::plan::agents_file(&at.daemon.world.config, &at.run);
        assert!(lock(&at.stage.files).get(&agents).is_some());
    });
}

#[test]
fn workers_that_follow_each_other_have_the_same_name_as_it_is_free_again_with_its_task() {
    with_worker(Coordination::Managed, async |at| {
        at.is_over().await;

        let workers = at.of_workers("worker_equipped");
        let names = workers.iter().filter_map(|fact| {
            let WorkerFact::WorkerEquipped { task, agent, .. } = fact else { return None };
            Some((task.as_str(), agent.as_str()))
        });
        let names: Vec<_> = names.collect();
        assert!(names.len() == 3 && names.iter().all(|(_, name)| *name == names[0].1), "{names:?}");
    });
}
