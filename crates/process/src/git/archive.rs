//! Commits that no branch holds any more and nobody should lose: a reference of ours keeps each, outside of the branches.

use super::{Oid, Repo, refs::full_name};
use crate::Result;

/// Below it the references stand; git lists and fetches none of them unless it is asked to.
const BELOW: &str = "refs/switchboard/archive/";

impl Repo {
    /// Keeps a commit under a name; another one of this name gives way. Repeating it is fine.
    ///
    /// # Errors
    /// [`crate::Error::BadName`], [`crate::Error::Git`].
    pub fn archive(&self, name: &str, commit: &Oid) -> Result<()> {
        full_name(name)?;
        self.call(["update-ref", "--no-deref", "-m", "switchboard", &format!("{BELOW}{name}"), commit.as_str()]).done()
    }

    /// The commits that are kept, by their names, in the order of these.
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
