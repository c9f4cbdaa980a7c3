//! Tests how a change is merged into the run's branch, also by a daemon that goes on with what the last one had begun.

use switchboard_protocol::frame::DriverSpec;
use switchboard_protocol::verb::run::AgentChoice;

use super::super::merge::{Captured, merge};
use super::*;

/// Lease of the file `mine` by another agent.
struct Reserved;

impl FileLeases for Reserved {
    fn held_by_others<'a>(
        &'a self,
        own: Option<&'a AgentName>,
        files: &'a [String],
    ) -> BoxFuture<'a, Result<Option<HeldBy>, Error>> {
        let holder = AgentName::new("ben").unwrap();
        let is_held = own.is_some_and(|own| own.as_str() == "ann") && files == ["mine"];
        let held = is_held.then(|| HeldBy { holder, files: files.to_vec(), until: Millis(0) });
        Box::pin(async { Ok(held) })
    }

    fn held_by_another<'a>(
        &'a self,
        _own: Option<&'a AgentName>,
        _files: &'a [String],
        _known: &'a HeldBy,
    ) -> BoxFuture<'a, Result<Option<HeldBy>, Error>> {
        Box::pin(async { Ok(None) })
    }
}

impl Stand {
    fn merging() -> Self {
        let at = Self::of_task(&json!({}), |plan| {
            let driver = DriverSpec::Acp { argv: vec!["ann".to_owned()] };
            plan.default_agent = AgentName::new("ann").ok();
            plan.agents.insert("ann".to_owned(), AgentChoice::new(AgentName::new("ann").unwrap(), driver));
        });
        at.set(&at.first);
        at
    }

    /// Puts the run's branch at a commit.
    fn set(&self, commit: &Oid) {
        let (git, branch) = (&self.ctx.world.ports.git, &self.ctx.plan.branch);
        let old = git.branch(branch).unwrap();
        git.update_branch(branch, commit, old.as_ref()).unwrap();
    }

    fn tip(&self) -> Oid {
        self.ctx.world.ports.git.branch(&self.ctx.plan.branch).unwrap().unwrap()
    }

    /// Makes a commit on another one with only this file changed.
    fn change(&self, on: &Oid, file: &str, text: &str) -> Oid {
        let tree = self.ctx.plan.worktrees.join("change");
        let git = &self.ctx.world.ports.git;
        git.worktree_detached(&tree, on).unwrap();
        std::fs::write(tree.join(file), text).unwrap();
        let commit = self.repository.commit_in(&tree, file);
        git.worktree_remove(&tree, tree.parent().unwrap()).unwrap();
        commit
    }

    async fn merges(&self, commit: &Oid, base: Option<&Oid>, begun: Option<&Oid>) -> RunEvent {
        let base = base.map_or("", Oid::as_str);
        let captured = Captured { task: &task(), attempt: 1, commit: commit.as_str(), base };
        merge(&self.ctx, captured, begun.map(ToString::to_string)).await.unwrap()
    }

    /// Returns the kinds of the steps before the end of the merge.
    fn intents(&self) -> usize {
        self.steps().iter().filter(|step| matches!(step, RunEvent::MergeIntended { .. })).count()
    }
}

#[tokio::test]
async fn a_change_becomes_one_commit_on_the_head_on_which_it_was_judged() {
    let at = Stand::merging();
    let change = at.change(&at.first, "mine", "1");

    let merged = at.merges(&change, Some(&at.first), None).await;

    let RunEvent::TaskMerged { commit, .. } = merged else { panic!("{merged:?}") };
    assert_eq!((commit.as_str(), at.intents()), (at.tip().as_str(), 1));
    let git = &at.ctx.world.ports.git;
    assert_eq!(git.rev_parse(&format!("{commit}^")).unwrap(), Some(at.first.clone()));
    assert_eq!(git.tree_of(&at.tip()).unwrap(), git.tree_of(&change).unwrap());
    assert_eq!(git.author_of(&at.tip(), Millis(0)).unwrap().name, "ann");
}

