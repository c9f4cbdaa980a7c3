//! Watches one worker from its start to its end: handles its frames, once each and in order, and finds out its state
//! when its shim is silent.
//!
//! Nothing is polled: a watch wakes on signals of its link, on the end of the shim's process, and on its own few time
//! limits.

mod actions;
mod awake;
mod ending;
pub(crate) mod guarding;
mod heartbeat;
mod intake;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_pipeline::run::Waits;
use switchboard_pipeline::team::repeat::Finding;
use switchboard_process::task;
use switchboard_protocol::frame::ShimCommand;
use switchboard_protocol::id::{AgentName, WorkerId};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::way::RoleId;
use switchboard_protocol::run::{RunEvent, StopCause};
use switchboard_protocol::verb::run::TokenPrice;
use switchboard_protocol::worker::WRAP_UP;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::event::{follows, frame_parts};
use crate::future::BoxFuture;
use crate::handle::Handle;
use crate::link::{Link, Signal, Signals};
use crate::plan::RunPlan;
use crate::port::shims::Shim;
use crate::work::{STAND_IN, WORKERS, says_ended};
use crate::world::World;
use crate::{Error, deadline, needs, plan};
use guarding::Guarded;
use heartbeat::Pulse;

/// Minimum interval between two checks of a shim.
const PAUSE: Duration = Duration::from_millis(100);

/// Pause before a failed recording is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// How long sending a command to a shim may take.
const TELL: Duration = Duration::from_secs(30);

/// How long the shim of a finished worker may take to seal its spool.
const SEAL: Duration = Duration::from_secs(5);

struct Watch {
    world: Arc<World>,
    plan: Arc<RunPlan>,
    task: TaskId,
    worker: WorkerId,
    agent: AgentName,
    is_exec: bool,
    /// True if the worker is a placeholder for work done by hand by the leader of the run.
    is_by_hand: bool,
    attempt: u32,
    engine: Handle,
    folder: PathBuf,
    commands: Option<mpsc::Sender<ShimCommand>>,
    /// Incarnation of the shim that is or was connected.
    epoch: u32,
    /// Number of the last recorded frame.
    seen: i64,
    stop: Option<String>,
    /// True if its last turn ended by itself, and no other one follows.
    is_turn_over: bool,
    /// True if its turn was cancelled so that the next one could tell it to finish.
    is_told_to_finish: bool,
    said: String,
    /// Why the worker is to end, and the milliseconds between the request and the end of its process group.
    stopping: Option<(StopCause, u64)>,
    /// Reasons for which the worker is to wait.
    waits: Waits,
    /// True if its shim has reported that it waits, or was told to.
    was_paused: bool,
    turns: u32,
    /// Recorded cost that the worker has reported, in millionths of a US dollar.
    cost: u64,
    /// Recorded tokens that the worker has reported as read and written.
    tokens: (u64, u64),
    /// Account of its agent; empty if unknown.
    account: String,
    /// Price of its tokens, if its agent's settings give one.
    price: Option<TokenPrice>,
    /// True if the end of the worker is recorded in the run.
    is_concluded: bool,
    is_sealed: bool,
    /// True if it finished its last turn, so that its result will be examined.
    has_finished: bool,
    since: Instant,
    /// When to check a silent shim; `None` if that is not needed.
    look_at: Option<Instant>,
    /// Heartbeat state of the connected shim.
    pulse: Option<Pulse>,
    /// Reason for which the shim was considered hung and ended.
    hung: Option<&'static str>,
    /// Resolves when the process of the unconnected shim has ended.
    ended: Option<BoxFuture<'static, ()>>,
    /// State of the guardrails for its role and models; `None` without a team.
    guarded: Option<Guarded>,
}

/// Reason for which a watch wakes up.
enum Wake {
    Signal(Signal),
    /// The worker is to wait, or to go on.
    Pause(Waits),
    Look,
    Silence,
    /// A time limit may be reached.
    Tick,
    Stop,
}

/// Worker that can be reached and told to stop before its watch starts: its shim may be faster than its watch.
pub(crate) struct Reachable {
    link: Registered,
    signals: Signals,
}

/// Link of a worker that the world knows until this is dropped.
struct Registered {
    world: Arc<World>,
    link: Arc<Link>,
}

// === impl Registered ===

impl Drop for Registered {
    fn drop(&mut self) {
        self.world.drop_link(&self.link);
    }
}

// === impl Reachable ===

impl Reachable {
    pub(crate) fn new(world: Arc<World>, worker: &WorkerId) -> Self {
        let (link, signals) = Link::new(worker.clone());
        world.set_link(worker, Arc::clone(&link));
        Self { link: Registered { world, link }, signals }
    }

