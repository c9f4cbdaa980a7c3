//! Locks of maps that are shared.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A poisoned lock here means that a panic happened between two map operations, which leave the map whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
