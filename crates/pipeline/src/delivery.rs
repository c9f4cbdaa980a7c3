//! The states of a message in its recipient's queue, as pure functions.
//!
//! ```text
//!            send                    lease                        ack
//!   ───────────────▶ ready ────────────────────▶ leased ───────────────────▶ acked
//!                     ▲ │                          │ │
//!     nak, lapse      │ │ time to live             │ │ nak or lapse for the last time
//!     (with backoff)  └─┼──────────────────────────┘ └──────────────────────▶ dead
//!                       ├──────────────────────────────────────────────────▶ expired
//!                       └─── superseded, taken back ───────────────────────▶ cancelled
//! ```
//!
//! The four states on the right are final; only a person puts a dead message back. These are the states in the queue.
//! How far the recipient has read (`accepted → offered → injected → acked → done`) is recorded separately for each
//! attempt.

use switchboard_protocol::error::Failure;
use switchboard_protocol::message::QueueState;
use switchboard_protocol::time::Millis;

/// Default lease of a delivery in milliseconds (SQS and JetStream: 30 s).
pub const DEFAULT_LEASE_MS: i64 = 30_000;

/// The longest lease of a delivery in milliseconds (SQS: 12 h).
pub const MAX_LEASE_MS: i64 = 12 * 3_600_000;

/// Default number of deliveries after which a message is dead.
pub const DEFAULT_ATTEMPTS: u32 = 5;

/// Maximum number of deliveries that a sender may request.
pub const MAX_ATTEMPTS: u32 = 100;

/// The first wait after a failed delivery in milliseconds; it doubles up to [`MAX_BACKOFF_MS`].
const BACKOFF_MS: i64 = 1_000;

/// The longest wait after a failed delivery in milliseconds.
pub const MAX_BACKOFF_MS: i64 = 60_000;

/// Time in milliseconds after which people are notified of a message that its recipient has not seen.
pub const SEEN_LATE_MS: i64 = 10 * 60_000;

/// How long a message waits for a recipient that left, in milliseconds: a retry of its task brings the agent back.
pub const LEFT_MS: i64 = 10 * 60_000;

/// How long an unseen message waits, in milliseconds (72 h, the default of the file protocol).
pub const UNSEEN_MS: i64 = 72 * 3_600_000;

/// How long a dead letter waits for a person, in milliseconds.
pub const DEAD_LETTER_MS: i64 = 7 * 24 * 3_600_000;

/// A message in a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// State of the message in the queue.
    pub state: QueueState,
    /// Lane of the message; lane 0 is for control and goes first.
    pub lane: u8,
    /// Position of the message in the log; orders the messages of a lane.
    pub seq: u64,
    /// Messages with the same key are delivered one at a time, and may be overtaken by those of other keys. The empty
    /// text is a key too.
    pub order_key: String,
    /// Number of deliveries so far.
    pub attempt: u32,
    /// Number of deliveries after which the message is dead.
    pub max_attempts: u32,
    /// Earliest time of the next delivery.
    pub not_before: Option<Millis>,
    /// Lease of the delivery that holds the message.
    pub lease: Option<Lease>,
    /// Time after which the message is not delivered.
    pub expires_at: Option<Millis>,
}

/// Lease of a delivery that waits for its acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Token that the receiver must present; unique for each delivery, and larger for later ones.
    pub token: u64,
    /// When the lease lapses.
    pub until: Millis,
}

/// Change of a message without an acknowledgement of its receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// Returned to the queue, not to be delivered before this time.
    Returned(Millis),
    /// Removed from the queue for this reason.
    Dead(&'static str),
    /// The message's time to live has passed.
    Expired,
}

/// Effect of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ack {
    /// The message is acknowledged by this call.
    Now,
    /// The message was acknowledged before; nothing changes.
    Before,
}

/// Returns why an unseen message is given up, or `None` if it still waits. `left` is the time at which the recipient
/// left.
#[must_use]
pub fn abandoned(waits_since: Millis, left: Option<Millis>, now: Millis) -> Option<&'static str> {
    match left {
        Some(left) if left.max(waits_since).plus(LEFT_MS) <= now => Some("its recipient has left"),
        None if waits_since.plus(UNSEEN_MS) <= now => Some("nobody has seen it for 72 hours"),
        Some(_) | None => None,
    }
}

// === impl Item ===

