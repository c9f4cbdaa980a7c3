//! Watches one worker from its start to its end: takes its frames in, once each and in order, and finds out what became
//! of it when its shim is silent. The record is ahead of the ack, always.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::event::NewEvent;
use switchboard_protocol::frame::{Frame, ShimCommand, WorkerEvent};
use switchboard_protocol::id::{AgentName, WorkerId};
use switchboard_protocol::need::NeedEvent;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, StopCause, TurnOutcome};
use switchboard_store::Durability;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::context::{Inner, fresh_need};
use crate::engine::Handle;
use crate::error::shape;
use crate::event::{DispatchEvent, Report, cut, frame_number};
use crate::link::{Link, Signal};
use crate::plan::RunPlan;
use crate::{Error, plan, prompt, shim};

/// How often a silent worker is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// The variable that every process of a worker inherits.
const MARK: &str = "SWITCHBOARD_WORKER";

/// How long a finished worker's shim may take to seal its spool.
const SEAL: Duration = Duration::from_secs(5);

/// Further turns that waiting mail may open in one worker.
const MAIL_TURNS: u32 = 8;

/// Messages that one turn shows at most.
const MAIL_PER_TURN: usize = 10;

struct Watch {
    inner: Arc<Inner>,
    plan: Arc<RunPlan>,
    task: TaskId,
    worker: WorkerId,
    agent: AgentName,
    is_exec: bool,
    attempt: u32,
    engine: Handle,
    folder: PathBuf,
    commands: Option<mpsc::Sender<ShimCommand>>,
    /// Number of the last frame that is in the record.
    seen: i64,
    stop: Option<String>,
    said: String,
    /// Why the worker is to end, and the milliseconds between the request and the end of its group.
    stopping: Option<(StopCause, u64)>,
    turns: u32,
    /// The run knows how the worker ended.
    is_concluded: bool,
    is_sealed: bool,
    since: Instant,
}

/// Watches a worker until it has ended or is lost. When this returns, it can be told to stop.
pub(crate) fn worker(inner: Arc<Inner>, plan: Arc<RunPlan>, task: TaskId, worker: WorkerId, engine: Handle) {
    let (link, signals) = Link::new(worker.clone());
    inner.set_link(&worker, Arc::clone(&link));
    tokio::spawn(async move {
        watch(&inner, plan, task, &worker, engine, signals).await;
        inner.drop_link(&worker, &link);
    });
}

