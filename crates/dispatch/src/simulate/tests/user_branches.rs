//! Tests merges of a run's branch into the user's, one after the other, and how one is taken back.

use switchboard_process::git::Oid;
use switchboard_protocol::id::{AgentName, Digest, NeedId};
use switchboard_protocol::need::{NeedAbout, NeedEvent};
use switchboard_protocol::run::HeldBy;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::run::{MergeRunReply, UndoMergeReply};
use switchboard_store::Idempotency;

use super::super::stage::GitFailure;
use super::merges::{over, record, world};
use super::steering::failed;
use super::*;
use crate::future::BoxFuture;
use crate::port::FileLeases;
use crate::user_branch::{self, Merge};

/// Branch of the run.
const BRANCH: &str = "switchboard/r";

/// Lease of one file by another agent.
struct Reserved;

impl FileLeases for Reserved {
    fn held_by_others<'a>(
        &'a self,
        own: Option<&'a AgentName>,
        files: &'a [String],
    ) -> BoxFuture<'a, Result<Option<HeldBy>, crate::Error>> {
        let holder = AgentName::new("ben").unwrap();
        let is_held = own != Some(&holder) && files.iter().any(|file| file == "reserved");
        let held = is_held.then(|| HeldBy { holder, files: vec!["reserved".to_owned()], until: Millis(0) });
        Box::pin(async { Ok(held) })
    }

    fn held_by_another<'a>(
        &'a self,
        _own: Option<&'a AgentName>,
        _files: &'a [String],
        _known: &'a HeldBy,
    ) -> BoxFuture<'a, Result<Option<HeldBy>, crate::Error>> {
        Box::pin(async { Ok(None) })
    }
}

/// Run that is over, with one commit on its branch.
struct Over {
    stage: Arc<Stage>,
    store: Store,
    world: World,
    run: RunId,
}

// === impl Over ===

impl Over {
    async fn new() -> Self {
        let stage = Arc::new(Stage::new(1, SimSpec::kind()));
        let (store, mut world) = world(&stage);
        world.ports.leases = Arc::new(Reserved);
        let (run, base) = (RunId::from_bits(1), lock(&stage.repo).branch(repo::MAIN).unwrap());
        record(&store, &over(&run, base.as_str()), &run).await;
        lock(&stage.repo).branches.insert(BRANCH.to_owned(), base);
        lock(&stage.repo).commit_file(BRANCH, "made");
        Self { stage, store, world, run }
    }

    fn tip(&self, branch: &str) -> Oid {
        lock(&self.stage.repo).branch(branch).unwrap()
    }

    async fn merge(&self, target: Option<&str>, by: Option<&str>, key: Option<&str>) -> Result<MergeRunReply, Failure> {
        let by = by.map(|by| AgentName::new(by).unwrap());
        let (target, missing) = (target.map(str::to_owned), Some("in part".to_owned()));
        let merge = Merge { run: &self.run, target, by: by.as_ref(), missing };
        failed(user_branch::merge(&self.world, merge, key.map(|key| call(key, "merge_run"))).await)
    }

    async fn undo(&self, key: Option<&str>) -> Result<UndoMergeReply, Failure> {
        let by = AgentName::new("ann").unwrap();
        failed(user_branch::undo(&self.world, &self.run, &by, key.map(|key| call(key, "undo_merge"))).await)
    }

    /// Returns the kinds of what is recorded of the run since its end.
    fn recorded(&self) -> Vec<String> {
        let events = self.store.events_of(&history::subject(&self.run), 2, 100).unwrap();
        events.into_iter().map(|event| event.kind).collect()
    }

    fn row(&self) -> switchboard_store::Row {
        self.store.get(RUNS, &[self.run.as_str().into()]).unwrap().unwrap()
    }
}

fn call(key: &str, verb: &'static str) -> Idempotency {
    Idempotency { key: key.to_owned(), caller: "ann".to_owned(), verb, args: Digest::of(b"args") }
}

