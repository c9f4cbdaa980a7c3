//! The loop of one worker: prompts its agent turn by turn, records events, carries out the daemon's commands, and enforces the limits.

mod asks;
mod limits;
mod pause;
mod permissions;
mod signals;
mod wrap_up;

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use switchboard_process::env::Env;
use switchboard_process::file::{self, Mode, Sync};
use switchboard_process::orphans;
use switchboard_protocol::frame::{ShimCommand, WorkerEvent, WorkerSpec};
use switchboard_protocol::id::MessageId;
use switchboard_protocol::permission::Permissions;
use switchboard_protocol::worker::{PAUSED, WRAP_UP};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::confined::{self, Confined, confined};
use super::files::TASK;
use super::identity::Identity;
use super::link::Order;
use super::recorder::Recorder;
use super::redact::RawRedactor;
use super::spool::Spool;
use crate::driver::{Driver, DriverOutput, Model, Start};
use crate::{Error, Result, catalog};
use asks::Asks;
use pause::Pause;
use permissions::Allowed;
use signals::SignalFiles;
use wrap_up::WrappingUp;

/// Maximum number of prompts that wait for the end of a turn; the daemon offers the others again, as they are not reported as seen.
const MAX_QUEUE: usize = 64;

/// Maximum number of reported tool calls of one turn; further ones are only in the spool.
const MAX_TOOLS: u32 = 2000;

/// Minimum interval between cost reports within a turn, so that one worker does not fill the log.
const COST_EVERY: Duration = Duration::from_secs(1);

/// Cost in millionths of a dollar that is reported at once: several workers that spend much within [`COST_EVERY`] could exceed a ceiling
/// unnoticed.
const COST_AT_ONCE: u64 = 10_000;

/// Time between SIGTERM and SIGKILL if the daemon set none.
const EXIT_GRACE: Duration = Duration::from_secs(5);

/// How long a cancelled turn may take to end before the agent is terminated; less if the grace period is short.
const CANCEL: Duration = Duration::from_secs(1);

/// How long an agent may take to exit once no more prompts come; some agents never do.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// Maximum number of reported arguments of the agent's command, and maximum length of each in bytes: a frame must stay short.
const ARGS: usize = 32;
const ARG: usize = 500;

/// State of a running worker.
pub(super) struct Worker {
    spec: WorkerSpec,
    identity: Identity,
    recorder: Recorder,
    spool: Spool,
    raw: RawRedactor,
    orders: mpsc::Receiver<Order>,
    linger: Duration,
    state: State,
    turn: u32,
    queue: VecDeque<Prompt>,
    is_finishing: bool,
    asks: Asks,
    pause: Pause,
    tools: HashSet<String>,
    tools_told: u32,
    spent: Spent,
    /// Time at which the worker must end.
    wall: Instant,
    /// Time of the agent's last output.
    heard: Instant,
    daemon: Daemon,
    signals: SignalFiles,
    wrap_up: WrappingUp,
    /// How long the agent's service asks to wait, in milliseconds, if the worker ends because of that.
    retry_after_ms: Option<u64>,
    ending: Option<Ending>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// The session is not open yet.
    Opening,
    /// Between turns.
    Idle { since: Instant },
    /// A prompt is being written to the agent.
    Prompted { mail: Vec<MessageId> },
    /// The agent works on a turn.
    Turn,
    /// No more prompts come; the agent should exit by itself.
    Closing { by: Instant },
    /// The agent's process group has been ended.
    Ended,
}

struct Prompt {
    text: String,
    mail: Vec<MessageId>,
}

/// State of the connection to the daemon.
enum Daemon {
    Connected,
    GoneSince(Instant),
    /// The daemon has been away too long: the worker stops at the next tool boundary.
    GoneTooLong,
}

/// Usage that has not been reported to the daemon yet.
struct Spent {
    micro_usd: Option<u64>,
    input: u64,
    output: u64,
    told: Instant,
}

struct Ending {
    grace: Duration,
    /// Time until which the cancelled turn may end by itself.
    by: Instant,
    fault: Option<(String, String)>,
}

// === impl Worker ===

impl Worker {
    pub(super) fn new(
        spec: WorkerSpec,
        identity: Identity,
        recorder: Recorder,
        spool: (Spool, RawRedactor),
        orders: mpsc::Receiver<Order>,
        linger: Duration,
    ) -> Self {
        let (spool, raw) = spool;
        let now = Instant::now();
        let wall = later(now, spec.limits.wall_ms);
        let wrap_up = WrappingUp::new(spec.wrap_up.clone(), now);
        let first = Prompt { text: spec.prompt.clone(), mail: spec.mail.clone() };
        let signals = SignalFiles::new(&spec);
        let asks = Asks::new(Duration::from_millis(spec.limits.permission_ms));
        Self {
            spec,
            identity,
            recorder,
            spool,
            raw,
            orders,
            linger,
            state: State::Opening,
            turn: 0,
            queue: VecDeque::from([first]),
            is_finishing: false,
            asks,
            pause: Pause::default(),
            tools: HashSet::new(),
            tools_told: 0,
            spent: Spent { micro_usd: None, input: 0, output: 0, told: now },
            wall,
            heard: now,
            daemon: Daemon::GoneSince(now),
            signals,
            wrap_up,
            retry_after_ms: None,
            ending: None,
        }
    }

