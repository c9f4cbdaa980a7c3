//! Folders for temporary files: in memory if possible, because a sync there costs nothing.

use std::path::Path;

use anyhow::Context as _;
use tempfile::TempDir;

/// Creates a new folder.
///
/// # Errors
/// When it can't be created.
pub(super) fn folder() -> anyhow::Result<TempDir> {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    made.context("a scratch folder")
}