async fn watch(
    inner: &Arc<Inner>,
    plan: Arc<RunPlan>,
    task: TaskId,
    worker: &WorkerId,
    engine: Handle,
    signals: mpsc::Receiver<Signal>,
) {
    match Watch::new(Arc::clone(inner), plan, task.clone(), worker.clone(), engine.clone()) {
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
        inner: Arc<Inner>,
        plan: Arc<RunPlan>,
        task: TaskId,
        worker: WorkerId,
        engine: Handle,
    ) -> Result<Self, Error> {
        let row = inner.store.get(crate::work::WORKERS, &[worker.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(format!("worker {worker}")))?;
        let agent = row.try_text("agent")?;
        let agent = AgentName::new(agent).map_err(|_| Error::Missing(format!("the agent of {worker}")))?;
        let said = match row.get_int("said") {
            Some(lsn) => inner.store.body(u64::try_from(lsn).unwrap_or(0))?.unwrap_or_default(),
            None => String::new(),
        };
        Ok(Self {
            folder: plan::worker_folder(&inner.config, &plan.run, &worker),
            seen: row.try_int("frame")?,
            stop: row.get_text("stop").map(str::to_owned),
            is_exec: row.try_text("driver")? == "exec",
            attempt: u32::try_from(row.try_int("attempt")?).unwrap_or(1),
            agent,
            said,
            inner,
            plan,
            task,
            worker,
            engine,
            commands: None,
            stopping: None,
            turns: 0,
            is_concluded: false,
            is_sealed: false,
            since: Instant::now(),
        })
    }

    async fn run(mut self, mut signals: mpsc::Receiver<Signal>) {
        let stop = self.inner.stop.clone();
        loop {
            let signal = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                signal = signals.recv() => signal,
                () = tokio::time::sleep(LOOK) => None,
            };
            let done = match signal {
                Some(signal) => self.take(signal).await,
                None => self.look().await,
            };
            match done {
                Ok(()) => {}
                Err(Error::Stopping) => return,
                Err(error) => tracing::error!(worker = %self.worker, %error, "a report could not be taken in"),
            }
            if self.is_over() {
                break;
            }
        }
        if let Err(error) = crate::needs::withdraw(&self.inner, &self.worker).await {
            tracing::error!(worker = %self.worker, %error, "open questions of an ended worker stay open until they expire");
        }
    }

    fn is_over(&self) -> bool {
        self.is_concluded && (self.is_sealed || self.since.elapsed() > SEAL)
    }

    async fn take(&mut self, signal: Signal) -> Result<(), Error> {
        match signal {
            Signal::Attached(commands) => {
                self.commands = Some(commands);
                self.acknowledge().await;
                self.answer_again().await?;
                // Who asks for the end may be faster than the shim.
                if let Some((_, grace_ms)) = self.stopping {
                    self.tell(ShimCommand::Stop { grace_ms }).await;
                }
                Ok(())
            }
            Signal::Frame(frame) => {
                self.frame(&frame).await?;
                self.acknowledge().await;
                Ok(())
            }
            Signal::Detached => {
                self.commands = None;
                self.since = Instant::now();
                Ok(())
            }
            Signal::Tell(command) => {
                self.tell(command).await;
                Ok(())
            }
            Signal::Stop { cause, grace_ms } => {
                self.stopping = Some((cause, grace_ms));
                self.tell(ShimCommand::Stop { grace_ms }).await;
                Ok(())
            }
        }
    }

    async fn tell(&mut self, command: ShimCommand) {
        if let Some(commands) = &self.commands
            && commands.send(command).await.is_err()
        {
            self.commands = None;
        }
    }

    /// Tells the shim how far its frames are in the record, if they are of its present incarnation.
    async fn acknowledge(&mut self) {
        tracing::debug!(worker = %self.worker, seen = self.seen, linked = self.commands.is_some(), "ack");
        let seq = u64::try_from(self.seen & ((1 << 40) - 1)).unwrap_or(0);
        self.tell(ShimCommand::Ack { seq }).await;
    }

    /// Answers that a person gave while the shim was not linked.
    async fn answer_again(&mut self) -> Result<(), Error> {
        for (ask, option) in crate::needs::settled_for(&self.inner, &self.worker)? {
            self.tell(ShimCommand::Permit { ask, option }).await;
        }
        Ok(())
    }

    /// Nothing was heard: reads the journal of a shim that is gone, and concludes.
    async fn look(&mut self) -> Result<(), Error> {
        if self.commands.is_some() || shim::alive(&self.folder).is_some() {
            return Ok(());
        }
        let is_young = self.since.elapsed() < self.inner.config.shim_grace;
        if is_young && !shim::has_begun(&self.folder) {
            return Ok(());
        }
        // An agent that outlived its shim would go on writing into a tree that the next worker begins with.
        let marker = self.worker.to_string();
        let left = self.inner.blocking(move || Ok(switchboard_process::orphans::kill_marked(MARK, &marker))).await?;
        if !left.is_empty() {
            tracing::error!(worker = %self.worker, ?left, "processes of a worker without a shim don't end");
        }
        for frame in shim::frames_after(&self.folder, self.seen)? {
            self.frame(&frame).await?;
        }
        if !self.is_concluded {
            let reason = "its shim is gone and left no word about the agent's end".to_owned();
            let lost = RunEvent::WorkerLost { task: self.task.clone(), worker: self.worker.clone(), reason };
            self.is_concluded = true;
            self.engine.step(lost).await?;
        }
        self.is_sealed = true;
        Ok(())
    }

    /// Takes a frame in: its record, the steps of the run that follow from it, then what is to be said to the shim.
    async fn frame(&mut self, frame: &Frame) -> Result<(), Error> {
        if frame_number(frame) <= self.seen {
            return Ok(());
        }
        let steps = self.steps(&frame.event);
        let beside = self.beside(frame)?;
        let durability = if is_heavy(&frame.event) { Durability::Synced } else { Durability::Written };
        let is_end = !steps.is_empty() && !matches!(frame.event, WorkerEvent::AgentStarted { .. });
        match self.engine.record(steps.clone(), beside.clone(), durability).await {
            Err(Error::Refused(refused)) if !steps.is_empty() => {
                // The run has gone on without this worker: its report is kept, its step is not taken.
                tracing::info!(worker = %self.worker, why = %refused, "a late report");
                self.engine.record(Vec::new(), beside, durability).await?;
            }
            other => other?,
        }
        self.seen = frame_number(frame);
        self.inner.crash("frame-recorded");
        if is_end {
            self.is_concluded = true;
            self.since = Instant::now();
            self.inner.crash("turn-ended");
        }
        self.follow_up(&frame.event).await
    }

    fn steps(&mut self, event: &WorkerEvent) -> Vec<RunEvent> {
        let (task, worker) = (self.task.clone(), self.worker.clone());
        match event {
            WorkerEvent::AgentStarted { .. } => vec![RunEvent::WorkerStarted { task, worker }],
            WorkerEvent::TurnEnded { stop, text, .. } => {
                self.stop = Some(stop.clone());
                self.said.clone_from(text);
                Vec::new()
            }
            WorkerEvent::Faulted { code, what } if is_hopeless(code) => {
                vec![RunEvent::TaskBlocked { task, attempt: self.attempt, reason: format!("{what} [{code}]") }]
            }
            WorkerEvent::Faulted { code, what } => {
                self.stop = Some(code.clone());
                self.said.clone_from(what);
                Vec::new()
            }
            WorkerEvent::AgentExited { code, signal, stderr } => {
                let (outcome, reason) = self.ending(*code, *signal, stderr);
                vec![RunEvent::TurnEnded { task, worker, outcome, reason }]
            }
            WorkerEvent::Sealed { .. } if !self.is_concluded => {
                let (outcome, reason) = self.ending(None, None, "");
                vec![RunEvent::TurnEnded { task, worker, outcome, reason }]
            }
            WorkerEvent::SessionOpened { .. }
            | WorkerEvent::TurnStarted { .. }
            | WorkerEvent::ToolCalled { .. }
            | WorkerEvent::PermissionAsked { .. }
            | WorkerEvent::PermissionSettled { .. }
            | WorkerEvent::CostReported { .. }
            | WorkerEvent::Sealed { .. } => Vec::new(),
        }
    }

    /// What the agent's end means. An exit code alone never means that the work is done; the tree will tell.
    fn ending(&self, code: Option<i32>, signal: Option<i32>, stderr: &str) -> (TurnOutcome, String) {
        let said = cut(self.said.trim(), 400);
        match self.stopping {
            Some((StopCause::Requested, _)) => return (TurnOutcome::Stopped, "somebody asked for it".to_owned()),
            Some((StopCause::TimedOut, _)) => return (TurnOutcome::TimedOut, "the time limit has passed".to_owned()),
            None => {}
        }
        let how = match (code, signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no exit state".to_owned(),
        };
        let words = if stderr.trim().is_empty() { said.clone() } else { cut(stderr.trim(), 400) };
        match self.stop.as_deref() {
            Some("end_turn") => (TurnOutcome::Finished, said),
            Some("cancelled") => (TurnOutcome::Stopped, said),
            Some("refusal") => (TurnOutcome::Refused, said),
            Some("agent.timeout") => (TurnOutcome::TimedOut, said),
            Some("exit") | None if self.is_exec && code == Some(0) => (TurnOutcome::Finished, said),
            Some(other) => (TurnOutcome::Failed, format!("{other}, {how}: {words}")),
            None => (TurnOutcome::Failed, format!("it ended in the middle of its turn, {how}: {words}")),
        }
    }

    fn beside(&self, frame: &Frame) -> Result<Vec<NewEvent>, Error> {
        let (what, body) = Report::of(&frame.event);
        let fact =
            DispatchEvent::WorkerReported { worker: self.worker.clone(), epoch: frame.epoch, seq: frame.seq, what };
        let mut event =
            NewEvent::of(&fact, format!("worker/{}", self.worker), self.agent.as_str()).map_err(shape("a report"))?;
        event.body = body;
        let mut events = vec![event];
        match &frame.event {
            WorkerEvent::TurnStarted { turn, mail } if !mail.is_empty() => {
                let evidence = format!("turn {turn} of {}", self.worker);
                events.extend(self.inner.mail.injected(mail, &self.agent, &evidence)?);
            }
            WorkerEvent::PermissionAsked { ask, title, options, detail } => {
                let id = fresh_need()?;
                let limit = i64::try_from(self.inner.config.limits.permission_ms).unwrap_or(i64::MAX);
                let fact = NeedEvent::NeedAsked {
                    id: id.clone(),
                    run: self.plan.run.clone(),
                    task: self.task.to_string(),
                    worker: self.worker.clone(),
                    ask: cut(ask, 80),
                    title: cut(title, 200),
                    options: crate::needs::options(options),
                    expires_at: self.inner.store.now().plus(limit),
                };
                let event =
                    NewEvent::of(&fact, format!("need/{id}"), self.agent.as_str()).map_err(shape("a question"))?;
                events.push(event.with_body(detail.clone()));
            }
            WorkerEvent::AgentStarted { .. }
            | WorkerEvent::SessionOpened { .. }
            | WorkerEvent::TurnStarted { .. }
            | WorkerEvent::ToolCalled { .. }
            | WorkerEvent::PermissionSettled { .. }
            | WorkerEvent::CostReported { .. }
            | WorkerEvent::TurnEnded { .. }
            | WorkerEvent::AgentExited { .. }
            | WorkerEvent::Faulted { .. }
            | WorkerEvent::Sealed { .. } => {}
        }
        Ok(events)
    }

    /// After a turn: mail that the agent has not seen opens another one, else the shim may finish.
    async fn follow_up(&mut self, event: &WorkerEvent) -> Result<(), Error> {
        match event {
            WorkerEvent::TurnEnded { stop, .. } if !self.is_exec => {
                let waiting = if stop == "end_turn" && self.turns < MAIL_TURNS && self.stopping.is_none() {
                    self.inner.mail.waiting(&self.agent, MAIL_PER_TURN)?
                } else {
                    Vec::new()
                };
                if waiting.is_empty() {
                    self.tell(ShimCommand::Finish).await;
                } else {
                    self.turns += 1;
                    let text = prompt::mail(&waiting);
                    let mail = waiting.into_iter().map(|message| message.id).collect();
                    self.tell(ShimCommand::Prompt { text, mail }).await;
                }
            }
            WorkerEvent::Faulted { code, .. } if is_hopeless(code) => self.is_concluded = true,
            WorkerEvent::Sealed { .. } => self.is_sealed = true,
            WorkerEvent::AgentStarted { .. }
            | WorkerEvent::SessionOpened { .. }
            | WorkerEvent::TurnStarted { .. }
            | WorkerEvent::ToolCalled { .. }
            | WorkerEvent::PermissionAsked { .. }
            | WorkerEvent::PermissionSettled { .. }
            | WorkerEvent::CostReported { .. }
            | WorkerEvent::TurnEnded { .. }
            | WorkerEvent::AgentExited { .. }
            | WorkerEvent::Faulted { .. } => {}
        }
        Ok(())
    }
}

/// Whether no further attempt can succeed before a person has done something.
fn is_hopeless(code: &str) -> bool {
    matches!(code, "agent.missing" | "agent.login")
}

/// Whether a report must be on disk before it is acked: what costs, asks or ends.
const fn is_heavy(event: &WorkerEvent) -> bool {
    match event {
        WorkerEvent::AgentStarted { .. }
        | WorkerEvent::TurnStarted { .. }
        | WorkerEvent::PermissionAsked { .. }
        | WorkerEvent::CostReported { .. }
        | WorkerEvent::TurnEnded { .. }
        | WorkerEvent::AgentExited { .. }
        | WorkerEvent::Faulted { .. } => true,
        WorkerEvent::SessionOpened { .. }
        | WorkerEvent::ToolCalled { .. }
        | WorkerEvent::PermissionSettled { .. }
        | WorkerEvent::Sealed { .. } => false,
    }
}
