//! Detects shims that hang. A process may exist and its connection be open though it does not run, so a shim sends
//! regular heartbeats. A silent one is asked once more, and then ended with its agent.

use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::frame::ShimCommand;
use tokio::time::Instant;

use super::{PAUSE, Watch};
use crate::Error;

/// Number of heartbeats that a shim may miss before it is asked.
const MISSED: u32 = 6;

/// Number of heartbeat periods for its answer. If the daemon itself was suspended, and not its shims, it finds their
/// beats waiting and reads them meanwhile.
const ANSWER: u32 = 2;

/// Number of heartbeat periods after which a running, unconnected shim counts as hung; it tries to connect every two
/// seconds.
const APART: u32 = 12;

/// Action for a silent shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    /// Too short to act on.
    Short,
    /// Ask the shim.
    Ask,
    /// The shim hangs.
    Hung,
}

/// Heartbeat state of a connected shim.
#[derive(Debug)]
pub(super) struct Pulse {
    every: Duration,
    heard: Instant,
    asked: Option<Instant>,
}

// === impl Pulse ===

impl Pulse {
    pub(super) const fn new(every: Duration, now: Instant) -> Self {
        Self { every, heard: now, asked: None }
    }

    /// Records a heartbeat or a frame.
    pub(super) const fn record_activity(&mut self, now: Instant) {
        (self.heard, self.asked) = (now, None);
    }

    /// Returns when to check again.
    pub(super) fn due(&self) -> Instant {
        match self.asked {
            Some(asked) => asked + self.every * ANSWER,
            None => self.heard + self.every * MISSED,
        }
    }

    fn step(&mut self, now: Instant) -> Silence {
        if now < self.due() {
            return Silence::Short;
        }
        match self.asked {
            Some(_) => Silence::Hung,
            None => {
                self.asked = Some(now);
                Silence::Ask
            }
        }
    }
}

// === impl Watch ===

impl Watch {
    /// Asks the shim to send heartbeats.
    pub(super) async fn ask_for_beats(&mut self, beats: bool) {
        self.pulse = None;
        if beats {
            self.pulse = Some(Pulse::new(self.world.config.heartbeat, Instant::now()));
            self.tell(self.beat()).await;
        }
    }

    fn beat(&self) -> ShimCommand {
        let every_ms = u64::try_from(self.world.config.heartbeat.as_millis()).unwrap_or(u64::MAX);
        ShimCommand::Beat { every_ms }
    }

    /// Handles a shim that has been silent for long.
    pub(super) async fn on_silence(&mut self) -> Result<(), Error> {
        let Some(pulse) = &mut self.pulse else { return Ok(()) };
        match pulse.step(Instant::now()) {
            Silence::Short => Ok(()),
            Silence::Ask => {
                // Sent without waiting: the queue of a shim that hangs may be full.
                drop(self.commands.as_ref().map(|commands| commands.try_send(self.beat())));
                Ok(())
            }
            Silence::Hung => self.end_hung("it did not answer").await,
        }
    }

    /// Returns when a running, unconnected shim counts as hung.
    pub(super) fn apart_until(&self) -> Instant {
        self.since + self.world.config.heartbeat * APART
    }

    /// Ends a shim that hangs; the worker's remains are handled once its process has ended.
    pub(super) async fn end_hung(&mut self, why: &'static str) -> Result<(), Error> {
        tracing::warn!(worker = %self.worker, why, "the shim hangs; its group is killed");
        self.hung = Some(why);
        (self.commands, self.pulse) = (None, None);
        self.since = Instant::now();
        self.look_at = Some(self.since + PAUSE);
        let (shims, folder) = (Arc::clone(&self.world.ports.shims), self.folder.clone());
        self.world.blocking(move || Ok(shims.kill(&folder))).await.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_secs(5);

    #[test]
    fn a_shim_that_beats_is_never_asked() {
        let begin = Instant::now();
        let mut pulse = Pulse::new(EVERY, begin);

        for beat in 1..1000 {
            let now = begin + EVERY * beat;
            assert_eq!(pulse.step(now), Silence::Short);
            pulse.record_activity(now);
        }
    }

    #[test]
    fn a_silent_shim_is_asked_once_and_then_hangs() {
        let begin = Instant::now();
        let mut pulse = Pulse::new(EVERY, begin);

        assert_eq!(pulse.step(begin + EVERY * 5), Silence::Short);
        assert_eq!(pulse.step(begin + EVERY * 6), Silence::Ask);
        assert_eq!(pulse.step(begin + EVERY * 7), Silence::Short);
        assert_eq!(pulse.step(begin + EVERY * 8), Silence::Hung);
    }

    #[test]
    fn an_answer_after_a_pause_of_the_daemon_itself_is_enough() {
        let begin = Instant::now();
        let mut pulse = Pulse::new(EVERY, begin);

        assert_eq!(pulse.step(begin + EVERY * 100), Silence::Ask);
        pulse.record_activity(begin + EVERY * 101);

        assert_eq!(pulse.step(begin + EVERY * 106), Silence::Short);
        assert_eq!(pulse.step(begin + EVERY * 107), Silence::Ask);
    }
}
