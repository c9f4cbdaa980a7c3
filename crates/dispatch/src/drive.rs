//! A run that a team leads: from a request or a plan through the modes to the end of its last phase.
//!
//! The rules are in `switchboard_pipeline::modes`; a [`Driver`] carries out what they decide, one action after the
//! other. A question to a role and the tasks of a phase are runs of their own, the *parts* of the run. They are started
//! by the same code as every run, with the same refusals, agents, isolation and gates, and are taken up again after a
//! daemon dies. A part is linked to its step in the commit that starts it, so a restarted driver waits for it instead
//! of starting a second one.
//!
//! ```text
//!   start_run(drive) ─▶ driver ── State::next ──▶ a part (question to a role, tasks of a phase) ── its end ──┐
//!                         ▲                       a need (question to a person) ────────────── its answer ───┤
//!                         │                       a check (preflight, evidence) ─────────────────────────────┤
//!                         └──────────────── ModeEvent, recorded under modes/RUN ◀────────────────────────────┘
//! ```
//!
//! The run has a branch like every other. After each part, the branch moves to what that part has merged, and the next
//! part begins there.

mod added_gates;
mod ask;
mod begin;
mod branch;
mod check;
mod disk;
mod earlier;
mod order;
mod part;
mod person;
mod phase;
mod question;
mod record;
mod role_prompts;
mod seat;
mod setup;

use std::time::Duration;

use switchboard_pipeline::modes::{Action, Ask};
use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::modes::{Mode, ModeEvent};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use self::order::{Order, Stop};
use self::record::Record;
use crate::backoff::Backoff;
use crate::error::is_transient;
use crate::{Dispatch, Error, confirm_merge, deadline};

pub(crate) use self::order::SeatCall;
pub use self::order::{SeatAsk, SeatCaller};
pub(crate) use self::part::PartOf;
#[cfg(any(test, feature = "sim"))]
pub(crate) use self::question::question_id;
pub(crate) use self::setup::Setup;

/// Maximum number of queued messages for a driver.
const INBOX: usize = 8;

/// Pause before a retry after a failure other than one of the store: the longest after which a run goes on once there
/// is room on the disk.
const RETRY_PAUSE: Duration = Duration::from_secs(5);

/// Leads one run.
pub(crate) struct Driver {
    dispatch: Dispatch,
    run: RunId,
    setup: Setup,
    record: Record,
    inbox: mpsc::Receiver<Order>,
    /// Time of the last call by the holder of the architect's seat.
    heard: Instant,
}

/// Sender for messages to a driver.
#[derive(Clone)]
pub(crate) struct DriverHandle(mpsc::Sender<Order>);

/// Result of a wait.
enum Waited<T> {
    /// The awaited result.
    For(T),
    /// The state has changed meanwhile, so a different action may come next.
    Changed,
    /// The run is to be stopped.
    Stop(Stop),
    /// The daemon is shutting down; the next one continues.
    Down,
}

/// Consequence of an action.
enum Follows {
    /// An event, with the text whose digest it holds.
    Event(ModeEvent, String),
    /// Nothing to record: the state has changed meanwhile, and a different action may come next.
    Changed,
    /// The run is to be stopped.
    Stop(Stop),
    /// Nothing to record: the daemon is shutting down.
    Down,
}

// === impl DriverHandle ===

impl DriverHandle {
    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Returns when the driver has ended.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    /// Sends a call that concerns the architect's seat; fails if the driver has ended.
    pub(crate) async fn ask(&self, call: SeatCall) -> Result<(), Error> {
        self.0.send(Order::Seat(Box::new(call))).await.map_err(|_| Error::Stopping)
    }

    /// Stops the run and its parts.
    pub(crate) async fn stop(&self, by: AgentName, grace_ms: Option<u64>) -> Result<(), Error> {
        let (done, stopped) = oneshot::channel();
        self.0.send(Order::Stop(Stop { by, grace_ms, done })).await.map_err(|_| Error::Stopping)?;
        stopped.await.unwrap_or(Err(Error::Stopping))
    }
}

