//! Enforces the limits of a worker, and ends its agent step by step.

use std::time::Duration;

use switchboard_protocol::frame::WorkerEvent;
use switchboard_protocol::signal::SignalKind;
use tokio::time::Instant;

use super::{CANCEL, CLOSE_GRACE, Daemon, EXIT_GRACE, Ending, State, Worker, later};
use crate::Result;
use crate::driver::Driver;

// === impl Worker ===

impl Worker {
    /// Returns the time at which the next limit is due.
    pub(super) fn wake(&self) -> Instant {
        if self.state == State::Ended {
            return later(Instant::now(), u64::MAX);
        }
        let works = matches!(self.state, State::Prompted { .. } | State::Turn);
        let idle = (works && self.asks.is_empty()).then(|| later(self.heard, self.spec.limits.idle_ms));
        let close = match self.state {
            State::Idle { since } if !self.pause.is_asked() => Some(since + self.linger),
            State::Closing { by } => Some(by),
            State::Opening | State::Idle { .. } | State::Prompted { .. } | State::Turn | State::Ended => None,
        };
        let alone = match self.daemon {
            Daemon::GoneSince(since) => Some(later(since, self.spec.limits.orphan_grace_ms)),
            Daemon::Connected | Daemon::GoneTooLong => None,
        };
        let ending = self.ending.as_ref().map(|ending| ending.by);
        let wrap_up = self.wrap_up.due().filter(|_| self.may_interrupt());
        // The worker's time limits do not run while it is paused.
        let limits = if self.pause.is_reached() {
            [alone, None, None, None, None]
        } else {
            [alone, Some(self.wall), idle, self.asks.next_due(), wrap_up]
        };
        let limits = self.ending.is_none().then_some(limits);
        let signals = self.signals.due().filter(|_| self.ending.is_none());
        let all = limits.into_iter().flatten().chain([close, ending, signals]);
        all.flatten().min().unwrap_or_else(|| later(Instant::now(), u64::MAX))
    }

    pub(super) fn on_time<D: Driver>(&mut self, driver: &mut D) -> Result<()> {
        let now = Instant::now();
        if self.state == State::Ended {
            return Ok(());
        }
        if let Daemon::GoneSince(since) = self.daemon
            && now >= later(since, self.spec.limits.orphan_grace_ms)
        {
            self.daemon = Daemon::GoneTooLong;
            self.stop_if_orphaned(driver)?;
        }
        self.obey_signals(driver)?;
        if self.pause.is_reached() {
            return Ok(());
        }
        for (ask, reject) in self.asks.due(now) {
            self.permit(driver, &ask, reject)?;
        }
        self.interrupt_to_wrap_up(driver);
        let works = matches!(self.state, State::Prompted { .. } | State::Turn);
        let silent = works && self.asks.is_empty() && now >= later(self.heard, self.spec.limits.idle_ms);
        let over = |what: &str, ms: u64| Some(("agent.timeout".to_owned(), format!("{what} {} s", ms.div_ceil(1000))));
        if now >= self.wall {
            self.stop(driver, EXIT_GRACE, over("the worker's time is over after", self.spec.limits.wall_ms))?;
        } else if silent {
            self.stop(driver, EXIT_GRACE, over("the agent was silent in its turn for", self.spec.limits.idle_ms))?;
        } else if matches!(self.state, State::Closing { by } if now >= by) {
            self.stop(driver, CLOSE_GRACE, None)?;
        }
        Ok(())
    }

    /// Carries out the requests of signal files.
    pub(super) fn obey_signals<D: Driver>(&mut self, driver: &mut D) -> Result<()> {
        let now = Instant::now();
        while let Some(signal) = self.signals.next(now) {
            tracing::info!(n = signal.n, kind = ?signal.kind, from = %signal.from, "no daemon answers: a signal file counts");
            match signal.kind {
                SignalKind::Pause => self.pause(driver, false)?,
                SignalKind::Resume => self.resume(driver)?,
                SignalKind::Stop => self.stop(driver, EXIT_GRACE, None)?,
            }
        }
        Ok(())
    }

    /// Stops a worker that has been without a daemon for too long, between two tool calls so that none is left half done.
    pub(super) fn stop_if_orphaned<D: Driver>(&mut self, driver: &mut D) -> Result<()> {
        let is_boundary = (self.tools.is_empty() && self.asks.is_empty()) || self.pause.is_reached();
        if !matches!(self.daemon, Daemon::GoneTooLong) || (self.state == State::Turn && !is_boundary) {
            return Ok(());
        }
        let what = "no daemon came back in time; the worker stopped between two tool calls".to_owned();
        self.stop(driver, EXIT_GRACE, Some(("daemon.unreachable".to_owned(), what)))
    }

    /// Begins to end the agent: cancels the turn, which then has a moment to end by itself.
    pub(super) fn stop<D: Driver>(
        &mut self,
        driver: &mut D,
        grace: Duration,
        fault: Option<(String, String)>,
    ) -> Result<()> {
        let now = Instant::now();
        if self.state == State::Ended {
            return Ok(());
        }
        match &mut self.ending {
            Some(ending) => ending.grace = ending.grace.min(grace),
            None => {
                self.forget_pause();
                driver.cancel();
                self.ending = Some(Ending { grace, by: now + CANCEL.min(grace / 2), fault });
            }
        }
        self.cancel_questions()
    }

    pub(super) async fn end_if_due<D: Driver>(&mut self, driver: &mut D) -> Result<()> {
        let works = matches!(self.state, State::Prompted { .. } | State::Turn);
        let is_due = |ending: &mut Ending| !works || Instant::now() >= ending.by;
        let Some(ending) = self.ending.take_if(is_due) else { return Ok(()) };
        self.close_turn("cancelled", String::new())?;
        self.state = State::Ended;
        if let Some((code, what)) = ending.fault {
            let retry_after_ms = self.retry_after_ms;
            self.record(WorkerEvent::Faulted { code, what, retry_after_ms })?;
        }
        let terminated = driver.end(ending.grace).await;
        if !terminated.survivors.is_empty() {
            tracing::error!(pids = ?terminated.survivors, "members of the agent's group can't be ended");
        }
        Ok(())
    }
}
