//! Sources of rules: the default bundle, a user's folder instead of it, and a project's file in addition, which can
//! only restrict.

use std::fs;
use std::path::Path;

use regorus::unstable::{Rule, RuleHead};
use switchboard_protocol::id::Digest;

use crate::error::Error;

/// Maximum size of a file, in bytes.
pub const MAX_FILE_BYTES: u64 = 256 << 10;
/// Maximum number of files in a folder.
pub const MAX_FILES: usize = 32;
/// Path of a project's file, from the root of its work tree.
pub const PROJECT_FILE: &str = ".switchboard/policy.rego";

const DEFAULT: &str = include_str!("../bundle/default.rego");

/// File of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Name of the file, as shown in errors.
    pub name: String,
    /// Rego text of the file.
    pub text: String,
}

/// Rules that are compiled together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    base: Vec<File>,
    project: Option<File>,
}

impl Default for Bundle {
    /// Returns the rules in the tree of this crate.
    fn default() -> Self {
        Self { base: vec![File { name: "default.rego".to_owned(), text: DEFAULT.to_owned() }], project: None }
    }
}

impl Bundle {
    /// Reads the user's `*.rego` files instead of the default ones; returns the default ones if the folder has none or
    /// does not exist.
    ///
    /// # Errors
    /// A folder or file that can't be read, a file that is too large, or too many files.
    pub fn from_folder(folder: &Path) -> Result<Self, Error> {
        let broken = |source| Error::Read { path: folder.to_owned(), source };
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            entries => entries.map_err(broken)?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(broken)?.path();
            if path.extension().is_some_and(|extension| extension == "rego") {
                paths.push(path);
            }
        }
        if paths.is_empty() {
            return Ok(Self::default());
        }
        if paths.len() > MAX_FILES {
            let why = format!("it has {} files of rules; {MAX_FILES} are the most", paths.len());
            return Err(Error::Unfit { file: folder.display().to_string(), why });
        }
        paths.sort();
        let base = paths.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
        Ok(Self { base, project: None })
    }

    /// Adds the project's file if there is one.
    ///
    /// # Errors
    /// The file can't be read, is too large, or is a link: a link could make errors quote a file outside
    /// the repository.
    pub fn with_project(mut self, root: &Path) -> Result<Self, Error> {
        let path = root.join(PROJECT_FILE);
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(self),
            Err(source) => return Err(Error::Read { path, source }),
            Ok(found) if !found.is_file() => {
                return Err(Error::Unfit { file: PROJECT_FILE.to_owned(), why: "it is not a plain file".to_owned() });
            }
            Ok(_) => {}
        }
        self.project = Some(File { name: PROJECT_FILE.to_owned(), text: read(&path)?.text });
        Ok(self)
    }

    /// Creates a bundle from rules in memory.
    #[must_use]
    pub const fn from_files(base: Vec<File>, project: Option<File>) -> Self {
        Self { base, project }
    }

    /// Returns the digest over each file's name and text; the project's file is marked as such.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let base = self.base.iter().flat_map(|file| [file.name.as_bytes(), file.text.as_bytes()]);
        let project = self.project.iter().flat_map(|file| [b"project".as_slice(), file.text.as_bytes()]);
        Digest::of_parts(&base.chain(project).collect::<Vec<_>>())
    }

    pub(crate) fn base(&self) -> &[File] {
        &self.base
    }

    pub(crate) const fn project(&self) -> Option<&File> {
        self.project.as_ref()
    }
}

fn read(path: &Path) -> Result<File, Error> {
    use std::io::Read as _;
    let broken = |source| Error::Read { path: path.to_owned(), source };
    let mut text = String::new();
    let file = fs::File::open(path).map_err(broken)?;
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(broken)?;
    let name = path.display().to_string();
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(Error::Unfit { file: name, why: format!("it is larger than {MAX_FILE_BYTES} bytes") });
    }
    Ok(File { name, text })
}

/// Refuses a project's file that holds anything but rules of the form `deny contains …` in `package switchboard.project`.
/// It is also compiled separately from the other rules, so it could not reach them even if this check were wrong.
pub(crate) fn check_narrows(file: &File) -> Result<(), Error> {
    let mut engine = regorus::Engine::new();
    engine
        .add_policy(file.name.clone(), file.text.clone())
        .map_err(|error| Error::syntax(&file.name, &error.to_string()))?;
    let packages =
        engine.get_policy_package_components().map_err(|error| Error::syntax(&file.name, &error.to_string()))?;
    if packages.iter().any(|package| package.components != ["switchboard", "project"]) {
        return Err(Error::Widens { place: file.name.clone() });
    }
    for module in engine.get_modules() {
        if let Some(rule) = module.policy.iter().find(|rule| !is_deny(rule)) {
            return Err(Error::Widens { place: format!("{}:{}", file.name, rule.span().line) });
        }
    }
    Ok(())
}

fn is_deny(rule: &Rule) -> bool {
    match rule {
        Rule::Spec { head: RuleHead::Set { refr, .. }, .. } => refr.span().text() == "deny",
        Rule::Spec { head: RuleHead::Compr { .. } | RuleHead::Func { .. }, .. } | Rule::Default { .. } => false,
    }
}
