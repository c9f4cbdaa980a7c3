//! Tests which remains of runs are listed, and how archived work is restored.

use switchboard_protocol::id::Digest;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::verb::run::{CleanRunsReply, CleanRunsRequest};
use switchboard_store::Idempotency;

use super::steering::failed;
use super::*;

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
fn archived_work_is_restored_as_a_branch_by_its_name_or_by_a_beginning_that_no_other_has() {
    with_stage(SimSpec::kind(), async |stage, daemon, _| {
        let first = lock(&stage.repo).branch(repo::MAIN).unwrap();
        lock(&stage.repo).commit_by_hand(repo::MAIN, 1);
        let second = lock(&stage.repo).branch(repo::MAIN).unwrap();
        for (name, commit) in [("a/1", &first), ("a/12", &second), ("b/1", &second)] {
            lock(&stage.repo).archived.insert(name.to_owned(), commit.clone());
        }
        let restore = |named: &str| CleanRunsRequest { restore: Some(named.to_owned()), ..CleanRunsRequest::default() };
        let key = |key: &str| Idempotency {
            key: key.to_owned(),
            caller: "ann".to_owned(),
            verb: "clean_runs",
            args: Digest::of(b"args"),
        };

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
