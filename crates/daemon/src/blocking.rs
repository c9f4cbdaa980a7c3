//! Work that blocks, away from the threads that run tasks.

use switchboard_protocol::error::Failure;

/// Runs something that blocks on a thread of its own.
///
/// # Errors
/// What the work answers; `internal.bug` if it panicked.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::new("internal.bug", error.to_string()))?
}
