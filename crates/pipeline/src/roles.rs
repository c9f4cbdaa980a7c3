//! Roles as files: those that ship, those of the user, and what a trusted project takes away from them.
//!
//! A role file is Markdown with a frontmatter; its text is the role's prompt. [`Roles::read`] puts the files together: a file of the user replaces
//! what it names of a shipped role, or adds a role; a file of a project can only narrow one. [`may_write`] holds a changed file to a role's rights,
//! [`form`] is what a worker is told of its answer, [`role_of`] and [`tool_of`] read names that agents use.

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
    /// Returns the roles that ship. Their files are read once.
    #[must_use]
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Roles> = LazyLock::new(|| Roles { list: shipped::roles(), bad: Vec::new() });
        &SHIPPED
    }

    /// Returns the shipped roles, changed by the files of the user and then by those of a trusted project. [`Roles::bad`] lists the files that can't be
    /// used; [`Roles::find`] refuses their roles.
    #[must_use]
    pub fn read(user: &[RoleFile<'_>], project: &[RoleFile<'_>]) -> Self {
        let mut roles = Self::shipped().clone();
        merge::add(&mut roles.list, &mut roles.bad, user, Origin::User);
        merge::add(&mut roles.list, &mut roles.bad, project, Origin::Project);
        let Self { list, bad } = &mut roles;
        list.retain(|role| bad.iter().all(|bad| *bad.role != *role.id.as_str()));
        roles
    }

    /// All roles that can be used, the shipped ones first.
    #[must_use]
    pub fn list(&self) -> &[Role] {
        &self.list
    }

    /// The files that can't be used.
    #[must_use]
    pub fn bad(&self) -> &[BadRole] {
        &self.bad
    }

    /// The role of a name.
    ///
    /// # Errors
    /// When a file of it can't be used, or there is no such role; with the nearest names.
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

    /// A role that ships, as the user and the project left it.
    ///
    /// # Errors
    /// When a file of it can't be used.
    pub fn of(&self, name: RoleName) -> Result<&Role, UnknownRole> {
        self.find(&name.id())
    }
}

#[cfg(test)]
mod tests;
