//! Merges into the user's branch may take long: tests which calls wait for them.

use serde_json::json;
use switchboard_needs::Needs;
use switchboard_protocol::caller::Caller;
use switchboard_protocol::event::Fact;
use switchboard_protocol::frame::{PermissionOption, ShimCommand};
use switchboard_protocol::id::{NeedId, WorkerId};
use switchboard_protocol::need::{NeedAbout, NeedEvent};
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::run::MergeRunRequest;

use super::*;
use crate::link::{Link, Signal};
use crate::needs;

/// Longer than any call that waits for nothing takes here.
const LONGER_THAN_ANY_CALL: Duration = Duration::from_secs(60);

pub(super) fn world(stage: &Arc<Stage>) -> (Store, World) {
    let store = Store::in_memory(vec![Box::new(Work), Box::new(Needs)], stage.clock.for_store());
    stage.clock.begin_life();
    let world = World::new(store.clone(), config(stage), ports::ports(stage, &store), CancellationToken::new());
    (store, world)
}

pub(super) async fn record(store: &Store, events: &[serde_json::Value], run: &RunId) {
    let mut batch = Batch::synced();
    for event in events {
        batch = batch.event(NewEvent::of(&fact(event), history::subject(run), "daemon").unwrap());
    }
    store.commit(batch).await.unwrap();
}

/// Returns an event of a run from its kind and its facts.
pub(super) fn fact(event: &serde_json::Value) -> RunEvent {
    RunEvent::read(event["kind"].as_str().unwrap(), &event["facts"].clone().into()).unwrap()
}

/// Returns the events of a run that has succeeded.
pub(super) fn over(run: &RunId, base: &str) -> [serde_json::Value; 2] {
    let configured = json!({ "run": run, "title": "t", "plan_hash": "h", "source": "s", "target": repo::MAIN,
        "base": base, "branch": "switchboard/r", "worktrees": "/w", "default_agent": null, "merge": true, "tasks": 1 });
    let finished = json!({ "outcome": "succeeded" });
    [("run_configured", configured), ("run_finished", finished)]
        .map(|(kind, facts)| json!({ "kind": kind, "facts": facts }))
}

#[tokio::test(start_paused = true)]
async fn the_outcome_of_removals_that_the_last_daemon_had_begun_is_recorded_at_the_start() {
    let stage = Arc::new(Stage::new(1, SimSpec::kind()));
    let (store, world) = world(&stage);
    let run = RunId::from_bits(1);
    let oid = lock(&stage.repo).branch(repo::MAIN).unwrap().to_string();
    let [configured, finished] = over(&run, &oid);
    let intended = |task: &str, branch: &str| {
        json!({ "kind": "run_clean_intended", "facts": {
            "run": run, "task": task, "worktree": "", "branch": branch, "commit": oid, "bytes": 1 } })
    };
    let begun = [intended("1.1", "switchboard/gone"), intended("1.2", repo::MAIN)];
    record(&store, &[&[configured, finished][..], &begun].concat(), &run).await;

    Dispatch::with(world).boot().await.unwrap();

    let recorded = store.events_of(&history::subject(&run), 4, 10).unwrap();
    let outcomes: Vec<_> = recorded.iter().map(|event| (event.kind.as_str(), event.facts.field("task"))).collect();
    assert_eq!(outcomes, [("run_cleaned", json!("1.1")), ("run_clean_abandoned", json!("1.2"))]);
}

