//! Branch of a run that a team leads; it moves to what each part has merged.

use switchboard_process::git::Oid;
use switchboard_protocol::id::RunId;

use super::Driver;
use crate::Error;
use crate::work::RUNS;

// === impl Driver ===

impl Driver {
    /// Returns the name of the run's branch.
    pub(super) fn branch(&self) -> String {
        format!("switchboard/{}", self.run)
    }

    /// Creates the branch at the run's start commit, unless it exists.
    pub(super) async fn make_branch(&self) -> Result<(), Error> {
        let row = self.dispatch.world.store.get(RUNS, &[self.run.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(self.run.to_string()))?;
        let (base, branch) = (Oid::parse(row.try_text("base")?)?, self.branch());
        let made = self.dispatch.world.git(move |git| match git.branch(&branch)? {
            Some(_) => Ok(()),
            None => git.update_branch(&branch, &base, None),
        });
        made.await
    }

    /// Moves the branch to that of a part, if the part merged anything.
    pub(super) async fn take_over(&self, part: &RunId) -> Result<(), Error> {
        let row = self.dispatch.world.store.get(RUNS, &[part.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(part.to_string()))?;
        let (from, branch) = (row.try_text("branch")?.to_owned(), self.branch());
        let moved = self.dispatch.world.git(move |git| {
            let (Some(new), old) = (git.branch(&from)?, git.branch(&branch)?) else { return Ok(()) };
            match old {
                Some(old) if old == new || !git.is_ancestor(&old, &new)? => Ok(()),
                old => git.update_branch(&branch, &new, old.as_ref()),
            }
        });
        moved.await
    }
}