impl Item {
    /// Returns the next time at which the message changes without a call.
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        match self.state {
            QueueState::Leased => self.lease.map(|lease| lease.until),
            QueueState::Ready => self.expires_at,
            QueueState::Acked | QueueState::Dead | QueueState::Expired | QueueState::Cancelled => None,
        }
    }

    /// Returns the change that time has caused by `now`. A leased message stays with its receiver until the lease
    /// lapses, however old it is.
    #[must_use]
    pub fn expire(&self, now: Millis) -> Option<Turn> {
        let is_over = self.expires_at.is_some_and(|end| end <= now);
        match (self.state, self.lease) {
            (QueueState::Ready, _) if is_over => Some(Turn::Expired),
            (QueueState::Leased, Some(lease)) if lease.until <= now && is_over => Some(Turn::Expired),
            (QueueState::Leased, Some(lease)) if lease.until <= now => {
                Some(self.returned(now, 0, "no acknowledgement came in time"))
            }
            _ => None,
        }
    }

    /// Returns the message to the queue, to be delivered again after `delay` milliseconds or its backoff, whichever is
    /// longer.
    ///
    /// # Errors
    /// `bus.lease-lost` when another delivery holds it, or none.
    pub fn nak(&self, token: u64, delay: i64, now: Millis) -> Result<Turn, Failure> {
        self.held(token, now)?;
        Ok(self.returned(now, delay, "its receiver gave it back"))
    }

    /// Extends the lease and returns its new end.
    ///
    /// # Errors
    /// As [`nak`](Self::nak).
    pub fn extend(&self, token: u64, span: i64, now: Millis) -> Result<Millis, Failure> {
        self.held(token, now)?;
        Ok(Millis(now.0.saturating_add(span.clamp(1, MAX_LEASE_MS))))
    }

    /// Acknowledges the message. While a delivery holds the message, its token is required; a message that was only
    /// looked at needs none.
    ///
    /// # Errors
    /// `bus.lease-lost`; `bus.settled` when it is dead, expired or cancelled.
    pub fn ack(&self, token: Option<u64>, now: Millis) -> Result<Ack, Failure> {
        match self.state {
            QueueState::Acked => Ok(Ack::Before),
            QueueState::Ready if token.is_none() && !self.is_over(now) => Ok(Ack::Now),
            QueueState::Ready | QueueState::Leased => self.held(token.unwrap_or(0), now).map(|()| Ack::Now),
            QueueState::Dead | QueueState::Expired | QueueState::Cancelled => {
                let what = format!("the message is {}, and so it stays", self.state.as_str());
                Err(Failure::new("bus.settled", what))
            }
        }
    }

    fn is_over(&self, now: Millis) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }

    fn held(&self, token: u64, now: Millis) -> Result<(), Failure> {
        match self.lease.filter(|_| self.state == QueueState::Leased) {
            Some(lease) if lease.token == token && lease.until > now => Ok(()),
            _ => Err(Failure::new("bus.lease-lost", "this delivery no longer holds the message")
                .hint("receive it again and use the token of that delivery")),
        }
    }

    fn returned(&self, now: Millis, delay: i64, cause: &'static str) -> Turn {
        if self.attempt >= self.max_attempts {
            return Turn::Dead(cause);
        }
        let wait = backoff(self.attempt, self.seq).max(delay.clamp(0, MAX_LEASE_MS));
        Turn::Returned(Millis(now.0.saturating_add(wait)))
    }

    /// Returns true if the message can be delivered at `now`.
    fn is_ready(&self, now: Millis) -> bool {
        self.state == QueueState::Ready && self.not_before.is_none_or(|time| time <= now) && !self.is_over(now)
    }

    /// Returns true if the message holds up those behind it: it is being delivered, or will be again. A message sent
    /// for a later time doesn't.
    fn blocks(&self, now: Millis) -> bool {
        match self.state {
            QueueState::Leased => true,
            QueueState::Ready => self.attempt > 0 && !self.is_over(now),
            QueueState::Acked | QueueState::Dead | QueueState::Expired | QueueState::Cancelled => false,
        }
    }
}

/// Returns the positions of the messages of one queue that may be delivered now, at most `max`. The queue is sorted by
/// lane and position.
///
/// Within a lane, no message overtakes another one with the same order key. The messages of a key are returned
/// together, so that the receiver gets them in order.
#[must_use]
pub fn choose<'a>(queue: impl IntoIterator<Item = &'a Item>, now: Millis, max: usize) -> Vec<usize> {
    let mut blocked: Vec<(u8, &str)> = Vec::new();
    let mut chosen = Vec::new();
    for (place, item) in queue.into_iter().enumerate() {
        if chosen.len() == max {
            break;
        }
        let key = (item.lane, item.order_key.as_str());
        if blocked.contains(&key) {
            continue;
        }
        if item.is_ready(now) {
            chosen.push(place);
        } else if item.blocks(now) {
            blocked.push(key);
        }
    }
    chosen
}

/// Returns the wait after so many deliveries in milliseconds: 1 s, doubled up to 60 s, ±10 % by the message's position
/// to spread retries.
#[must_use]
pub fn backoff(attempt: u32, seq: u64) -> i64 {
    let doubled = BACKOFF_MS.saturating_mul(1_i64 << attempt.saturating_sub(1).min(16)).min(MAX_BACKOFF_MS);
    // Spreads by position; any odd multiplier works.
    let spread = i64::try_from(seq.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44).unwrap_or(0) % 201 - 100;
    doubled + doubled * spread / 1000
}

#[cfg(test)]
mod tests;
