//! Runs blocking work (git, files, processes) outside the runtime's own threads.

use std::sync::{Arc, Mutex};

use crate::Error;
use crate::future::BoxFuture;
use crate::lock::lock;

/// Piece of blocking work; it delivers its result itself.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Runs blocking work.
pub(crate) trait Threads: Send + Sync {
    /// Runs a job and returns when it has ended.
    fn run(&self, job: Job) -> BoxFuture<'static, ()>;
}

/// The runtime's pool for blocking work.
pub(crate) struct Pool;

impl Threads for Pool {
    fn run(&self, job: Job) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            if let Err(error) = tokio::task::spawn_blocking(job).await {
                tracing::error!(%error, "blocking work did not end well");
            }
        })
    }
}

/// Runs a piece of work as a job and returns its outcome; [`Error::Stopping`] if it has none, because it panicked or the
/// runtime ends. The future is the same type for all work with one type of outcome.
pub(crate) fn outcome<T: Send + 'static>(
    threads: &dyn Threads,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> impl Future<Output = Result<T, Error>> + Send + 'static {
    let slot = Arc::default();
    let filled = Arc::clone(&slot);
    let job = move || {
        let done = work();
        *lock(&filled) = Some(done);
    };
    ended(threads.run(Box::new(job)), slot)
}

async fn ended<T>(running: BoxFuture<'static, ()>, slot: Arc<Mutex<Option<Result<T, Error>>>>) -> Result<T, Error> {
    running.await;
    let done = lock(&slot).take();
    done.unwrap_or(Err(Error::Stopping))
}