    /// Returns the number of the last frame.
    pub(super) fn last_frame(&self) -> u64 {
        self.recorder.last()
    }

    /// Runs the agent to its end. In all cases no process of it is left, and the last frame says so.
    pub(super) async fn run<D: Driver>(&mut self, argv: Vec<String>) -> Result<()> {
        let started = self.start_with(argv.clone()).and_then(|start| D::start(&start));
        match started {
            Ok(mut driver) => {
                let driven = self.drive(&mut driver, argv).await;
                drop(driver);
                let swept = orphans::sweep();
                if !swept.left.is_empty() {
                    tracing::error!(pids = ?swept.left, "processes of the agent can't be ended");
                }
                if self.spec.sandbox.is_some() {
                    confined::clear(&self.spec);
                }
                driven?;
            }
            Err(error) => {
                let failure = error.failure();
                let what = std::iter::once(&failure.what).chain(&failure.cause).cloned().collect::<Vec<_>>().join(": ");
                let what = crate::beginning(&what, 2 << 10).to_owned();
                self.record(WorkerEvent::Faulted { code: failure.code, what, retry_after_ms: None })?;
            }
        }
        self.spool.write(&self.raw.rest());
        let seal = self.spool.seal()?;
        self.record(WorkerEvent::Sealed { bytes: seal.bytes, dropped: seal.dropped, digest: seal.digest })
    }

    /// Builds the agent's start parameters. Every process of the agent has the worker's name in its environment, by which a later daemon finds
    /// the processes that a dead shim left.
    fn start_with(&self, argv: Vec<String>) -> Result<Start> {
        let task = PathBuf::from(&self.spec.folder).join(TASK);
        file::replace(&task, self.spec.prompt.as_bytes(), Mode::Private, Sync::No)
            .map_err(Error::io("write the task"))?;
        let env: Env = self.spec.env.iter().cloned().collect();
        let mut env = env.set("SWITCHBOARD_WORKER", self.spec.worker.as_str());
        env = env.set("SWITCHBOARD_TASK_FILE", task.display().to_string());
        if self.spec.permissions == Permissions::Ask {
            let asks = catalog::of_command(&argv).map(|known| known.asks).unwrap_or_default();
            env = asks.iter().fold(env, |env, (name, value)| env.set(*name, *value));
        }
        let (cwd, mcp, model) = (PathBuf::from(&self.spec.cwd), self.spec.mcp.clone(), self.spec.model.clone());
        let is_given = self.spec.model_given;
        let model = model.map(|name| Model { name, is_given });
        let Some(wanted) = &self.spec.sandbox else {
            let (tools, hosts, keeps_input) = (Vec::new(), Vec::new(), self.spec.by_hand);
            return Ok(Start { argv, cwd, env, mcp, sandbox: None, tools, hosts, model, keeps_input });
        };
        let Confined { sandbox, hosts, env } = confined(&self.spec, wanted, &argv, env)?;
        let (tools, keeps_input) = (wanted.tools.clone(), self.spec.by_hand);
        Ok(Start { argv, cwd, env, mcp, sandbox: Some(sandbox), tools, hosts, model, keeps_input })
    }

    async fn drive<D: Driver>(&mut self, driver: &mut D, argv: Vec<String>) -> Result<()> {
        self.identity.agent = driver.fingerprint();
        self.identity.write(&PathBuf::from(&self.spec.folder))?;
        let argv = argv.iter().take(ARGS).map(|arg| crate::beginning(arg, ARG).to_owned()).collect();
        self.record(WorkerEvent::AgentStarted { pid: driver.pid(), argv })?;
        let mut terminate = signal(SignalKind::terminate()).map_err(Error::io("listen for signals"))?;
        switchboard_process::memory::unmap_startup_pages();
        loop {
            self.advance(driver)?;
            let wake = self.wake();
            tokio::select! {
                event = driver.next() => {
                    if event == DriverOutput::Exited {
                        break;
                    }
                    self.on_output(driver, event)?;
                }
                Some(order) = self.orders.recv() => self.on_order(driver, order)?,
                () = sleep_until(wake) => self.on_time(driver)?,
                _ = terminate.recv() => self.stop(driver, EXIT_GRACE, None)?,
            }
            self.end_if_due(driver).await?;
        }
        let (terminated, stderr) = driver.finish().await;
        if driver.malformed() > 0 {
            tracing::warn!(lines = driver.malformed(), "lines of the agent could not be read");
        }
        self.close_turn("error", String::new())?;
        let by_us = self.state == State::Ended;
        let (code, signal) = (terminated.exit.code(), terminated.exit.signal());
        self.record(WorkerEvent::AgentExited { code, signal, stderr, by_us })
    }

