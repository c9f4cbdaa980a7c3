//! What asynchronous methods of a port return.

use std::pin::Pin;

/// A future behind a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
