//! Checks whether a role may change a file.

use switchboard_protocol::role::{Rights, Zone};
use switchboard_protocol::run::way::RoleId;

use super::zone_of;
use crate::paths::{self, Pattern};

/// Folders that no role may change: git's, Switchboard's own, and the evidence of a plan, which is written about a team
/// and not by it.
const PROTECTED: [&str; 3] = [".git", ".switchboard", ".swarm"];

/// A change that a role's rights forbid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{role} may not change {path}: {why}")]
pub struct Denied {
    /// Name of the role.
    pub role: String,
    /// Path of the file.
    pub path: String,
    /// Why the change is forbidden.
    pub why: Why,
}

/// Why a role may not change a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The role may change no files.
    #[error("it only reads")]
    ReadOnly,
    /// The path could leave the repository.
    #[error("{0}")]
    Unsafe(#[source] paths::UnsafePath),
    /// The path lies in a folder that no role may change.
    #[error("nobody changes `{0}/`")]
    Protected(&'static str),
    /// The role's rights don't include the zone.
    #[error("it is in the zone `{0}`")]
    Zone(Zone),
    /// The path lies in none of the globs that the role is limited to.
    #[error("it lies outside of {}", .0.join(", "))]
    Outside(Vec<String>),
    /// The path lies in a glob that the role must not change.
    #[error("`{0}` leaves it out")]
    Except(String),
}

/// Checks a changed file against the rights of a role. The path is relative to the repository's root.
///
/// # Errors
/// Why the role may not change it.
pub fn may_write(role: &RoleId, rights: &Rights, path: &str) -> Result<(), Denied> {
    check(rights, path).map_err(|why| Denied { role: role.to_string(), path: path.to_owned(), why })
}

fn check(rights: &Rights, path: &str) -> Result<(), Why> {
    if rights.is_read_only() {
        return Err(Why::ReadOnly);
    }
    paths::check(path).map_err(Why::Unsafe)?;
    let path = path.replace('\\', "/");
    // A file system may treat `.GIT` as `.git`.
    let is_in = |folder: &&str| path.split('/').any(|part| part.eq_ignore_ascii_case(folder));
    if let Some(folder) = PROTECTED.into_iter().find(|folder| is_in(folder)) {
        return Err(Why::Protected(folder));
    }
    let zone = zone_of(&path);
    if !rights.write.zones.contains(&zone) {
        return Err(Why::Zone(zone));
    }
    let covers = |glob: &&String| Pattern::parse(glob).is_ok_and(|pattern| pattern.covers(&path));
    if !rights.write.only.is_empty() && !rights.write.only.iter().any(|glob| covers(&glob)) {
        return Err(Why::Outside(rights.write.only.clone()));
    }
    rights.write.except.iter().find(covers).map_or(Ok(()), |glob| Err(Why::Except(glob.clone())))
}
