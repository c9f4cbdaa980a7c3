//! A copy of CPython's standard library: clean code that most machines have.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::json;
use tempfile::TempDir;

use super::session::{Session, findings};
use super::setup::Bench;
use crate::command::{command, output};

/// The copy, without packages installed beside the library.
#[derive(Debug)]
pub(crate) struct Library {
    folder: TempDir,
}

// === impl Library ===

impl Library {
    /// Copies the library of the `python3` in the path.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let script = "import sysconfig; print(sysconfig.get_path('stdlib'))";
        let path = output(command("python3", Path::new("/")).args(["-c", script]))?;
        let path = PathBuf::from(String::from_utf8(path)?.trim());
        let library = Self { folder: TempDir::new()? };
        copy(&path, library.root())?;
        Ok(library)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Lists the files with an ending, by name.
    pub(crate) fn files(&self, ending: &str) -> anyhow::Result<Vec<PathBuf>> {
        files(self.root(), ending)
    }

    /// Counts the findings of the checks for placeholders and secrets in the library, how many of them block, and its
    /// lines of Python.
    pub(crate) fn findings(&self, bench: &Bench<'_>) -> anyhow::Result<(usize, usize, usize)> {
        let mut session = Session::start(&bench.binary, self.root())?;
        let only = ["placeholder_scan", "secretscan"];
        let reply = session.ask(&json!({ "root": self.root(), "base": "none", "only": only }))?;
        let left_out: u64 = reply["reports"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|report| report["findings_left_out"].as_u64())
            .sum();
        let found = findings(&reply).count() + usize::try_from(left_out)?;
        let blocking = findings(&reply).filter(|finding| finding["blocks"] == true).count();
        let mut lines = 0;
        for file in self.files("py")? {
            lines += fs::read(file)?.iter().filter(|byte| **byte == b'\n').count();
        }
        Ok((found, blocking, lines))
    }
}

/// Lists the files with an ending below a folder, by name; links are not followed.
pub(crate) fn files(folder: &Path, ending: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && entry.path().extension().is_some_and(|this| this == ending) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        if kind.is_dir() && !["__pycache__", "site-packages", "dist-packages"].iter().any(|other| name == *other) {
            let inner = to.join(&name);
            fs::create_dir(&inner)?;
            copy(&entry.path(), &inner)?;
        } else if kind.is_file() && entry.metadata()?.len() < 5_000_000 {
            fs::copy(entry.path(), to.join(&name))?;
        }
    }
    Ok(())
}
