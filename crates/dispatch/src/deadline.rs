//! Points in time that something may be waited for until.

use tokio::time::Instant;

/// Returns when a deadline is reached; never where there is none.
pub(crate) async fn reached(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
