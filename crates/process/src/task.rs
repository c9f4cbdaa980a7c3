//! Starts tasks of the async runtime.

use std::pin::Pin;

use tokio::task::JoinHandle;

/// A future whose type is forgotten.
pub type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Starts a task, as [`tokio::spawn`] does, whose code for a task is compiled anew for each type of future: about 1,500 lines
/// of the compiler's intermediate code. Here it is compiled once for each type of result.
pub fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let future: Boxed<T> = Box::pin(future);
    tokio::spawn(future)
}