#[tokio::test]
async fn a_change_that_was_judged_on_another_head_is_not_merged_and_one_of_an_older_run_is() {
    for is_based in [true, false] {
        let at = Stand::merging();
        let (change, other) = (at.change(&at.first, "mine", "1"), at.change(&at.first, "theirs", "1"));
        at.set(&other);

        let merged = at.merges(&change, is_based.then_some(&at.first), None).await;

        if is_based {
            assert!(matches!(&merged, RunEvent::BranchMoved { head, .. } if head == other.as_str()), "{merged:?}");
            assert_eq!((at.tip(), at.intents()), (other, 0));
        } else {
            assert!(matches!(merged, RunEvent::TaskMerged { .. }), "{merged:?}");
            assert!(at.ctx.world.ports.git.is_ancestor(&other, &at.tip()).unwrap());
        }
    }
}

#[tokio::test]
async fn a_merge_that_the_last_daemon_had_done_is_not_done_again_and_one_that_it_had_not_is() {
    let at = Stand::merging();
    let change = at.change(&at.first, "mine", "1");
    at.set(&change);
    let done = at.merges(&change, Some(&at.first), Some(&at.first)).await;
    assert!(matches!(&done, RunEvent::TaskMerged { commit, .. } if commit == change.as_str()), "{done:?}");
    assert_eq!((at.tip(), at.intents()), (change.clone(), 0));

    at.set(&at.first);
    let done = at.merges(&change, Some(&at.first), Some(&at.first)).await;
    assert!(matches!(&done, RunEvent::TaskMerged { commit, .. } if commit == at.tip().as_str()), "{done:?}");
    assert_ne!(at.tip(), at.first);

    let other = at.change(&at.first, "theirs", "1");
    at.set(&other);
    let moved = at.merges(&change, Some(&at.first), Some(&at.first)).await;
    assert!(matches!(&moved, RunEvent::BranchMoved { head, .. } if head == other.as_str()), "{moved:?}");
    assert_eq!(at.tip(), other);
}

#[tokio::test]
async fn a_change_that_conflicts_or_that_the_branch_has_already_moves_nothing() {
    let at = Stand::merging();
    let (change, other) = (at.change(&at.first, "kept", "mine"), at.change(&at.first, "kept", "theirs"));
    at.set(&other);
    let conflict = at.merges(&change, None, None).await;
    assert!(matches!(&conflict, RunEvent::MergeConflicted { files, .. } if files == &["kept"]), "{conflict:?}");
    assert_eq!(at.tip(), other);

    at.set(&change);
    let had = at.merges(&change, None, None).await;
    assert!(matches!(&had, RunEvent::TaskMerged { commit, .. } if commit == change.as_str()), "{had:?}");
    assert_eq!(at.tip(), change);
}

#[tokio::test]
async fn a_change_of_files_that_another_agent_has_reserved_waits() {
    for (file, is_held) in [("mine", true), ("free", false)] {
        let mut at = Stand::merging();
        Arc::get_mut(&mut at.ctx.world).unwrap().ports.leases = Arc::new(Reserved);
        let change = at.change(&at.first, file, "1");

        let merged = at.merges(&change, Some(&at.first), None).await;

        assert_eq!(matches!(merged, RunEvent::MergeHeld { .. }), is_held, "{merged:?}");
        assert_eq!((at.tip() == at.first, at.intents()), (is_held, usize::from(!is_held)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_merge_that_git_can_not_do_is_tried_ten_times_and_then_given_up_as_a_conflict() {
    let at = Stand::merging();
    let (task, commit, missing) = (task(), at.change(&at.first, "a", "1"), "1".repeat(40));
    let captured = Captured { task: &task, attempt: 1, commit: commit.as_str(), base: &missing };
    let begun = tokio::time::Instant::now();

    let merged = merge(&at.ctx, captured, Some(missing.clone())).await.unwrap();

    let RunEvent::MergeConflicted { files, .. } = &merged else { panic!("{merged:?}") };
    assert!(files.len() == 1 && files[0].starts_with("git can't merge it: "), "{files:?}");
    // Nine pauses, each twice as long as the one before, and the last one the longest that there is.
    let pauses = (0..8).map(|number| 20 << number).sum::<u64>() + 5_000;
    assert_eq!(begun.elapsed().as_millis() as u64 / 10, pauses / 10);
}
