//! Role files: the shipped ones, those of the user, and the restrictions of a trusted project.
//!
//! A role file is Markdown with a frontmatter; its text is the role's prompt. [`Roles::read`] combines the files: a
//! user's file replaces the fields that it names of a shipped role, or adds a role; a project's file can only restrict
//! one. [`may_write`] checks a changed file against a role's rights, [`form`] describes the answer that a worker must
//! give, [`role_of`] and [`tool_of`] read names that agents use.

mod bad;
mod file;
mod merge;
mod names;
mod prompt;
mod rights;
mod role;
mod shipped;
mod zone;

use std::sync::LazyLock;

use switchboard_protocol::error::near_matches;
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::way::RoleId;

pub use bad::{BadRole, Reason, UnknownRole};
pub use file::{MAX_ROLE_BYTES, RoleFile};
pub use names::{role_of, shipped_role_of, tool_of};
pub use prompt::form;
pub use rights::{Denied, Why, may_write};
pub use role::{Origin, Role};
pub use zone::{way_zone_of, zone_of};

/// All roles of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Roles {
    list: Vec<Role>,
    bad: Vec<BadRole>,
}

// === impl Roles ===

impl Roles {
    /// Returns the shipped roles. Their files are read once.
    #[must_use]
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Roles> = LazyLock::new(|| Roles { list: shipped::roles(), bad: Vec::new() });
        &SHIPPED
    }

    /// Returns the shipped roles, changed by the user's files and then by those of a trusted project. [`Roles::bad`]
    /// lists unusable files; [`Roles::find`] refuses their roles.
    #[must_use]
    pub fn read(user: &[RoleFile<'_>], project: &[RoleFile<'_>]) -> Self {
        let mut roles = Self::shipped().clone();
        merge::add(&mut roles.list, &mut roles.bad, user, Origin::User);
        merge::add(&mut roles.list, &mut roles.bad, project, Origin::Project);
        let Self { list, bad } = &mut roles;
        list.retain(|role| bad.iter().all(|bad| *bad.role != *role.id.as_str()));
        roles
    }

    /// Returns all usable roles, the shipped ones first.
    #[must_use]
    pub fn list(&self) -> &[Role] {
        &self.list
    }

    /// Returns the unusable files.
    #[must_use]
    pub fn bad(&self) -> &[BadRole] {
        &self.bad
    }

    /// Returns the role with this name.
    ///
    /// # Errors
    /// When one of its files is unusable, or there is no such role; names the nearest ones.
    pub fn find(&self, id: &RoleId) -> Result<&Role, UnknownRole> {
        if let Some(bad) = self.bad.iter().find(|bad| *bad.role == *id.as_str()) {
            return Err(UnknownRole::Bad(Box::new(bad.clone())));
        }
        self.list.iter().find(|role| role.id == *id).ok_or_else(|| UnknownRole::None {
            name: id.to_string(),
            near: near_matches(id.as_str(), self.list.iter().map(|role| role.id.as_str()))
                .into_iter()
                .map(ToOwned::to_owned)
                .collect(),
        })
    }

    /// Returns a shipped role, as changed by the files of the user and the project.
    ///
    /// # Errors
    /// When one of its files is unusable.
    pub fn of(&self, name: RoleName) -> Result<&Role, UnknownRole> {
        self.find(&name.id())
    }
}

#[cfg(test)]
mod tests;