    /// Does what is possible now: sends the next prompt, or ends the worker.
    fn advance<D: Driver>(&mut self, driver: &mut D) -> Result<()> {
        let State::Idle { since } = self.state else { return Ok(()) };
        if self.ending.is_some() || self.pause.is_asked() {
            return Ok(());
        }
        if let Some(Prompt { text, mail }) = self.next_prompt() {
            if driver.prompt(&text) {
                self.heard = Instant::now();
                self.state = State::Prompted { mail: if D::SHOWS_MAIL { mail } else { Vec::new() } };
            }
            return Ok(());
        }
        let lingered = self.turn > 0 && Instant::now() >= since + self.linger;
        if self.is_finishing || lingered {
            driver.close();
            self.state = State::Closing { by: Instant::now() + CLOSE_GRACE };
        }
        Ok(())
    }

    /// Joins the waiting prompts into one: an agent reads its mail better in one piece.
    fn next_prompt(&mut self) -> Option<Prompt> {
        let mut whole = self.queue.pop_front()?;
        if self.turn > 0 {
            for Prompt { text, mail } in self.queue.drain(..) {
                whole.text.push_str("\n\n");
                whole.text.push_str(&text);
                whole.mail.extend(mail);
            }
        }
        if let Some(notice) = self.wrap_up.between_turns(Instant::now()) {
            whole.text.push_str("\n\n");
            whole.text.push_str(&notice);
        }
        Some(whole)
    }

    fn on_output<D: Driver>(&mut self, driver: &mut D, given: DriverOutput) -> Result<()> {
        self.heard = Instant::now();
        match given {
            DriverOutput::Raw { stream, bytes } => {
                self.spool.write(&self.raw.piece(stream, bytes));
                Ok(())
            }
            DriverOutput::Event(event) => self.on_event(driver, event),
            DriverOutput::Exited => Ok(()),
        }
    }

    fn on_event<D: Driver>(&mut self, driver: &mut D, event: WorkerEvent) -> Result<()> {
        match event {
            WorkerEvent::SessionOpened { session } => {
                self.state = State::Idle { since: self.heard };
                if !session.is_empty() {
                    self.record(WorkerEvent::SessionOpened { session })?;
                }
                self.pause_at_boundary(driver, false)
            }
            WorkerEvent::TurnStarted { .. } => self.on_turn_started(),
            WorkerEvent::ToolCalled { ref call, ref status, .. } => {
                let is_open = matches!(status.as_str(), "pending" | "in_progress");
                if is_open {
                    self.tools.insert(call.clone())
                } else {
                    self.tools.remove(call)
                };
                self.tools_told += 1;
                if self.tools_told <= MAX_TOOLS {
                    self.record(event)?;
                }
                self.stop_if_orphaned(driver)?;
                self.interrupt_to_wrap_up(driver);
                self.pause_at_boundary(driver, !is_open)
            }
            WorkerEvent::PermissionAsked { ref ask, ref options, .. } => {
                let tree = PathBuf::from(&self.spec.cwd);
                let allowed = permissions::allowed(self.spec.permissions, &tree, &event);
                if let Some(Allowed { option, rule }) = allowed {
                    let (ask, option, rule) = (ask.clone(), Some(option), Some(rule));
                    if self.pause.keeps_answers() {
                        self.pause.keep(ask, option, rule);
                        return self.pause_at_boundary(driver, false);
                    }
                    if driver.permit(&ask, option.as_deref()) {
                        return self.record(WorkerEvent::PermissionSettled { ask, option, rule });
                    }
                }
                self.asks.open(ask, options);
                self.record(event)?;
                self.pause_at_boundary(driver, false)
            }
            WorkerEvent::CostReported { micro_usd, input_tokens, output_tokens } => {
                self.spend(micro_usd, input_tokens, output_tokens);
                let is_due = self.heard.duration_since(self.spent.told) >= COST_EVERY
                    || self.spent.micro_usd.is_some_and(|spent| spent >= COST_AT_ONCE);
                if is_due { self.tell_cost() } else { Ok(()) }
            }
            WorkerEvent::TurnEnded { stop, text, .. } => {
                let notice = self.notice_after(&stop);
                let is_paused = self.pause.take_interrupted(&stop) && notice.is_none() && self.ending.is_none();
                let stop = match (&notice, is_paused) {
                    (Some(_), _) => WRAP_UP,
                    (None, true) => PAUSED,
                    (None, false) => &stop,
                };
                self.close_turn(stop, text)?;
                self.queue.extend(notice);
                if is_paused {
                    self.take_up_later();
                }
                self.stop_if_orphaned(driver)?;
                self.pause_at_boundary(driver, false)
            }
            WorkerEvent::Faulted { code, what, retry_after_ms } => {
                self.retry_after_ms = retry_after_ms;
                self.stop(driver, CLOSE_GRACE, Some((code, what)))
            }
            // The shim records these itself.
            WorkerEvent::AgentStarted { .. }
            | WorkerEvent::PermissionSettled { .. }
            | WorkerEvent::PauseChanged { .. }
            | WorkerEvent::AgentExited { .. }
            | WorkerEvent::Sealed { .. } => Ok(()),
        }
    }

