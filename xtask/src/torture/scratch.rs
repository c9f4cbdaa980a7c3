//! Folders for files that are thrown away: in memory where that can be had, because a sync there costs nothing.

use std::path::Path;

use anyhow::Context as _;
use tempfile::TempDir;

/// A fresh folder.
///
/// # Errors
/// When it can't be made.
pub(super) fn folder() -> anyhow::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    made.context("a scratch folder")
}
