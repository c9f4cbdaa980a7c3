//! Runs blocking work away from the threads of the async runtime.

use switchboard_protocol::error::Failure;

/// Runs blocking work on a thread of its own.
///
/// # Errors
/// The failure of the work; `internal.bug` if it panicked.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::new("internal.bug", error.to_string()))?
}
