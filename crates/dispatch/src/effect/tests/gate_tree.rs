//! Tests in which tree a change is judged: in one that only the same attempt, or merged work, has run in.

use switchboard_protocol::plan::TaskId;

use super::super::gate_tree::GateTree;
use super::super::judged::Judged;
use super::*;

impl Stand {
    async fn judges(&self, task: &str, attempt: u32, commit: &Oid) -> GateTree {
        let task = TaskId::new(task).unwrap();
        let judged = Judged {
            task: &task,
            attempt,
            commit: commit.as_str(),
            base: self.first.as_str(),
            tree_of: &task,
            declared: &[],
        };
        GateTree::check_out(&self.ctx, judged).await.unwrap()
    }
}

/// Returns the run of two tasks.
fn stand() -> Stand {
    Stand::new(|plan| {
        let tasks =
            json!([{ "id": "1.1", "phase": 1, "description": "d" }, { "id": "1.2", "phase": 1, "description": "d" }]);
        let of_two = run_plan(&tasks);
        (plan.plan, plan.positions) = (of_two.plan, of_two.positions);
    })
}

#[tokio::test]
async fn what_ran_for_a_change_that_has_passed_is_kept_for_its_attempt_and_once_it_is_merged_for_all() {
    // Where the run's branch is: nowhere yet, at its begin, or at the change.
    let (none, begin, merged) = (None, Some(false), Some(true));
    for (has_passed, branch, next, is_kept) in [
        (true, begin, ("1.1", 1), true),
        (true, begin, ("1.1", 2), false),
        (true, begin, ("1.2", 1), false),
        (true, merged, ("1.2", 1), true),
        (true, none, ("1.1", 1), true),
        (true, none, ("1.2", 1), false),
        (false, merged, ("1.1", 1), false),
    ] {
        let at = stand();
        let (judged, other) = (at.commits("one", "1"), at.commits("two", "2"));
        let git = &at.ctx.world.ports.git;
        if let Some(is_merged) = branch {
            git.update_branch(&at.ctx.plan.branch, if is_merged { &judged } else { &at.first }, None).unwrap();
        }
        let tree = at.judges("1.1", 1, &judged).await;
        let path = tree.path.clone();
        assert_eq!((text(&path.join("one")), text(&path.join("two"))), (Some("1".to_owned()), None));
        std::fs::write(path.join("built.ignored"), "x").unwrap();
        std::fs::write(path.join("left"), "x").unwrap();
        if has_passed {
            tree.passed(&at.ctx).await.unwrap();
        } else {
            drop(tree);
        }

        let tree = at.judges(next.0, next.1, &other).await;

        assert_eq!(tree.path, path, "no other gate uses it");
        assert_eq!(text(&path.join("two")).as_deref(), Some("2"));
        assert_eq!(path.join("built.ignored").exists(), is_kept, "{has_passed} {branch:?} {next:?}");
        assert!(!path.join("left").exists(), "what git does not ignore is no part of the change");
    }
}

#[tokio::test]
async fn gates_that_judge_at_the_same_time_have_a_tree_each() {
    let at = stand();
    let first = at.judges("1.1", 1, &at.first).await;
    let second = at.judges("1.2", 1, &at.first).await;

    assert_ne!(first.path, second.path);
    drop(first);
    assert_eq!(at.judges("1.2", 2, &at.first).await.path, at.ctx.plan.gate_tree(1));
}

#[tokio::test]
async fn a_tree_that_can_not_be_set_up_judges_nothing() {
    let at = Stand::new(|plan| {
        let argv = ["sh", "-c", "exit 3"].map(str::to_owned).to_vec();
        plan.setup = vec![switchboard_protocol::run::SetupCommand { argv, lock: None }];
    });
    let task = TaskId::new("1.1").unwrap();
    let commit = at.first.to_string();
    let judged = Judged { task: &task, attempt: 1, commit: &commit, base: &commit, tree_of: &task, declared: &[] };

    let failure = GateTree::check_out(&at.ctx, judged).await.err().unwrap().to_failure();

    assert_eq!(failure.code, "dispatch.setup");
    assert!(failure.what.starts_with("the gates' set-up of the work tree: `exit 3` ended"), "{failure:?}");
}
