//! The queue of commits that wait for the writer, and the two threads of a store.

use std::collections::VecDeque;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Inner;
use super::front::Front;
use super::pending::Pending;
use crate::core::lock;
use crate::prepared::Prepared;
use crate::write::Answer;
use crate::{Checkpoint, Error};

/// Most batches of one group: bounds how long the first of them waits for the last.
const MAX_GROUP: usize = 512;

/// Most bytes of batches that wait, whatever their number (32 MiB).
const MAX_BYTES: usize = 32 << 20;

/// Batches and bytes that may wait for SQLite; beyond that commits wait until some are written.
const MOST: (usize, usize) = (4_096, 4 << 20);

/// How long a commit may take on the thread of its caller, which may be one of a runtime; when it takes longer, the next ones queue.
const SLOW: Duration = Duration::from_millis(20);

/// How long commits are collected before SQLite gets them, unless somebody asks for them earlier.
const GATHER: Duration = Duration::from_millis(4);

/// How long a commit waits for SQLite to get some of what waits.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long nothing must have been committed before the flusher tidies up.
const IDLE: Duration = Duration::from_millis(200);

/// Callers that wait for an answer; one that stopped waiting is not an error.
pub(super) enum Waiter {
    /// A task.
    Task(oneshot::Sender<Answer>),
    /// A thread.
    Thread(SyncSender<Answer>),
}

// === impl Waiter ===

impl Waiter {
    fn answer(self, answer: Answer) {
        let gone = match self {
            Self::Task(sender) => sender.send(answer).is_err(),
            Self::Thread(sender) => sender.try_send(answer).is_err(),
        };
        if gone {
            tracing::debug!("a caller stopped waiting for its commit");
        }
    }
}

/// Batches that wait for their turn.
pub(super) struct Queue {
    waiting: VecDeque<(Prepared, Waiter)>,
    bytes: usize,
    most: usize,
    /// Whether the thread sleeps that writes them.
    is_asleep: bool,
    /// Whether the last group had several, or took long: then the next caller joins a group instead of writing for itself.
    is_crowded: bool,
    is_closing: bool,
}

// === impl Queue ===

impl Queue {
    pub(super) fn new(most: usize) -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, most, is_asleep: false, is_crowded: false, is_closing: false }
    }

    /// Whether a committing caller may write on its own thread.
    pub(super) fn is_free(&self) -> bool {
        self.waiting.is_empty() && !self.is_crowded
    }

    fn push(&mut self, batch: Prepared, waiter: Waiter) -> Result<(), Error> {
        let bytes = batch.bytes;
        if self.waiting.len() >= self.most || (self.bytes > 0 && self.bytes + bytes > MAX_BYTES) {
            return Err(Error::Busy);
        }
        self.bytes += bytes;
        self.waiting.push_back((batch, waiter));
        Ok(())
    }

    fn take(&mut self) -> (Vec<Prepared>, Vec<Waiter>) {
        let group = self.waiting.len().min(MAX_GROUP);
        let (batches, waiters): (Vec<_>, Vec<_>) = self.waiting.drain(..group).unzip();
        self.bytes -= batches.iter().map(|batch| batch.bytes).sum::<usize>();
        (batches, waiters)
    }
}

/// Whether so much waits for SQLite that commits wait for it.
pub(super) fn is_too_much(pending: &Pending) -> bool {
    let (batches, bytes) = pending.size();
    batches >= MOST.0 || bytes >= MOST.1
}

/// Whether so much waits for SQLite that it should be written soon.
pub(super) fn is_much(pending: &Pending) -> bool {
    let (batches, bytes) = pending.size();
    batches >= MOST.0 / 4 || bytes >= MOST.1 / 4
}

impl Inner {
    /// Has a batch wait for its turn.
    pub(super) fn queue(&self, batch: Prepared, waiter: Waiter) -> Result<(), Error> {
        let mut queue = lock(&self.queue);
        self.core.alive()?;
        queue.push(batch, waiter)?;
        if std::mem::take(&mut queue.is_asleep) {
            self.work.notify_one();
        }
        Ok(())
    }

    /// Writes what waits, group by group, as long as SQLite does not lag too far behind.
    pub(super) fn drain(&self, front: &mut Front) {
        while !is_too_much(&lock(&self.pending)) {
            let (batches, waiters) = lock(&self.queue).take();
            if batches.is_empty() {
                return;
            }
            let (group, began) = (batches.len(), Instant::now());
            let answers = front.write(self, batches);
            self.learn(group, began.elapsed());
            waiters.into_iter().zip(answers).for_each(|(waiter, answer)| waiter.answer(answer));
            self.core.wake();
        }
    }

