//! Archived commits: commits that no branch contains any more, each kept by a reference of ours outside of the branches.

use super::{Oid, Repo, refs::full_name};
use crate::Result;

/// Prefix of the references; git lists and fetches them only on request.
const BELOW: &str = "refs/switchboard/archive/";

impl Repo {
    /// Keeps a commit under a name, replacing another one of this name. Repeating it is fine.
    ///
    /// # Errors
    /// [`crate::Error::BadName`], [`crate::Error::Git`].
    pub fn archive(&self, name: &str, commit: &Oid) -> Result<()> {
        full_name(name)?;
        self.call(["update-ref", "--no-deref", "-m", "switchboard", &format!("{BELOW}{name}"), commit.as_str()]).done()
    }

    /// Returns the kept commits with their names, sorted by name.
    ///
    /// # Errors
    /// [`crate::Error::Git`].
    pub fn archived(&self) -> Result<Vec<(String, Oid)>> {
        let text = self.call(["for-each-ref", "--format=%(objectname) %(refname)", BELOW]).text()?;
        let parse = |line: &str| {
            let (oid, name) = line.split_once(' ')?;
            Some((name.strip_prefix(BELOW)?.to_owned(), Oid::parse(oid).ok()?))
        };
        Ok(text.lines().filter_map(parse).collect())
    }
}
