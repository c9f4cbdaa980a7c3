//! Moves handled files to `archive/YYYY-MM/…` or `set-aside/…`, below the path that they had.

use std::io;

use crate::Folder;
use switchboard_protocol::error::Failure;
use switchboard_protocol::time::Millis;

use crate::Error;

/// File in one of the protocol's folders.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    /// Folder of the file.
    pub(super) folder: &'a Folder,
    /// Path of the folder below `.switchboard/`; empty for that folder itself.
    pub(super) path: &'a str,
    /// Name of the file.
    pub(super) name: &'a str,
}

// === impl At ===

impl At<'_> {
    fn folders(&self) -> impl Iterator<Item = &str> {
        self.path.split('/').filter(|name| !name.is_empty())
    }

    /// Returns the path below `.switchboard/`.
    pub(super) fn text(&self) -> String {
        if self.path.is_empty() { self.name.to_owned() } else { format!("{}/{}", self.path, self.name) }
    }
}

/// Archives a file.
pub(super) fn archive(root: &Folder, at: At<'_>, now: Millis) -> Result<(), Error> {
    let month = now.to_string().chars().take(7).collect::<String>();
    let to = root.make_all(["archive", &month].into_iter().chain(at.folders()))?;
    shift(at, &to, now)?;
    Ok(())
}

/// Sets a file aside with the reason beside it.
pub(super) fn set_aside(root: &Folder, at: At<'_>, failure: &Failure, now: Millis) -> Result<(), Error> {
    let to = root.make_all(["set-aside"].into_iter().chain(at.folders()))?;
    let Some(name) = shift(at, &to, now)? else { return Ok(()) };
    let failure = if failure.place.is_empty() { failure.clone().at(at.text()) } else { failure.clone() };
    // The record has the reason as well, so no sync is needed.
    to.replace_unsynced(&format!("{name}.reason"), (serde_json::to_string_pretty(&failure)? + "\n").as_bytes())?;
    Ok(())
}

/// Moves a file under its name, with the time added if the name is taken; `None` if the file no longer exists.
fn shift(at: At<'_>, to: &Folder, now: Millis) -> Result<Option<String>, Error> {
    let stem = at.name.strip_suffix(".json").unwrap_or(at.name);
    let later = (0..100).map(|more| format!("{stem}.{}.json", now.0 + more));
    match at.folder.move_to(at.name, to, std::iter::once(at.name.to_owned()).chain(later)) {
        // A power cut may bring the file back; it is then known from the record, and moved again.
        Ok(name) => Ok(Some(name)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
