//! Waits for optional deadlines.

use tokio::time::Instant;

/// Returns when the deadline is reached; never returns if there is none.
pub(crate) async fn reached(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
