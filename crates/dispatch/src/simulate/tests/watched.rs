//! Worker that is watched without an engine: tests play its shim, and see what is recorded of it and what it is told.

mod attached;
mod connected;
mod frames;
mod guarded;
mod recalled;
mod silent;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use switchboard_protocol::error::Failure;
use switchboard_protocol::event::{Fact, NewEvent};
use switchboard_protocol::frame::{DriverSpec, FRAME_VERSION, Frame, ShimCommand, WorkerEvent, WorkerSpec};
use switchboard_protocol::id::{AgentName, Digest, MessageId};
use switchboard_protocol::isolation::Isolation;
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::time::Millis;
use switchboard_protocol::verb::run::{AgentChoice, RoleChoice};
use switchboard_protocol::worker::WorkerFact;
use switchboard_store::Durability;
use tokio::sync::mpsc;

use super::merges::world;
use super::*;
use crate::event::frame_number;
use crate::future::BoxFuture;
use crate::handle::{Handle, Message};
use crate::link::{Link, Signal};
use crate::port::Commits;
use crate::port::shims::{Shim, Shims};
use crate::watch::Reachable;

/// What was committed, in order, and how durably.
type Commitments<T> = Arc<Mutex<Vec<(Vec<T>, Durability)>>>;

/// Shim that does only what a test says.
struct Played {
    state: Arc<Mutex<Shim>>,
    journal: Mutex<Vec<Frame>>,
    /// Names of the calls that end something.
    calls: Mutex<Vec<&'static str>>,
    /// Number of times that its state was asked for.
    looks: AtomicUsize,
}

/// Commits of a store, each with the kinds of its events.
struct Noted {
    store: Store,
    commits: Commitments<String>,
}

/// What a test wants to be different from a full worker of a managed run.
struct Equipped {
    driver: &'static str,
    coordination: switchboard_protocol::job::Coordination,
    /// True if it is the coder of a team.
    is_of_team: bool,
    /// True if its role names another model to fall back to.
    has_other_model: bool,
    /// Model that it was equipped with.
    model: Option<&'static str>,
    /// Facts recorded about it before it is watched.
    before: Vec<WorkerFact>,
}

/// Worker that is watched.
struct Watched {
    stage: Arc<Stage>,
    store: Store,
    daemon: Dispatch,
    world: Arc<World>,
    link: Arc<Link>,
    shim: Arc<Played>,
    /// Steps of each record that the run has accepted, and the durability.
    steps: Commitments<RunEvent>,
    commits: Commitments<String>,
    /// Kinds of steps that the run does not accept any more.
    refused: Arc<Mutex<Vec<&'static str>>>,
    /// Number of records that fail before one is accepted.
    failures: Arc<AtomicUsize>,
    has_room: Arc<AtomicBool>,
}

fn worker() -> WorkerId {
    WorkerId::from_bits(2)
}

fn run() -> RunId {
    RunId::from_bits(1)
}

fn frame(epoch: u32, seq: u64, event: WorkerEvent) -> Frame {
    Frame { v: FRAME_VERSION, worker: worker(), epoch, seq, ts: Millis(0), event }
}

fn reported(seq: u64, what: WorkerEvent) -> WorkerFact {
    WorkerFact::WorkerReported { worker: worker(), epoch: 1, seq, what }
}

fn started() -> WorkerEvent {
    WorkerEvent::AgentStarted { pid: 7, argv: vec!["agent".to_owned()] }
}

/// Returns the name of a step's kind.
fn kind(step: &RunEvent) -> String {
    step.write().unwrap().0
}

impl Default for Equipped {
    fn default() -> Self {
        let coordination = switchboard_protocol::job::Coordination::Managed;
        Self { driver: "acp", coordination, is_of_team: false, has_other_model: false, model: None, before: Vec::new() }
    }
}

// === impl Played ===

impl Played {
    fn is_now(&self, state: Shim) {
        *lock(&self.state) = state;
    }

    fn writes(&self, frames: impl IntoIterator<Item = Frame>) {
        lock(&self.journal).extend(frames);
    }

    fn calls(&self) -> Vec<&'static str> {
        lock(&self.calls).clone()
    }
}

impl Shims for Played {
    fn has_program(&self, _program: &str) -> bool {
        true
    }

    fn sandbox_gaps(&self) -> Vec<String> {
        Vec::new()
    }

    fn launch(&self, _spec: &WorkerSpec) -> Result<(), crate::Error> {
        Ok(())
    }

