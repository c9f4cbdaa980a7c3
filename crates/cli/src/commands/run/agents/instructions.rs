//! Builds an agent's instructions for every task: the repository's `AGENTS.md`, unless the agent reads it itself, and those of its settings.

use std::io::Read as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use switchboard_agents::catalog;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, fold};

use crate::available::Available;
use crate::context::Context;
use crate::session::work_tree;

/// File of a repository with instructions for all agents.
const SHARED: &str = "AGENTS.md";

/// Maximum size of a file of instructions in bytes: more would fill most of a small model's context.
const MAX_FILE_BYTES: u64 = 16 << 10;

/// Builds the instructions of an agent.
///
/// # Errors
/// `config.bad-value` for a file that the settings name and that can't be read or is too large.
pub(super) fn of(name: &AgentName, available: &Available, context: &Context) -> Result<String, Failure> {
    let mut parts = Vec::new();
    if let Some(root) = work_tree(context.folder()) {
        // `left_out` reports what is wrong with the file.
        parts.extend(shared(&fold(name.as_str()), &root).ok().flatten());
    }
    if let Some((agent, settings)) = available.described(name) {
        parts.extend(agent.instructions.clone());
        if let Some(file) = &agent.instructions_file {
            let path = settings.parent().unwrap_or(Path::new("/")).join(file);
            let text = read(&path).map_err(|error| {
                Failure::new("config.bad-value", format!("the instructions of {name} can't be read"))
                    .at(path.display().to_string())
                    .because(&error)
            })?;
            parts.push(text);
        }
    }
    let parts: Vec<_> = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    Ok(parts.join("\n\n"))
}

/// Returns why an agent does not get `AGENTS.md` although it should; `None` if it gets it, reads it itself, or there is none.
pub(super) fn left_out(name: &AgentName, context: &Context) -> Option<String> {
    let error = shared(&fold(name.as_str()), &work_tree(context.folder())?).err()?;
    Some(format!("{name} is not told {SHARED}: {error}"))
}

/// Reads `AGENTS.md` for an agent that neither reads it itself nor has a file of its own that names it; `None` if there is none.
fn shared(name: &str, root: &Path) -> std::io::Result<Option<String>> {
    let names_it = |file| read(&root.join(file)).is_ok_and(|text| text.contains(SHARED));
    if catalog::reads_agents_md(name) || catalog::own_file(name).is_some_and(names_it) {
        return Ok(None);
    }
    match read(&root.join(SHARED)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Reads a regular file. Symlinks are not followed: a repository could link to a user's file, which would then reach an agent.
fn read(path: &Path) -> std::io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP => std::io::Error::other("it is a link, and links are not followed"),
        error => error.into(),
    });
    let file = std::fs::File::from(opened?);
    let found = file.metadata()?;
    if !found.is_file() || found.len() > MAX_FILE_BYTES {
        return Err(std::io::Error::other(format!("it is no plain file of at most {MAX_FILE_BYTES} bytes")));
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_md_goes_to_those_who_would_not_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let shared = |name: &str| shared(name, root).unwrap();
        assert_eq!(shared("mine"), None);
        std::fs::write(root.join(SHARED), "be brief").unwrap();

        assert_eq!(shared("claude").as_deref(), Some("be brief"));
        assert_eq!(shared("mine").as_deref(), Some("be brief"));
        assert_eq!(shared("codex"), None);
        std::fs::write(root.join("CLAUDE.md"), "@AGENTS.md").unwrap();
        assert_eq!(shared("claude"), None);
    }

    #[test]
    fn a_link_is_not_followed_and_what_is_left_out_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(SHARED);
        std::fs::write(folder.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink("secret", &file).unwrap();
        assert!(shared("mine", folder.path()).is_err());

        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, "x".repeat(usize::try_from(MAX_FILE_BYTES).unwrap() + 1)).unwrap();

        assert!(shared("mine", folder.path()).unwrap_err().to_string().contains("at most 16384 bytes"));
        assert_eq!(shared("codex", folder.path()).unwrap(), None, "it reads the file itself");
    }
}
