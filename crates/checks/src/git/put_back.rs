//! Puts files of one commit into the tree of another, and removes them again; only for our own checkouts.

use std::path::PathBuf;

use super::{Git, parse_raw};
use crate::error::Error;

/// Maximum number of commits searched for old versions of files.
const PAST: &str = "500";
/// Options that exclude the refs of runs, which hold the changes under judgement: their branches, and what they
/// archive.
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

    /// Resets index and tracked files to a commit; untracked files stay.
    pub(crate) fn reset_to(&self, commit: &str) -> Result<(), Error> {
        self.ask(&["reset", "--quiet", "--hard", commit, "--"]).map(drop)
    }

    /// Lists the versions of files in commits of all refs except those of runs: commit, path, object.
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
