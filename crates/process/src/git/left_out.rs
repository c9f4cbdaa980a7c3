//! What the user's git would do at a commit or merge and these calls don't: hooks and signatures.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::repo::Repo;
use crate::Result;

/// The hooks that `git commit` and `git merge` run.
const HOOKS: [&str; 7] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-merge-commit",
    "post-merge",
    "post-checkout",
];

/// The scope that git reports for settings of the command line, which are ours.
const OURS: &str = "command";

impl Repo {
    /// Returns a sentence for each configured feature that is left out: executable hooks, and `commit.gpgSign`. No call here runs a hook or
    /// a signing program, because both are commands that no person was asked about.
    ///
    /// # Errors
    /// [`crate::Error::Git`].
    pub fn left_out(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let hooks = self.hooks()?;
        if !hooks.is_empty() {
            let verb = if hooks.len() == 1 { "hook was" } else { "hooks were" };
            found.push(format!("the {verb} not run: {}", hooks.join(", ")));
        }
        if self.users_setting(&["--type=bool"], "commit.gpgSign")?.as_deref() == Some("true") {
            found.push("commit.gpgSign is set; the commits are not signed".to_owned());
        }
        Ok(found)
    }

    /// Returns the hooks that would run.
    fn hooks(&self) -> Result<Vec<&'static str>> {
        let folder = match self.users_setting(&["--type=path"], "core.hooksPath")? {
            // A relative path starts at the folder in which hooks run.
            Some(path) => self.root().join(path),
            None => self.common_dir().join("hooks"),
        };
        let runs = |path: PathBuf| {
            fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        };
        Ok(HOOKS.into_iter().filter(|hook| runs(folder.join(hook))).collect())
    }

    /// Returns the user's own value of a setting, as opposed to those that every call here sets; `None` if there is none.
    fn users_setting(&self, kind: &[&str], name: &str) -> Result<Option<String>> {
        let mut call = self.call(["config", "--show-scope"]);
        for arg in kind.iter().chain(&["--get-all", name]) {
            call = call.arg(*arg);
        }
        let (_, answer) = call.answer(&[0, 1])?;
        let text = String::from_utf8_lossy(&answer);
        let values = text.lines().filter_map(|line| line.split_once('\t'));
        Ok(values.rev().find(|(scope, _)| *scope != OURS).map(|(_, value)| value.to_owned()))
    }
}
