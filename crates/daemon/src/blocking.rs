//! Runs blocking work away from the threads of the async runtime.

use std::sync::{Arc, Mutex, PoisonError};

use switchboard_protocol::error::Failure;

/// Runs blocking work on a thread of its own.
///
/// # Errors
/// The failure of the work; `internal.bug` if it panicked.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let slot = Arc::new(Mutex::new(None));
    let filled = Arc::clone(&slot);
    let job = move || {
        let done = work();
        *filled.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
    };
    ended(Box::new(job)).await?;
    let done = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    done.unwrap_or_else(|| Err(Failure::new("internal.bug", "blocking work ended without an outcome")))
}

/// Runs a job to its end. The runtime's code for a job is compiled once, whatever the job is.
async fn ended(job: Box<dyn FnOnce() + Send>) -> Result<(), Failure> {
    let done = tokio::task::spawn_blocking(job).await;
    done.map_err(|error| Failure::new("internal.bug", error.to_string()))
}
