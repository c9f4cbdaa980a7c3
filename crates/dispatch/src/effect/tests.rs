//! Effects on a real repository with real commands. The run's engine only collects what they report.

mod answers;
mod captured;
mod full_disk;
mod gate_tree;
mod judging;
mod left_out;
mod merged;
mod names;
mod proposals;
mod set_up;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_process::git::Oid;
use switchboard_protocol::action::{StepState, WorkerAction};
use switchboard_protocol::caller::Caller;
use switchboard_protocol::coordination::{Control, Note};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::{Fact, Lsn, NewEvent};
use switchboard_protocol::finding::{CheckReport, CheckRequest};
use switchboard_protocol::id::{AgentName, Digest, MessageId, WorkerId};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::message::Message as Mail;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{HeldBy, RunEvent};
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::check::CheckCall;
use switchboard_protocol::worker::{JudgingStep, WorkerFact};
use switchboard_store::{Batch, Clock, Guard, Store};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::context::Ctx;
use crate::config::ReadLimits;
use crate::future::BoxFuture;
use crate::handle::{Handle, Message};
use crate::lock::lock;
use crate::plan::RunPlan;
use crate::port::{Checks, FileLeases, Others, Ports, WorkerMail, WorkerRules};
use crate::tests::{Repository, run_plan};
use crate::work::Work;
use crate::world::World;
use crate::{Error, WorkerIdentity, simulate};

/// Mail, leases and policy of which these effects need nothing.
struct Nobody;

/// Checks that answer what a test says.
#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) reports: Mutex<Vec<CheckReport>>,
    pub(crate) asked: Mutex<Vec<CheckRequest>>,
}

/// Run of a plan in a repository with one commit.
pub(crate) struct Stand {
    pub(crate) ctx: Ctx,
    pub(crate) repository: Repository,
    pub(crate) first: Oid,
    pub(crate) folder: PathBuf,
    /// Steps that were reported to the run.
    steps: Arc<Mutex<Vec<RunEvent>>>,
    _state: tempfile::TempDir,
}

// === impl Nobody ===

impl WorkerMail for Nobody {
    fn waiting(&self, _agent: &AgentName, _limit: usize) -> Result<Vec<Mail>, Error> {
        Ok(Vec::new())
    }

    fn injected(&self, _ids: &[MessageId], _agent: &AgentName, _evidence: &str) -> Result<Vec<NewEvent>, Error> {
        Ok(Vec::new())
    }

    fn noted(&self, _note: &Note, _id: MessageId) -> Result<NewEvent, Error> {
        Err(Error::Missing("mail".to_owned()))
    }

    fn understood(&self, _control: &Control, _id: &MessageId, _from: &Caller) -> Result<(NewEvent, Guard), Error> {
        Err(Error::Missing("mail".to_owned()))
    }

    fn counted(&self, _agents: &[AgentName], _after: Lsn, _until: Option<Millis>) -> Result<(u64, u64), Error> {
        Ok((0, 0))
    }

    fn is_taken_by_other_agent(&self, _name: &AgentName) -> Result<bool, Error> {
        Ok(false)
    }

    fn joined(&self, _agent: &AgentName, _is_scripted: bool) -> Result<NewEvent, Error> {
        Err(Error::Missing("mail".to_owned()))
    }
}

impl FileLeases for Nobody {
    fn held_by_others<'a>(
        &'a self,
        _own: Option<&'a AgentName>,
        _files: &'a [String],
    ) -> BoxFuture<'a, Result<Option<HeldBy>, Error>> {
        Box::pin(async { Ok(None) })
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

impl WorkerRules for Nobody {
    fn may(&self, _worker: &WorkerIdentity, _verb: &str, _args: &Value) -> Result<(), Failure> {
        Ok(())
    }
}

impl Checks for Answers {
    fn check<'a>(
        &'a self,
        request: &'a CheckRequest,
        _limit: Duration,
    ) -> BoxFuture<'a, Result<Vec<CheckReport>, Error>> {
        lock(&self.asked).push(request.clone());
        let reports = lock(&self.reports).clone();
        let reports = reports.into_iter().filter(|report| request.only.contains(&report.check)).collect();
        Box::pin(async { Ok(reports) })
    }

    fn call<'a>(
        &'a self,
        _call: &'a CheckCall,
        _runs_commands: bool,
        _limit: Duration,
    ) -> BoxFuture<'a, Result<Value, Failure>> {
        Box::pin(async { Err(Failure::new("gate.refused", "no batch is asked for")) })
    }
}

// === impl Stand ===