    /// Learns from the time that a group took whether the next caller may write on its own thread.
    pub(super) fn learn(&self, group: usize, took: Duration) {
        lock(&self.queue).is_crowded = group > 1 || took > SLOW;
    }

    /// Writes whatever is queued, until the store is closed.
    pub(super) fn run_writer(self: &Arc<Self>) {
        loop {
            let mut queue = lock(&self.queue);
            while queue.waiting.is_empty() && !queue.is_closing {
                queue.is_asleep = true;
                queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            let is_over = queue.waiting.is_empty();
            drop(queue);
            if is_over {
                return;
            }
            match self.make_way().and_then(|()| self.front()) {
                Ok(mut front) => self.drain(&mut front),
                Err(error) => {
                    let (_, waiters) = lock(&self.queue).take();
                    waiters.into_iter().for_each(|waiter| waiter.answer(Err(error.clone())));
                }
            }
        }
    }

    /// Waits until SQLite has so much of what waits for it that there may be more. The flusher is at work on that: two cores
    /// are faster than one. Nobody who waits here may hold the front, which the flusher needs for a checkpoint.
    fn make_way(&self) -> Result<(), Error> {
        let pending = lock(&self.pending);
        if !is_too_much(&pending) {
            return self.core.alive();
        }
        self.rest.notify_one();
        let waited = self.way.wait_timeout_while(pending, PATIENCE, |pending| is_too_much(pending));
        let (pending, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        drop(pending);
        // The disk is slow, or full: then this says so.
        if waited.timed_out() { self.write_through() } else { self.core.alive() }
    }

    /// Brings SQLite up to date, checkpoints when that is due, and tidies up when nothing happens.
    pub(super) fn run_flusher(self: &Arc<Self>) {
        let (mut seen, mut since, mut is_tidy) = (0, Instant::now(), true);
        loop {
            let mut pending = lock(&self.pending);
            while pending.is_empty() && !pending.is_closing {
                pending.is_asleep = true;
                if is_tidy {
                    pending = self.rest.wait(pending).unwrap_or_else(PoisonError::into_inner);
                } else if since.elapsed() < IDLE {
                    let left = IDLE.saturating_sub(since.elapsed());
                    pending = self.rest.wait_timeout(pending, left).unwrap_or_else(PoisonError::into_inner).0;
                } else {
                    break;
                }
            }
            pending.is_asleep = false;
            if pending.is_closing || self.core.alive().is_err() {
                return;
            }
            let is_quiet = pending.is_empty() && pending.count == seen;
            if pending.count != seen {
                (seen, since, is_tidy) = (pending.count, Instant::now(), false);
            }
            if is_quiet && since.elapsed() >= IDLE {
                drop(pending);
                is_tidy = self.tidy_or_index();
                continue;
            }
            let is_little = |pending: &mut Pending| !is_much(pending) && !pending.is_closing;
            pending.is_asleep = true;
            let (mut pending, _) =
                self.rest.wait_timeout_while(pending, GATHER, is_little).unwrap_or_else(PoisonError::into_inner);
            pending.is_asleep = false;
            drop(pending);
            // The next commit or read returns the error.
            if self.write_through().and_then(|()| self.checkpoint_when_due()).is_err() {
                std::thread::sleep(IDLE);
            }
        }
    }

    /// Does one piece of work that was put off until the queue is empty; returns whether none is left.
    fn tidy_or_index(&self) -> bool {
        let lags = self.back().map(|back| back.lags(&self.core));
        if lags.is_ok_and(|lags| lags) {
            return self.index(false).is_err();
        }
        if let Err(error) = self.tidy(Checkpoint::Passive) {
            tracing::debug!(%error, "the store could not be tidied up");
        }
        true
    }

    /// Ends both threads; what is queued is still written.
    pub(super) fn close_queue(&self) {
        let mut queue = lock(&self.queue);
        queue.is_closing = true;
        drop(queue);
        self.work.notify_one();
    }

    pub(super) fn close_flusher(&self) {
        lock(&self.pending).is_closing = true;
        self.rest.notify_one();
    }

    /// Answers every waiting caller that the store has ended.
    pub(super) fn refuse_queued(&self) {
        let waiting = std::mem::take(&mut lock(&self.queue).waiting);
        waiting.into_iter().for_each(|(_, waiter)| waiter.answer(Err(self.core.reason())));
    }

    /// The front, for a batch whose turn it is right away.
    pub(super) fn try_front(&self) -> Option<MutexGuard<'_, Front>> {
        if !lock(&self.queue).is_free() || is_too_much(&lock(&self.pending)) {
            return None;
        }
        // Whoever has to wait for it is told if it is poisoned.
        self.front.try_lock().ok()
    }
}