#[tokio::test(start_paused = true)]
async fn a_daemon_is_ready_while_a_merge_that_the_last_one_had_begun_is_still_to_be_finished() {
    let stage = Arc::new(Stage::new(1, SimSpec::kind()));
    let (store, world) = world(&stage);
    let run = RunId::from_bits(1);
    let oid = lock(&stage.repo).branch(repo::MAIN).unwrap().to_string();
    let [configured, finished] = over(&run, &oid);
    let intended = json!({ "kind": "run_merge_intended", "facts": { "run": run, "target": repo::MAIN, "from": oid, "to": oid, "undo": false } });
    record(&store, &[configured, finished, intended], &run).await;
    let daemon = Dispatch::with(world);
    let merging = daemon.world.merging.lock().await;

    tokio::time::timeout(LONGER_THAN_ANY_CALL, daemon.boot()).await.expect("it waits for a merge").unwrap();

    let is_begun = || store.get(RUNS, &[run.as_str().into()]).unwrap().unwrap().get_text("merging_from").is_some();
    assert!(is_begun());
    drop(merging);
    let over = tokio::time::timeout(LONGER_THAN_ANY_CALL, async {
        while is_begun() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    over.await.expect("and it is finished once it may be");
}

#[tokio::test(start_paused = true)]
async fn the_answers_to_workers_wait_for_no_merge() {
    let stage = Arc::new(Stage::new(1, SimSpec::kind()));
    let (store, world) = world(&stage);
    let (run, worker) = (RunId::from_bits(1), WorkerId::from_bits(2));
    let (link, mut signals) = Link::new(worker.clone());
    world.set_link(&worker, link);
    let world = Arc::new(world);
    let option = PermissionOption { id: "yes".to_owned(), name: "yes".to_owned(), kind: "allow_once".to_owned() };
    let asked = async |id: u64, about| {
        let (id, options) = (NeedId::from_bits(id), vec![option.clone()]);
        let fact = NeedEvent::NeedAsked {
            id: id.clone(),
            about,
            title: "t".to_owned(),
            options,
            expires_at: Millis(i64::MAX),
        };
        store.commit(Batch::synced().event(switchboard_needs::ask_event(&fact, "", "daemon").unwrap())).await.unwrap();
        id
    };
    let merge = asked(1, NeedAbout::Merge { run: run.clone(), commit: "c".to_owned() }).await;
    let ask = "a1".to_owned();
    let permission = asked(2, NeedAbout::Permission { run, task: "1.1".to_owned(), worker, ask }).await;
    let _busy = world.confirming.lock().await;
    tokio::spawn(needs::tell_answers(Arc::clone(&world), store.head().lsn));

    for id in [merge, permission] {
        let yes = ("answered", Some("yes".to_owned()), None);
        switchboard_needs::resolve(&store, &id, yes, "ann", Batch::synced()).await.unwrap();
    }

    let told = tokio::time::timeout(LONGER_THAN_ANY_CALL, signals.inbox.recv()).await.expect("it waits for a merge");
    assert!(matches!(told, Some(Signal::Tell(ShimCommand::Permit { ask, .. })) if ask == "a1"));
    world.stop.cancel();
}

#[tokio::test(start_paused = true)]
async fn all_answers_that_were_given_meanwhile_are_passed_on_however_many() {
    const MANY: u64 = 150;
    let stage = Arc::new(Stage::new(1, SimSpec::kind()));
    let (store, world) = world(&stage);
    let (run, worker) = (RunId::from_bits(1), WorkerId::from_bits(2));
    let (link, mut signals) = Link::new(worker.clone());
    world.set_link(&worker, link);
    let before = store.head().lsn;
    for number in 0..MANY {
        let (id, ask) = (NeedId::from_bits(number), format!("a{number}"));
        let about = NeedAbout::Permission { run: run.clone(), task: "1.1".to_owned(), worker: worker.clone(), ask };
        let options =
            vec![PermissionOption { id: "yes".to_owned(), name: "yes".to_owned(), kind: "allow_once".to_owned() }];
        let (title, expires_at) = ("t".to_owned(), Millis(i64::MAX));
        let fact = NeedEvent::NeedAsked { id: id.clone(), about, title, options, expires_at };
        store.commit(Batch::synced().event(switchboard_needs::ask_event(&fact, "", "daemon").unwrap())).await.unwrap();
        let yes = ("answered", Some("yes".to_owned()), None);
        switchboard_needs::resolve(&store, &id, yes, "ann", Batch::synced()).await.unwrap();
    }

    let world = Arc::new(world);
    tokio::spawn(needs::tell_answers(Arc::clone(&world), before));

    for number in 0..MANY {
        let told =
            tokio::time::timeout(LONGER_THAN_ANY_CALL, signals.inbox.recv()).await.expect("an answer is missing");
        let Some(Signal::Tell(ShimCommand::Permit { ask, .. })) = told else { panic!("answer {number}") };
        assert_eq!(ask, format!("a{number}"));
    }
    world.stop.cancel();
}

#[test]
fn a_run_is_merged_into_the_branch_that_it_was_started_from_whatever_its_work_tree_has_checked_out_now() {
    with_stage(SimSpec::kind(), async |stage, daemon, request| {
        let ann = people::ann().unwrap();
        let run = daemon.start_run(StartRunRequest { merge: false, ..request }, &ann, None).await.unwrap().run.unwrap();
        daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
        let before = lock(&stage.repo).branch(repo::MAIN).unwrap();
        lock(&stage.repo).branches.insert("other".to_owned(), before.clone());
        lock(&stage.repo).head = "other".to_owned();
        let caller = Caller { folder: Some("/repo".into()), ..ann };

        let request = MergeRunRequest { run: Some(run.to_string()), partial: false };
        let merged = daemon.merge_run(&request, &caller, None).await.unwrap();

        assert_eq!((merged.target.as_str(), merged.from.as_str()), (repo::MAIN, before.as_str()));
        let repo = lock(&stage.repo);
        assert_eq!(repo.branch("other"), Some(before));
        assert_eq!(repo.branch(repo::MAIN).unwrap().as_str(), merged.to);
    });
}
