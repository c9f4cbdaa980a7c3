//! Builds the binaries to measure: the release build of the binary, and an optimised build of the bench itself.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::command;

/// The binary under measure, built or located on first use.
pub(super) struct Binary<'a> {
    root: &'a Path,
    named: Option<&'a Path>,
    found: Option<PathBuf>,
}

// === impl Binary ===

impl<'a> Binary<'a> {
    pub(super) const fn new(root: &'a Path, named: Option<&'a Path>) -> Self {
        Self { root, named, found: None }
    }

    /// Returns its path. Builds the binary if none was named.
    pub(super) fn path(&mut self) -> anyhow::Result<PathBuf> {
        let found = match self.found.take() {
            Some(found) => found,
            None => binary(self.root, self.named)?,
        };
        Ok(self.found.insert(found).clone())
    }
}

/// Returns the path of the binary under measure; builds it if none is named.
pub(super) fn binary(root: &Path, named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let built = root.join("target/release/switchboard");
    if named.is_none() {
        let mut cargo = command::command("cargo", root);
        command::output(cargo.args(["build", "--release", "--quiet", "--package", "switchboard-cli"]))?;
    }
    let binary = named.unwrap_or(&built);
    binary.canonicalize().with_context(|| binary.display().to_string())
}

/// Runs this command again, built with the profile `bench`, for figures that time code in this process.
pub(super) fn again_optimised(root: &Path) -> anyhow::Result<()> {
    let mut cargo = command::command("cargo", root);
    cargo.args(["run", "--quiet", "--profile", "bench", "--package", "xtask", "--"]).args(std::env::args_os().skip(1));
    let status = cargo.status().context("cargo")?;
    anyhow::ensure!(status.success(), "the optimised build of xtask ended with {status}");
    Ok(())
}
