//! Starts processes for the chores: cargo, git and the binary under measure.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// Makes a command in a folder, with empty standard input.
#[expect(clippy::disallowed_methods, reason = "chores are not shipped: they start cargo, git and the binary itself")]
pub(crate) fn command(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs a command to its end and returns what it printed.
///
/// # Errors
/// When the command can't be started or does not exit with 0; its output is in the error.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("{command:?} does not start"))?;
    if !output.status.success() {
        bail!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}