impl Stand {
    /// Makes a run of one task with these settings, whose plan is changed first.
    pub(crate) fn new(change: impl FnOnce(&mut RunPlan)) -> Self {
        let repository = Repository::new();
        let exclude = repository.repo.common_dir().join("info/exclude");
        std::fs::write(exclude, "*.ignored\n").unwrap();
        let folder = repository.folder.path().canonicalize().unwrap();
        std::fs::write(folder.join("kept"), "first\n").unwrap();
        let first = repository.commit_in(&folder, "first");
        let state = tempfile::tempdir().unwrap();
        let base = state.path().canonicalize().unwrap();
        let mut config = simulate::config_with(ReadLimits(Arc::new(|| Ok(Default::default()))));
        config.state = base.join("state");
        config.tree_ports = base.join("ports");
        config.env = vec![("PATH".to_owned(), switchboard_process::env::var("PATH").unwrap())];
        let store = Store::in_memory(vec![Box::new(Work), Box::new(switchboard_needs::Needs)], Clock::system());
        let others = Others { mail: Arc::new(Nobody), leases: Arc::new(Nobody), rules: Arc::new(Nobody) };
        let mut ports = Ports::real(&config, repository.repo.clone(), &store, others);
        ports.checks = Arc::new(Answers::default());
        let mut plan = run_plan(&json!([{ "id": "1.1", "phase": 1, "description": "d" }]));
        plan.base = first.to_string();
        plan.branch = format!("switchboard/{}", plan.run);
        plan.worktrees = base.join("trees");
        change(&mut plan);
        std::fs::create_dir_all(crate::plan::agents_file(&config, &plan.run).parent().unwrap()).unwrap();
        let (sender, mut inbox) = mpsc::channel(16);
        let steps: Arc<Mutex<Vec<RunEvent>>> = Arc::default();
        let reported = Arc::clone(&steps);
        tokio::spawn(async move {
            while let Some(message) = inbox.recv().await {
                let Message::Happened(record, answer) = message else { panic!("these effects only report") };
                lock(&reported).extend(record.steps);
                drop(answer.send(Ok(Value::Null)));
            }
        });
        let world = World::new(store, config, ports, CancellationToken::new());
        let ctx =
            Ctx { world: Arc::new(world), plan: Arc::new(plan), engine: Handle::new(sender), last: None, onto: None };
        Self { ctx, repository, first, folder, steps, _state: state }
    }

    /// Makes a run of one task with these fields.
    pub(crate) fn of_task(task: &Value, change: impl FnOnce(&mut RunPlan)) -> Self {
        let mut whole = json!({ "id": "1.1", "phase": 1, "description": "d" });
        whole.as_object_mut().unwrap().extend(task.as_object().unwrap().clone());
        let of_task = run_plan(&json!([whole]));
        Self::new(|plan| {
            (plan.plan, plan.positions, plan.shapes) = (of_task.plan, of_task.positions, of_task.shapes);
            change(plan);
        })
    }

    /// Records a worker of the task that began at this commit; `judges` if it judges the task's change.
    pub(crate) async fn works(&self, number: u64, judges: Option<JudgingStep>, start: &Oid) -> WorkerId {
        self.equips("1.1", number, judges, start).await
    }

    /// Records a worker of another task.
    pub(crate) async fn works_on(&self, task: &str, number: u64, start: &Oid) -> WorkerId {
        self.equips(task, number, None, start).await
    }

    async fn equips(&self, task: &str, number: u64, judges: Option<JudgingStep>, start: &Oid) -> WorkerId {
        let worker = WorkerId::from_bits(number);
        self.records(&WorkerFact::WorkerEquipped {
            worker: worker.clone(),
            run: self.ctx.plan.run.clone(),
            task: task.to_owned(),
            attempt: 1,
            agent: AgentName::new("ann").unwrap(),
            driver: "acp".to_owned(),
            scripted: false,
            judges,
            base: self.first.to_string(),
            start: start.to_string(),
            worktree: "/w/1.1".to_owned(),
            token: Digest::of(worker.as_str().as_bytes()),
            ports: None,
            isolation: Isolation::Full,
            model: None,
        })
        .await;
        worker
    }

    /// Records a fact of a worker.
    pub(crate) async fn records(&self, fact: &WorkerFact) {
        let worker = fact.write().unwrap().1.field("worker").as_str().unwrap().to_owned();
        let event = NewEvent::of(fact, format!("worker/{worker}"), "daemon").unwrap();
        self.ctx.world.store.commit(Batch::synced().event(event)).await.unwrap();
    }

    /// Records what a worker says of its step.
    pub(crate) async fn says(&self, worker: &WorkerId, state: StepState, note: &str, answer: Option<Value>) {
        let action = WorkerAction::ReportStep { state, note: note.to_owned(), answer };
        let event = crate::identity::event(worker, &AgentName::new("ann").unwrap(), 1, &action).unwrap();
        self.ctx.world.store.commit(Batch::synced().event(event)).await.unwrap();
    }

    /// Returns the steps that were reported to the run.
    pub(crate) fn steps(&self) -> Vec<RunEvent> {
        lock(&self.steps).clone()
    }

    /// Makes the work tree of the task at a commit.
    pub(crate) fn makes_worktree(&self, at: &Oid) -> PathBuf {
        let (tree, branch) = (self.ctx.plan.worktree(&task()), self.ctx.plan.task_branch(&task()));
        self.ctx.world.ports.git.worktree_add(&tree, &branch, at, &[]).unwrap();
        tree
    }

    /// Commits a file in the repository's own work tree.
    pub(crate) fn commits(&self, file: &str, text: &str) -> Oid {
        std::fs::write(self.folder.join(file), text).unwrap();
        self.repository.commit_in(&self.folder, file)
    }
}

pub(crate) fn task() -> TaskId {
    TaskId::new("1.1").unwrap()
}

pub(crate) fn text(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}
