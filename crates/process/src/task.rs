//! Starts tasks and blocking jobs of the async runtime. The runtime's code for one, some 1,500 lines of the compiler's intermediate code, is
//! compiled once for each type of result here, not for each future or closure.

use std::pin::Pin;

use tokio::task::JoinHandle;

/// Starts a task, as [`tokio::spawn`] does.
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(boxed(future))
}

/// Returns a task for a [`JoinSet`](tokio::task::JoinSet) or another runtime.
pub fn boxed<T>(future: impl Future<Output = T> + Send + 'static) -> Pin<Box<dyn Future<Output = T> + Send>> {
    Box::pin(future)
}

/// Starts a job on a thread where it may block, as [`tokio::task::spawn_blocking`] does.
pub fn spawn_blocking<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let job: Box<dyn FnOnce() -> T + Send> = Box::new(job);
    tokio::task::spawn_blocking(job)
}
