//! Runs blocking work (git, files, processes) outside the runtime's own threads.

use crate::future::BoxFuture;

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
