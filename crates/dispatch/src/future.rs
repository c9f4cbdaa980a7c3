//! Return type of a port's asynchronous methods, and of large functions. The code of an `async fn` is compiled in each
//! crate that awaits it, and its state is a part of its caller's; behind a trait object, it is compiled once, here.

use std::pin::Pin;

/// A future behind a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
