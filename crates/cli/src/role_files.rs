//! Role files: `roles/*.md` in the user's settings folder, which replace or add roles, and `.switchboard/roles/*.md` of a repository, which
//! narrow them once the user has trusted exactly these files.

use std::path::Path;

use switchboard_daemon::FOLDER;
use switchboard_daemon::roles::{BadRole, Origin, Role, RoleFile, Roles};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::Digest;
use switchboard_protocol::verb::run::RoleChoice;

use crate::definitions;

/// Folder of the role files, in the settings folder and in `.switchboard`.
const ROLES: &str = "roles";

/// Maximum number of files read from one folder; more are an error.
const MOST_FILES: usize = 256;

/// One role file's content and origin.
#[derive(Debug, Clone)]
struct Source {
    path: String,
    text: String,
}

/// The role files of the user and of a repository.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoleFiles {
    user: Vec<Source>,
    project: Vec<Source>,
    is_project_trusted: bool,
    unreadable: Vec<Failure>,
}

// === impl RoleFiles ===

impl RoleFiles {
    /// Reads the files of both folders; none if a folder is missing.
    pub(crate) fn read(settings: Option<&Path>, root: Option<&Path>) -> Self {
        let mut found = Self::default();
        if let Some(settings) = settings {
            found.user = read(&settings.join(ROLES), &mut found.unreadable);
        }
        let of_project = root.map(|root| root.join(FOLDER).join(ROLES));
        match of_project {
            // A symlink in place of the folder is accepted only for the user's own.
            Some(folder) if folder.is_symlink() => found.unreadable.push(unusable(&folder, "its folder is a link")),
            Some(folder) => found.project = read(&folder, &mut found.unreadable),
            None => {}
        }
        found
    }

    /// Sets whether the user trusts the repository's files.
    pub(crate) fn trusted(mut self, is_project_trusted: bool) -> Self {
        self.is_project_trusted = is_project_trusted;
        self
    }

    /// Returns what `switchboard trust` shows and pins of the repository's files; `root` is the work tree.
    pub(crate) fn pinned(&self, root: &Path) -> Vec<(String, Vec<String>)> {
        let pin = |source: &Source| {
            let path = Path::new(&source.path);
            let path = path.strip_prefix(root).unwrap_or(path).display().to_string();
            (format!("role file {path}"), vec![Digest::of(source.text.as_bytes()).to_string()])
        };
        self.project.iter().map(pin).collect()
    }

    /// Returns true if the repository has role files that the user has not trusted.
    pub(crate) fn has_untrusted(&self) -> bool {
        !self.project.is_empty() && !self.is_project_trusted
    }

    /// Returns the roles in force.
    pub(crate) fn roles(&self) -> Roles {
        let project: &[Source] = if self.is_project_trusted { &self.project } else { &[] };
        Roles::read(&files(&self.user), &files(project))
    }

    /// Returns the failures of files that can't be used.
    pub(crate) fn bad(&self, roles: &Roles) -> Vec<Failure> {
        self.unreadable.iter().cloned().chain(roles.bad().iter().map(failure)).collect()
    }

    /// Returns the roles that the files define; built-in roles that are unchanged are left out.
    ///
    /// # Errors
    /// `role.bad-file` for the first file that can't be used.
    pub(crate) fn choices(&self) -> Result<Vec<RoleChoice>, Failure> {
        let roles = self.roles();
        if let Some(first) = self.bad(&roles).into_iter().next() {
            return Err(first);
        }
        let is_known = |role: &&Role| {
            role.origin != Origin::Shipped && Roles::shipped().list().iter().any(|shipped| shipped.id == role.id)
        };
        Ok(roles.list().iter().filter(is_known).map(choice).collect())
    }
}

fn files(sources: &[Source]) -> Vec<RoleFile<'_>> {
    sources.iter().map(|source| RoleFile { file: &source.path, text: &source.text }).collect()
}

fn read(folder: &Path, unreadable: &mut Vec<Failure>) -> Vec<Source> {
    let mut files = match definitions::files(folder) {
        Ok(files) => files,
        Err(error) => {
            unreadable.push(unusable(folder, "its folder can't be read").because(&error));
            return Vec::new();
        }
    };
    files.sort();
    if files.len() > MOST_FILES {
        let what = format!("its folder has {} files, and at most {MOST_FILES} are read", files.len());
        unreadable.push(unusable(folder, &what));
        files.truncate(MOST_FILES);
    }
    let mut sources = Vec::new();
    for path in files {
        match definitions::contents(&path, folder) {
            Ok(text) => sources.push(Source { path: path.display().to_string(), text }),
            Err(what) => unreadable.push(unusable(&path, &what)),
        }
    }
    sources
}

fn unusable(path: &Path, what: &str) -> Failure {
    Failure::new("role.bad-file", format!("a role file can't be used: {what}")).at(path.display().to_string())
}

fn failure(bad: &BadRole) -> Failure {
    let place = bad.line.map_or_else(|| bad.file.to_string(), |line| format!("{}:{line}", bad.file));
    Failure::new("role.bad-file", format!("the file of the role {} can't be used: {}", bad.role, bad.reason))
        .at(place)
        .hint(bad.hint.to_string())
}

/// Builds a run's choice for a role.
fn choice(role: &Role) -> RoleChoice {
    RoleChoice {
        model: role.model.clone(),
        instructions: role.prompt.clone(),
        fallback_models: role.fallback_models.clone(),
        temperature: role.temperature.map(|temperature| temperature.to_string()),
        disabled: role.is_disabled,
        rights: Some(role.rights.clone()),
        limits: Some(role.limits),
        ..RoleChoice::new(role.id.clone())
    }
}
