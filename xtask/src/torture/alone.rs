//! One torture of stores at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The file layer, its tape and its faults belong to the whole process: one user of stores at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits until nobody else works on stores in this process.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