    fn state(&self, _folder: &Path) -> Shim {
        self.looks.fetch_add(1, Ordering::Relaxed);
        *lock(&self.state)
    }

    fn forbid(&self, _folder: &Path) -> Result<bool, crate::Error> {
        lock(&self.calls).push("forbid");
        Ok(*lock(&self.state) != Shim::Alive)
    }

    fn process(&self, _folder: &Path) -> Option<(u32, u64)> {
        None
    }

    fn kill(&self, _folder: &Path) -> bool {
        lock(&self.calls).push("kill");
        self.is_now(Shim::Gone);
        true
    }

    fn kill_leftovers(&self, _worker: &WorkerId) -> usize {
        lock(&self.calls).push("kill_leftovers");
        0
    }

    fn frames_after(&self, _folder: &Path, seen: i64) -> Result<Vec<Frame>, crate::Error> {
        Ok(lock(&self.journal).iter().filter(|frame| frame_number(frame) > seen).cloned().collect())
    }

    fn ended(&self, _folder: &Path) -> BoxFuture<'static, ()> {
        let state = Arc::clone(&self.state);
        Box::pin(async move {
            while *lock(&state) != Shim::Gone {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
    }
}

impl Commits for Noted {
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<switchboard_store::Committed, switchboard_store::Error>> {
        let kinds = batch.events.iter().map(|event| event.kind.clone()).collect();
        lock(&self.commits).push((kinds, batch.durability));
        Box::pin(self.store.commit(batch))
    }
}

// === impl Watched ===

impl Watched {
    /// Sends a frame of the shim's first incarnation.
    async fn says(&self, seq: u64, event: WorkerEvent) {
        self.sends(Signal::Frame(Box::new(frame(1, seq, event)))).await;
    }

    async fn sends(&self, signal: Signal) {
        self.link.send(signal).await.unwrap();
        settled().await;
    }

    /// Connects the shim; returns the receiver of what it is told.
    async fn attaches(&self, epoch: u32, beats: bool) -> mpsc::Receiver<ShimCommand> {
        self.shim.is_now(Shim::Alive);
        let (commands, told) = mpsc::channel(64);
        self.sends(Signal::Attached { epoch, beats, commands }).await;
        told
    }

    /// Ends a connection of the shim.
    async fn detaches(&self, commands: mpsc::Receiver<ShimCommand>) {
        drop(commands);
        self.sends(Signal::Detached).await;
    }

    /// Returns the kinds of all recorded steps.
    fn kinds(&self) -> Vec<String> {
        lock(&self.steps).iter().flat_map(|(steps, _)| steps.iter().map(kind)).collect()
    }

    /// Returns why the worker was lost, if it was.
    fn lost(&self) -> Option<String> {
        lock(&self.steps).iter().flat_map(|(steps, _)| steps).find_map(|step| {
            let RunEvent::WorkerLost { reason, .. } = step else { return None };
            Some(reason.clone())
        })
    }

    /// Returns true if the watch has ended.
    async fn is_over(&self) -> bool {
        settled().await;
        self.world.link(&worker()).is_none()
    }

    /// Sends a text to the worker, whose run is standalone.
    async fn tells(&self, number: u64, text: &str) {
        let (id, by) = (MessageId::from_bits(number), AgentName::new("ann").unwrap());
        let task = TaskId::new("1.1").unwrap();
        let fact = WorkerFact::WorkerTold { worker: worker(), id, run: run(), task, by };
        self.store.commit(Batch::synced().event(event(&fact).with_body(text.to_owned()))).await.unwrap();
    }
}

/// Lets everything happen that is due within a second.
async fn settled() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Returns what a shim was told since the last call.
fn told(commands: &mut mpsc::Receiver<ShimCommand>) -> Vec<ShimCommand> {
    std::iter::from_fn(|| commands.try_recv().ok()).collect()
}

/// Same without the acknowledgements of its frames.
fn ordered(commands: &mut mpsc::Receiver<ShimCommand>) -> Vec<ShimCommand> {
    told(commands).into_iter().filter(|command| !matches!(command, ShimCommand::Ack { .. })).collect()
}

fn event(fact: &WorkerFact) -> NewEvent {
    NewEvent::of(fact, format!("worker/{}", worker()), "ann").unwrap()
}

/// Runs a test with a worker of the task `1.1` that is watched.
fn with_watched(equipped: Equipped, test: impl AsyncFn(Watched)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let watched = watched(equipped).await;
        test(watched).await;
    });
}