// === impl Driver ===

impl Driver {
    /// Folds the modes of a run from the record.
    pub(crate) fn fold(dispatch: Dispatch, run: &RunId) -> Result<(Self, DriverHandle), Error> {
        let (sender, inbox) = mpsc::channel(INBOX);
        let record = Record::fold(&dispatch.world.store, run)?;
        let setup = Setup::read(&dispatch.world, run)?;
        // A dead daemon received no calls meanwhile: the lease begins anew.
        let heard = Instant::now();
        Ok((Self { dispatch, run: run.clone(), setup, record, inbox, heard }, DriverHandle(sender)))
    }

    /// Resumes a run that was stopped.
    pub(crate) async fn resume(&mut self, by: &AgentName) -> Result<(), Error> {
        let event = ModeEvent::Resumed { by: by.clone() };
        self.record.commit(&self.dispatch.world, event, String::new(), by.as_str()).await?;
        self.dispatch.world.crash("mode-resume");
        Ok(())
    }

    /// Leads the run until it is over or the daemon shuts down.
    pub(crate) async fn run(mut self) {
        let mut backoff = Backoff::default();
        while !self.record.state().is_over() {
            let done = match self.step().await {
                Ok(true) => self.end_pause_for_room().await,
                Ok(false) => return,
                Err(error) => Err(error),
            };
            let pause = match done {
                Ok(()) => {
                    backoff.reset();
                    self.dispatch.world.troubles.passed(&self.run);
                    continue;
                }
                Err(Error::Stopping) => return,
                Err(error) => self.pause_after(error, &mut backoff).await,
            };
            if !self.sit_out(pause).await {
                return;
            }
        }
        if self.is_done() {
            self.conclude().await;
        } else {
            // A person's answer may have ended it while workers were at work.
            self.dispatch.stop_parts(&self.run, None).await;
        }
    }

    /// Records why the run can't go on now; returns the pause before the next try.
    async fn pause_after(&self, error: Error, backoff: &mut Backoff) -> Duration {
        if let Error::Store(error) = &error
            && is_transient(error)
        {
            tracing::warn!(run = %self.run, %error, "the team's run goes on as soon as the store does");
            return backoff.next();
        }
        tracing::error!(run = %self.run, %error, "the team's run can't go on now");
        let is_out_of_room = error.is_disk_full();
        self.dispatch.world.troubles.failed(&self.run, error.into());
        if is_out_of_room && let Err(error) = self.pause_for_room().await {
            tracing::warn!(run = %self.run, %error, "and the pause can't be recorded either");
        }
        RETRY_PAUSE
    }

