//! Tests how long a merge waits for files that another agent has reserved.

use std::sync::atomic::AtomicUsize;

use switchboard_protocol::id::AgentName;
use switchboard_protocol::run::{HeldBy, RunEvent};
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::run::StopRunRequest;
use tokio::sync::watch;

use super::at_work::{AtWork, LOOKS, plan_of_slices};
use super::*;
use crate::future::BoxFuture;
use crate::port::FileLeases;

/// Leases that the test gives and ends.
struct Given {
    /// Current lease on any file.
    lease: watch::Sender<Option<HeldBy>>,
    /// Number of merges that wait for the end of a lease.
    waiting: Arc<AtomicUsize>,
}

/// Counts a wait as long as it exists.
struct Waiting(Arc<AtomicUsize>);

// === impl Given ===

impl Given {
    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

impl FileLeases for Given {
    fn held_by_others<'a>(
        &'a self,
        _own: Option<&'a AgentName>,
        _files: &'a [String],
    ) -> BoxFuture<'a, Result<Option<HeldBy>, crate::Error>> {
        let lease = self.lease.borrow().clone();
        Box::pin(async { Ok(lease) })
    }

    fn held_by_another<'a>(
        &'a self,
        _own: Option<&'a AgentName>,
        _files: &'a [String],
        known: &'a HeldBy,
    ) -> BoxFuture<'a, Result<Option<HeldBy>, crate::Error>> {
        let mut changes = self.lease.subscribe();
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting(Arc::clone(&self.waiting));
        Box::pin(async move {
            let _waiting = waiting;
            let other = changes.wait_for(|lease| lease.as_ref() != Some(known)).await.unwrap();
            Ok(other.clone())
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn lease_of(holder: &str) -> Option<HeldBy> {
    let holder = AgentName::new(holder).unwrap();
    Some(HeldBy { holder, files: vec!["t/1.1".to_owned()], until: Millis(i64::MAX) })
}

/// Runs a test with a run of the plan with slices of which both merges that can be next wait for a lease of ben.
fn with_held(test: impl AsyncFn(AtWork<'_>, &Given)) {
    let given = Arc::new(Given { lease: watch::Sender::new(lease_of("ben")), waiting: Arc::default() });
    let leases: Arc<dyn FileLeases> = Arc::clone(&given) as _;
    with_changed(
        SimSpec::kind(),
        |_, ports| ports.leases = leases,
        async |stage, daemon, request| {
            let request = StartRunRequest { plan: plan_of_slices(), merge: false, ..request };
            let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
            let at = AtWork { stage, daemon, run, worker: WorkerId::from_bits(0) };
            waits(&at, &given, 2).await;
            test(at, &given).await;
        },
    );
}

/// Waits until so many merges wait for a lease, and goes on if no more do.
async fn waits(at: &AtWork<'_>, given: &Given, count: usize) {
    for _ in 0..LOOKS {
        if given.waiting() == count && at.events("merge_held").len() >= count {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("{} merges wait, not {count}", given.waiting());
}

fn holders(at: &AtWork<'_>) -> Vec<(String, String)> {
    let held = at.events("merge_held");
    let named = held.into_iter().filter_map(|event| {
        let RunEvent::MergeHeld { task, lease, .. } = event else { return None };
        Some((task.to_string(), lease.holder.to_string()))
    });
    let mut named: Vec<_> = named.collect();
    named.sort();
    named
}

#[test]
fn a_merge_waits_until_no_other_agent_has_reserved_its_files() {
    with_held(async |at, given| {
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        assert_eq!(at.events("task_merged").len(), 0);
        given.lease.send_replace(lease_of("cleo"));
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        assert_eq!((given.waiting(), at.events("task_merged").len()), (2, 0));

        given.lease.send_replace(None);
        at.is_over().await;

        let named = |task: &str, holder: &str| (task.to_owned(), holder.to_owned());
        let expected = ["1.1", "1.3"].map(|task| ["ben", "cleo"].map(|holder| named(task, holder)));
        assert_eq!(holders(&at), expected.concat());
        assert_eq!((at.events("merge_released").len(), at.events("task_merged").len()), (2, 3));
        assert_eq!(given.waiting(), 0);
    });
}

#[test]
fn a_task_that_is_stopped_while_its_merge_waits_waits_no_longer_and_the_others_go_on() {
    with_held(async |at, given| {
        let stop = StopRunRequest { what: at.unit("1.3"), tasks: Vec::new(), grace_ms: None };
        at.daemon.stop_run(&stop, &people::ann().unwrap().name, None).await.unwrap();
        waits(&at, given, 1).await;

        given.lease.send_replace(None);
        at.is_over().await;

        assert_eq!((at.events("merge_released").len(), at.events("task_merged").len()), (1, 2));
    });
}

#[test]
fn a_run_that_is_stopped_while_merges_wait_is_over_at_once() {
    with_held(async |at, given| {
        let stop = StopRunRequest { what: at.run.to_string(), tasks: Vec::new(), grace_ms: None };
        at.daemon.stop_run(&stop, &people::ann().unwrap().name, None).await.unwrap();

        at.is_over().await;

        assert_eq!((given.waiting(), at.events("task_merged").len()), (0, 0));
    });
}