    fn spend(&mut self, micro_usd: Option<u64>, input: u64, output: u64) {
        self.spent.micro_usd = match (self.spent.micro_usd, micro_usd) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.spent.input = self.spent.input.saturating_add(input);
        self.spent.output = self.spent.output.saturating_add(output);
    }

    fn on_turn_started(&mut self) -> Result<()> {
        let State::Prompted { mail } = std::mem::replace(&mut self.state, State::Turn) else { return Ok(()) };
        self.turn += 1;
        self.tools_told = 0;
        self.record(WorkerEvent::TurnStarted { turn: self.turn, mail })
    }

    /// Ends the running turn, if any, and its questions.
    fn close_turn(&mut self, stop: &str, text: String) -> Result<()> {
        self.cancel_questions()?;
        self.tell_cost()?;
        if self.state != State::Turn {
            return Ok(());
        }
        self.state = State::Idle { since: Instant::now() };
        self.tools.clear();
        let text = self.recorder.answer(&text)?;
        self.record(WorkerEvent::TurnEnded { turn: self.turn, stop: stop.to_owned(), text })
    }

    fn tell_cost(&mut self) -> Result<()> {
        let told = Instant::now();
        let spent = std::mem::replace(&mut self.spent, Spent { micro_usd: None, input: 0, output: 0, told });
        let Spent { micro_usd, input: input_tokens, output: output_tokens, .. } = spent;
        if micro_usd.is_none() && input_tokens + output_tokens == 0 {
            return Ok(());
        }
        self.record(WorkerEvent::CostReported { micro_usd, input_tokens, output_tokens })
    }

    fn cancel_questions(&mut self) -> Result<()> {
        for ask in self.asks.take_all() {
            self.record(WorkerEvent::PermissionSettled { ask, option: None, rule: None })?;
        }
        Ok(())
    }

    fn on_order<D: Driver>(&mut self, driver: &mut D, order: Order) -> Result<()> {
        match order {
            Order::Connected => {
                self.daemon = Daemon::Connected;
                self.signals.rest();
            }
            Order::Lost => {
                self.daemon = Daemon::GoneSince(Instant::now());
                self.signals.look_from(Instant::now());
            }
            // The link handles these.
            Order::Command(ShimCommand::Ack { .. } | ShimCommand::Beat { .. }) => {}
            Order::Command(ShimCommand::Finish) => {
                self.is_finishing = true;
                if self.spec.by_hand {
                    driver.close();
                }
            }
            Order::Command(ShimCommand::Pause { between_tools }) => self.pause(driver, between_tools)?,
            Order::Command(ShimCommand::Resume) => self.resume(driver)?,
            Order::Command(ShimCommand::Prompt { text, mail }) => {
                if self.queue.len() < MAX_QUEUE {
                    self.queue.push_back(Prompt { text, mail });
                }
            }
            Order::Command(ShimCommand::Permit { ask, option }) => self.permit(driver, &ask, option)?,
            Order::Command(ShimCommand::Stop { grace_ms }) => {
                self.stop(driver, Duration::from_millis(grace_ms), None)?;
            }
        }
        Ok(())
    }

    fn permit<D: Driver>(&mut self, driver: &mut D, ask: &str, option: Option<String>) -> Result<()> {
        let Some(option) = self.asks.take_answer(ask, option) else { return Ok(()) };
        self.heard = Instant::now();
        if self.pause.keeps_answers() {
            self.pause.keep(ask.to_owned(), option, None);
            return Ok(());
        }
        if driver.permit(ask, option.as_deref()) {
            self.record(WorkerEvent::PermissionSettled { ask: ask.to_owned(), option, rule: None })?;
        }
        Ok(())
    }

    fn record(&mut self, event: WorkerEvent) -> Result<()> {
        self.recorder.record(event)
    }
}

/// Returns the point `ms` milliseconds after another; at most ten years, so that it can be represented.
fn later(from: Instant, ms: u64) -> Instant {
    const NEVER: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
    from + Duration::from_millis(ms).min(NEVER)
}
