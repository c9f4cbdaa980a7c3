//! Tests which remains of runs are listed, and how archived work is restored.

use std::sync::Mutex;

use switchboard_protocol::id::Digest;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::verb::run::{CleanRunsReply, CleanRunsRequest};
use switchboard_store::Idempotency;

use super::steering::failed;
use super::*;
use crate::future::BoxFuture;
use crate::port::Commits;

/// Kinds of the events of a commit, and whether it answers a call.
type Commit = (Vec<String>, bool);

/// Commits of a simulation that notes those about removals.
struct Noted {
    inner: Arc<dyn Commits>,
    noted: Arc<Mutex<Vec<Commit>>>,
}

impl Commits for Noted {
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<switchboard_store::Committed, switchboard_store::Error>> {
        let kinds: Vec<_> = batch.events.iter().map(|event| event.kind.clone()).collect();
        let answers = batch.idempotency.as_ref().is_some_and(|call| call.verb == "clean_runs");
        if kinds.iter().any(|kind| kind.starts_with("run_clean")) {
            lock(&self.noted).push((kinds, answers));
        }
        self.inner.commit(batch)
    }
}

fn key(key: &str) -> Idempotency {
    Idempotency { key: key.to_owned(), caller: "ann".to_owned(), verb: "clean_runs", args: Digest::of(b"args") }
}

async fn clean(daemon: &Dispatch, request: CleanRunsRequest) -> Result<CleanRunsReply, Failure> {
    failed(daemon.clean_runs(&request, &people::ann().unwrap().name, None).await)
}

#[test]
fn remains_are_listed_of_runs_that_are_over_and_count_as_merged_wherever_they_were_merged() {
    with_stage(SimSpec { work_ms: 600_000, ..SimSpec::kind() }, async |stage, daemon, request| {
        let ann = people::ann().unwrap();
        let request = StartRunRequest { merge: false, ..request };
        let over = daemon.start_run(request.clone(), &ann, None).await.unwrap().run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        let live = daemon.start_run(request, &ann, None).await.unwrap().run.unwrap();
        let of_branch = async || {
            let left = clean(daemon, CleanRunsRequest::default()).await.unwrap().left;
            assert!(left.iter().all(|left| left.run == over), "{left:?}");
            left.into_iter().find(|left| left.task.is_empty()).unwrap()
        };

        assert_eq!(of_branch().await.unmerged, "not merged into main");
        let head = lock(&stage.repo).branch(&format!("switchboard/{over}")).unwrap();
        lock(&stage.repo).branches.insert("release".to_owned(), head.clone());
        let (from, to) = (head.to_string(), head.to_string());
        let merged = RunEvent::RunMerged { run: over.clone(), target: "release".to_owned(), from, to };
        let merged = NewEvent::of(&merged, history::subject(&over), "ann").unwrap();
        daemon.world.store.commit(Batch::synced().event(merged)).await.unwrap();
        assert_eq!(of_branch().await.unmerged, "");
        let of_live = CleanRunsRequest { run: Some(live.to_string()), ..CleanRunsRequest::default() };
        refused(clean(daemon, of_live).await, "dispatch.not-finished", "is still at work");
    });
}

#[test]
fn what_is_left_of_a_task_is_listed_with_the_size_of_its_tree_if_there_is_one() {
    with_stage(SimSpec { bad_gates: 1_000, ..SimSpec::kind() }, async |stage, daemon, request| {
        let request = StartRunRequest { merge: false, ..request };
        daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        let of_tasks = async || {
            let mut left = clean(daemon, CleanRunsRequest::default()).await.unwrap().left;
            left.retain(|left| !left.task.is_empty());
            left
        };

        let with_trees = of_tasks().await;
        assert!(
            !with_trees.is_empty() && with_trees.iter().all(|left| left.bytes == repo::TREE_BYTES),
            "{with_trees:?}"
        );
        lock(&stage.repo).worktrees.clear();

        let without = of_tasks().await;
        assert_eq!(without.len(), with_trees.len());
        assert!(without.iter().all(|left| left.bytes == 0 && left.worktree.is_empty()), "{without:?}");
    });
}

#[test]
fn the_answer_to_a_removal_is_recorded_with_the_last_of_its_outcomes() {
    let noted = Arc::new(Mutex::default());
    let notes = Arc::clone(&noted);
    let change = |_: &mut Config, ports: &mut Ports| {
        ports.commits = Arc::new(Noted { inner: Arc::clone(&ports.commits), noted: notes });
    };
    with_changed(SimSpec::kind(), change, async |_, daemon, request| {
        let request = StartRunRequest { merge: false, ..request };
        daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        let by = people::ann().unwrap().name;
        let all = CleanRunsRequest { remove: true, unmerged: true, ..CleanRunsRequest::default() };

        let removed = daemon.clean_runs(&all, &by, Some(key("a"))).await.unwrap();
        let again = daemon.clean_runs(&all, &by, Some(key("a"))).await.unwrap();

        let count = removed.left.iter().filter(|left| left.removed).count();
        assert!(count > 0 && json!(again) == json!(removed), "{removed:?}");
        let kinds = |kind: &str| vec![kind.to_owned(); count];
        assert_eq!(*lock(&noted), [(kinds("run_clean_intended"), false), (kinds("run_cleaned"), true)]);
    });
}

#[test]
fn archived_work_is_restored_as_a_branch_by_its_name_or_by_a_beginning_that_no_other_has() {
    with_stage(SimSpec::kind(), async |stage, daemon, _| {
        let first = lock(&stage.repo).branch(repo::MAIN).unwrap();
        lock(&stage.repo).commit_by_hand(repo::MAIN, 1);
        let second = lock(&stage.repo).branch(repo::MAIN).unwrap();
        for (name, commit) in [("a/1", &first), ("a/12", &second), ("b/1", &second)] {
            lock(&stage.repo).archived.insert(name.to_owned(), commit.clone());
        }
        let restore = |named: &str| CleanRunsRequest { restore: Some(named.to_owned()), ..CleanRunsRequest::default() };

        for (named, name, commit) in [("a/1", "a/1", &first), ("a/12", "a/12", &second), ("b", "b/1", &second)] {
            let by = people::ann().unwrap().name;
            let once = async || daemon.clean_runs(&restore(named), &by, Some(key(named))).await.unwrap();
            let (restored, again) = (once().await, once().await);
            let branch = format!("restored/{name}");
            let found = restored.restored.as_ref().unwrap();
            assert_eq!((&found.branch, found.name.as_str()), (&branch, name));
            assert_eq!(lock(&stage.repo).branch(&branch).as_ref(), Some(commit), "{named}");
            assert_eq!((json!(again), restored.archived.len()), (json!(restored), 3), "{named}");
        }
        for named in ["a", "c", ""] {
            let says = "nothing, or more than one thing, is archived as";
            refused(clean(daemon, restore(named)).await, "request.bad-args", says);
        }
    });
}
