//! Return type of a port's asynchronous methods.

use std::pin::Pin;

/// A future behind a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