    /// Watches the worker until it has ended or is lost.
    pub(crate) fn watch(self, plan: Arc<RunPlan>, task: TaskId, engine: Handle) {
        let Self { link, signals } = self;
        task::spawn(async move {
            watch(&link.world, plan, task, link.link.worker(), engine, signals).await;
        });
    }

    /// Pauses or resumes the worker.
    pub(crate) fn pause(&self, waits: Waits) {
        self.link.link.pause(waits);
    }

    /// Returns when a stop is requested for a worker that is not watched yet. Without a shim, it takes no other
    /// signals.
    pub(crate) async fn stop_asked(&mut self) {
        while let Some(signal) = self.signals.inbox.recv().await {
            if matches!(signal, Signal::Stop { .. }) {
                return;
            }
        }
        std::future::pending().await
    }
}

async fn watch(
    world: &Arc<World>,
    plan: Arc<RunPlan>,
    task: TaskId,
    worker: &WorkerId,
    engine: Handle,
    signals: Signals,
) {
    match Watch::new(Arc::clone(world), plan, task.clone(), worker.clone(), engine.clone()) {
        Ok(watch) => watch.run(signals).await,
        Err(error) => {
            tracing::error!(%worker, %error, "the worker can't be watched");
            let lost = RunEvent::WorkerLost { task, worker: worker.clone(), reason: error.to_string() };
            if let Err(error) = engine.step(lost).await {
                tracing::error!(%worker, %error, "and that was not recorded");
            }
        }
    }
}

// === impl Watch ===

