//! Starts tasks of the async runtime.

use std::pin::Pin;

use tokio::task::JoinHandle;

/// Starts a task, as [`tokio::spawn`] does. The runtime's code for a task, some 1,500 lines of the compiler's intermediate code,
/// is compiled once for each type of result here, not for each future.
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
    tokio::spawn(future)
}
