//! The queue of commits for the writer, and the two threads of a store.

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

/// Maximum number of batches in one group; limits how long the first one waits for the last.
const MAX_GROUP: usize = 512;

/// Maximum total size of waiting batches in bytes, whatever their number (32 MiB).
const MAX_BYTES: usize = 32 << 20;

/// Maximum number and bytes of batches that wait for SQLite; beyond that, commits wait until some are written.
const MAX_PENDING: (usize, usize) = (4_096, 4 << 20);

/// Limit for a commit on its caller's thread, which may belong to a runtime; after a slower one, the next callers
/// queue.
const SLOW: Duration = Duration::from_millis(20);

/// How long commits are collected before they are written to SQLite, unless a reader needs them earlier.
const GATHER: Duration = Duration::from_millis(4);

/// How long a commit waits until SQLite has caught up.
const FLUSH_WAIT: Duration = Duration::from_secs(5);

/// Time without a commit after which the flusher tidies up.
const IDLE: Duration = Duration::from_millis(200);

/// Receivers of an answer; one that stopped waiting is not an error.
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

/// Batches that wait for the writer.
pub(super) struct Queue {
    waiting: VecDeque<(Prepared, Waiter)>,
    bytes: usize,
    most: usize,
    /// True if the writer thread sleeps.
    is_asleep: bool,
    /// True if the last group had several batches or was slow; then the next caller joins a group instead of writing on
    /// its own thread.
    is_crowded: bool,
    is_closing: bool,
}

// === impl Queue ===

impl Queue {
    pub(super) fn new(most: usize) -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, most, is_asleep: false, is_crowded: false, is_closing: false }
    }

    /// Returns true if a committing caller may write on its own thread.
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

/// Returns true if so much waits for SQLite that commits have to wait.
pub(super) fn is_too_much(pending: &Pending) -> bool {
    let (batches, bytes) = pending.size();
    batches >= MAX_PENDING.0 || bytes >= MAX_PENDING.1
}

/// Returns true if so much waits for SQLite that it should be written soon.
pub(super) fn is_much(pending: &Pending) -> bool {
    let (batches, bytes) = pending.size();
    batches >= MAX_PENDING.0 / 4 || bytes >= MAX_PENDING.1 / 4
}

impl Inner {
    /// Queues a batch.
    pub(super) fn queue(&self, batch: Prepared, waiter: Waiter) -> Result<(), Error> {
        let mut queue = lock(&self.queue);
        self.core.alive()?;
        queue.push(batch, waiter)?;
        if std::mem::take(&mut queue.is_asleep) {
            self.work.notify_one();
        }
        Ok(())
    }

    /// Writes queued batches, group by group, as long as SQLite does not lag too far behind.
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

    /// Decides by the duration of a group whether the next caller may write on its own thread.
    pub(super) fn learn(&self, group: usize, took: Duration) {
        lock(&self.queue).is_crowded = group > 1 || took > SLOW;
    }

    /// Writes queued batches until the store is closed.
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

    /// Waits until SQLite has caught up enough to accept more. The flusher does the work meanwhile: two cores are
    /// faster than one. The caller must not hold the front, which the flusher needs for a checkpoint.
    fn make_way(&self) -> Result<(), Error> {
        let pending = lock(&self.pending);
        if !is_too_much(&pending) {
            return self.core.alive();
        }
        self.flush_needed.notify_one();
        let waited = self.flushed.wait_timeout_while(pending, FLUSH_WAIT, |pending| is_too_much(pending));
        let (pending, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        drop(pending);
        // The disk is slow or full; `write_through` returns the error.
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
                    pending = self.flush_needed.wait(pending).unwrap_or_else(PoisonError::into_inner);
                } else if since.elapsed() < IDLE {
                    let left = IDLE.saturating_sub(since.elapsed());
                    pending = self.flush_needed.wait_timeout(pending, left).unwrap_or_else(PoisonError::into_inner).0;
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
            let (mut pending, _) = self
                .flush_needed
                .wait_timeout_while(pending, GATHER, is_little)
                .unwrap_or_else(PoisonError::into_inner);
            pending.is_asleep = false;
            drop(pending);
            // The next commit or read returns the error.
            if self.write_through().and_then(|()| self.checkpoint_when_due()).is_err() {
                std::thread::sleep(IDLE);
            }
        }
    }

    /// Performs one piece of work that was delayed until the queue is empty; returns true if none is left.
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

    /// Ends both threads; queued batches are still written.
    pub(super) fn close_queue(&self) {
        let mut queue = lock(&self.queue);
        queue.is_closing = true;
        drop(queue);
        self.work.notify_one();
    }

    pub(super) fn close_flusher(&self) {
        lock(&self.pending).is_closing = true;
        self.flush_needed.notify_one();
    }

    /// Answers all waiting callers that the store has ended.
    pub(super) fn refuse_queued(&self) {
        let waiting = std::mem::take(&mut lock(&self.queue).waiting);
        waiting.into_iter().for_each(|(_, waiter)| waiter.answer(Err(self.core.reason())));
    }

    /// Locks the front if it is free, for a batch that can be written immediately.
    pub(super) fn try_front(&self) -> Option<MutexGuard<'_, Front>> {
        if !lock(&self.queue).is_free() || is_too_much(&lock(&self.pending)) {
            return None;
        }
        // A poisoned lock is reported to the callers that wait for it.
        self.front.try_lock().ok()
    }
}
