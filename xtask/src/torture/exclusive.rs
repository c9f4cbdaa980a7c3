//! Allows one torture of stores at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lock for the file layer, its tape and its faults, which belong to the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits until no other torture works on stores in this process.
pub(super) fn wait_until_alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
