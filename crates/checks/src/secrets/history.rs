//! Secrets in the history of a repository: what was committed once can be read for ever.

use std::collections::HashSet;
use std::path::Path;

use protocol::finding::{Finding, SkippedFile};

use super::Secretscan;
use crate::git::{Blob, Git};
use crate::source::{Base, Source, decoded, shown};
use crate::{Error, Limits};

/// A secret of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastSecret {
    /// The oldest commit whose version of the file holds it, in full.
    pub commit: String,
    /// The finding; its path is that of the file in the commit.
    pub finding: Finding,
}

/// What a repository's history holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretHistory {
    /// By age, oldest first; a secret that stands in many versions of a file is told once.
    pub secrets: Vec<PastSecret>,
    /// Secrets beyond `Limits::findings`, counted only.
    pub left_out: u64,
    /// Commits that were reached.
    pub commits: u64,
    /// Versions of files that were looked at, each once.
    pub blobs_checked: u64,
    /// Versions that were not looked at; the path is followed by `@` and the commit.
    pub skipped: Vec<SkippedFile>,
    /// Skipped versions beyond `Limits::skipped`, counted only.
    pub skipped_left_out: u64,
}

/// Looks for secrets in every version of every file that a branch, a tag or the stash reaches.
///
/// `.secretscanignore` counts as the current commit has it. A secret itself is in no field of the answer.
///
/// # Errors
///
/// `git.not-a-repository` where there is no repository, and what git says where it breaks.
pub fn secret_history(root: &Path, limits: &Limits) -> Result<SecretHistory, Error> {
    let missing = || Error::NotARepository { root: root.display().to_string() };
    let git = Git::open(root, limits)?.ok_or_else(missing)?;
    let scan = Secretscan::new(&ignore_file(&git)?);
    let (blobs, mut history, mut told) = (git.blobs(), SecretHistory::default(), HashSet::new());
    let (reached, commits) = git.reached()?;
    history.commits = commits;
    for version in reached {
        let path = shown(&version.path);
        let why = match blobs.read(&version.blob)? {
            _ if scan.leaves_out(&path) => "named in .secretscanignore".into(),
            Blob::TooLarge => format!("larger than {} MB", limits.file_bytes / 1_000_000),
            Blob::Missing => "its content is not in the repository".into(),
            Blob::Content(bytes) => match decoded(bytes) {
                Some(text) => {
                    let findings = Secretscan::findings(&Source::new(path, text, Base::Nothing));
                    history.tell(&version.commit, findings, &mut told, limits);
                    continue;
                }
                None => "binary".into(),
            },
        };
        history.skip(SkippedFile { path: format!("{path}@{}", version.commit), why }, limits);
    }
    Ok(history)
}

/// Reads `.secretscanignore` of the current commit; there may be none of either.
fn ignore_file(git: &Git) -> Result<String, Error> {
    let Some(head) = git.commit("HEAD")? else {
        return Ok(String::new());
    };
    let Some(blob) = git.blob_at(&head, ".secretscanignore")? else {
        return Ok(String::new());
    };
    Ok(match git.blobs().read(&blob)? {
        Blob::Content(text) => String::from_utf8_lossy(&text).into_owned(),
        Blob::TooLarge | Blob::Missing => String::new(),
    })
}

// === impl SecretHistory ===

impl SecretHistory {
    fn tell(&mut self, commit: &str, findings: Vec<Finding>, told: &mut HashSet<String>, limits: &Limits) {
        self.blobs_checked += 1;
        for finding in findings {
            if !told.insert(finding.fingerprint.clone()) {
                continue;
            }
            if self.secrets.len() < limits.findings {
                self.secrets.push(PastSecret { commit: commit.to_owned(), finding });
            } else {
                self.left_out += 1;
            }
        }
    }

    fn skip(&mut self, file: SkippedFile, limits: &Limits) {
        if self.skipped.len() < limits.skipped {
            self.skipped.push(file);
        } else {
            self.skipped_left_out += 1;
        }
    }
}
