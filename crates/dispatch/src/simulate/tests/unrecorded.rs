//! Tests what a run does when the store refuses some of its records, for a while or for good.

use std::sync::atomic::AtomicUsize;

use switchboard_protocol::id::AgentName;
use switchboard_protocol::run::{BudgetScope, RunEvent};
use switchboard_protocol::verb::run::StopRunRequest;
use switchboard_store::{Committed, Error as StoreError};

use super::at_work::{at_work, plan_of_slices, slow};
use super::steering::failed;
use super::*;
use crate::future::BoxFuture;
use crate::port::Commits;

/// Commits of a simulation that refuse batches with an event of one kind.
struct Picky {
    inner: Arc<dyn Commits>,
    kind: &'static str,
    with: fn() -> StoreError,
    /// Number of refusals that are left.
    refusals: AtomicUsize,
}

// === impl Picky ===

impl Commits for Picky {
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<Committed, StoreError>> {
        let has = |kind: &str| batch.events.iter().any(|event| event.kind == kind);
        // A run that is not recorded does not start.
        let is_meant = has(self.kind) && !has("run_configured");
        let less = |left: usize| left.checked_sub(1);
        if is_meant && self.refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return Box::pin(async { Err((self.with)()) });
        }
        self.inner.commit(batch)
    }
}

fn too_large() -> StoreError {
    StoreError::TooLarge { what: "an event".to_owned(), size: 2, limit: 1, unit: "bytes" }
}

/// Runs a test with a daemon whose store refuses the next `count` batches with an event of a kind.
fn with_refusals(
    (kind, with, count): (&'static str, fn() -> StoreError, usize),
    spec: SimSpec,
    test: impl AsyncFn(&Arc<Stage>, &Dispatch, StartRunRequest),
) {
    let picky = |_: &mut Config, ports: &mut Ports| {
        let inner = Arc::clone(&ports.commits);
        ports.commits = Arc::new(Picky { inner, kind, with, refusals: AtomicUsize::new(count) });
    };
    with_changed(spec, picky, test);
}

/// Starts a run of the plan with slices and waits for its end; returns its events.
async fn ended(daemon: &Dispatch, request: StartRunRequest) -> Vec<RunEvent> {
    let request = StartRunRequest { plan: plan_of_slices(), merge: false, ..request };
    let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
    let over = async { daemon.live_runs().wait_for(|live| *live == 0).await.map(drop) };
    tokio::time::timeout(Duration::from_secs(24 * 60 * 60), over).await.expect("the run ends").unwrap();
    let events = daemon.world.store.events_of(&history::subject(&run), 0, 10_000).unwrap();
    events.iter().filter_map(|event| event.fact()).collect()
}

#[test]
fn a_task_whose_outcome_can_never_be_recorded_is_blocked_and_keeps_no_other_from_its_end() {
    with_refusals(("gate_reported", too_large, 1), SimSpec::kind(), async |_, daemon, request| {
        let events = ended(daemon, request).await;

        let blocked: Vec<_> = events
            .iter()
            .filter_map(|event| {
                let RunEvent::TaskBlocked { task, attempt, retries, reason } = event else { return None };
                Some((task.as_str(), *attempt, *retries, reason.as_str()))
            })
            .collect();
        let [(task, 1, Some(0), reason)] = blocked[..] else { panic!("{blocked:?}") };
        assert!(reason.starts_with("what came of it can't be recorded: "), "{reason}");
        assert!(reason.contains("2 bytes"), "{reason}");
        let merged =
            |event: &&RunEvent| matches!(event, RunEvent::TaskMerged { task: other, .. } if other.as_str() != task);
        assert!(events.iter().any(|event| merged(&event)), "another task is merged");
    });
}

#[test]
fn an_outcome_that_is_refused_for_a_while_is_recorded_once() {
    for with in [|| StoreError::Busy, || StoreError::DiskFull, || StoreError::Contended] {
        with_refusals(("change_captured", with, 5), SimSpec::kind(), async |_, daemon, request| {
            let events = ended(daemon, request).await;

            let count = |wanted: fn(&RunEvent) -> bool| events.iter().filter(|event| wanted(event)).count();
            assert_eq!(count(|event| matches!(event, RunEvent::ChangeCaptured { .. })), 3);
            assert_eq!(count(|event| matches!(event, RunEvent::TaskMerged { .. })), 3);
            assert_eq!(count(|event| matches!(event, RunEvent::TaskBlocked { .. })), 0);
        });
    }
}

#[test]
fn a_request_that_is_refused_for_a_while_is_refused_and_not_kept() {
    let busy = || StoreError::Busy;
    with_refusals(("run_stop_requested", busy, 1), slow(), async |stage, daemon, request| {
        let request = StartRunRequest { plan: plan_of_slices(), merge: false, ..request };
        let at = at_work(stage, daemon, request).await;
        let stop = StopRunRequest { what: at.run.to_string(), tasks: Vec::new(), grace_ms: None };

        let answer = failed(daemon.stop_run(&stop, &people::ann().unwrap().name, None).await);

        refused(answer, "store.busy", "");
        at.is_over().await;
        assert!(at.events("run_stop_requested").is_empty());
        assert_eq!(at.events("task_merged").len(), 3);
    });
}

#[test]
fn a_run_to_which_others_have_written_goes_on_from_there() {
    with_stage(slow(), async |stage, daemon, request| {
        let request = StartRunRequest { plan: plan_of_slices(), merge: false, ..request };
        let at = at_work(stage, daemon, request).await;
        let written = RunEvent::BudgetAlert { percent: 50, spent: 1, task: None, of: BudgetScope::Run };
        let event = NewEvent::of(&written, history::subject(&at.run), "daemon").unwrap();
        daemon.world.store.commit(Batch::synced().event(event)).await.unwrap();

        at.is_over().await;

        assert_eq!(at.events("task_merged").len(), 3);
        assert_eq!(at.events("budget_alert"), [written]);
    });
}

#[test]
fn an_agent_whose_first_commit_is_refused_joins_with_the_next_one() {
    let rosters = std::sync::Mutex::new(Vec::new());
    for count in [0, 3] {
        with_refusals(("agent_joined", || StoreError::Busy, count), SimSpec::kind(), async |_, daemon, request| {
            ended(daemon, request).await;

            let joined = daemon.world.store.events(0, &Filter::kinds(["agent_joined".to_owned()]), 100).unwrap();
            let names = joined.iter().map(|event| AgentName::new(event.facts.field("name").as_str().unwrap()).unwrap());
            let names: Vec<_> = names.collect();
            let left = |name: &AgentName| !daemon.assignees().borrow().has(name);
            assert!(names.len() > 1 && names.iter().all(left), "{names:?}");
            lock(&rosters).push(names);
        });
    }
    let rosters = lock(&rosters);
    assert_eq!(rosters[0], rosters[1]);
}