impl Watch {
    fn new(
        world: Arc<World>,
        plan: Arc<RunPlan>,
        task: TaskId,
        worker: WorkerId,
        engine: Handle,
    ) -> Result<Self, Error> {
        let row = world.store.get(WORKERS, &[worker.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(format!("worker {worker}")))?;
        let agent = row.try_text("agent")?;
        let agent = AgentName::new(agent).map_err(|_| Error::Missing(format!("the agent of {worker}")))?;
        let said = match row.get_int("said") {
            Some(lsn) => world.store.body(u64::try_from(lsn).unwrap_or(0))?.unwrap_or_default(),
            None => String::new(),
        };
        let of_row = |column| row.get_int(column).and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
        let (_, settings) = plan.settings(&task)?;
        let role = row.get_text("role").and_then(|role| RoleId::new(role).ok());
        let choice = match &role {
            Some(role) => plan.choice_in_role(&settings, role).ok(),
            None => plan.choice(&task, &settings).ok(),
        };
        let is_by_hand = row.try_text("driver")? == STAND_IN;
        let guarded = Guarded::recall(
            &world.store,
            &plan,
            (&settings, choice.as_ref()),
            (&worker, role, &plan.worktree(&task)),
            is_by_hand,
        )?;
        Ok(Self {
            account: choice.as_ref().map_or_else(String::new, crate::shared::account),
            price: choice.and_then(|choice| choice.price),
            tokens: (of_row("input_tokens"), of_row("output_tokens")),
            folder: plan::worker_folder(&world.config, &plan.run, &worker),
            seen: row.try_int("frame")?,
            stop: row.get_text("stop").map(str::to_owned),
            // A shim reports the end of each turn, also of one that it cancels.
            is_turn_over: row.get_text("stop") == Some("end_turn"),
            is_told_to_finish: row.get_text("stop") == Some(WRAP_UP),
            is_exec: matches!(row.try_text("driver")?, "exec" | STAND_IN),
            is_by_hand,
            attempt: u32::try_from(row.try_int("attempt")?).unwrap_or(1),
            agent,
            said,
            world,
            plan,
            task,
            worker,
            engine,
            commands: None,
            epoch: 0,
            stopping: None,
            waits: Waits::default(),
            was_paused: row.get_text("pause").is_some(),
            turns: 0,
            cost: of_row("micro_usd"),
            is_concluded: false,
            is_sealed: false,
            has_finished: false,
            since: Instant::now(),
            look_at: Some(Instant::now() + PAUSE),
            pulse: None,
            hung: None,
            ended: None,
            guarded,
        })
    }

    async fn run(mut self, mut signals: Signals) {
        self.waits = *signals.waits.borrow_and_update();
        loop {
            let wake = self.wake(&mut signals).await;
            match self.on_wake(wake).await {
                Ok(()) => {}
                Err(Error::Stopping) => return,
                Err(error) => self.start_over(&error),
            }
            if self.is_over() {
                break;
            }
        }
        self.drop_reader_tree().await;
        if let Err(error) = needs::withdraw(&self.world, &self.worker).await {
            tracing::error!(worker = %self.worker, %error, "open questions of an ended worker stay open until they expire");
        }
    }

    async fn on_wake(&mut self, wake: Wake) -> Result<(), Error> {
        self.note_suspension().await?;
        match wake {
            Wake::Signal(signal) => self.take(signal).await,
            Wake::Pause(waits) => self.pause(waits).await,
            Wake::Look => self.look().await,
            Wake::Silence => self.on_silence().await,
            Wake::Tick => self.tick().await,
            Wake::Stop => Err(Error::Stopping),
        }
    }

    /// Removes the tree of a worker that only read and did not finish: its answer will not be examined, after which
    /// other trees are removed.
    async fn drop_reader_tree(&mut self) {
        let path = self.plan.reader_tree(&self.worker);
        if self.has_finished || !self.world.ports.files.is_folder(&path) {
            return;
        }
        let base = self.plan.worktrees.clone();
        if let Err(error) = self.world.git(move |git| git.worktree_remove(&path, &base)).await {
            tracing::warn!(worker = %self.worker, %error, "the tree of a worker that only reads stays until the run ends");
        }
    }

    /// Starts over after a failed recording: the frames come again from the shim over a new connection, or from its
    /// journal.
    fn start_over(&mut self, error: &Error) {
        tracing::error!(worker = %self.worker, %error, "a report could not be taken in");
        self.commands = None;
        self.look_at = Some(Instant::now() + RETRY_PAUSE);
    }

    async fn wake(&mut self, signals: &mut Signals) -> Wake {
        let look_at = if self.is_concluded { Some(self.since + SEAL) } else { None };
        let look_at = look_at.into_iter().chain(self.look_at).min();
        // The end of a concluded shim, with all that it has to sweep, is awaited anyway.
        let silent_at = self.pulse.as_ref().filter(|_| !self.is_concluded).map(Pulse::due);
        let guard_at = self.guard_due();
        let ended = async {
            match &mut self.ended {
                Some(ended) => ended.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.world.stop.cancelled() => Wake::Stop,
            // The link holds the other end as long as the watch runs.
            Some(signal) = signals.inbox.recv() => Wake::Signal(signal),
            Ok(()) = signals.waits.changed() => Wake::Pause(*signals.waits.borrow_and_update()),
            () = ended => Wake::Look,
            () = deadline::reached(look_at) => Wake::Look,
            () = deadline::reached(silent_at) => Wake::Silence,
            () = deadline::reached(guard_at) => Wake::Tick,
        }
    }

    fn is_over(&self) -> bool {
        self.is_concluded && (self.is_sealed || self.since.elapsed() >= SEAL)
    }

    async fn take(&mut self, signal: Signal) -> Result<(), Error> {
        match signal {
            Signal::Attached { epoch, beats, commands } => {
                self.commands = Some(commands);
                self.epoch = epoch;
                (self.look_at, self.ended) = (None, None);
                self.acknowledge().await;
                self.answer_again().await?;
                if self.waits.any() {
                    self.tell(ShimCommand::Pause { between_tools: self.waits.for_rebase }).await;
                } else if self.was_paused {
                    self.tell(ShimCommand::Resume).await;
                }
                // The stop may have been requested before the shim connected.
                if let Some((_, grace_ms)) = self.stopping {
                    self.tell(ShimCommand::Stop { grace_ms }).await;
                }
                self.end_halted().await;
                self.end_hands().await?;
                self.ask_for_beats(beats).await;
                Ok(())
            }
            Signal::Beat => {
                self.record_activity();
                Ok(())
            }
            Signal::Frame(frame) => {
                self.record_activity();
                if !follows(self.seen, (frame.epoch, frame.seq)) {
                    self.read_journal().await?;
                }
                self.frame(&frame).await?;
                self.acknowledge().await;
                Ok(())
            }
            // The end of an old connection of a shim that has connected again.
            Signal::Detached if self.is_connected() => Ok(()),
            Signal::Detached => {
                (self.commands, self.pulse) = (None, None);
                self.since = Instant::now();
                self.look_at = Some(self.since + PAUSE);
                Ok(())
            }
            Signal::Tell(command) => {
                self.tell(command).await;
                Ok(())
            }
            Signal::SeatLost(agent) => self.act_on(&[Finding::stale_seat(agent.as_str())]).await,
            Signal::Stop { cause, grace_ms } => {
                self.stopping = Some((cause, grace_ms));
                self.tell(ShimCommand::Stop { grace_ms }).await;
                Ok(())
            }
        }
    }

    fn is_connected(&self) -> bool {
        self.commands.as_ref().is_some_and(|commands| !commands.is_closed())
    }

    /// Ends the placeholder of a by-hand step once the work was reported as done or stuck.
    async fn end_hands(&mut self) -> Result<(), Error> {
        if self.is_by_hand {
            let row = self.world.store.get(WORKERS, &[self.worker.as_str().into()])?;
            if row.as_ref().is_some_and(says_ended) {
                self.tell(ShimCommand::Finish).await;
            }
        }
        Ok(())
    }

    /// Reads the frames of the shim's journal that have not been received.
    async fn read_journal(&mut self) -> Result<(), Error> {
        let (shims, folder, seen) = (Arc::clone(&self.world.ports.shims), self.folder.clone(), self.seen);
        for frame in self.world.blocking(move || shims.frames_after(&folder, seen)).await? {
            self.frame(&frame).await?;
        }
        Ok(())
    }

    fn record_activity(&mut self) {
        if let Some(pulse) = &mut self.pulse {
            pulse.record_activity(Instant::now());
        }
    }

    /// Pauses or resumes the worker. A worker that a person resumes, and whose tree is still to be rebased, may be
    /// waiting for an answer, which comes first.
    async fn pause(&mut self, waits: Waits) -> Result<(), Error> {
        let was = std::mem::replace(&mut self.waits, waits);
        self.was_paused |= waits.any();
        if !waits.any() || (was.is_paused && !waits.is_paused) {
            self.tell(ShimCommand::Resume).await;
        }
        if waits.any() {
            self.tell(ShimCommand::Pause { between_tools: waits.for_rebase }).await;
        }
        Ok(())
    }

    async fn tell(&mut self, command: ShimCommand) {
        // A shim that accepts nothing for so long has to reconnect, or is found to hang.
        if let Some(commands) = &self.commands
            && commands.send_timeout(command, TELL).await.is_err()
        {
            self.commands = None;
        }
    }

    /// Acknowledges to the shim the recorded frames of its present incarnation.
    async fn acknowledge(&mut self) {
        let (epoch, seq) = frame_parts(self.seen);
        let seq = if epoch == self.epoch { seq } else { 0 };
        tracing::debug!(worker = %self.worker, seq, linked = self.commands.is_some(), "ack");
        self.tell(ShimCommand::Ack { seq }).await;
    }

    /// Sends answers that a person gave while the shim was not connected.
    async fn answer_again(&mut self) -> Result<(), Error> {
        for (ask, option) in switchboard_needs::outcomes_of(&self.world.store, &self.worker)? {
            self.tell(ShimCommand::Permit { ask, option }).await;
        }
        Ok(())
    }

    /// Checks a silent shim, and concludes if it has ended.
    async fn look(&mut self) -> Result<(), Error> {
        (self.look_at, self.ended) = (None, None);
        if self.commands.is_some() {
            return Ok(());
        }
        let (shims, folder) = (Arc::clone(&self.world.ports.shims), self.folder.clone());
        let state = self.world.blocking(move || Ok(shims.state(&folder))).await?;
        let until = self.since + self.world.config.shim_grace;
        match state {
            Shim::Alive if Instant::now() >= self.apart_until() => self.end_hung("it did not come back").await,
            Shim::Alive => {
                self.look_at = Some(self.apart_until());
                let (shims, folder) = (Arc::clone(&self.world.ports.shims), self.folder.clone());
                self.ended = Some(Box::pin(async move {
                    tokio::time::sleep(PAUSE).await;
                    shims.ended(&folder).await;
                }));
                Ok(())
            }
            Shim::NotBegun if Instant::now() < until => {
                self.look_at = Some(until);
                Ok(())
            }
            Shim::NotBegun => {
                let (shims, folder) = (Arc::clone(&self.world.ports.shims), self.folder.clone());
                if self.world.blocking(move || shims.forbid(&folder)).await? {
                    return self.conclude().await;
                }
                self.look_at = Some(Instant::now());
                Ok(())
            }
            Shim::Gone => self.conclude().await,
        }
    }

    /// Concludes a worker whose shim has ended: its journal shows how the worker ended, or it is lost.
    async fn conclude(&mut self) -> Result<(), Error> {
        // An agent that outlived its shim would go on writing into the tree of the next worker.
        let (shims, worker) = (Arc::clone(&self.world.ports.shims), self.worker.clone());
        let left = self.world.blocking(move || Ok(shims.kill_leftovers(&worker))).await?;
        if left > 0 {
            tracing::error!(worker = %self.worker, left, "processes of a worker without a shim don't end");
        }
        self.read_journal().await?;
        if !self.is_concluded {
            let reason = match self.hung {
                Some(why) => format!("its shim hung: {why}, and was ended"),
                None => "its shim is gone and left no word about the agent's end".to_owned(),
            };
            let lost = RunEvent::WorkerLost { task: self.task.clone(), worker: self.worker.clone(), reason };
            self.is_concluded = true;
            self.engine.step(lost).await?;
        }
        self.is_sealed = true;
        Ok(())
    }
}
