//! Agents that are defined by Markdown files: `agents/*.md` in the user's settings folder, and `.switchboard/agents/*.md` of a repository.
//!
//! A definition is a configured agent with instructions, its own model, and at most that agent's tools and rights. A repository's definitions count
//! once the user has trusted exactly these files.

mod file;

use std::path::{Path, PathBuf};

use switchboard_protocol::definition::AgentScope;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, Digest, fold};
use switchboard_protocol::isolation::{Isolation, Tool};

pub(crate) use file::{Bad, contents};

/// Folder of the definition files, in the settings folder and in `.switchboard`.
const FOLDER: &str = "agents";

/// Maximum number of files read from one folder; more are an error.
const MOST_FILES: usize = 256;

/// Where a definition comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The user's settings folder.
    User,
    /// The repository.
    Project,
}

/// An agent that a file defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    /// Name by which tasks request the agent.
    pub(crate) name: AgentName,
    /// What the agent is for.
    pub(crate) description: String,
    /// Tools that the agent is limited to; empty for all tools of the configured agent.
    pub(crate) tools: Vec<Tool>,
    /// Model, in the agent's own name for it.
    pub(crate) model: Option<String>,
    /// Configured agent behind the definition; the run's agent if not set.
    pub(crate) agent: Option<AgentName>,
    /// Minimum isolation of the agent's workers.
    pub(crate) isolation: Isolation,
    /// Instructions given to the agent before its task.
    pub(crate) instructions: String,
    /// Path of the file.
    pub(crate) path: PathBuf,
    /// Whether the file is the user's or the repository's.
    pub(crate) origin: Origin,
}

/// All definitions that were found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Definitions {
    /// Usable definitions; a project's one hides a user's of the same name.
    pub(crate) list: Vec<Definition>,
    /// Files that can't be used.
    pub(crate) bad: Vec<Bad>,
}

// === impl Origin ===

impl Origin {
    /// Returns the word for the origin.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

// === impl Definition ===

impl Definition {
    /// Returns what `switchboard trust` pins: the complete content of the definition.
    fn pinned(&self, root: &Path) -> (String, Vec<String>) {
        let path = self.path.strip_prefix(root).unwrap_or(&self.path).display().to_string();
        let said = serde_json::json!([
            self.description,
            self.tools,
            self.model,
            self.agent,
            self.isolation,
            self.instructions
        ]);
        let agent = self.agent.iter().map(|agent| format!("agent {agent}"));
        let words = std::iter::once(path).chain(agent).chain([Digest::of(said.to_string().as_bytes()).to_string()]);
        (format!("definition of agent {}", self.name), words.collect())
    }
}

// === impl Definitions ===

impl Definitions {
    /// Reads the files of a folder; none if the folder is missing. A symlink in place of the folder is accepted only for the user's own.
    pub(crate) fn read(settings: &Path, origin: Origin) -> Self {
        let folder = settings.join(FOLDER);
        let mut found = Self::default();
        if origin == Origin::Project && folder.is_symlink() {
            let failure = file::refused(&folder, None, "its folder is a link");
            found.bad.push(Bad { name: String::new(), failure });
            return found;
        }
        let mut files = match files(&folder) {
            Ok(files) => files,
            Err(error) => {
                let failure = file::refused(&folder, None, "its folder can't be read").because(&error);
                found.bad.push(Bad { name: String::new(), failure });
                return found;
            }
        };
        files.sort();
        if files.len() > MOST_FILES {
            let what = format!("its folder has {} files, and at most {MOST_FILES} are read", files.len());
            found.bad.push(Bad { name: String::new(), failure: file::refused(&folder, None, &what) });
            files.truncate(MOST_FILES);
        }
        for path in files {
            match file::read(&path, &folder, origin) {
                Ok(definition) => found.list.push(definition),
                Err(bad) => found.bad.push(*bad),
            }
        }
        found.refuse_twins();
        found
    }

    /// Rejects files that define the same name, because none of them can be preferred.
    fn refuse_twins(&mut self) {
        let names: Vec<_> = self.list.iter().map(|one| one.name.folded()).collect();
        let is_twin = |at: usize| names.iter().filter(|name| **name == names[at]).count() > 1;
        let twins: Vec<bool> = (0..names.len()).map(is_twin).collect();
        let (mut kept, mut refused) = (Vec::new(), Vec::new());
        for (definition, is_twin) in std::mem::take(&mut self.list).into_iter().zip(twins) {
            if is_twin { refused.push(definition) } else { kept.push(definition) }
        }
        self.list = kept;
        for twin in &refused {
            let is_other = |one: &&Definition| one.path != twin.path && one.name.folded() == twin.name.folded();
            let others = refused.iter().filter(is_other).map(|one| one.path.display().to_string());
            let what = format!("{} is defined by several files", twin.name);
            let mut failure = file::refused(&twin.path, None, &what);
            failure.cause.extend(others);
            self.bad.push(Bad { name: twin.name.to_string(), failure });
        }
    }

    /// Combines the definitions of both folders that count in a scope.
    pub(crate) fn within(user: Self, project: Self, scope: AgentScope) -> Self {
        let mut found = if scope.has_project() { project } else { Self::default() };
        if scope.has_user() {
            let is_taken: Vec<_> = found.names().map(fold).collect();
            let is_free = |name: &str| !is_taken.contains(&fold(name));
            found.list.extend(user.list.into_iter().filter(|one| is_free(one.name.as_str())));
            found.bad.extend(user.bad.into_iter().filter(|bad| is_free(&bad.name)));
        }
        found
    }

    /// Returns all names, including those of unusable files.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|one| one.name.as_str()).chain(self.bad.iter().map(|bad| bad.name.as_str()))
    }

    /// Returns the definition of a name; `None` if no file defines it.
    ///
    /// # Errors
    /// `agent.bad-definition` if the file that defines it can't be used.
    pub(crate) fn find(&self, name: &AgentName) -> Result<Option<&Definition>, Failure> {
        let wanted = name.folded();
        if let Some(bad) = self.bad.iter().find(|bad| fold(&bad.name) == wanted) {
            return Err(bad.failure.clone());
        }
        Ok(self.list.iter().find(|one| one.name.folded() == wanted))
    }

    /// Returns true if a file defines this agent without naming a configured one: the run's own agent plays it.
    pub(crate) fn is_without_agent(&self, name: &str) -> bool {
        self.list.iter().any(|one| one.name.folded() == fold(name) && one.agent.is_none())
    }

    /// Returns what `switchboard trust` shows and pins of the definitions; `root` is the work tree.
    pub(crate) fn pinned(&self, root: &Path) -> Vec<(String, Vec<String>)> {
        self.list.iter().map(|one| one.pinned(root)).collect()
    }
}

/// Lists the Markdown files of a folder.
pub(crate) fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect())
}

#[cfg(test)]
mod tests;