async fn watched(Equipped { driver, coordination, is_of_team, has_other_model, model, before }: Equipped) -> Watched {
    let stage = Arc::new(Stage::new(1, SimSpec::kind()));
    let (store, mut world) = world(&stage);
    let fact = WorkerFact::WorkerEquipped {
        worker: worker(),
        run: run(),
        task: "1.1".to_owned(),
        attempt: 2,
        agent: AgentName::new("ann").unwrap(),
        driver: driver.to_owned(),
        scripted: false,
        judges: None,
        base: "b".to_owned(),
        start: "s".to_owned(),
        worktree: "/w/1.1".to_owned(),
        token: Digest::of(b"token"),
        ports: None,
        isolation: Isolation::Full,
        model: model.map(str::to_owned),
    };
    for fact in std::iter::once(&fact).chain(&before) {
        store.commit(Batch::synced().event(event(fact))).await.unwrap();
    }
    let shim = Arc::new(Played {
        state: Arc::new(Mutex::new(Shim::Alive)),
        journal: Mutex::default(),
        calls: Mutex::default(),
        looks: AtomicUsize::new(0),
    });
    let commits = Arc::new(Mutex::default());
    world.ports.shims = Arc::clone(&shim) as Arc<dyn Shims>;
    world.ports.commits = Arc::new(Noted { store: store.clone(), commits: Arc::clone(&commits) });
    let daemon = Dispatch::with(world);
    let world = Arc::clone(&daemon.world);
    let task = json!({ "id": "1.1", "phase": 1, "description": "d", "files_touched": ["mine.rs"] });
    let mut plan = crate::tests::run_plan(&json!([task]));
    plan.coordination = coordination;
    if is_of_team {
        plan.plan.switchboard = serde_json::from_value(json!({ "team": true })).unwrap();
        let (ann, driver) = (AgentName::new("ann").unwrap(), DriverSpec::Acp { argv: vec!["ann".to_owned()] });
        plan.agents.insert("ann".to_owned(), AgentChoice::new(ann.clone(), driver));
        plan.default_agent = Some(ann);
    }
    if has_other_model {
        let coder = RoleName::Coder.id();
        let fallback_models = vec!["other".to_owned()];
        plan.roles.insert(coder.clone(), RoleChoice { fallback_models, ..RoleChoice::new(coder) });
    }
    let (sender, inbox) = mpsc::channel(16);
    let watched = Watched {
        stage,
        store,
        world: Arc::clone(&world),
        daemon,
        link: {
            let reachable = Reachable::new(Arc::clone(&world), &worker());
            reachable.watch(Arc::new(plan), TaskId::new("1.1").unwrap(), Handle::new(sender));
            world.link(&worker()).unwrap()
        },
        shim,
        steps: Arc::default(),
        commits,
        refused: Arc::default(),
        failures: Arc::default(),
        has_room: Arc::new(AtomicBool::new(true)),
    };
    tokio::spawn(accept(
        (watched.store.clone(), inbox),
        Arc::clone(&watched.steps),
        (Arc::clone(&watched.refused), Arc::clone(&watched.failures)),
        Arc::clone(&watched.has_room),
    ));
    watched
}

/// Records what the watch reports, as an engine does.
async fn accept(
    (store, mut inbox): (Store, mpsc::Receiver<Message>),
    accepted: Commitments<RunEvent>,
    (refused, failures): (Arc<Mutex<Vec<&'static str>>>, Arc<AtomicUsize>),
    has_room: Arc<AtomicBool>,
) {
    while let Some(message) = inbox.recv().await {
        match message {
            Message::Happened(record, answer) => {
                let less = |left: usize| left.checked_sub(1);
                if failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
                    drop(answer.send(Err(switchboard_store::Error::Closed.into())));
                    continue;
                }
                if record.steps.iter().any(|step| lock(&refused).contains(&kind(step).as_str())) {
                    let late = Failure::new("request.conflict", "the run has gone on");
                    drop(answer.send(Err(crate::Error::Superseded(Box::new(late)))));
                    continue;
                }
                lock(&accepted).push((record.steps, record.durability));
                let events = record.beside;
                store.commit(Batch { events, ..Batch::new(record.durability) }).await.unwrap();
                drop(answer.send(Ok(Value::Null)));
            }
            Message::Room(_, answer) => drop(answer.send(has_room.load(Ordering::Relaxed))),
            Message::Asked(..) | Message::Done(..) | Message::State(_) => panic!("a watch only reports"),
        }
    }
}
