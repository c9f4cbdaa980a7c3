//! Tests when a run that has succeeded is merged into the user's branch, and when a person is asked about it.

use serde_json::json;
use switchboard_process::git::Oid;
use switchboard_protocol::id::NeedId;
use switchboard_protocol::need::Need;

use super::merges::{over, record, world};
use super::*;
use crate::confirm_merge::{resolve, resolve_all};
use crate::user_branch;

/// Branch of the run.
const BRANCH: &str = "switchboard/r";

/// Run that has succeeded, and whose branch has a commit that the user's lacks.
struct Succeeded {
    stage: Arc<Stage>,
    store: Store,
    world: World,
    run: RunId,
    base: Oid,
    tip: Oid,
}

// === impl Succeeded ===

impl Succeeded {
    /// Creates a run that was configured with these facts.
    async fn new(spec: SimSpec, facts: &[(&str, Value)]) -> Self {
        let stage = Arc::new(Stage::new(1, spec));
        let (store, world) = world(&stage);
        let run = RunId::from_bits(1);
        let base = lock(&stage.repo).branch(repo::MAIN).unwrap();
        world.ports.git.update_branch(BRANCH, &base, None).unwrap();
        lock(&stage.repo).commit_by_hand(BRANCH, 1);
        let tip = lock(&stage.repo).branch(BRANCH).unwrap();
        let [mut configured, finished] = over(&run, base.as_str());
        for (name, value) in facts {
            configured["facts"][name] = value.clone();
        }
        record(&store, &[configured, finished], &run).await;
        Self { stage, store, world, run, base, tip }
    }

    /// Returns the branch of the user.
    fn main(&self) -> Oid {
        lock(&self.stage.repo).branch(repo::MAIN).unwrap()
    }

    fn open(&self) -> Vec<Need> {
        switchboard_needs::open_merges(&self.store, &self.run).unwrap()
    }

    /// Answers the only open question, and resolves the merge.
    async fn answer(&self, option: &str) {
        let [need] = self.open().try_into().unwrap();
        let answered = ("answered", Some(option.to_owned()), None);
        switchboard_needs::resolve(&self.store, &need.id, answered, "ann", Batch::synced()).await.unwrap();
        resolve(&self.world, &self.run).await;
    }
}

fn asks() -> [(&'static str, Value); 2] {
    [("merge", json!(false)), ("confirms_merge", json!(true))]
}

#[tokio::test(start_paused = true)]
async fn a_run_that_asks_before_its_merge_is_asked_about_once_and_merged_if_a_person_agrees() {
    // The question is asked however long the store is busy.
    let refuse = Some(Refuse { commit: 0, with: Refusal::Busy, ms: 5_000 });
    for (option, merges) in [("leave", false), ("merge", true)] {
        let it = Succeeded::new(SimSpec { refuse, ..SimSpec::kind() }, &asks()).await;

        resolve_all(&it.world).await.unwrap();
        resolve(&it.world, &it.run).await;
        let [need] = it.open().try_into().unwrap();
        assert!(need.title.starts_with("merge run_"), "{}", need.title);
        assert_eq!(it.main(), it.base, "asked once");
        it.answer(option).await;
        resolve_all(&it.world).await.unwrap();

        assert_eq!(it.main(), if merges { it.tip.clone() } else { it.base.clone() }, "{option}");
        assert!(it.open().is_empty(), "it is not asked again");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_about_a_run_that_has_changed_nothing() {
    let it = Succeeded::new(SimSpec::kind(), &asks()).await;
    it.world.ports.git.update_branch(BRANCH, &it.base, Some(&it.tip)).unwrap();

    resolve_all(&it.world).await.unwrap();

    assert!(it.open().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_may_merge_is_merged_at_the_start_of_a_daemon() {
    let it = Succeeded::new(SimSpec::kind(), &[]).await;

    let has_it = async || {
        let row = it.store.get(RUNS, &[it.run.as_str().into()]).unwrap().unwrap();
        user_branch::has_it(&it.world, &row, None).await.unwrap()
    };
    assert!(!has_it().await);
    resolve_all(&it.world).await.unwrap();

    assert_eq!(it.main(), it.tip);
    assert!(it.open().is_empty() && has_it().await);
    it.world.ports.git.delete_branch(BRANCH, &it.tip).unwrap();
    assert!(!has_it().await, "its branch may have had more");
}

#[tokio::test(start_paused = true)]
async fn a_merge_that_was_refused_is_tried_again_as_often_as_a_person_agrees() {
    let it = Succeeded::new(SimSpec::kind(), &[("target", json!("next"))]).await;
    let id = |number: &[u8]| {
        let parts = [b"merge", it.run.as_str().as_bytes(), it.tip.as_str().as_bytes(), number];
        NeedId::derived(if number == b"0" { &parts[..3] } else { &parts })
    };

    resolve(&it.world, &it.run).await;
    for number in [b"0", b"1", b"2"] {
        let [need] = it.open().try_into().unwrap();
        assert_eq!(need.id, id(number), "each question has an id that the next daemon knows");
        assert!(need.title.starts_with("try again to merge"), "{}", need.title);
        it.answer("merge").await;
    }
    it.world.ports.git.update_branch("next", &it.base, None).unwrap();
    it.answer("merge").await;

    assert_eq!(lock(&it.stage.repo).branch("next"), Some(it.tip.clone()));
    assert!(it.open().is_empty());
}