#[tokio::test(start_paused = true)]
async fn a_merge_that_is_repeated_is_done_and_recorded_once() {
    let at = Over::new().await;
    let (from, to) = (at.tip(repo::MAIN), at.tip(BRANCH));

    let first = at.merge(None, None, Some("a")).await.unwrap();
    let repeated = at.merge(None, None, Some("a")).await.unwrap();
    let again = at.merge(None, None, None).await.unwrap();

    assert_eq!((first.from.as_str(), first.to.as_str(), first.already), (from.as_str(), to.as_str(), false));
    assert_eq!(first.files, ["made"]);
    assert!(!first.notes.contains(&"in part".to_owned()), "{:?}", first.notes);
    assert_eq!(json!(repeated), json!(first));
    assert_eq!((again.already, again.notes), (true, vec!["in part".to_owned()]));
    assert_eq!((again.from, again.to, again.files), (first.from, first.to, first.files), "as it was then");
    assert_eq!(at.recorded(), ["run_merge_intended", "run_merged"]);
}

#[tokio::test(start_paused = true)]
async fn a_merge_counts_as_done_if_git_fails_after_it_has_moved_the_branch_and_not_if_it_fails_before() {
    for target in [None, Some("release")] {
        for (failure, is_moved) in [(GitFailure::Before, false), (GitFailure::After, true)] {
            let at = Over::new().await;
            let main = at.tip(repo::MAIN);
            lock(&at.stage.repo).branches.insert("release".to_owned(), main.clone());
            *lock(&at.stage.next_git_failure) = Some(failure);

            let merged = at.merge(target, None, None).await;

            assert_eq!(*lock(&at.stage.next_git_failure), None);
            assert_eq!(merged.is_ok(), is_moved, "{target:?} {failure:?}");
            let tip = if is_moved { at.tip(BRANCH) } else { main };
            assert_eq!(at.tip(target.unwrap_or(repo::MAIN)), tip, "{target:?} {failure:?}");
            let last = if is_moved { "run_merged" } else { "run_merge_abandoned" };
            assert_eq!(at.recorded(), ["run_merge_intended", last], "{target:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_merged_by_hand_is_recorded_as_merged_and_there_is_nothing_to_take_back() {
    let at = Over::new().await;
    let tip = at.tip(BRANCH);
    lock(&at.stage.repo).branches.insert(repo::MAIN.to_owned(), tip.clone());

    for _ in 0..2 {
        let merged = at.merge(None, None, None).await.unwrap();
        assert_eq!((merged.already, merged.from.as_str(), merged.to.as_str()), (true, tip.as_str(), tip.as_str()));
    }

    assert_eq!(at.recorded(), ["run_merged"]);
    assert!(at.row().get_bool("is_merged"));
    refused(at.undo(None).await, "dispatch.cannot-undo", "no branch was moved by a merge");
}

#[tokio::test(start_paused = true)]
async fn a_merge_is_taken_back_only_while_no_work_would_be_lost() {
    let at = Over::new().await;
    let (from, to) = (at.tip(repo::MAIN), at.tip(BRANCH));
    at.merge(None, None, None).await.unwrap();
    let set = |branch: &str, tip: &Oid| {
        lock(&at.stage.repo).branches.insert(branch.to_owned(), tip.clone());
    };

    lock(&at.stage.repo).commit_by_hand(repo::MAIN, 1);
    refused(at.undo(None).await, "dispatch.cannot-undo", "main has moved on since, from ");
    set(repo::MAIN, &to);
    lock(&at.stage.repo).branches.remove(BRANCH);
    refused(at.undo(None).await, "dispatch.cannot-undo", "was removed, so that its work would be in no branch");
    set(BRANCH, &to);
    assert_eq!(at.recorded(), ["run_merge_intended", "run_merged"]);

    let undone = at.undo(Some("a")).await.unwrap();
    let repeated = at.undo(Some("a")).await.unwrap();

    assert_eq!((undone.from.as_str(), undone.to.as_str()), (to.as_str(), from.as_str()));
    assert_eq!((json!(repeated), undone.files.as_slice()), (json!(undone), &["made".to_owned()][..]));
    assert_eq!(at.tip(repo::MAIN), from);
    assert_eq!(at.recorded()[2..], ["run_merge_intended", "run_merge_undone"]);
    assert!(!at.row().get_bool("is_merged"));
    refused(at.undo(None).await, "dispatch.cannot-undo", "no branch was moved by a merge");
}

#[tokio::test(start_paused = true)]
async fn a_merge_into_a_branch_that_is_gone_moves_nothing() {
    let at = Over::new().await;

    refused(at.merge(Some("release"), None, None).await, "git.failed", "the branch release is gone");
    let main = at.tip(repo::MAIN);
    lock(&at.stage.repo).branches.insert("release".to_owned(), main);
    at.merge(Some("release"), None, None).await.unwrap();
    lock(&at.stage.repo).branches.remove("release");
    refused(at.undo(None).await, "dispatch.cannot-undo", "the branch release is gone");
    lock(&at.stage.repo).branches.remove(BRANCH);
    refused(at.merge(None, None, None).await, "git.failed", "the branch switchboard/r is gone");

    assert_eq!(at.recorded(), ["run_merge_intended", "run_merged"]);
}

#[tokio::test(start_paused = true)]
async fn the_question_about_a_merge_is_withdrawn_once_a_person_has_merged_the_run_where_it_asks_to() {
    let at = Over::new().await;
    let main = at.tip(repo::MAIN);
    lock(&at.stage.repo).branches.insert("release".to_owned(), main);
    let about = NeedAbout::Merge { run: at.run.clone(), commit: at.tip(BRANCH).to_string() };
    let (id, title, options) = (NeedId::from_bits(1), "merge it?".to_owned(), Vec::new());
    let fact = NeedEvent::NeedAsked { id, about, title, options, expires_at: Millis(i64::MAX) };
    at.store.commit(Batch::synced().event(switchboard_needs::ask_event(&fact, "", "daemon").unwrap())).await.unwrap();
    let open = || switchboard_needs::open_merges(&at.store, &at.run).unwrap().len();

    at.merge(Some("release"), None, None).await.unwrap();
    assert_eq!(open(), 1);
    at.merge(None, None, None).await.unwrap();
    assert_eq!(open(), 0);
}

#[tokio::test(start_paused = true)]
async fn files_that_another_agent_has_reserved_are_not_merged() {
    let at = Over::new().await;
    lock(&at.stage.repo).commit_file(BRANCH, "reserved");
    let main = at.tip(repo::MAIN);

    refused(at.merge(None, Some("ann"), None).await, "lease.conflict", "ben has reserved reserved until");
    assert_eq!((at.recorded().len(), at.tip(repo::MAIN)), (0, main));
    at.merge(None, Some("ben"), None).await.unwrap();
    assert_eq!(at.tip(repo::MAIN), at.tip(BRANCH));
}

#[tokio::test(start_paused = true)]
async fn a_branch_has_what_a_run_has_made_until_the_run_has_made_more() {
    let at = Over::new().await;
    let main = at.tip(repo::MAIN);
    lock(&at.stage.repo).branches.insert("release".to_owned(), main);
    let has = async |target: Option<&str>| {
        user_branch::has_it(&at.world, &at.row(), target.map(str::to_owned)).await.unwrap()
    };

    assert!(!has(None).await && !has(Some("release")).await);
    at.merge(Some("release"), None, None).await.unwrap();
    assert!(!has(None).await && has(Some("release")).await);
    at.merge(None, None, None).await.unwrap();
    assert!(has(None).await);
    lock(&at.stage.repo).commit_file(BRANCH, "more");
    assert!(!has(None).await);
    lock(&at.stage.repo).branches.remove("release");
    assert!(!has(Some("release")).await);
}

#[tokio::test(start_paused = true)]
async fn only_merges_into_the_branch_that_a_run_began_on_since_its_end_move_that_branch() {
    let at = Over::new().await;
    let main = at.tip(repo::MAIN);
    lock(&at.stage.repo).branches.insert("release".to_owned(), main);
    let has_moved = || user_branch::has_moved(&at.world, &at.row()).unwrap();

    at.merge(Some("release"), None, None).await.unwrap();
    assert!(!has_moved());
    at.merge(None, None, None).await.unwrap();
    assert!(has_moved());
    at.undo(None).await.unwrap();
    assert!(has_moved(), "also if it was taken back");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let [_, finished] = over(&at.run, "");
    record(&at.store, &[finished], &at.run).await;
    assert!(!has_moved(), "the run has gone on since");
    let moved = json!({ "run": at.run, "target": repo::MAIN, "from": "1".repeat(40), "to": "2".repeat(40) });
    record(&at.store, &[json!({ "kind": "run_merged", "facts": moved })], &at.run).await;
    assert!(has_moved(), "at the very end of the run");
}
