//! Records workers' calls that the policy denies: the first of each kind one by one, the rest as a count, so that a worker that
//! calls in a loop does not fill the log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use switchboard_policy::Decision;
use switchboard_process::task;
use switchboard_protocol::caller::{Caller, CallerKind};
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::text::cut;
use switchboard_protocol::worker::WorkerFact;
use switchboard_store::{Batch, Store};

/// Number of denied calls of one kind that are recorded one by one.
const EACH: u64 = 3;

/// Delay before further denied calls are recorded as a count: initial and maximum. It doubles while more come.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// Maximum number of kinds that are counted at once, over all workers; those without a new call are dropped first.
const MAX_KINDS: usize = 4096;

/// Maximum length of a rule's name in the record, in bytes.
const RULE: usize = 120;

/// Kind of denied calls, which are counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    worker: WorkerId,
    verb: String,
    rule: String,
    code: &'static str,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    total: u64,
    recorded: u64,
    /// True if a task is waiting to record the calls that are not recorded yet.
    is_awaited: bool,
}

/// What to do about a denied call.
#[derive(Debug, PartialEq, Eq)]
enum Due {
    /// Record it, with the number of calls so far.
    Now(u64),
    /// Record it later: it is the first that is only counted.
    Later,
    Nothing,
}

/// Counts of denied calls.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    counts: Mutex<BTreeMap<Kind, Count>>,
}

// === impl Denials ===

impl Denials {
    /// Counts and records a call of a worker that the policy has denied. A failure to record is logged: the call is denied either way.
    pub(crate) async fn note(self: &Arc<Self>, store: &Store, caller: &Caller, verb: &str, decision: &Decision) {
        let (CallerKind::Worker { worker, .. }, Some(code)) = (&caller.kind, decision.code) else { return };
        let rule = cut(&decision.rule, RULE);
        let kind = Kind { worker: worker.clone(), verb: verb.to_owned(), rule, code };
        match self.count(&kind) {
            Due::Now(count) => record(store, &kind, count).await,
            Due::Later => {
                task::spawn(Arc::clone(self).record_later(store.clone(), kind));
            }
            Due::Nothing => {}
        }
    }

    /// Records all counted calls that are not recorded yet, when the daemon ends.
    pub(crate) async fn flush(&self, store: &Store) {
        let kinds: Vec<_> = self.lock().keys().cloned().collect();
        for kind in kinds {
            if let Some(count) = self.take(&kind) {
                record(store, &kind, count).await;
            }
        }
    }

    fn count(&self, kind: &Kind) -> Due {
        let mut counts = self.lock();
        if counts.len() >= MAX_KINDS && !counts.contains_key(kind) {
            counts.retain(|_, count| count.is_awaited);
        }
        let count = counts.entry(kind.clone()).or_default();
        count.total += 1;
        if count.total <= EACH {
            count.recorded = count.total;
            return Due::Now(count.total);
        }
        if std::mem::replace(&mut count.is_awaited, true) { Due::Nothing } else { Due::Later }
    }

    /// Returns the total number of calls of a kind, if it is not recorded yet.
    fn take(&self, kind: &Kind) -> Option<u64> {
        let mut counts = self.lock();
        let count = counts.get_mut(kind)?;
        let is_new = count.recorded < count.total;
        count.recorded = count.total;
        count.is_awaited = is_new;
        is_new.then_some(count.total)
    }

    async fn record_later(self: Arc<Self>, store: Store, kind: Kind) {
        let mut pause = FIRST_PAUSE;
        loop {
            tokio::time::sleep(pause).await;
            let Some(count) = self.take(&kind) else { return };
            record(&store, &kind, count).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Kind, Count>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn record(store: &Store, kind: &Kind, count: u64) {
    let Kind { worker, verb, rule, code } = kind;
    let (verb, rule, code) = (verb.clone(), rule.clone(), (*code).to_owned());
    let fact = WorkerFact::CallDenied { worker: worker.clone(), verb, rule, code, count };
    let recorded = match NewEvent::of(&fact, format!("worker/{worker}"), "daemon") {
        Ok(event) => store.commit(Batch::written().event(event)).await.map(drop).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = recorded {
        tracing::warn!(%worker, error, "a denied call was not recorded");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(worker: u64, verb: &str) -> Kind {
        let worker = WorkerId::from_bits(worker);
        Kind { worker, verb: verb.to_owned(), rule: "person_only".to_owned(), code: "policy.denied" }
    }

    #[test]
    fn the_first_calls_are_recorded_one_by_one_and_a_loop_only_as_its_count() {
        let denials = Denials::default();
        let (looping, other) = (kind(1, "approve"), kind(1, "merge_run"));

        let dues: Vec<_> = (0..10_000).map(|_| denials.count(&looping)).collect();

        assert_eq!(dues[..4], [Due::Now(1), Due::Now(2), Due::Now(3), Due::Later]);
        assert!(dues[4..].iter().all(|due| *due == Due::Nothing));
        assert_eq!(denials.count(&other), Due::Now(1), "another verb is counted by itself");
        assert_eq!((denials.take(&looping), denials.take(&looping)), (Some(10_000), None));
        assert_eq!(denials.count(&looping), Due::Later, "nobody waits for it any more");
    }

    #[test]
    fn the_kinds_that_are_counted_are_bounded() {
        let denials = Denials::default();
        for worker in 0..3 * MAX_KINDS as u64 {
            denials.count(&kind(worker, "approve"));
        }

        assert!(denials.lock().len() <= MAX_KINDS);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_counted_is_recorded_after_a_pause_that_grows_and_at_the_daemons_end() {
        let store = Store::in_memory(Vec::new(), switchboard_store::Clock::system());
        let denials = Arc::new(Denials::default());
        let decision = Decision {
            allow: false,
            rule: "person_only".to_owned(),
            reason: String::new(),
            hint: String::new(),
            obligations: Vec::new(),
            code: Some("policy.denied"),
        };
        let worker = CallerKind::Worker {
            run: switchboard_protocol::id::RunId::from_bits(1),
            worker: WorkerId::from_bits(1),
            task: "1.1".to_owned(),
            isolation: switchboard_protocol::isolation::Isolation::Full,
        };
        let name = switchboard_protocol::id::AgentName::new("coder").unwrap();
        let caller = Caller { kind: worker, ..Caller::agent(name.clone()) };
        let call = async || denials.note(&store, &caller, "approve", &decision).await;

        for _ in 0..100 {
            call().await;
        }
        let at_once = store.head().lsn;
        tokio::time::sleep(FIRST_PAUSE * 2).await;
        let later = store.head().lsn;
        call().await;
        denials.flush(&store).await;
        denials.note(&store, &Caller::agent(name), "approve", &decision).await;

        assert_eq!((at_once, later, store.head().lsn), (3, 4, 5), "calls of others than workers are not recorded");
    }
}