    /// Waits before the next try; a stop is carried out at once. Returns false if the daemon shuts down.
    async fn sit_out(&mut self, pause: Duration) -> bool {
        let stop = self.dispatch.world.stop.clone();
        let until = Instant::now() + pause;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return false,
                Some(order) = self.inbox.recv() => match order {
                    Order::Stop(stop) => {
                        self.stop(stop).await;
                        return true;
                    }
                    Order::Seat(call) => {
                        self.on_seat(*call).await;
                    }
                },
                () = tokio::time::sleep_until(until) => return true,
            }
        }
    }

    /// Returns true if the run reached its end rather than being stopped.
    fn is_done(&self) -> bool {
        self.record.state().next() == (Action::Done { phases: self.record.phases_done() })
    }

    /// Carries out the next action and records its result; returns false if the daemon shuts down.
    async fn step(&mut self) -> Result<bool, Error> {
        self.dispatch.world.may_panic();
        let mode = self.record.state().mode();
        let mut next = self.record.state().next();
        if let Action::AwaitSeat { step } = next
            && self.record.part_of(step).is_some()
        {
            // A worker was asked before the seat was taken: its answer counts.
            next = self.record.state().driven();
        }
        let follows = match next {
            Action::AskRole { step, ask: Ask::Docs { phase }, .. } => self.document(step, phase).await?,
            Action::AskRole { step, ask, inputs, refused, .. } => self.ask(step, &ask, &inputs, refused).await?,
            Action::AskPerson { step, question, choices, .. } => self.ask_person(step, &question, &choices).await?,
            Action::Check { step, check } => self.check(step, check).await?,
            Action::RunPhase { step, phase } => self.run_phase(step, phase).await?,
            Action::Proceed { step, because, .. } => {
                Follows::Event(ModeEvent::Proceeded { step, because }, String::new())
            }
            Action::AwaitSeat { .. } => match self.wait(std::future::pending::<Result<(), Error>>()).await? {
                Waited::For(()) | Waited::Changed => Follows::Changed,
                Waited::Stop(stop) => Follows::Stop(stop),
                Waited::Down => Follows::Down,
            },
            Action::FillSeat { step, agent, fence, .. } => self.fill_seat(step, (&agent, fence)).await?,
            Action::Begin | Action::Done { .. } | Action::Stop { .. } => return Ok(false),
        };
        match follows {
            Follows::Event(event, body) => {
                self.dispatch.world.crash(crash_point(mode));
                self.record.commit(&self.dispatch.world, event, body, "daemon").await?;
                Ok(true)
            }
            Follows::Changed => Ok(true),
            Follows::Stop(stop) => {
                self.stop(stop).await;
                Ok(true)
            }
            Follows::Down => Ok(false),
        }
    }

    /// Records the stop of the run, and stops its parts.
    async fn stop(&mut self, Stop { by, grace_ms, done }: Stop) {
        let event = ModeEvent::Stopped { by: by.clone(), why: "stopped".to_owned() };
        let stopped = self.record.commit(&self.dispatch.world, event, String::new(), by.as_str()).await;
        if stopped.is_ok() {
            self.dispatch.stop_parts(&self.run, grace_ms).await;
        }
        // Who asked may be gone.
        drop(done.send(stopped));
    }

    /// Concludes the run: merges its branch if that was requested.
    async fn conclude(&self) {
        let world = &self.dispatch.world;
        confirm_merge::resolve(world, &self.run).await;
        Setup::remove(world, &self.run).await;
    }

    /// Waits for a result, unless the run is stopped or the daemon shuts down; handles calls from the architect's seat
    /// meanwhile.
    async fn wait<T>(&mut self, wait: impl Future<Output = Result<T, Error>>) -> Result<Waited<T>, Error> {
        let stop = self.dispatch.world.stop.clone();
        tokio::pin!(wait);
        loop {
            let lease_end = self.lease_end();
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(Waited::Down),
                Some(order) = self.inbox.recv() => match order {
                    Order::Stop(stop) => return Ok(Waited::Stop(stop)),
                    Order::Seat(call) => {
                        if self.on_seat(*call).await {
                            return Ok(Waited::Changed);
                        }
                    }
                },
                () = deadline::reached(lease_end) => {
                    self.lose_seat().await?;
                    return Ok(Waited::Changed);
                }
                done = &mut wait => return Ok(Waited::For(done?)),
            }
        }
    }
}

/// Returns the crash point of a mode, for tests.
const fn crash_point(mode: Mode) -> &'static str {
    match mode {
        Mode::Resume | Mode::Unknown => "mode-resume",
        Mode::Clarify => "mode-clarify",
        Mode::Discover => "mode-discover",
        Mode::Reality => "mode-reality",
        Mode::Consult => "mode-consult",
        Mode::Specify => "mode-specify",
        Mode::Plan => "mode-plan",
        Mode::CriticGate => "mode-critic-gate",
        Mode::Execute => "mode-execute",
        Mode::PhaseWrap => "mode-phase-wrap",
    }
}
