//! The chores' own spawning: cargo, git and the binary under measure.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// A command in a folder, with nothing on standard input.
#[expect(clippy::disallowed_methods, reason = "chores are not shipped: they start cargo, git and the binary itself")]
pub(crate) fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs it to its end and returns what it printed.
///
/// # Errors
/// When it can't be started or does not end with 0; what it said is in the error.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("{command:?} does not start"))?;
    if !output.status.success() {
        bail!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}
