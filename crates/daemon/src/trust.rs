//! The user's trust in commands that came with a repository: digests of command lists, pinned in the user's own folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use switchboard_process::env::Env;
use switchboard_process::git::Git;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::Digest;
use switchboard_protocol::plan::Plan;

use crate::error::io;
use crate::{Error, place, project};

/// A pinned digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Description for people of what was pinned.
    pub what: String,
    /// Commands as they were shown.
    pub commands: Vec<String>,
}

/// Commands that a plan brings, as they are shown before they are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    /// Commands, each with its purpose and its words.
    pub list: Vec<(String, Vec<String>)>,
    /// Digest that pins exactly this list.
    pub digest: Digest,
}

/// Extracts the commands from a plan's text (plan.json or plan.md), and the ones that set up its work trees if the repository's lock
/// files call for some.
///
/// # Errors
/// When the plan does not parse; the failure names the position.
pub fn commands(text: &str, source: &str, locks: &[String]) -> Result<Commands, Failure> {
    let plan = plan(text, source)?;
    let mut list = switchboard_dispatch::commands(&plan);
    list.extend(switchboard_dispatch::commands_of_locks(&plan, locks));
    let digest = switchboard_dispatch::commands_digest(&list);
    Ok(Commands { list, digest })
}

/// Returns the lock files that git tracks in the work tree that holds `folder`; none outside a repository.
///
/// # Errors
/// When git fails.
pub fn lock_files(folder: &Path) -> Result<Vec<String>, Failure> {
    match Git::find(Env::plain()).and_then(|git| git.discover(folder)) {
        Ok(repo) => Ok(switchboard_dispatch::lock_files_of(&repo)?),
        Err(switchboard_process::Error::NotARepository { .. }) => Ok(Vec::new()),
        Err(error) => Err(error.failure()),
    }
}

/// Reads a plan's text (plan.json or plan.md).
///
/// # Errors
/// When it does not parse; the failure names the position.
pub fn plan(text: &str, source: &str) -> Result<Plan, Failure> {
    switchboard_dispatch::read_plan(text, source)
}

/// The file of pins in the user's settings folder.
#[derive(Debug, Clone)]
pub struct Pins {
    path: PathBuf,
}

// === impl Pins ===

impl Pins {
    /// Sets the file; it need not exist.
    #[must_use]
    pub fn at(settings: &Path) -> Self {
        Self { path: settings.join("trust.json") }
    }

    /// Returns all pins by digest.
    ///
    /// # Errors
    /// `config.syntax` when the file does not parse.
    pub fn all(&self) -> Result<BTreeMap<String, Pin>, Error> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(io(&self.path)(error)),
        };
        serde_json::from_slice(&text).map_err(|error| {
            let failure = Failure::new("config.syntax", format!("the list of what you trust does not parse: {error}"));
            failure.at(self.path.display().to_string()).into()
        })
    }

    /// Returns true if a digest is pinned; a file that does not parse pins nothing.
    #[must_use]
    pub fn has(&self, digest: &Digest) -> bool {
        self.all().is_ok_and(|pins| pins.contains_key(&digest.to_string()))
    }

    /// Pins a list of commands.
    ///
    /// # Errors
    /// When the file can't be read or written.
    pub fn pin(&self, what: &str, commands: &Commands) -> Result<(), Error> {
        let shown = commands.list.iter().map(|(what, argv)| format!("{what}: {}", argv.join(" "))).collect();
        let mut pins = self.all()?;
        pins.insert(commands.digest.to_string(), Pin { what: what.to_owned(), commands: shown });
        self.write(&pins)
    }

    /// Removes a pin; returns true if there was one. The beginning of a digest is enough if it is unambiguous.
    ///
    /// # Errors
    /// When the file can't be read or written.
    pub fn revoke(&self, digest: &str) -> Result<bool, Error> {
        let mut pins = self.all()?;
        let wanted = digest.trim_start_matches("sha256:");
        let fits = |key: &&String| key.trim_start_matches("sha256:").starts_with(wanted);
        let found: Vec<_> = pins.keys().filter(fits).cloned().collect();
        let [key] = found.as_slice() else { return Ok(false) };
        pins.remove(key);
        self.write(&pins)?;
        Ok(true)
    }

    fn write(&self, pins: &BTreeMap<String, Pin>) -> Result<(), Error> {
        if let Some(folder) = self.path.parent() {
            place::private_folder(folder)?;
        }
        let text = serde_json::to_vec_pretty(pins).map_err(|error| io(&self.path)(error.into()))?;
        project::write_private(&self.path, &text)
    }
}
