//! Run whose first task has a worker, for tests of what happens then.

use switchboard_protocol::caller::{Caller, CallerKind};
use switchboard_protocol::coordination::{Control, ControlReply};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{Digest, MessageId, WorkerId};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::job::Coordination;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::verb::run::TellWorkerRequest;
use switchboard_protocol::worker::WorkerFact;
use switchboard_store::Idempotency;

use super::super::shim::{self, Act};
use super::*;
use crate::verb::tell_worker::Telling;

/// Maximum number of checks by a test whether something has happened.
pub(super) const LOOKS: usize = 1_000;

/// Returns settings in which agents work long enough for people to act in between.
pub(super) fn slow() -> SimSpec {
    SimSpec { work_ms: 600_000, max_workers: Some(1), ..SimSpec::kind() }
}

/// Returns a plan with two tasks of a slice, of which the second waits for the first, and one task of another slice.
pub(super) fn plan_of_slices() -> String {
    let task = |id: &str, slice: &str, depends: &[&str]| {
        json!({ "id": id, "phase": 1, "description": format!("do {id}"), "acceptance": "it is done", "depends": depends,
            "files_touched": [format!("t/{id}"), repo::removed_by(id)], "x-switchboard": { "slice": slice } })
    };
    let tasks = [task("1.1", "api", &[]), task("1.2", "api", &["1.1"]), task("1.3", "web", &[])];
    json!({ "schema_version": "1.0.0", "title": "Slices", "swarm": "sim", "x-switchboard": { "ports": 0 },
        "phases": [{ "id": 1, "name": "one", "tasks": tasks }] })
    .to_string()
}

/// Run whose first task has a worker.
pub(super) struct AtWork<'a> {
    pub(super) stage: &'a Stage,
    pub(super) daemon: &'a Dispatch,
    pub(super) run: RunId,
    pub(super) worker: WorkerId,
}

// === impl AtWork ===

impl AtWork<'_> {
    pub(super) fn unit(&self, task: &str) -> String {
        format!("{}/{task}", self.run)
    }

    /// Sends a control from `by` in a message with this number; returns its reply.
    pub(super) async fn control(&self, number: u64, control: Control, by: &Caller) -> Result<ControlReply, Failure> {
        let id = MessageId::from_bits(number);
        let call = Idempotency {
            key: format!("control-{number}"),
            caller: by.name.to_string(),
            verb: "send_message",
            args: Digest::of(b"args"),
        };
        let done = self.daemon.control(&control, &id, by, Some(call)).await;
        done.map_err(|error| error.to_failure())
    }

    /// Returns the worker of the first task as a caller.
    pub(super) fn caller(&self) -> Caller {
        let kind = CallerKind::Worker {
            run: self.run.clone(),
            worker: self.worker.clone(),
            task: "1.1".to_owned(),
            isolation: Isolation::Full,
        };
        Caller { kind, ..people::ann().unwrap() }
    }

    pub(super) async fn tell(&self, unit: &str, text: &str, number: u64) -> Result<Telling, Failure> {
        let request = TellWorkerRequest { task: unit.to_owned(), text: text.to_owned() };
        let told = self.daemon.tell_worker(&request, &people::ann().unwrap(), MessageId::from_bits(number), None).await;
        told.map_err(|error| error.to_failure())
    }

    /// Returns the facts of the run of one kind.
    pub(super) fn events(&self, kind: &str) -> Vec<RunEvent> {
        let all = self.daemon.world.store.events_of(&history::subject(&self.run), 0, 10_000).unwrap();
        all.iter().filter(|event| event.kind == kind).filter_map(|event| event.fact()).collect()
    }

    pub(super) async fn is_over(&self) {
        self.daemon.live_runs().wait_for(|live| *live == 0).await.unwrap();
    }

    /// Returns the facts of all workers of one kind.
    pub(super) fn of_workers(&self, kind: &str) -> Vec<WorkerFact> {
        let all = self.daemon.world.store.events(0, &Filter::kinds([kind.to_owned()]), 10_000).unwrap();
        all.iter().filter_map(|event| event.fact()).collect()
    }

    /// Has the agent do these things first.
    pub(super) fn does(&self, acts: Vec<Act>) {
        let now = self.stage.clock.ms();
        let mut shims = lock(&self.stage.shims);
        let shim = shims.values_mut().find(|shim| shim.spec.worker == self.worker).unwrap();
        acts.into_iter().rev().for_each(|act| shim.acts.push_front((now, act)));
    }

    /// Has the agent do only these things and end.
    pub(super) fn does_only(&self, acts: Vec<Act>) {
        for shim in lock(&self.stage.shims).values_mut().filter(|shim| shim.spec.worker == self.worker) {
            shim.acts.clear();
        }
        let end = [Act::Say(shim::exited(Some(0), None)), Act::Say(shim::sealed()), Act::Exit];
        self.does(acts.into_iter().chain(end).collect());
    }
}

/// Waits for a worker of the first task of a run.
pub(super) async fn first_worker(daemon: &Dispatch, run: &RunId) -> WorkerId {
    for _ in 0..LOOKS {
        tokio::time::sleep(Duration::from_millis(10)).await;
        if let TaskState::Working { worker } = &daemon.views(run).await.unwrap()[0].state {
            return worker.clone();
        }
    }
    panic!("the first task gets no worker");
}

/// Starts a run and waits until its first task has a worker.
pub(super) async fn at_work<'a>(stage: &'a Stage, daemon: &'a Dispatch, request: StartRunRequest) -> AtWork<'a> {
    let run = daemon.start_run(request, &people::ann().unwrap(), None).await.unwrap().run.unwrap();
    let worker = first_worker(daemon, &run).await;
    AtWork { stage, daemon, run, worker }
}

/// Runs a test with a run of the plan with slices, whose first task is at work.
pub(super) fn with_worker(coordination: Coordination, test: impl AsyncFn(AtWork<'_>)) {
    with_stage(slow(), async |stage, daemon, request| {
        let request = StartRunRequest { plan: plan_of_slices(), merge: false, coordination, ..request };
        test(at_work(stage, daemon, request).await).await;
    });
}
