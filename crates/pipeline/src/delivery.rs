//! The life of a message in its recipient's queue, as a pure rule.
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
//! The four states on the right are final; only a person puts a dead message back. This is the queue's side. What is known about the
//! recipient's eyes (`accepted → offered → injected → acked → done`) is evidence about each attempt and moves on its own.

use switchboard_protocol::error::Failure;
use switchboard_protocol::message::QueueState;
use switchboard_protocol::time::Millis;

/// How long a delivery is held for its receiver unless it says otherwise, in milliseconds (SQS and JetStream: 30 s).
pub const DEFAULT_LEASE_MS: i64 = 30_000;

/// The longest lease of a delivery in milliseconds (SQS: 12 h).
pub const MAX_LEASE_MS: i64 = 12 * 3_600_000;

/// Deliveries of a message before it is dead, unless its sender says otherwise.
pub const DEFAULT_ATTEMPTS: u32 = 5;

/// Most deliveries that a sender may ask for.
pub const MAX_ATTEMPTS: u32 = 100;

/// The first wait after a failed delivery in milliseconds; it doubles up to [`MAX_BACKOFF_MS`].
const BACKOFF_MS: i64 = 1_000;

/// The longest wait after a failed delivery in milliseconds.
pub const MAX_BACKOFF_MS: i64 = 60_000;

/// How long a message may wait for its recipient's eyes before people are told, in milliseconds.
pub const SEEN_LATE_MS: i64 = 10 * 60_000;

/// How long a message waits for somebody who has left, in milliseconds: a task that is tried again brings its agent back.
pub const LEFT_MS: i64 = 10 * 60_000;

/// How long a message that nobody has seen waits, in milliseconds (72 h, the default of the file protocol).
pub const UNSEEN_MS: i64 = 72 * 3_600_000;

/// How long a dead letter waits for a person, in milliseconds.
pub const DEAD_LETTER_MS: i64 = 7 * 24 * 3_600_000;

/// A message as its queue sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Where it stands.
    pub state: QueueState,
    /// Its lane; 0 is control and goes first.
    pub lane: u8,
    /// Its place in the log; the order within a lane.
    pub seq: u64,
    /// Messages of one key are delivered one at a time; those of other keys pass them. Empty is a key too.
    pub order_key: String,
    /// Deliveries so far.
    pub attempt: u32,
    /// Deliveries before it is dead.
    pub max_attempts: u32,
    /// Not to be delivered earlier.
    pub not_before: Option<Millis>,
    /// The delivery that holds it.
    pub lease: Option<Lease>,
    /// Not to be delivered later.
    pub expires_at: Option<Millis>,
}

/// A delivery that waits for its acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// What the receiver must show; no two deliveries have the same, and later ones have larger ones.
    pub token: u64,
    /// When it lapses.
    pub until: Millis,
}

/// What becomes of a message without its receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// Back into the queue, not to be delivered before this time.
    Returned(Millis),
    /// Out of the queue, because of this.
    Dead(&'static str),
    /// Its time to live is over.
    Expired,
}

/// What an acknowledgement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ack {
    /// The message is done with now.
    Now,
    /// It was before; nothing changes.
    Before,
}

/// Why a message that its recipient has not seen comes to nothing, if it does. `left` is when the recipient left.
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
    /// When the clock will next do something with it.
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        match self.state {
            QueueState::Leased => self.lease.map(|lease| lease.until),
            QueueState::Ready => self.expires_at,
            QueueState::Acked | QueueState::Dead | QueueState::Expired | QueueState::Cancelled => None,
        }
    }

    /// What the clock has done with it by `now`. A leased message is its receiver's until the lease lapses, however old it is.
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

    /// The receiver gives it back, to be delivered again after `delay` milliseconds or its backoff, whichever is longer.
    ///
    /// # Errors
    /// `bus.lease-lost` when another delivery holds it, or none.
    pub fn nak(&self, token: u64, delay: i64, now: Millis) -> Result<Turn, Failure> {
        self.held(token, now)?;
        Ok(self.returned(now, delay, "its receiver gave it back"))
    }

    /// The receiver needs longer: the new end of its lease.
    ///
    /// # Errors
    /// As [`nak`](Self::nak).
    pub fn extend(&self, token: u64, span: i64, now: Millis) -> Result<Millis, Failure> {
        self.held(token, now)?;
        Ok(Millis(now.0.saturating_add(span.clamp(1, MAX_LEASE_MS))))
    }

    /// The recipient has it. While a delivery holds the message its token is needed; a message that was only looked at needs none.
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

    /// It is there to be delivered at `now`.
    fn is_ready(&self, now: Millis) -> bool {
        self.state == QueueState::Ready && self.not_before.is_none_or(|time| time <= now) && !self.is_over(now)
    }

    /// It keeps the messages behind it waiting: a delivery is on its way, or is to be repeated. A message that was sent for a later time isn't there yet.
    fn blocks(&self, now: Millis) -> bool {
        match self.state {
            QueueState::Leased => true,
            QueueState::Ready => self.attempt > 0 && !self.is_over(now),
            QueueState::Acked | QueueState::Dead | QueueState::Expired | QueueState::Cancelled => false,
        }
    }
}

/// Which of these messages of one queue, sorted by lane and place, may be delivered now: at most `max`, in that order.
///
/// Within a lane nothing overtakes a message of the same order key, and in one answer a key's messages come together: their receiver has them
/// in order.
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

/// How long to wait after so many deliveries: 1 s, doubled up to 60 s, ±10 % by the message's place, so that many don't come back at once.
#[must_use]
pub fn backoff(attempt: u32, seq: u64) -> i64 {
    let doubled = BACKOFF_MS.saturating_mul(1_i64 << attempt.saturating_sub(1).min(16)).min(MAX_BACKOFF_MS);
    // Spread by the place: any odd multiplier does.
    let spread = i64::try_from(seq.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44).unwrap_or(0) % 201 - 100;
    doubled + doubled * spread / 1000
}

#[cfg(test)]
mod tests;
