//! Puts files of one commit into the tree of another, and takes them out again: for a checkout of our own only.

use std::path::PathBuf;

use super::{Git, parse_raw};
use crate::error::Error;

/// Commits that a search for old versions of files looks at.
const PAST: &str = "500";
/// Refs of runs, which hold what is to be judged: their branches, and what they archive.
const OURS: [&str; 2] = ["--exclude=refs/heads/switchboard/*", "--exclude=refs/switchboard/*"];

// === impl Git ===

impl Git {
    /// Writes files of a commit into the work tree and the index.
    pub(crate) fn put(&self, commit: &str, paths: &[&str]) -> Result<(), Error> {
        for paths in paths.chunks(super::PATHS_OF_A_CALL) {
            self.ask(&[&["checkout", "--quiet", "--force", commit, "--"], paths].concat())?;
        }
        Ok(())
    }

    /// Makes index and tracked files those of a commit; untracked ones stay.
    pub(crate) fn reset_to(&self, commit: &str) -> Result<(), Error> {
        self.ask(&["reset", "--quiet", "--hard", commit, "--"]).map(drop)
    }

    /// Lists versions that commits of all branches but ours made of files: commit, path, object.
    pub(crate) fn past_blobs(&self, paths: &[&str]) -> Result<Vec<(String, PathBuf, String)>, Error> {
        let call = [
            "log",
            "--raw",
            "-z",
            "--no-renames",
            "--no-abbrev",
            "--no-ext-diff",
            "--relative",
            "--format=%x01%H",
            "-m",
            "-n",
            PAST,
        ];
        let out = self.ask(&[&call[..], &OURS, &["--glob=*", "--"], paths].concat())?;
        let mut found = Vec::new();
        for commit in out.split(|byte| *byte == 1).filter(|part| !part.is_empty()) {
            let cut = commit.iter().position(|byte| [0, b'\n'].contains(byte)).unwrap_or(commit.len());
            let id = String::from_utf8_lossy(&commit[..cut]).trim().to_owned();
            let rest: Vec<u8> = commit[cut..].iter().copied().skip_while(|byte| *byte != b':').collect();
            for change in parse_raw(&rest)? {
                found.extend(change.after.blob.map(|blob| (id.clone(), change.path, blob)));
            }
        }
        Ok(found)
    }
}
